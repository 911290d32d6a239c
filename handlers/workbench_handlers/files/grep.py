"""Finding lines by a regular expression, and saying in which section each stands."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Callable, Sequence
from contextlib import AsyncExitStack, aclosing
from dataclasses import dataclass, field
from typing import Final

from toolmason_runtime import ToolCall, ToolError, size_of, text_budget

from workbench_handlers.files import ripgrep
from workbench_handlers.files.match import MATCH_SECONDS, Match, Place, matcher
from workbench_handlers.files.sections import Boundary, boundaries, flat, section_at
from workbench_handlers.workspace.decode import SAMPLE_BYTES, decode, sniff_encoding
from workbench_handlers.workspace.ignore import IgnoreCheck
from workbench_handlers.workspace.open import open_file
from workbench_handlers.workspace.roots import Located
from workbench_handlers.workspace.scan import PROGRESS_SECONDS, in_thread, telling
from workbench_handlers.workspace.walk import Walk
from workbench_handlers.workspace.worker import WorkerError

MAX_MATCHES: Final = 200
"""Matching lines in one answer."""
MAX_LINE_CHARACTERS: Final = 400
"""Characters shown of one line."""
GREP_SECONDS: Final = 30.0
"""How long one search may take."""

SEPARATOR_SIZE: Final = 8
"""Size of the line breaks between two lines or blocks."""

_BATCH_CHARACTERS: Final = 1_000_000
_MORE: Final = "there are more: narrow `pattern` or `search_path` to see them"


@dataclass(frozen=True, slots=True, kw_only=True)
class Search:
    """What is looked for, and how the answer is to look."""

    pattern: str
    ignore_case: bool = False
    context: int = 0
    """Lines shown before and after each match."""
    section_patterns: tuple[str, ...] = ()
    """Patterns of the lines at which sections begin; none: by the kind of file."""
    seconds: float = MATCH_SECONDS
    """How long expressions may run in Python."""
    progress_seconds: float = PROGRESS_SECONDS
    """How often progress is told."""


@dataclass(frozen=True, slots=True)
class Hit:
    """A file with its lines, and where they match."""

    located: Located
    lines: list[str]
    places: list[Place]


Hits = AsyncGenerator[Hit, None]


@dataclass(slots=True)
class Answer:
    """The answer as it grows, until it is full."""

    blocks: list[str] = field(default_factory=list)
    matches: int = 0
    files: int = 0
    left: int = field(default_factory=text_budget)
    """The size that further blocks may have; see `size_of`."""
    notes: list[str] = field(default_factory=list)
    """What is missing, and why."""

    @property
    def is_full(self) -> bool:
        """Whether no more may be added."""
        return self.matches >= MAX_MATCHES or self.left <= 0

    def add(self, block: str, matches: int) -> None:
        """Add what was found in one file."""
        self.blocks.append(block)
        self.matches += matches
        self.files += 1
        self.left -= size_of(block) + SEPARATOR_SIZE

    def text(self) -> str:
        """Return the whole answer. Its first line counts the matches and says what is missing."""
        if not self.matches:
            return "; ".join(self.notes) or "no matches"
        count = f"{self.matches} matching lines in {self.files} files" if self.matches > 1 else "1 matching line"
        return f"[{'; '.join([count, *self.notes])}]\n" + "\n\n".join(self.blocks)


async def grep(top: Located, search: Search, program: str, call: ToolCall) -> str:
    """Search the file or folder `top`, with the ripgrep at `program` or, if that is empty, with Python.

    Raises:
        ToolError: a pattern is no regular expression.
    """
    _check(search)
    start = asyncio.get_running_loop().time()
    if program:
        try:
            return await _answer(lambda answer: _ripgrep_hits(top, search, program, answer), search, call, start)
        except (ripgrep.PatternRefusedError, OSError):  # what Rust lacks, Python may have; or it is gone
            pass
    return await _answer(lambda _: _python_hits(top, search), search, call, start)


def _check(search: Search) -> None:
    for pattern in (search.pattern, *search.section_patterns):
        if not pattern or "\0" in pattern or "\n" in pattern:
            message = "a pattern must not be empty or hold a NUL or a line break: it is matched within one line"
            raise ToolError(message, code="INVALID_ARGUMENT")


async def _answer(find: Callable[[Answer], Hits], search: Search, call: ToolCall, start: float) -> str:
    """Collect hits within the time allowed, and tell progress meanwhile, which is the time since `start`."""
    answer, clock = Answer(), asyncio.get_running_loop().time
    running = asyncio.ensure_future(_within_time(find(answer), search, answer))

    def progress() -> tuple[float, str]:
        elapsed = clock() - start
        return elapsed, f"{answer.matches:,} matching lines in {answer.files:,} files after {elapsed:.0f} seconds"

    try:
        await telling(running, call, progress, every=search.progress_seconds)
    finally:
        running.cancel()
        await asyncio.gather(running, return_exceptions=True)
    return answer.text()


async def _within_time(hits: Hits, search: Search, answer: Answer) -> None:
    try:
        async with asyncio.timeout(GREP_SECONDS), aclosing(hits) as found:
            await _collect(found, search, answer)
    except TimeoutError:
        answer.notes.append(_late(search))
    except WorkerError as error:
        if error.code != "TIMEOUT":
            raise
        answer.notes.append(_late(search))


def _late(search: Search) -> str:
    patterns = "`pattern`, `section_patterns`" if search.section_patterns else "`pattern`"
    return f"stopped after the time allowed for one search: simplify {patterns} or narrow `search_path`"


async def _collect(hits: Hits, search: Search, answer: Answer) -> None:
    """Add hits to the answer until it is full."""
    async with AsyncExitStack() as stack:
        match = None
        if search.section_patterns:
            match = await stack.enter_async_context(matcher(search.section_patterns, seconds=GREP_SECONDS))
            await match([])  # a wrong pattern is an error even where nothing matches
        async for hit in hits:
            shown = hit.places[: MAX_MATCHES - answer.matches] if not answer.is_full else []
            if shown:
                starts = await _boundaries(hit, match)
                visible = Hit(hit.located, hit.lines, shown)
                block, count = await asyncio.to_thread(_block, visible, starts, search.context, answer.left)
                if count:
                    answer.add(block, count)
                shown = shown[:count]
            if len(shown) < len(hit.places):
                answer.notes.append(_MORE)
                return


async def _ripgrep_hits(top: Located, search: Search, program: str, answer: Answer) -> Hits:
    is_file = top.path.is_file()
    folder = Located(top.root, top.parts[:-1], "") if is_file else top
    check = IgnoreCheck(top)
    found = ripgrep.lines_found(
        program,
        folder.path,
        top.parts[-1] if is_file else "",
        search.pattern,
        ignore_case=search.ignore_case,
        most=MAX_MATCHES + 1,
    )
    if is_file and await asyncio.to_thread(_is_latin1, top):
        async with aclosing(_latin1_hits([top], search, answer)) as hits:
            async for hit in hits:
                yield hit
        return
    async with aclosing(found) as files:
        async for below, places in files:
            located = top if is_file else await asyncio.to_thread(_kept, top, below, check)
            found_here = await asyncio.to_thread(_hit, located, places) if located else None
            if found_here:
                yield found_here
    if is_file:
        return
    latin1: list[Located] = []
    async with aclosing(ripgrep.not_utf8(program, folder.path)) as paths:
        async for below in paths:
            kept = await asyncio.to_thread(_kept, top, below, check)
            is_latin1 = kept is not None and await asyncio.to_thread(_is_latin1, kept)
            if kept and is_latin1:
                latin1.append(kept)
    if latin1:
        async with aclosing(_latin1_hits(latin1, search, answer)) as hits:
            async for hit in hits:
                yield hit


def _kept(top: Located, below: tuple[str, ...], check: IgnoreCheck) -> Located | None:
    """Give the place of what ripgrep found, unless the rules of a walk leave it out."""
    if check.leaves_out(below):
        return None
    located = top
    for name in below:
        located = located.child(name)
    return located


def _hit(located: Located, places: Sequence[tuple[int, int]]) -> Hit | None:
    """Read what ripgrep found; give nothing if it is no text, or is Latin-1, in which ripgrep does not find all."""
    text = None if _is_latin1(located) else _text(located)
    if text is None:
        return None
    lines = _split(text)
    # The file may have changed since it was searched.
    there = [Place(line - 1, _character(lines[line - 1], column)) for line, column in places if line <= len(lines)]
    return Hit(located, lines, there)


def _character(line: str, column: int) -> int:
    """Give the 0-based character at a 1-based byte of a line."""
    return len(line.encode("utf-8", errors="replace")[: column - 1].decode("utf-8", errors="ignore"))


async def _latin1_hits(files: Sequence[Located], search: Search, answer: Answer) -> Hits:
    """Search with Python what read_files shows as Latin-1."""
    try:
        async with aclosing(_hits_in(files, search)) as hits:
            async for hit in hits:
                yield hit
    except WorkerError as error:
        if error.code != "INVALID_ARGUMENT":
            raise
        answer.notes.append(f"{len(files)} files that are not UTF-8 were not searched: {error.message}")


async def _python_hits(top: Located, search: Search) -> Hits:
    files = [top] if top.path.is_file() else await in_thread(lambda scan: _files(Walk(top, scan)))
    async with aclosing(_hits_in(files, search)) as hits:
        async for hit in hits:
            yield hit


async def _hits_in(files: Sequence[Located], search: Search) -> Hits:
    async with matcher([search.pattern], ignore_case=search.ignore_case, seconds=search.seconds) as match:
        await match([])  # a wrong pattern is an error even where there is nothing to search
        start = 0
        while start < len(files):
            batch, start = await asyncio.to_thread(_batch, files, start)
            found = await match([text for _, text in batch])
            for (located, text), places in zip(batch, found, strict=True):
                if places:
                    yield Hit(located, _split(text), places)


def _files(walk: Walk) -> list[Located]:
    return [found.located for found in walk.entries() if found.kind == "file"]


def _batch(files: Sequence[Located], start: int) -> tuple[list[tuple[Located, str]], int]:
    """Read text files from `start` on until they are enough for one question; give where to go on."""
    batch: list[tuple[Located, str]] = []
    size = 0
    while start < len(files) and size < _BATCH_CHARACTERS:
        text = _text(files[start])
        if text:
            batch.append((files[start], text.removesuffix("\n")))
            size += len(text)
        start += 1
    return batch, start


def _text(located: Located) -> str | None:
    """Give the text of a file, or None if it cannot be read, is binary or too large."""
    try:
        with open_file(located) as stream:
            data = stream.read(SAMPLE_BYTES)
            if sniff_encoding(data) is None:
                return None
            data += stream.read(ripgrep.MAX_SEARCHED_BYTES + 1 - len(data))
    except (ToolError, OSError):
        return None
    return decode(data) if len(data) <= ripgrep.MAX_SEARCHED_BYTES else None


def _is_latin1(located: Located) -> bool:
    try:
        with open_file(located) as stream:
            encoding = sniff_encoding(stream.read(SAMPLE_BYTES))
    except (ToolError, OSError):
        return False
    return encoding is not None and encoding.codec == "latin-1"


def _split(text: str) -> list[str]:
    return [line.removesuffix("\r") for line in text.removesuffix("\n").split("\n")]


async def _boundaries(hit: Hit, match: Match | None) -> list[Boundary]:
    """Find where sections begin: where `match` says, or by the kind of file."""
    if match is None:
        return await asyncio.to_thread(boundaries, hit.lines, hit.located.path.suffix.lower())
    [places] = await match(["\n".join(hit.lines)])
    return flat(hit.lines, [place.line for place in places])


def _block(hit: Hit, starts: list[Boundary], context: int, budget: int) -> tuple[str, int]:
    """Print the matches of one file: `N:` before a matching line, `N-` before context, sections after each group.

    Return the block, cut to the size `budget`, and how many matches are in it.
    """
    block, count = [hit.located.shown], 0
    left = budget - size_of(hit.located.shown)
    columns = {place.line + 1: place.column for place in hit.places}
    for group in _groups(list(columns), context, len(hit.lines)):
        matching = [number for number in group if number in columns]
        sections = {section_at(number, starts, len(hit.lines)) for number in matching}
        numbered = [(_line(number, hit.lines[number - 1], columns.get(number)), number in columns) for number in group]
        numbered += [
            (f"  (section `{_short(each.title, 80)}` starts at line {each.start} and ends at line {each.end})", False)
            for each in sorted((each for each in sections if each), key=lambda each: (each.start, each.end))
        ]
        for line, is_match in [*numbered, ("--", False)]:
            left -= size_of(line) + SEPARATOR_SIZE
            if left < 0:
                return "\n".join(block), count
            block.append(line)
            count += is_match
    return "\n".join(block[:-1]), count


def _groups(matches: list[int], context: int, total: int) -> list[range]:
    """Give the runs of lines to show: matches with their context, joined where they touch."""
    groups: list[range] = []
    for number in matches:
        start, stop = max(1, number - context), min(total, number + context) + 1
        if groups and start <= groups[-1].stop:
            groups[-1] = range(groups[-1].start, max(stop, groups[-1].stop))
        else:
            groups.append(range(start, stop))
    return groups


def _line(number: int, text: str, column: int | None) -> str:
    """Print a line; of a long one with a match, what stands around that."""
    if column is None:
        return f"{number}- {_short(text, MAX_LINE_CHARACTERS)}"
    if len(text) <= MAX_LINE_CHARACTERS:
        return f"{number}: {text}"
    start = min(max(0, column - MAX_LINE_CHARACTERS // 2), len(text) - MAX_LINE_CHARACTERS)
    stop = start + MAX_LINE_CHARACTERS
    shown = f"{'...' if start else ''}{text[start:stop]}{'...' if stop < len(text) else ''}"
    return f"{number}: {shown} (match at character {column + 1:,} of {len(text):,})"


def _short(text: str, most: int) -> str:
    return text if len(text) <= most else f"{text[:most]}... ({len(text):,} characters)"
