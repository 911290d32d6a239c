"""The implementations of MCP among which a server chooses."""

from __future__ import annotations

import sys
from typing import Final

LEAN: Final = "lean"
ENGINES: Final = ("sdk", LEAN)
"""With the official SDK, or without most of it: over stdio `lean` needs the standard library alone."""
DEFAULT_ENGINE: Final = "sdk" if sys.platform == "win32" else LEAN
