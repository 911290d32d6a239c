"""Make the benchmark importable: the tests of the schema library use its corpus and its rules for Gemini."""

from __future__ import annotations

import sys
from pathlib import Path

# At the end, so that installed packages come before the checkout.
sys.path += [str(Path(__file__).parents[2]), str(Path(__file__).parent / "support")]
