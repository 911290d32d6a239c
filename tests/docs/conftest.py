"""Make the helpers of this directory, docs/source, the stand-ins for models and the pseudo-terminal importable."""

import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]
for path in (
    "tests/docs/support",
    "docs/source",
    "tests/clients/support",
    "tests/workbench/research/support",
    "tests/workbench/editing/surfaces/support",
):
    sys.path.insert(0, str(ROOT / path))
