"""One run of all converters for all tests: importing them takes longest."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent / "support"))
sys.path.append(str(Path(__file__).parents[2]))  # for the corpus, after installed packages

from conversions import Conversions, convert_all


@pytest.fixture(scope="session")
def conversions() -> Conversions:
    return convert_all()
