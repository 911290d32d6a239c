"""The wheels of a release."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from fresh_environment import build_published

REPOSITORY = Path(__file__).parents[2]


@pytest.fixture(scope="session")
def published(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """Return the wheels of `toolmason` and `toolmason-toolkit`: of `TOOLMASON_DIST`, or built from the checkout."""
    if not (directory := os.environ.get("TOOLMASON_DIST")):
        return build_published(REPOSITORY, tmp_path_factory.mktemp("dist"))
    (wheel,), (toolkit,) = (Path(directory).glob(f"{name}-*.whl") for name in ("toolmason", "toolmason_toolkit"))
    return wheel, toolkit
