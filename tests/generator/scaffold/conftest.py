"""Make the terminal of the review tests importable."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2] / "workbench" / "editing" / "surfaces" / "support"))
