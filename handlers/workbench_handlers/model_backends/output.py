"""A program whose output goes to a file that is read while it grows.

Node writes to a pipe what fits at once, keeps the rest, and drops it when the program ends: of an answer of megabytes
only the first 64 KiB came. A file takes everything at once.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Final

import anyio.to_thread
from toolmason_runtime.programs.launcher_client import Execution
from toolmason_runtime.programs.output_buffer import Capture
from toolmason_runtime.programs.process_group import Process

MAX_WRITTEN: Final = 512 * 1024 * 1024
"""Bytes after which a program is taken for one that never ends."""

_UMASK: Final = 0o077
"""What a program writes is for nobody else, wherever it writes it. Windows knows no such thing."""
_LOOK_S: Final = 0.05
_PIECE: Final = 256 * 1024


class Filed(Process):
    """A program whose stdout is the file at a path that is not there yet. stderr goes to the capture."""

    def __init__(self, path: Path, stderr: Capture) -> None:
        flags = os.O_CREAT | os.O_EXCL | os.O_WRONLY | getattr(os, "O_BINARY", 0)
        self._writer = os.open(path, flags, 0o600)
        super().__init__(self._writer, stderr)
        self._reader = path.open("rb", buffering=0)
        self.is_over = False
        """Whether nothing more is written."""

    async def start(self, execution: Execution, stdin: bytes) -> None:
        """Start it, so that the files that it writes are private."""
        await super().start(replace(execution, umask=_UMASK), stdin)

    async def read(self, hear: Callable[[bytes], None]) -> bool:
        """Pass on what is written, and tell in the end whether that was all: more than `MAX_WRITTEN` bytes is not."""
        done = 0
        while done < MAX_WRITTEN:
            was_over = self.is_over
            size = os.fstat(self._reader.fileno()).st_size
            if size == done and was_over:
                return True
            if size == done:
                await asyncio.sleep(_LOOK_S)
                continue
            data = await anyio.to_thread.run_sync(self._reader.read, _PIECE)
            done += len(data)
            hear(data)
        return False

    def close(self) -> None:
        """Let go of the file."""
        os.close(self._writer)
        self._reader.close()
