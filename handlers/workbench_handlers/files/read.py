"""Reading text files whole or in part, with bounded memory and bounded answers."""

from __future__ import annotations

import io
from collections import deque
from dataclasses import dataclass, replace
from typing import BinaryIO, Final

from toolmason_runtime import ToolError, fitting_length, size_of, text_budget

from workbench_handlers.files.match import MATCH_SECONDS, Match, matcher
from workbench_handlers.files.ripgrep import MAX_SEARCHED_BYTES
from workbench_handlers.workspace.decode import SAMPLE_BYTES, Encoding, sniff_encoding, sniff_media_type
from workbench_handlers.workspace.open import open_file
from workbench_handlers.workspace.roots import Located
from workbench_handlers.workspace.scan import Scan, in_thread

MAX_COUNTED_BYTES: Final = 64_000_000
"""Files up to this size have their lines counted."""

READ_SECONDS: Final = 20.0
"""How long the reading of one part may take."""

MAX_SOUGHT: Final = 10_000_000
"""Characters after a cut in which the end of a section is looked for."""

MIN_LINE_PART: Final = 200
"""Characters of a line that are worth showing alone."""

_BLOCK: Final = 65_536
_QUERIED_WITH: Final = {".json": "query_json", ".ipynb": "query_json", ".yaml": "query_yaml", ".yml": "query_yaml"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Span:
    """Which part of a file is wanted, 1-based lines, both ends included. At most one of the three ways to say it."""

    start: int = 1
    end: int | None = None
    tail: int | None = None
    until: str | None = None
    """Pattern of the line after `start` before which to stop."""

    @property
    def is_whole(self) -> bool:
        """Whether this is all of the file."""
        return self == Span()


@dataclass(frozen=True, slots=True, kw_only=True)
class Part:
    """What was read: `text` holds the lines `first` to `last`, the first unknown for the tail of a huge file."""

    text: str
    first: int | None
    last: int | None
    total: int | None
    """Lines in the file, if counted."""
    notes: tuple[str, ...] = ()
    """What was cut, and how to get it."""
    resume: int | None = None
    """The line with which to continue, if the answer had no room for it."""
    encoding: str = ""
    """What is unusual about the encoding."""
    is_line_cut: bool = False
    """Whether only a piece of a line is there."""


def span(
    *,
    head: int | None = None,
    tail: int | None = None,
    start_line: int | None = None,
    end_line: int | None = None,
    read_to_next_pattern: str | None = None,
) -> Span:
    """Give the span for the arguments of `read_files`.

    Raises:
        ToolError: they contradict each other.
    """
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
        message = f"{' and '.join(chosen)} exclude each other: give one of head, tail, start_line with end_line"
        raise ToolError(f"{message}, or start_line with read_to_next_pattern", code="INVALID_ARGUMENT")
    if start_line is not None and end_line is not None and end_line < start_line:
        raise ToolError(f"end_line {end_line} is before start_line {start_line}", code="INVALID_ARGUMENT")
    if head is not None:
        return Span(end=head)
    return Span(start=start_line or 1, end=end_line, tail=tail, until=read_to_next_pattern)


class _LateError(Exception):
    """The time for reading has run out."""


class _Watched(io.RawIOBase):
    """A file that can be read until its reader is stopped, or late."""

    def __init__(self, stream: BinaryIO, scan: Scan) -> None:
        self._stream, self._scan = stream, scan

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        return self._stream.seek(offset, whence)

    def readinto(self, buffer: memoryview) -> int:  # type: ignore[override]  # a writable buffer is what comes
        self._scan.step()
        if self._scan.is_over:
            raise _LateError
        data = self._stream.read(len(buffer))
        buffer[: len(data)] = data
        return len(data)


def _watched(stream: BinaryIO, scan: Scan) -> io.BufferedReader:
    return io.BufferedReader(_Watched(stream, scan), _BLOCK)


async def read_part(
    located: Located,
    wanted: Span,
    *,
    budget: int,
    passthrough: bool,
    seconds: float = MATCH_SECONDS,
    read_seconds: float = READ_SECONDS,
) -> Part:
    """Read the part of a text file that is wanted, at most of size `budget` (see `size_of`).

    A large JSON or YAML file is read whole only with `passthrough`.

    Raises:
        ToolError: it cannot be read, is binary, ends before `wanted` begins, or is too large to get there in time.
    """
    part = await in_thread(lambda scan: _read(located, wanted, budget, passthrough, scan), seconds=read_seconds)
    if wanted.until is None or not part.text or part.first is None:
        return part
    async with matcher([wanted.until], most=1, seconds=seconds) as match:
        return await _up_to(located, part, match, read_seconds)


async def _up_to(located: Located, part: Part, match: Match, read_seconds: float) -> Part:
    """Cut `part` before the first line after its first one that matches; if that was cut off, say where it is."""
    lines = _split(part.text)
    first = part.first or 1
    [found] = await match(["".join(lines[1:]).removesuffix("\n")]) if len(lines) > 1 else [[]]
    if found:
        last = first + found[0].line
        kept = "".join(lines[: found[0].line + 1])
        note = f"line {last + 1} matches read_to_next_pattern"
        return replace(part, text=kept, last=last, notes=(note,), resume=None)
    if not part.notes:
        return replace(part, notes=("no line after the first one matches read_to_next_pattern",))
    last = first + len(lines) - 1
    following, is_all = await in_thread(lambda scan: _following(located, last, scan), seconds=read_seconds)
    [found] = await match([following.removesuffix("\n")]) if following else [[]]
    if not found:
        where = "" if is_all else f" up to line {last + following.count(chr(10))}, and further it was not looked for"
        return replace(part, notes=(*part.notes, f"no line after the first one matches read_to_next_pattern{where}"))
    end = last + found[0].line
    note = f"line {end + 1} matches read_to_next_pattern"
    if end == last and not part.is_line_cut:
        return replace(part, notes=(note,), resume=None)
    return replace(part, notes=(*part.notes, f"the section ends at line {end}: {note}"))


def _following(located: Located, last: int, scan: Scan) -> tuple[str, bool]:
    """Read whole lines after the line `last`; say whether these are all."""
    try:
        with open_file(located) as stream:
            watched = _watched(stream, scan)
            encoding = sniff_encoding(watched.read(SAMPLE_BYTES))
            watched.seek(0)
            text = io.TextIOWrapper(watched, encoding.codec if encoding else "latin-1", errors="replace", newline="\n")
            try:
                _skip(text, last)
                following = text.read(MAX_SOUGHT)
            finally:
                text.detach()
    except _LateError:
        return "", False
    if len(following) < MAX_SOUGHT:
        return following, True
    return following[: following.rfind("\n") + 1], False


def _read(located: Located, wanted: Span, budget: int, passthrough: bool, scan: Scan) -> Part:
    with open_file(located) as stream:
        sample = stream.read(SAMPLE_BYTES)
        size = stream.seek(0, io.SEEK_END)
        stream.seek(0)
        encoding = sniff_encoding(sample)
        if encoding is None:
            raise _binary(located, sample, size)
        tool = _QUERIED_WITH.get(located.path.suffix.lower())
        if tool and wanted.is_whole and size > text_budget() and not passthrough:
            raise _large(located, size, tool)
        watched = _watched(stream, scan)
        try:
            part = (
                _tail(watched, encoding, wanted.tail, budget)
                if wanted.tail
                else _range(watched, encoding, wanted, budget)
            )
        except _LateError:
            raise _late(located, size) from None
    if part.is_line_cut and size <= MAX_SEARCHED_BYTES:
        part = replace(part, notes=(*part.notes, "grep_content shows what stands around a match in it"))
    return replace(part, encoding=encoding.note)


def _late(located: Located, size: int) -> ToolError:
    message = f"`{located.shown}` ({size:,} bytes) is too large to get to these lines in the time allowed"
    return ToolError(f"{message}: read lines nearer to its beginning, or its last ones with tail", code="TIMEOUT")


def _binary(located: Located, sample: bytes, size: int) -> ToolError:
    kind = sniff_media_type(sample, located.path.name)
    message = f"`{located.shown}` is a binary file ({kind}, {size:,} bytes): use read_media_file"
    return ToolError(message, code="BINARY_FILE")


def _large(located: Located, size: int, tool: str) -> ToolError:
    language = "jq" if tool == "query_json" else "yq"
    call = f'{tool}(file_path="{located.shown}", {language}_expression="keys")'
    message = f"`{located.shown}` is large ({size:,} bytes): use {call} and go on from there, read a part with head or"
    message += " start_line, or set large_file_passthrough to read it all the same"
    return ToolError(message, code="TOO_LARGE")


def _range(stream: BinaryIO, encoding: Encoding, wanted: Span, budget: int) -> Part:
    text = io.TextIOWrapper(stream, encoding.codec, errors="replace", newline="\n")
    try:
        return _lines_of(text, wanted, budget)
    finally:
        text.detach()


def _lines_of(text: io.TextIOWrapper, wanted: Span, budget: int) -> Part:
    skipped = _skip(text, wanted.start - 1)
    if skipped < wanted.start - 1 or (wanted.start > 1 and not (ahead := text.readline(budget + 1))):
        raise ToolError(f"start_line {wanted.start} is past the end: there are {skipped} lines", code="OUT_OF_RANGE")
    piece = ahead if wanted.start > 1 else text.readline(budget + 1)
    kept: list[str] = []
    number, left = wanted.start, budget
    while piece and (wanted.end is None or number <= wanted.end):
        # A line is never smaller than its characters: one that is cut here is too large as well.
        if (size := size_of(piece)) > left:
            return _cut(text, kept, piece, wanted.start, left)
        kept.append(piece)
        left -= size
        number += 1
        piece = text.readline(left + 1)
    last = number - 1
    total = last if not piece else _counted(text, last, piece)
    return Part(text="".join(kept), first=wanted.start, last=last if kept else None, total=total)


def _cut(text: io.TextIOWrapper, kept: list[str], piece: str, start: int, left: int) -> Part:
    """End a part that outgrew its budget: between lines if there is one, else within the only line."""
    if kept:
        last = start + len(kept) - 1
        total = _counted(text, last, piece)
        notes = (f"cut here, continue with start_line={last + 1}",)
        return Part(text="".join(kept), first=start, last=last, total=total, notes=notes, resume=last + 1)
    total = _counted(text, start - 1, piece)
    length = fitting_length(piece, left)
    if length < MIN_LINE_PART:
        notes = (f"not shown, this answer is full; read it with another call, start_line={start}",)
        return Part(text="", first=start, last=None, total=total, notes=notes, resume=start)
    notes = (f"line {start} is cut after {length:,} characters",)
    return Part(text=piece[:length], first=start, last=start, total=total, notes=notes, is_line_cut=True)


def _skip(text: io.TextIOWrapper, lines: int) -> int:
    """Skip `lines` lines; give how many there were."""
    for skipped in range(lines):
        piece = text.readline(_BLOCK)
        if not piece:
            return skipped
        while not piece.endswith("\n") and (piece := text.readline(_BLOCK)):
            pass
    return lines


def _counted(text: io.TextIOWrapper, before: int, piece: str) -> int | None:
    """Give all lines of the file: `before`, that of `piece`, and the rest; None if that is too much, or time is up."""
    count, last, seen = before, "", 0
    while piece:
        count += piece.count("\n")
        last, seen = piece[-1], seen + len(piece)
        if seen > MAX_COUNTED_BYTES:
            return None
        try:
            piece = text.read(_BLOCK)
        except _LateError:
            return None
    return count if last == "\n" else count + 1


def _tail(stream: BinaryIO, encoding: Encoding, wanted: int, budget: int) -> Part:
    if encoding.codec in {"utf-16", "utf-32"}:
        return _tail_forwards(stream, encoding, wanted, budget)
    size = stream.seek(0, io.SEEK_END)
    data, start = _last_bytes(stream, size, wanted, 4 * budget + _BLOCK)
    codec = "utf-8" if encoding.codec == "utf-8-sig" and start else encoding.codec
    lines = _split(data.decode(codec, errors="replace"))
    is_short = start > 0 and len(lines) <= wanted
    if is_short and len(lines) > 1:  # the first one began before what was read
        lines = lines[1:]
    if start == 0:
        total: int | None = len(lines)
    else:
        total = _count_bytes(stream) if size <= MAX_COUNTED_BYTES else None
    return _fitting(deque(lines[-wanted:]), total, budget, wanted)


def _last_bytes(stream: BinaryIO, size: int, lines: int, most: int) -> tuple[bytes, int]:
    """Read backwards until `lines` whole lines are there, or `most` bytes; give them and where they begin."""
    data, start = b"", size
    while start > 0 and len(data) < most and data.count(b"\n", 0, -1) < lines:
        step = min(_BLOCK, start)
        start -= step
        stream.seek(start)
        data = stream.read(step) + data
    return data, start


def _tail_forwards(stream: BinaryIO, encoding: Encoding, wanted: int, budget: int) -> Part:
    text = io.TextIOWrapper(stream, encoding.codec, errors="replace", newline="\n")
    lines: deque[str] = deque(maxlen=wanted)
    held = total = 0
    try:
        while piece := text.readline(budget + _BLOCK):
            total += piece.endswith("\n")
            held += len(piece) - (len(lines[0]) if len(lines) == wanted else 0)
            lines.append(piece)
            while held > budget + _BLOCK and len(lines) > 1:
                held -= len(lines.popleft())
    finally:
        text.detach()
    is_open = bool(lines) and not lines[-1].endswith("\n")
    return _fitting(lines, total + is_open, budget, wanted)


def _fitting(lines: deque[str], total: int | None, budget: int, wanted: int) -> Part:
    sizes = deque(map(size_of, lines))
    held = sum(sizes)
    notes: tuple[str, ...] = ()
    while held > budget and len(lines) > 1:
        held -= sizes.popleft()
        lines.popleft()
    if held > budget and lines:
        lines[0] = _end_of(lines[0], budget)
        notes = (f"only the last {len(lines[0]):,} characters of the line are shown",)
    elif len(lines) < wanted and total is not None and len(lines) < total:
        notes = (f"cut to the last {len(lines)} lines; read the ones before with start_line and end_line",)
    first = total - len(lines) + 1 if total is not None and lines else None
    return Part(text="".join(lines), first=first, last=total, total=total, notes=notes)


def _end_of(line: str, budget: int) -> str:
    """Return the end of a line, at most of size `budget`."""
    length = fitting_length(line[-max(budget, 1) :][::-1], budget)
    while length and size_of(line[-length:]) > budget:  # read backwards, words may be other ones
        length = length * 9 // 10
    return line[-length:] if length else ""


def _count_bytes(stream: BinaryIO) -> int | None:
    """Count lines; give None if the time is up."""
    stream.seek(0)
    count, last = 0, b""
    try:
        while block := stream.read(_BLOCK):
            count += block.count(b"\n")
            last = block[-1:]
    except _LateError:
        return None
    return count if last in {b"", b"\n"} else count + 1


def _split(text: str) -> list[str]:
    """Split at line feeds alone, which stay: what an editor and grep call a line."""
    return io.StringIO(text, newline="\n").readlines()
