"""The schemas are those of the session `converters`."""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1] / "converters" / "support"))
sys.path.append(str(Path(__file__).parents[2]))  # for the corpus, after installed packages
