"""Put the bench on the import path: the tests use its instance generator and its scores."""

from __future__ import annotations

import sys
from pathlib import Path

# Last, so that installed packages have precedence over the checkout.
sys.path.append(str(Path(__file__).parents[2]))
