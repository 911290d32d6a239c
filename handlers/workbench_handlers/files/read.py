"""Read text files whole or in part, with bounded memory and bounded results."""

from __future__ import annotations

import io
from collections import deque
from dataclasses import dataclass, replace
from typing import BinaryIO, Final

from toolmason_runtime import ToolError, fitting_length, size_of, text_budget

from workbench_handlers.files.match import MATCH_SECONDS, MAX_SEARCHED_BYTES, Match, matcher
from workbench_handlers.workspace.decode import (
    SAMPLE_BYTES,
    Encoding,
    configured_codec,
    sniff_encoding,
    sniff_media_type,
)
from workbench_handlers.workspace.encodings import codec_of, is_wide
from workbench_handlers.workspace.open import open_file
from workbench_handlers.workspace.roots import Located
from workbench_handlers.workspace.scan import Scan, in_thread

MAX_COUNTED_BYTES: Final = 64_000_000
"""Maximum bytes of a file whose lines are counted for the numbers of its last ones."""

MAX_COUNTED_REST: Final = 1_000_000
"""Maximum bytes after a slice in which lines are counted, only to report the total."""

MAX_CHARACTER_SIZE: Final = 15
"""Maximum size of one character (see `size_of`): that of the tokens of an escape such as `\\u0001`."""

READ_SECONDS: Final = 20.0
"""Time limit of reading one slice, in seconds."""

MAX_SECTION_CHARS: Final = 10_000_000
"""Characters after a cut that are searched for the end of a section."""

MIN_LINE_PART: Final = 200
"""Minimum characters of a partial line; shorter ones are omitted."""

