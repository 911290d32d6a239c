"""Make the embedder of the tests importable, as a user's own is."""

import sys
from pathlib import Path

import pytest

SUPPORT = Path(__file__).with_name("support")
sys.path.insert(0, str(SUPPORT))


@pytest.fixture(autouse=True)
def embedder_on_the_path(monkeypatch: pytest.MonkeyPatch) -> None:
    """Processes of a test can import the embedder too."""
    monkeypatch.setenv("PYTHONPATH", str(SUPPORT))
