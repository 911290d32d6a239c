"""Finding lines by a regular expression, and saying in which section each stands."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Sequence
from contextlib import aclosing
from dataclasses import dataclass, field
from typing import Final

from toolwright_runtime import ToolCall, ToolError

from workbench import ripgrep
from workbench.decoding import decode
from workbench.ignoring import IgnoreCheck
from workbench.matching import MATCH_SECONDS, matcher
from workbench.opening import open_file
from workbench.reading import ANSWER_CHARACTERS
from workbench.roots import Located
from workbench.scanning import in_thread
from workbench.sections import Boundary, boundaries, flat, section_at
from workbench.walking import Walk
from workbench.worker import WorkerError

MOST_MATCHES: Final = 200
"""Matching lines in one answer."""
MOST_LINE_CHARACTERS: Final = 400
"""Characters shown of one line."""
GREP_SECONDS: Final = 30.0
"""How long one search may take."""

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


@dataclass(frozen=True, slots=True)
class Hit:
    """A file with its matching lines, 1-based."""

    located: Located
    lines: list[int]


@dataclass(slots=True)
class Answer:
    """The answer as it grows, until it is full."""

    blocks: list[str] = field(default_factory=list)
    matches: int = 0
    files: int = 0
    size: int = 0

    @property
    def is_full(self) -> bool:
        """Whether no more may be added."""
        return self.matches >= MOST_MATCHES or self.size >= ANSWER_CHARACTERS

    def add(self, block: str, matches: int) -> None:
        """Add what was found in one file."""
        self.blocks.append(block)
        self.matches += matches
        self.files += 1
        self.size += len(block)

    def text(self, ending: str) -> str:
        """Give the whole answer."""
        if not self.matches:
            return ending or "no matches"
        count = f"{self.matches} matching lines in {self.files} files" if self.matches > 1 else "1 matching line"
        return "\n\n".join([*self.blocks, f"[{count}{'; ' + ending if ending else ''}]"])


async def grep(top: Located, search: Search, program: str, call: ToolCall) -> str:
    """Search the file or folder `top`, with the ripgrep at `program` or, if that is empty, with Python.

    Raises:
        ToolError: the pattern is no regular expression.
    """
    _check(search)
    if program:
        try:
            return await _within_time(_ripgrep_hits(top, search, program, call), search)
        except (ripgrep.PatternRefusedError, OSError):  # what Rust lacks, Python may have; or it is gone
            pass
    return await _within_time(_python_hits(top, search, call), search)


def _check(search: Search) -> None:
    for pattern in (search.pattern, *search.section_patterns):
        if not pattern or "\0" in pattern or "\n" in pattern:
            message = "a pattern must not be empty or hold a NUL or a line break: it is matched within one line"
            raise ToolError(message, code="INVALID_ARGUMENT")


async def _within_time(hits: AsyncGenerator[Hit, None], search: Search) -> str:
    answer = Answer()
    try:
        async with asyncio.timeout(GREP_SECONDS):
            return answer.text(await _collect(hits, search, answer))
    except TimeoutError:
        pass
    except WorkerError as error:
        if error.code != "TIMEOUT":
            raise ToolError(f"`{search.pattern}`: {error.message}", code=error.code) from None
    return answer.text("stopped after the time allowed for one search: simplify `pattern` or narrow `search_path`")


async def _collect(hits: AsyncGenerator[Hit, None], search: Search, answer: Answer) -> str:
    """Add hits to the answer until it is full; give a note on what is missing."""
    async with aclosing(hits) as found:
        async for hit in found:
            lines = await asyncio.to_thread(_lines, hit.located)
            if lines is None:
                continue
            if answer.is_full:
                return _MORE
            there = [
                number for number in hit.lines if number <= len(lines)
            ]  # it may have changed since it was searched
            shown = there[: MOST_MATCHES - answer.matches]
            if shown:
                starts = await _boundaries(hit.located, lines, search)
                answer.add(_block(hit.located, lines, shown, starts, search.context), len(shown))
            if len(shown) < len(there):
                return _MORE
    return ""


async def _ripgrep_hits(top: Located, search: Search, program: str, call: ToolCall) -> AsyncGenerator[Hit, None]:
    is_file = top.path.is_file()
    folder = Located(top.root, top.parts[:-1], "") if is_file else top
    target = top.parts[-1] if is_file else ""
    check = IgnoreCheck(top)
    files_found = 0
    found = ripgrep.lines_found(program, folder.path, target, search.pattern, ignore_case=search.ignore_case)
    async with aclosing(found) as files:
        async for below, lines in files:
            if is_file:
                yield Hit(top, lines)
            elif not await asyncio.to_thread(check.leaves_out, below):
                located = top
                for name in below:
                    located = located.child(name)
                files_found += 1
                await call.progress(files_found, None, f"matches in {files_found:,} files")
                yield Hit(located, lines)


async def _python_hits(top: Located, search: Search, call: ToolCall) -> AsyncGenerator[Hit, None]:
    files = [top] if top.path.is_file() else await in_thread(lambda scan: _files(Walk(top, scan)), call)
    async with matcher([search.pattern], ignore_case=search.ignore_case, seconds=search.seconds) as match:
        await match([])  # a wrong pattern is an error even where there is nothing to search
        start = 0
        while start < len(files):
            batch, start = await asyncio.to_thread(_batch, files, start)
            found = await match([text for _, text in batch])
            for (located, _), numbers in zip(batch, found, strict=True):
                if numbers:
                    yield Hit(located, [number + 1 for number in numbers])


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
            data = stream.read(ripgrep.MOST_SEARCHED_BYTES + 1)
    except (ToolError, OSError):
        return None
    return decode(data) if len(data) <= ripgrep.MOST_SEARCHED_BYTES else None


def _lines(located: Located) -> list[str] | None:
    text = _text(located)
    return None if text is None else [line.removesuffix("\r") for line in text.removesuffix("\n").split("\n")]


async def _boundaries(located: Located, lines: list[str], search: Search) -> list[Boundary]:
    if not search.section_patterns:
        return boundaries(lines, located.path.suffix.lower())
    async with matcher(search.section_patterns, seconds=search.seconds) as match:
        [numbers] = await match(["\n".join(lines)])
    return flat(lines, numbers)


def _block(located: Located, lines: list[str], matches: list[int], starts: list[Boundary], context: int) -> str:
    """Print the matches of one file: `N:` before a matching line, `N-` before context, sections after each group."""
    block = [located.shown]
    for group in _groups(matches, context, len(lines)):
        block += _group(lines, group, set(matches))
        sections = {section_at(number, starts, len(lines)) for number in group if number in set(matches)}
        block += [
            f"  (section `{_short(each.title, 80)}` starts at line {each.start} and ends at line {each.end})"
            for each in sorted((each for each in sections if each), key=lambda each: (each.start, each.end))
        ]
        block.append("--")
    return "\n".join(block[:-1])


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


def _group(lines: list[str], group: range, matches: set[int]) -> list[str]:
    return [
        f"{number}{':' if number in matches else '-'} {_short(lines[number - 1], MOST_LINE_CHARACTERS)}"
        for number in group
    ]


def _short(text: str, most: int) -> str:
    return text if len(text) <= most else f"{text[:most]}... ({len(text):,} characters)"
