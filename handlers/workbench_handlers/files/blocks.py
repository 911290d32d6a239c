"""The blocks of one `read_files` call, one per file: they share the size of one answer."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Final

from toolmason_runtime import BLOCK_OVERHEAD, ToolError, fitting_length, size_of, text_budget

from workbench_handlers.files.read import (
    READ_SECONDS,
    FileSlice,
    LineRange,
    fits,
    parse_line_range,
    read_lines,
    read_slice,
)
from workbench_handlers.workspace.open import existing
from workbench_handlers.workspace.roots import Located, Root
from workbench_handlers.workspace.scan import Scan, in_thread
from workbench_server.files.models import FileReadRequest

BLOCK_SIZE: Final = 450
"""Size reserved for each further file, its first line or its error, if there is room for more than that."""
BATCH_SECONDS: Final = 0.2
"""Seconds in which a thread reads files before the caller reports progress."""
MIN_BLOCK_SIZE: Final = 200
"""Size of the first line of most files; with less room, a file is not read."""
MAX_PATH_LENGTH: Final = 160
MAX_UNFINISHED: Final = 5
"""Maximum unfinished files in the first line of a result."""
MAX_SUGGESTIONS: Final = 5
"""Maximum missing paths of one call for which similar names are suggested."""


@dataclass(slots=True)
class FileBlocks:
    """The blocks of the files that were read so far. A block can contain an error."""

    requests: Sequence[FileReadRequest]
    roots: tuple[Root, ...]
    passthrough: bool
    """Whether large JSON and YAML files are read whole."""
    blocks: list[str] = field(default_factory=list)
    remaining: int = field(default_factory=text_budget)
    failed: int = 0
    missing: int = 0
    unfinished: list[str] = field(default_factory=list)

    @property
    def is_complete(self) -> bool:
        """Whether all files were read, or the answer has no room for the next one."""
        return len(self.blocks) == len(self.requests) or (bool(self.blocks) and self.remaining < MIN_BLOCK_SIZE)

    async def read_more(self) -> None:
        """Read the next file; with it the following ones that a thread can read within `BATCH_SECONDS`.

        A file that ends at a pattern is read alone.
        """
        if self._next.read_to_next_pattern is None:
            await in_thread(self._read_batch, seconds=READ_SECONDS)
            return
        try:
            located = await asyncio.to_thread(self._locate)
            part = await read_slice(
                located, _line_range(self._next), budget=self._lines_budget, passthrough=self.passthrough
            )
        except (OSError, ToolError) as error:
            self._add_error(error)
        else:
            self._add(part)

    def texts(self) -> list[str]:
        """Return all blocks. The first line names the files that another call can continue."""
        unread = [_shorten(request.path) for request in self.requests[len(self.blocks) :]]
        unfinished = [*self.unfinished, *unread]
        if not unfinished or len(self.requests) == 1:
            return self.blocks
        omitted = len(unfinished) - MAX_UNFINISHED
        more = f" and {omitted} more" if omitted > 0 else ""
        first = f"[to read in another call: {', '.join(unfinished[:MAX_UNFINISHED])}{more}]\n{self.blocks[0]}"
        return [first, *self.blocks[1:]]

    @property
    def _next(self) -> FileReadRequest:
        return self.requests[len(self.blocks)]

    @property
    def _left(self) -> int:
        """Number of files that are not read."""
        return len(self.requests) - len(self.blocks)

    @property
    def _shared(self) -> int:
        """Two thirds of the remaining size, for the files that are left; the next one may have the rest."""
        return max(self.remaining, 0) * 2 // 3

    @property
    def _reserved(self) -> int:
        """The size for the first line of one file."""
        return min(BLOCK_SIZE, max(self._shared // self._left, MIN_BLOCK_SIZE))

    @property
    def _budget(self) -> int:
        return self.remaining - min(self._reserved * (self._left - 1), self._shared)

    @property
    def _lines_budget(self) -> int:
        return self._budget - self._reserved

    def _read_batch(self, scan: Scan) -> None:
        end = time.monotonic() + BATCH_SECONDS
        while not self.is_complete and self._next.read_to_next_pattern is None and time.monotonic() < end:
            scan.step()
            try:
                line_range = _line_range(self._next)
                part = read_lines(self._locate(), line_range, self._lines_budget, self.passthrough, scan)
            except (OSError, ToolError) as error:
                self._add_error(error)
            else:
                self._add(part)

    def _locate(self) -> Located:
        return existing(self._next.path, self.roots, suggest=self.missing < MAX_SUGGESTIONS)

    def _add(self, part: FileSlice) -> None:
        shown = _shorten(self._next.path)
        if part.resume:
            self.unfinished.append(f"{shown} from start_line={part.resume}")
        self._append(_block(shown, part))

    def _add_error(self, error: OSError | ToolError) -> None:
        self.failed += 1
        self.missing += isinstance(error, ToolError) and error.code == "NOT_FOUND"
        reason = error.message if isinstance(error, ToolError) else f"cannot read: {error.strerror}"
        block = f"==> {_shorten(self._next.path)} <==\nerror: {reason}"
        self._append(block[: fitting_length(block, max(self._budget // self._left, self._reserved) - BLOCK_OVERHEAD)])

    def _append(self, block: str) -> None:
        self.blocks.append(block)
        self.remaining -= size_of(block) + BLOCK_OVERHEAD


def _line_range(request: FileReadRequest) -> LineRange:
    return parse_line_range(
        head=request.head,
        tail=request.tail,
        start_line=request.start_line,
        end_line=request.end_line,
        read_to_next_pattern=request.read_to_next_pattern,
        encoding=request.encoding,
    )


def _shorten(path: str) -> str:
    return path if fits(path, MAX_PATH_LENGTH) else f"...{path[-MAX_PATH_LENGTH // 4 :]}"


def _block(path: str, part: FileSlice) -> str:
    """Return a slice below a line with its range and, if it was cut, the way to continue.

    Both are in the first line: clients that truncate a result keep the beginning.
    """
    if part.total == 0:
        where = "empty"
    elif part.last is None:
        where = f"last lines of {part.total or 'very many'}" if part.text else f"{part.total or 'very many'} lines"
    else:
        at_least = f"at least {part.last}" if part.is_line_cut else f"more than {part.last}"
        where = f"lines {part.first}-{part.last} of {part.total or at_least}"
    return f"==> {path} ({'; '.join([where, *filter(None, [part.encoding]), *part.notes])}) <==\n{part.text}"
