"""Make the helpers of this directory, the source of docs/schemas.md and the stand-ins for Gemini importable."""

import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]
for path in ("tests/docs/support", "docs/source", "tests/workbench/research/support"):
    sys.path.insert(0, str(ROOT / path))
