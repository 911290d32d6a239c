"""A long text in parts, and the errors of asking for one."""

from __future__ import annotations

import json
import re
import secrets
import time
from array import array
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from tempfile import SpooledTemporaryFile
from typing import Final

from toolmason_runtime.chunks.cutting import cut
from toolmason_runtime.shared.errors import ToolError

TTL_S: Final = 3600.0
"""Seconds a text is kept."""
MAX_BYTES_IN_MEMORY: Final = 256 * 1024
"""Bytes of a text beyond which it is in a temporary file."""

_KEY: Final = re.compile(r"cache_[0-9a-f]{32}")
_MAX_KEY_SHOWN: Final = 60


@dataclass(frozen=True, slots=True, kw_only=True)
class Part:
    """One part of a text; the first has index 1."""

    content: str = field(repr=False)
    index: int
    total: int
    expires: float
    """Seconds since 1970."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LongText:
    """A text whose parts can be read in any order: in memory, or in a temporary file without a name."""

    chars: int
    starts: Sequence[int] = field(repr=False)
    """The position of each part in bytes, then the end of the last one."""
    file: SpooledTemporaryFile[bytes] = field(repr=False)
    expires: float
    """Seconds since 1970."""
    # Whoever has the key can read the text, and a server may have more than one client.
    key: str = field(default_factory=lambda: f"cache_{secrets.token_hex(16)}")

    @property
    def total(self) -> int:
        """Number of parts."""
        return len(self.starts) - 1

    @property
    def size(self) -> int:
        """Bytes of all parts."""
        return self.starts[-1]

    @property
    def is_in_file(self) -> bool:
        """Whether it takes up disk space instead of memory."""
        return self.size > MAX_BYTES_IN_MEMORY

    def part(self, index: int) -> Part:
        """Return one part.

        Raises:
            ToolError: the index is out of range (INVALID_CHUNK_INDEX).
        """
        check_index(index, self.total)
        content = decode(self.data(index))
        return Part(content=content, index=index, total=self.total, expires=self.expires)

    def data(self, index: int) -> bytes:
        """Return the bytes of one part."""
        start, end = self.starts[index - 1 : index + 1]
        self.file.seek(start)
        return self.file.read(end - start)

    def close(self) -> None:
        """Free its memory or its file."""
        self.file.close()


def write_text(texts: Iterable[str], *, size: int, max_bytes: int, ttl_s: float = TTL_S) -> LongText:
    """Write a text in parts (see `cut`). Memory use does not depend on its length.

    Raises:
        OSError: the temporary file cannot be written.
    """
    file = SpooledTemporaryFile(MAX_BYTES_IN_MEMORY)  # noqa: SIM115  it lives as long as the text
    try:
        starts, chars = array("q", [0]), 0
        for part in cut(texts, size=size, max_bytes=max_bytes):
            # The JSON of a model can contain unpaired surrogates, and the parts must be what was cut.
            starts.append(starts[-1] + file.write(part.encode("utf-8", "surrogatepass")))
            chars += len(part)
    except BaseException:
        file.close()
        raise
    return LongText(chars=chars, starts=starts if chars else (0, 0), file=file, expires=time.time() + ttl_s)


def decode(data: bytes) -> str:
    """Return a part as it was written."""
    return data.decode("utf-8", "surrogatepass")


def iso(timestamp: float) -> str:
    """Format a time as JavaScript does: `2026-01-08T04:30:00.000Z`."""
    return datetime.fromtimestamp(timestamp, UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def is_key(text: str) -> bool:
    """Return whether `text` has the form of a key."""
    return bool(_KEY.fullmatch(text))


def expired(key: str) -> ToolError:
    """Return the error for a key under which nothing is stored."""
    shown = key if len(key) <= _MAX_KEY_SHOWN else key[:_MAX_KEY_SHOWN] + "..."
    message = (
        f"nothing is stored as {json.dumps(shown)}: it has expired (texts are kept for an hour, and less if there are "
        "many), or this is not a cacheKey. Run the original query again, or the command, to get a new one"
    )
    return ToolError(message, code="CACHE_EXPIRED")


def check_index(index: int, total: int) -> None:
    """Check that a text of `total` parts has the part `index`.

    Raises:
        ToolError: it does not (INVALID_CHUNK_INDEX).
    """
    if not 1 <= index <= total:
        range_text = "there is only chunk 1" if total == 1 else f"there are the chunks 1 to {total}"
        details = {"chunkIndex": index, "total": total}
        message = f"chunk {index} does not exist: {range_text}"
        raise ToolError(message, code="INVALID_CHUNK_INDEX", details=details)
