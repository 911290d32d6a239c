"""Find lines by a regular expression, with context and enclosing sections."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Callable, Sequence
from contextlib import AsyncExitStack, aclosing
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from toolmason_runtime import ToolCall, ToolError, size_of, text_budget

from workbench_handlers.files import ripgrep
from workbench_handlers.files.match import MATCH_SECONDS, MAX_SEARCHED_BYTES, Match, Position, matcher
from workbench_handlers.files.sections import Boundary, find_boundaries, flat_boundaries, section_at
from workbench_handlers.workspace.decode import SAMPLE_BYTES, Encoding, configured_codec, sniff_encoding
from workbench_handlers.workspace.ignore import IgnoreCheck
from workbench_handlers.workspace.memory import release_unused
from workbench_handlers.workspace.open import open_file
from workbench_handlers.workspace.probe import check_size, is_file
from workbench_handlers.workspace.roots import Located
from workbench_handlers.workspace.scan import PROGRESS_SECONDS, in_thread, report_progress
from workbench_handlers.workspace.walk import Walk
from workbench_handlers.workspace.worker import WorkerError

MAX_MATCHES: Final = 200
"""Maximum matching lines in one result."""
MAX_LINE_CHARACTERS: Final = 400
"""Maximum characters of one line in a result."""
GREP_SECONDS: Final = 30.0
"""Time limit of one search, in seconds."""

MIN_LITERAL: Final = 3
"""Minimum characters of a literal text by which files are chosen; most files contain a shorter one."""

SEPARATOR_SIZE: Final = 8
"""Size of the line breaks between two lines or blocks."""

_BATCH_CHARACTERS: Final = 1_000_000
_MORE: Final = "more matches exist: narrow `pattern` or `search_path`"


@dataclass(frozen=True, slots=True, kw_only=True)
class GrepRequest:
    """The arguments of one search."""

    pattern: str
    ignore_case: bool = False
    context: int = 0
    """Context lines before and after each match."""
    section_patterns: tuple[str, ...] = ()
    """Patterns of the first lines of sections; empty: by file type."""
    seconds: float = MATCH_SECONDS
    """Time limit of expressions in Python."""
    progress_seconds: float = PROGRESS_SECONDS
    """Seconds between progress notifications."""


@dataclass(frozen=True, slots=True)
class FileMatches:
    """A file with its lines and the positions of their matches."""

    located: Located
    lines: list[str]
    positions: list[Position]


Hits = AsyncGenerator[FileMatches, None]


@dataclass(slots=True)
class GrepOutput:
    """The result, which grows until it is full."""

    blocks: list[str] = field(default_factory=list)
    matches: int = 0
    files: int = 0
    left: int = field(default_factory=text_budget)
    """Remaining size for blocks; see `size_of`."""
    notes: list[str] = field(default_factory=list)
    """Reasons for missing matches."""

    @property
    def is_full(self) -> bool:
        """Whether the result has no room for further matches."""
        return self.matches >= MAX_MATCHES or self.left <= 0

    def add(self, block: str, matches: int) -> None:
        """Add the block of one file."""
        self.blocks.append(block)
        self.matches += matches
        self.files += 1
        self.left -= size_of(block) + SEPARATOR_SIZE

    def text(self) -> str:
        """Return the result. Its first line has the number of matches and the notes."""
        if not self.matches:
            return "; ".join(self.notes) or "no matches"
        count = f"{self.matches} matching lines in {self.files} files" if self.matches > 1 else "1 matching line"
        return f"[{'; '.join([count, *self.notes])}]\n" + "\n\n".join(self.blocks)


async def grep(top: Located, search: GrepRequest, program: str, call: ToolCall) -> str:
    """Search the file or directory `top` with the ripgrep at `program`, or with Python if it is empty.

    Raises:
        ToolError: a pattern is not a regular expression, or the file is too large.
    """
    _check_patterns(search)
    await asyncio.to_thread(check_size, top, MAX_SEARCHED_BYTES, _TOO_LARGE)
    start = asyncio.get_running_loop().time()
    if program:
        try:
            return await _answer(lambda answer: _ripgrep_hits(top, search, program, answer), search, call, start)
        except (
            ripgrep.UnsupportedPatternError,
            OSError,
        ):  # Python supports more syntax than Rust; or the program was removed
            pass
    return await _answer(lambda _: _python_hits(top, search), search, call, start)


_TOO_LARGE: Final = "read a part of it with read_files, or ask the user to search it with a program"


def _check_patterns(search: GrepRequest) -> None:
    for pattern in (search.pattern, *search.section_patterns):
        if not pattern or "\0" in pattern or "\n" in pattern:
            message = "a pattern must not be empty or contain NUL or line breaks: it matches within one line"
            raise ToolError(message, code="INVALID_ARGUMENT")


async def _answer(find: Callable[[GrepOutput], Hits], search: GrepRequest, call: ToolCall, start: float) -> str:
    """Collect matches within the time limit and report progress, which is the time since `start`."""
    answer, clock = GrepOutput(), asyncio.get_running_loop().time
    running = asyncio.ensure_future(_within_time(find(answer), search, answer))

    def progress() -> tuple[float, str]:
        elapsed = clock() - start
        return elapsed, f"{answer.matches:,} matching lines in {answer.files:,} files after {elapsed:.0f} seconds"

    try:
        await report_progress(running, call, progress, interval_s=search.progress_seconds)
    finally:
        running.cancel()
        await asyncio.gather(running, return_exceptions=True)
        release_unused()
    return answer.text()


async def _within_time(hits: Hits, search: GrepRequest, answer: GrepOutput) -> None:
    try:
        async with asyncio.timeout(GREP_SECONDS), aclosing(hits) as open_hits:
            await _collect(open_hits, search, answer)
    except TimeoutError:
        answer.notes.append(_timeout_note(search))
    except WorkerError as error:
        if error.code != "TIMEOUT":
            raise
        answer.notes.append(_timeout_note(search))


def _timeout_note(search: GrepRequest) -> str:
    patterns = "`pattern`, `section_patterns`" if search.section_patterns else "`pattern`"
    return f"stopped at the time limit of one search: simplify {patterns} or narrow `search_path`"


async def _collect(hits: Hits, search: GrepRequest, answer: GrepOutput) -> None:
    """Add matches to the result until it is full."""
    async with AsyncExitStack() as stack:
        match = None
        if search.section_patterns:
            match = await stack.enter_async_context(matcher(search.section_patterns, seconds=GREP_SECONDS))
            await match([])  # an invalid pattern is an error even if nothing matches
        async for hit in hits:
            shown = hit.positions[: MAX_MATCHES - answer.matches] if not answer.is_full else []
            if shown:
                starts = await _section_starts(hit, match) if match else None
                visible = FileMatches(hit.located, hit.lines, shown)
                block, count = await asyncio.to_thread(_block, visible, starts, search.context, answer.left)
                if count:
                    answer.add(block, count)
                shown = shown[:count]
            if len(shown) < len(hit.positions):
                answer.notes.append(_MORE)
                return


async def _ripgrep_hits(top: Located, search: GrepRequest, program: str, answer: GrepOutput) -> Hits:
    is_single = is_file(top.path)
    directory = Located(top.root, top.parts[:-1], "") if is_single else top
    check = IgnoreCheck(top)
    top_codec = await asyncio.to_thread(_legacy_codec, top) if is_single else ""
    if top_codec:
        async with aclosing(_legacy_hits([top], search, answer)) as hits:
            async for hit in hits:
                yield hit
        return
    is_ascii = ripgrep.is_ascii_pattern(search.pattern)
    candidates = None if is_single or is_ascii else await _candidates(program, directory, search)
    matches = ripgrep.search_lines(
        program,
        directory.path,
        [top.parts[-1]] if is_single else [""] if candidates is None else candidates,
        search.pattern,
        ignore_case=search.ignore_case,
        most=MAX_MATCHES + 1,
    )

    def read(below: tuple[str, ...], positions: Sequence[tuple[int, int]]) -> FileMatches | None:
        located = top if is_single else _filter_match(top, below, check)
        return _read_matches(located, positions, is_ascii=is_ascii) if located else None

    async with aclosing(matches) as files:
        async for below, positions in files:
            if found := await asyncio.to_thread(read, below, positions):
                yield found
    if is_single or is_ascii:
        return
    unsure = [Path(path).parts for path in candidates or ()]
    if candidates is None:
        async with aclosing(ripgrep.list_non_utf8_files(program, directory.path)) as paths:
            unsure = [below async for below in paths]
    legacy = await asyncio.to_thread(_legacy_files, top, unsure, check)
    if legacy:
        async with aclosing(_legacy_hits(legacy, search, answer)) as hits:
            async for hit in hits:
                yield hit


async def _candidates(program: str, directory: Located, search: GrepRequest) -> list[str] | None:
    """Return the only files that may match, in any encoding; None if they are too many or unknown."""
    literal = ripgrep.required_literal(search.pattern, ignore_case=search.ignore_case)
    if len(literal) >= MIN_LITERAL:
        expressions = ripgrep.expressions_of_text(literal)
    elif ripgrep.is_unanchored_non_ascii(search.pattern):
        expressions = ripgrep.expressions_of_pattern(search.pattern)
    else:
        return None
    return await ripgrep.list_candidates(program, directory.path, expressions, ignore_case=search.ignore_case)


def _legacy_files(top: Located, files: Sequence[tuple[str, ...]], check: IgnoreCheck) -> list[Located]:
    """Return those of `files` below `top` that are in an encoding that ripgrep does not know, in order."""
    located = [file for below in files if (file := _filter_match(top, below, check)) and _legacy_codec(file)]
    return sorted(located, key=lambda file: file.parts)


def _filter_match(top: Located, below: tuple[str, ...], check: IgnoreCheck) -> Located | None:
    """Locate a file of ripgrep's; None if the rules of a walk ignore it."""
    if check.ignores_file(below):
        return None
    located = top
    for name in below:
        located = located.child(name)
    return located


