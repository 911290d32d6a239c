"""Brings the bench within reach: its sampler and its judge are what the schema library is tested with."""

from __future__ import annotations

import sys
from pathlib import Path

# At the end, so that nothing of the checkout stands before what is installed.
sys.path.append(str(Path(__file__).parents[2]))
