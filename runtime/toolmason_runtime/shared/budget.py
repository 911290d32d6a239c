"""The budget of one document that another machine or program has sent."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

LARGE_BYTES: Final = 256 * 1024
"""Bytes above which a document is not parsed on the event loop."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Budget:
    """Maximum size of a document. A larger one is refused before its values are created."""

    bytes: int = 16 * 1024 * 1024
    """Bytes, decompressed."""
    values: int = 500_000
    """Values, those inside of others included."""
    depth: int = 200
    """Levels of arrays and objects."""
    cpu_s: float = 20.0
    """Processor time in seconds."""

    @property
    def memory_mb(self) -> int:
        """Mebibytes of private memory of a process that parses a document: an interpreter, and 10 times the bytes."""
        return 48 + 10 * self.bytes // 1024**2


ANSWER: Final = Budget()
"""An answer of an API."""
MESSAGE: Final = Budget()
"""A message of an upstream; a picture of 12 MB in base64 has 16 MB."""
KEYS: Final = Budget(bytes=256 * 1024, values=10_000, depth=20)
"""The keys of an authorization server."""
DESCRIPTION: Final = Budget(bytes=64 * 1024 * 1024, values=5_000_000)
"""An OpenAPI document, which a command reads for its author. The largest public one has 38 MB."""
SHARED_TEXT: Final = Budget(bytes=64 * 1024 * 1024, values=1)
"""A text in Redis, to which others may write."""