def _read_matches(located: Located, positions: Sequence[tuple[int, int]], *, is_ascii: bool) -> FileMatches | None:
    """Read a file of ripgrep's. None for a binary file, and for one that is not UTF-8 unless the pattern `is_ascii`."""
    decoded = _decode(located)
    if decoded is None or (decoded[0].is_legacy and not is_ascii):
        return None
    encoding, text = decoded
    lines = _split(text)
    codec = encoding.codec if encoding.is_legacy else "utf-8"
    # The file may have changed since it was searched.
    existing = [
        Position(line - 1, _character(lines[line - 1], column, codec))
        for line, column in positions
        if line <= len(lines)
    ]
    return FileMatches(located, lines, existing)


def _character(line: str, column: int, codec: str) -> int:
    """Return the 0-based character at a 1-based byte of a line."""
    return len(line.encode(codec, errors="replace")[: column - 1].decode(codec, errors="ignore"))


async def _legacy_hits(files: Sequence[Located], search: GrepRequest, answer: GrepOutput) -> Hits:
    """Search the files that `read_files` decodes in an encoding that ripgrep does not know with Python."""
    try:
        async with aclosing(_hits_in(files, search)) as hits:
            async for hit in hits:
                yield hit
    except WorkerError as error:
        if error.code != "INVALID_ARGUMENT":
            raise
        answer.notes.append(f"{len(files)} files that are not UTF-8 were not searched: {error.message}")


