"""Make the source of docs/schemas.md and the stand-ins for Gemini importable."""

import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]
sys.path[:0] = [str(ROOT / "docs" / "source"), str(ROOT / "tests" / "workbench" / "research" / "support")]