_BLOCK: Final = 65_536
_QUERY_TOOLS: Final = {
    ".json": "query_json",
    ".jsonc": "query_json",
    ".toml": "query_toml",
    ".ipynb": "query_json",
    ".yaml": "query_yaml",
    ".yml": "query_yaml",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class LineRange:
    """The requested lines of a file, 1-based and inclusive: a range, the last lines (`tail`), or up to a pattern."""

    start: int = 1
    end: int | None = None
    tail: int | None = None
    stop_pattern: str | None = None
    """Pattern of the first line after the slice."""
    codec: str = ""
    """The codec of the file; empty to detect it."""

    @property
    def is_whole(self) -> bool:
        """Whether the whole file is requested."""
        return self == LineRange(codec=self.codec)


@dataclass(frozen=True, slots=True, kw_only=True)
class FileSlice:
    """The lines `first` to `last` of a file; both are None for the tail of a huge file."""

    text: str
    first: int | None
    last: int | None
    total: int | None
    """Number of lines in the file; None if too much of it follows the slice."""
    notes: tuple[str, ...] = ()
    """Notes on omitted text and how to read it."""
    resume: int | None = None
    """The next line, if the slice was cut."""
    encoding: str = ""
    """Note on the encoding."""
    is_line_cut: bool = False
    """Whether the text is part of one line."""


def parse_line_range(
    *,
    head: int | None = None,
    tail: int | None = None,
    start_line: int | None = None,
    end_line: int | None = None,
    read_to_next_pattern: str | None = None,
    encoding: str | None = None,
) -> LineRange:
    """Return the line range for the arguments of `read_files`.

    Raises:
        ToolError: they cannot be combined, or the encoding is unknown.
    """
    codec = codec_of(encoding) if encoding else ""
    ways = {
        "head": head is not None,
        "tail": tail is not None,
        "start_line/end_line": end_line is not None or (start_line is not None and read_to_next_pattern is None),
        "read_to_next_pattern": read_to_next_pattern is not None,
    }
    chosen = [name for name, is_given in ways.items() if is_given]
    if start_line is not None and (head is not None or tail is not None) and "start_line/end_line" not in chosen:
        chosen.append("start_line")
    if len(chosen) > 1:
        message = f"{' and '.join(chosen)} cannot be combined: use one of head, tail, start_line with end_line"
        raise ToolError(f"{message}, or start_line with read_to_next_pattern", code="INVALID_ARGUMENT")
    if start_line is not None and end_line is not None and end_line < start_line:
        raise ToolError(f"end_line {end_line} is before start_line {start_line}", code="INVALID_ARGUMENT")
    if head is not None:
        return LineRange(end=head, codec=codec)
    return LineRange(start=start_line or 1, end=end_line, tail=tail, stop_pattern=read_to_next_pattern, codec=codec)


class _ReadTimeoutError(Exception):
    """The time limit of reading has passed."""


class _DeadlineReader(io.RawIOBase):
    """A file whose reads fail after the deadline or the cancellation of a scan."""

    def __init__(self, stream: BinaryIO, scan: Scan) -> None:
        self._stream, self._scan = stream, scan

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        return self._stream.seek(offset, whence)

    def readinto(self, buffer: memoryview) -> int:  # type: ignore[override]  # called with a writable buffer
        self._scan.step()
        if self._scan.is_over:
            raise _ReadTimeoutError
        data = self._stream.read(len(buffer))
        buffer[: len(data)] = data
        return len(data)


def _with_deadline(stream: BinaryIO, scan: Scan) -> io.BufferedReader:
    return io.BufferedReader(_DeadlineReader(stream, scan), _BLOCK)


async def read_slice(
    located: Located,
    line_range: LineRange,
    *,
    budget: int,
    passthrough: bool,
    seconds: float = MATCH_SECONDS,
    read_seconds: float = READ_SECONDS,
) -> FileSlice:
    """Read the requested lines of a text file, at most of size `budget` (see `size_of`).

    A large JSON or YAML file is read whole only with `passthrough`.

    Raises:
        ToolError: the file cannot be read, is binary, has no such lines, or is too large to reach them in time.
    """
    part = await in_thread(
        lambda scan: read_lines(located, line_range, budget, passthrough, scan), seconds=read_seconds
    )
    if line_range.stop_pattern is None or not part.text or part.first is None:
        return part
    async with matcher([line_range.stop_pattern], most=1, seconds=seconds) as match:
        return await _cut_at_pattern(located, part, match, read_seconds, line_range.codec)


async def _cut_at_pattern(
    located: Located, part: FileSlice, match: Match, read_seconds: float, codec: str
) -> FileSlice:
    """Cut a slice before the second or later line that matches; if that line is beyond the slice, add a note."""
    lines = _split(part.text)
    first = part.first or 1
    [match_positions] = await match(["".join(lines[1:]).removesuffix("\n")]) if len(lines) > 1 else [[]]
    if match_positions:
        last = first + match_positions[0].line
        text = "".join(lines[: match_positions[0].line + 1])
        note = f"line {last + 1} matches read_to_next_pattern"
        return replace(part, text=text, last=last, notes=(note,), resume=None)
    if not part.notes:
        return replace(part, notes=("no line after the first one matches read_to_next_pattern",))
    last = first + len(lines) - 1
    following, is_all = await in_thread(
        lambda scan: _read_lines_after(located, last, codec, scan), seconds=read_seconds
    )
    [match_positions] = await match([following.removesuffix("\n")]) if following else [[]]
    if not match_positions:
        where = "" if is_all else f" up to line {last + following.count(chr(10))}; further lines were not searched"
        return replace(part, notes=(*part.notes, f"no line after the first one matches read_to_next_pattern{where}"))
    end = last + match_positions[0].line
    note = f"line {end + 1} matches read_to_next_pattern"
    if end == last and not part.is_line_cut:
        return replace(part, notes=(note,), resume=None)
    return replace(part, notes=(*part.notes, f"the section ends at line {end}: {note}"))


def _read_lines_after(located: Located, last: int, codec: str, scan: Scan) -> tuple[str, bool]:
    """Read whole lines after the line `last`; return them and whether they are all."""
    try:
        with open_file(located) as stream:
            watched = _with_deadline(stream, scan)
            encoding = _encoding(located, watched.read(SAMPLE_BYTES), codec)
            watched.seek(0)
            text = io.TextIOWrapper(watched, encoding.codec if encoding else "latin-1", errors="replace", newline="\n")
            try:
                _skip(text, last)
                following = text.read(MAX_SECTION_CHARS)
            finally:
                text.detach()
    except _ReadTimeoutError:
        return "", False
    if len(following) < MAX_SECTION_CHARS:
        return following, True
    return following[: following.rfind("\n") + 1], False


def read_lines(
    located: Located,
    line_range: LineRange,
    budget: int,
    passthrough: bool,
    scan: Scan,
) -> FileSlice:
    """Read the requested lines in this thread; a `stop_pattern` is ignored. See `read_slice`."""
    budget = max(budget, 0)  # `readline` has no limit if it is negative
    with open_file(located) as stream:
        sample = stream.read(SAMPLE_BYTES)
        size = stream.seek(0, io.SEEK_END)
        stream.seek(0)
        encoding = _encoding(located, sample, line_range.codec)
        if encoding is None:
            raise _binary_error(located, sample, size)
        tool = _QUERY_TOOLS.get(located.path.suffix.lower())
        if tool and line_range.is_whole and size > text_budget() and not passthrough:
            raise _too_large_error(located, size, tool)
        watched = _with_deadline(stream, scan)
        try:
            part = (
                _tail(watched, encoding, line_range.tail, budget)
                if line_range.tail
                else _range(watched, encoding, line_range, budget, size)
            )
        except _ReadTimeoutError:
            raise _timeout_error(located, size) from None
    if part.is_line_cut and size <= MAX_SEARCHED_BYTES:
        part = replace(part, notes=(*part.notes, "grep_content shows the text around a match in it"))
    return replace(part, encoding=encoding.note)


def _encoding(located: Located, sample: bytes, codec: str) -> Encoding | None:
    return sniff_encoding(sample, named=codec, charset=lambda: configured_codec(located))


def _timeout_error(located: Located, size: int) -> ToolError:
    message = f"`{located.shown}` ({size:,} bytes) is too large to reach these lines within the time limit"
    return ToolError(f"{message}: read lines nearer to the beginning, or the last ones with tail", code="TIMEOUT")


def _binary_error(located: Located, sample: bytes, size: int) -> ToolError:
    kind = sniff_media_type(sample, located.path.name)
    message = f"`{located.shown}` is a binary file ({kind}, {size:,} bytes): use read_media_file"
    return ToolError(message, code="BINARY_FILE")


def _too_large_error(located: Located, size: int, tool: str) -> ToolError:
    language = "yq" if tool == "query_yaml" else "jq"
    call = f'{tool}(file_path="{located.shown}", {language}_expression="keys")'
    message = f"`{located.shown}` has {size:,} bytes: start with {call}, read a part with head or start_line, "
    message += "or set large_file_passthrough=true"
    return ToolError(message, code="TOO_LARGE")


def fits(text: str, budget: int) -> bool:
    """Return whether the size of `text` is at most `budget`; short texts without a count of their tokens."""
    return len(text) * MAX_CHARACTER_SIZE <= budget or size_of(text) <= budget


def _range(stream: BinaryIO, encoding: Encoding, line_range: LineRange, budget: int, size: int) -> FileSlice:
    text = io.TextIOWrapper(stream, encoding.codec, errors="replace", newline="\n")
    try:
        return _read_range(text, line_range, budget, size)
    finally:
        text.detach()


def _read_range(text: io.TextIOWrapper[BinaryIO], line_range: LineRange, budget: int, size: int) -> FileSlice:
    start = line_range.start
    skipped = _skip(text, start - 1)
    piece = text.readline(budget + 1) if skipped == start - 1 else ""
    if not piece and start > 1:
        raise ToolError(f"start_line {start} is past the end: there are {skipped} lines", code="OUT_OF_RANGE")
    lines: list[str] = []
    characters = 0
    # The size of a line is at least its number of characters, so a piece that readline cuts is too large as well.
    while piece and (line_range.end is None or start + len(lines) <= line_range.end):
        if (characters := characters + len(piece)) > budget:
            return _cut(text, lines, piece, start=start, budget=budget, size=size)
        lines.append(piece)
        piece = text.readline(budget - characters + 1)
    whole = "".join(lines)
    if not fits(whole, budget):
        return _cut(text, lines, piece, start=start, budget=budget, size=size)
    last = start + len(lines) - 1
    total = _count_lines(text, last, piece, size)
    return FileSlice(text=whole, first=start, last=last if lines else None, total=total)


def _cut(
    text: io.TextIOWrapper[BinaryIO], lines: list[str], piece: str, *, start: int, budget: int, size: int
) -> FileSlice:
    """Return the first of `lines` that fit into `budget`, or the beginning of the first one; `piece` follows them."""
    shown = 0
    remaining = budget
    while shown < len(lines) and (line_size := size_of(lines[shown])) <= remaining:
        remaining -= line_size
        shown += 1
    total = _count_lines(text, start - 1 + shown, "".join(lines[shown:]) + piece, size)
    if shown:
        last = start + shown - 1
        notes = (f"cut here, continue with start_line={last + 1}",)
        text_shown = "".join(lines[:shown])
        return FileSlice(text=text_shown, first=start, last=last, total=total, notes=notes, resume=last + 1)
    line = lines[0] if lines else piece
    length = fitting_length(line, budget)
    if length < MIN_LINE_PART:
        notes = (f"not shown: the result is full; call read_files again with start_line={start}",)
        return FileSlice(text="", first=start, last=None, total=total, notes=notes, resume=start)
    notes = (f"line {start} is cut after {length:,} characters",)
    return FileSlice(text=line[:length], first=start, last=start, total=total, notes=notes, is_line_cut=True)


def _skip(text: io.TextIOWrapper[BinaryIO], lines: int) -> int:
    """Skip `lines` lines; return the number skipped, less at the end of the file."""
    for skipped in range(lines):
        piece = text.readline(_BLOCK)
        if not piece:
            return skipped
        while not piece.endswith("\n") and (piece := text.readline(_BLOCK)):
            pass
    return lines


def _count_lines(text: io.TextIOWrapper[BinaryIO], before: int, piece: str, size: int) -> int | None:
    """Return the number of lines of a file of `size` bytes: `before`, those of `piece`, and those after it.

    None if more than `MAX_COUNTED_REST` bytes follow, or after the time limit.
    """
    if size - text.buffer.tell() > MAX_COUNTED_REST:
        return None
    count, last = before, "\n"
    while piece:
        count += piece.count("\n")
        last = piece[-1]
        try:
            piece = text.read(_BLOCK)
        except _ReadTimeoutError:
            return None
    return count if last == "\n" else count + 1


def _tail(stream: BinaryIO, encoding: Encoding, count: int, budget: int) -> FileSlice:
    if is_wide(encoding.codec):
        return _tail_forwards(stream, encoding, count, budget)
    size = stream.seek(0, io.SEEK_END)
    data, start = _last_bytes(stream, size, count, 4 * budget + _BLOCK)
    codec = "utf-8" if encoding.codec == "utf-8-sig" and start else encoding.codec
    lines = _split(data.decode(codec, errors="replace"))
    is_short = start > 0 and len(lines) <= count
    if is_short and len(lines) > 1:  # the first one is incomplete
        lines = lines[1:]
    if start == 0:
        total: int | None = len(lines)
    else:
        total = _count_bytes(stream) if size <= MAX_COUNTED_BYTES else None
    return _fit_tail(deque(lines[-count:]), total, budget, count)


def _last_bytes(stream: BinaryIO, size: int, lines: int, max_bytes: int) -> tuple[bytes, int]:
    """Read the last `lines` whole lines, at most about `max_bytes`; return them and their offset."""
    data, start = b"", size
    while start > 0 and len(data) < max_bytes and data.count(b"\n", 0, -1) < lines:
        step = min(_BLOCK, start)
        start -= step
        stream.seek(start)
        data = stream.read(step) + data
    return data, start


def _tail_forwards(stream: BinaryIO, encoding: Encoding, count: int, budget: int) -> FileSlice:
    text = io.TextIOWrapper(stream, encoding.codec, errors="replace", newline="\n")
    lines: deque[str] = deque(maxlen=count)
    size = total = 0
    try:
        while piece := text.readline(budget + _BLOCK):
            total += piece.endswith("\n")
            size += len(piece) - (len(lines[0]) if len(lines) == count else 0)
            lines.append(piece)
            while size > budget + _BLOCK and len(lines) > 1:
                size -= len(lines.popleft())
    finally:
        text.detach()
    is_open = bool(lines) and not lines[-1].endswith("\n")
    return _fit_tail(lines, total + is_open, budget, count)


def _fit_tail(lines: deque[str], total: int | None, budget: int, count: int) -> FileSlice:
    sizes = deque(map(size_of, lines))
    size = sum(sizes)
    notes: tuple[str, ...] = ()
    while size > budget and len(lines) > 1:
        size -= sizes.popleft()
        lines.popleft()
    if size > budget and lines:
        lines[0] = _line_end(lines[0], budget)
        notes = (f"only the last {len(lines[0]):,} characters of the line are shown",)
    elif len(lines) < count and total is not None and len(lines) < total:
        notes = (f"cut to the last {len(lines)} lines; read the ones before with start_line and end_line",)
    first = total - len(lines) + 1 if total is not None and lines else None
    return FileSlice(text="".join(lines), first=first, last=total, total=total, notes=notes)


def _line_end(line: str, budget: int) -> str:
    """Return the end of a line, at most of size `budget`."""
    length = fitting_length(line[-max(budget, 1) :][::-1], budget)
    while length and size_of(line[-length:]) > budget:  # the reversed text may have other words, and so another size
        length = length * 9 // 10
    return line[-length:] if length else ""


def _count_bytes(stream: BinaryIO) -> int | None:
    """Return the number of lines; None after the time limit."""
    stream.seek(0)
    count, last = 0, b""
    try:
        while block := stream.read(_BLOCK):
            count += block.count(b"\n")
            last = block[-1:]
    except _ReadTimeoutError:
        return None
    return count if last in {b"", b"\n"} else count + 1


def _split(text: str) -> list[str]:
    """Split after line feeds only, as editors and grep do."""
    return io.StringIO(text, newline="\n").readlines()