async def _python_hits(top: Located, search: GrepRequest) -> Hits:
    files = [top] if is_file(top.path) else await in_thread(lambda scan: _files(Walk(top, scan)))
    async with aclosing(_hits_in(files, search)) as hits:
        async for hit in hits:
            yield hit


async def _hits_in(files: Sequence[Located], search: GrepRequest) -> Hits:
    async with matcher([search.pattern], ignore_case=search.ignore_case, seconds=search.seconds) as match:
        await match([])  # an invalid pattern is an error even without files
        start = 0
        while start < len(files):
            batch, start = await asyncio.to_thread(_read_batch, files, start)
            matches = await match([text.removesuffix("\n") for _, text in batch])
            for (located, text), positions in zip(batch, matches, strict=True):
                if positions:
                    yield FileMatches(located, _split(text), positions)


def _files(walk: Walk) -> list[Located]:
    return [entry.located for entry in walk.entries() if entry.kind == "file"]


def _read_batch(files: Sequence[Located], start: int) -> tuple[list[tuple[Located, str]], int]:
    """Read text files from `start` until they fill one request; return them and the next index."""
    batch: list[tuple[Located, str]] = []
    size = 0
    while start < len(files) and size < _BATCH_CHARACTERS:
        text = _text(files[start])
        if text:
            batch.append((files[start], text))
            size += len(text)
        start += 1
    return batch, start


def _text(located: Located) -> str | None:
    """Return the text of a file; None if it cannot be read, is binary or too large."""
    decoded = _decode(located)
    return decoded and decoded[1]


def _decode(located: Located) -> tuple[Encoding, str] | None:
    """Return the encoding and the text of a file; None if it cannot be read, is binary or too large."""
    try:
        with open_file(located) as stream:
            data = stream.read(SAMPLE_BYTES)
            encoding = sniff_encoding(data, charset=lambda: configured_codec(located))
            if encoding is None:
                return None
            if len(data) == SAMPLE_BYTES:  # Linux refuses a large read of some files in `/proc`, which are short
                data += stream.read(MAX_SEARCHED_BYTES + 1 - len(data))
    except (ToolError, OSError):
        return None
    return (encoding, data.decode(encoding.codec, "replace")) if len(data) <= MAX_SEARCHED_BYTES else None


def _legacy_codec(located: Located) -> str:
    """Return the codec of a file that is not UTF-8 and has no byte order mark; empty for others."""
    try:
        with open_file(located) as stream:
            encoding = sniff_encoding(stream.read(SAMPLE_BYTES), charset=lambda: configured_codec(located))
    except (ToolError, OSError):
        return ""
    return encoding.codec if encoding and encoding.is_legacy else ""


def _split(text: str) -> list[str]:
    return [line.removesuffix("\r") for line in text.removesuffix("\n").split("\n")]


async def _section_starts(hit: FileMatches, match: Match) -> list[Boundary]:
    """Return the first lines of sections, which `match` finds."""
    [positions] = await match(["\n".join(hit.lines)])
    return flat_boundaries(hit.lines, [position.line for position in positions])


def _block(hit: FileMatches, starts: list[Boundary] | None, context: int, budget: int) -> tuple[str, int]:
    """Return the block of one file, cut to the size `budget`, and the number of its matches.

    A matching line begins with `N:`, a context line with `N-`; sections follow each group. Sections begin at `starts`;
    if it is None, they follow from the file type.
    """
    if starts is None:
        starts = find_boundaries(hit.lines, hit.located.path.suffix.lower())
    block, count = [hit.located.shown], 0
    remaining = budget - size_of(hit.located.shown)
    columns = {position.line + 1: position.column for position in hit.positions}
    for group in _groups(list(columns), context, len(hit.lines)):
        matching = [number for number in group if number in columns]
        sections = {section_at(number, starts, len(hit.lines)) for number in matching}
        numbered = [(_line(number, hit.lines[number - 1], columns.get(number)), number in columns) for number in group]
        for section in sorted(filter(None, sections), key=lambda section: (section.start, section.end)):
            title = _short(section.title, 80)
            line = f"  (section `{title}` starts at line {section.start} and ends at line {section.end})"
            numbered.append((line, False))
        for line, is_match in [*numbered, ("--", False)]:
            remaining -= size_of(line) + SEPARATOR_SIZE
            if remaining < 0:
                return "\n".join(block), count
            block.append(line)
            count += is_match
    return "\n".join(block[:-1]), count


def _groups(matches: list[int], context: int, total: int) -> list[range]:
    """Return the ranges of lines to show: matches with context, merged if they touch."""
    groups: list[range] = []
    for number in matches:
        start, stop = max(1, number - context), min(total, number + context) + 1
        if groups and start <= groups[-1].stop:
            groups[-1] = range(groups[-1].start, max(stop, groups[-1].stop))
        else:
            groups.append(range(start, stop))
    return groups


def _line(number: int, text: str, column: int | None) -> str:
    """Return a line; a long one with a match is cut around the match."""
    if column is None:
        return f"{number}- {_short(text, MAX_LINE_CHARACTERS)}"
    if len(text) <= MAX_LINE_CHARACTERS:
        return f"{number}: {text}"
    start = min(max(0, column - MAX_LINE_CHARACTERS // 2), len(text) - MAX_LINE_CHARACTERS)
    stop = start + MAX_LINE_CHARACTERS
    shown = f"{'...' if start else ''}{text[start:stop]}{'...' if stop < len(text) else ''}"
    return f"{number}: {shown} (match at character {column + 1:,} of {len(text):,})"


def _short(text: str, limit: int) -> str:
    return text if len(text) <= limit else f"{text[:limit]}... ({len(text):,} characters)"
