"""Run ripgrep to locate matching lines; its output has only paths and positions.

The text of matches is read again through `workspace.open`, so a file that is replaced by a link reveals nothing.
"""

from __future__ import annotations

import asyncio
import os
import re
from collections.abc import AsyncGenerator, Sequence
from contextlib import aclosing, asynccontextmanager
from pathlib import Path
from typing import Final

import anyio
from toolmason_runtime.programs import Capture, Execution, Process

from workbench_handlers.files.match import MAX_SEARCHED_BYTES
from workbench_handlers.workspace.ignore import ALWAYS_IGNORED
from workbench_handlers.workspace.worker import bare_environment

MAX_UNSORTED: Final = 2_000
"""Maximum matching lines that are sorted here. Without an order, ripgrep searches with all processors."""
UNSORTED_SECONDS: Final = 25.0
"""Time limit of such a search, after which its matches are returned."""
CANDIDATE_SECONDS: Final = 4.0
"""Time limit of a list of candidates. With `UNSORTED_SECONDS` it is less than the limit of the whole search."""

_MAX_RECORD_LENGTH: Final = 1_000_000
_END_OF_LINE: Final = 1 << 62
"""A column after every line."""
_LOCATION_FLAGS: Final = (
    "--no-config",
    "--null",
    "--crlf",
    "--color=never",
    f"--max-filesize={MAX_SEARCHED_BYTES}",
    "--hidden",
    "--no-follow",
    "--no-require-git",
    "--no-ignore-global",
    "--no-ignore-dot",
    "--no-ignore-exclude",
    "--no-ignore-parent",
    *(f"--glob=!{name}" for name in sorted(ALWAYS_IGNORED)),
)
# Lines are never printed (`--max-columns=1`). With `--text` ripgrep skips no binary file: `grep` decides that.
_LINE_FLAGS: Final = (
    "--no-heading",
    "--with-filename",
    "--line-number",
    "--column",
    "--max-columns=1",
    "--no-max-columns-preview",
    "--text",
)
_SORTED: Final = "--sort=path"
_NEXT: Final = r"[\x80-\xBF]"
"""A continuation byte of UTF-8."""
_ENDS: Final = r"(?:[^\x80-\xBF]|$)"
_INVALID_UTF8: Final = "|".join(
    (
        r"[\xC0\xC1\xF5-\xFF]|\xE0[\x80-\x9F]|\xED[\xA0-\xBF]|\xF0[\x80-\x8F]|\xF4[\x90-\xBF]",
        *(rf"[\xC2-\xF4]{_ENDS}", rf"[\xE0-\xF4]{_NEXT}{_ENDS}", rf"[\xF0-\xF4]{_NEXT}{{2}}{_ENDS}"),
        *(rf"(?:^|[\x00-\x7F]){_NEXT}", rf"[\xC2-\xDF]{_NEXT}{{2}}"),
        *(rf"[\xE0-\xEF]{_NEXT}{{3}}", rf"[\xF0-\xF4]{_NEXT}{{4}}"),
    )
)
_INVALID_LINE: Final = f"(?-u:{_INVALID_UTF8})"
"""Matches in a line that is not valid UTF-8. The shorter `(?s:.)*` with `--invert-match` takes twice as long."""
# With `--crlf`, no expression matches an invalid byte after a carriage return.
_FILE_FLAGS: Final = ("--no-crlf", "--files-with-matches", "--text")
MAX_CANDIDATES: Final = 200
"""Maximum files that may match a pattern and are searched by their names."""
_MAX_CANDIDATE_CHARS: Final = 16_000
"""Maximum characters of all their names: they fit a command line on every system."""

Parts = tuple[str, ...]
"""A path relative to the directory of a search."""


Positions = list[tuple[int, int]]
"""The first match in each matching line: a 1-based line and a 1-based byte of its UTF-8."""

_ASCII_PATTERN: Final = re.compile(
    r"""(?: [^.\\\[(\x80-\U0010ffff]     # a literal character, `|`, `^`, `$`, or a quantifier
        | \\[!-/:;=?@\[-_{-~]           # an escaped punctuation character
        | \((?!\?)                      # a group without flags
        | \[[A-Za-z0-9_\ -]+\]          # a class of ASCII characters
    )*""",
    re.VERBOSE,
)


def is_ascii_pattern(pattern: str) -> bool:
    """Return whether a pattern matches only ASCII characters: then ripgrep finds the same in Latin-1 as in UTF-8."""
    return _ASCII_PATTERN.fullmatch(pattern) is not None


_PATTERN_PARTS: Final = re.compile(
    r"""(?P<literal> [A-Za-z0-9_ \-'",;:=/@%&<>!`] | \\(?P<escaped> [-'"!%&*+./:=?@,;^$|(){}\[\]] ) )
        (?P<optional> [?*{] )?
        | \\[wWsSdDbBntr][?*+]*      # matches something else
        | \[\^?[A-Za-z0-9_ \-]+\][?*+]*
        | [.^$?*+]
        | \{[0-9,]+\}""",
    re.VERBOSE,
)


def required_literal(pattern: str, *, ignore_case: bool) -> str:
    r"""Return the longest ASCII text that each match contains; empty if there is none, or the pattern has groups.

    Example: it is `def ` for `^\s*def \w+`.
    """
    best, run, place = "", "", 0
    while place < len(pattern):
        part = _PATTERN_PARTS.match(pattern, place)
        if part is None:
            return ""
        place = part.end()
        character = part["escaped"] or part["literal"] or ""
        # Letters that a character outside of ASCII equals without case: U+0130, U+0131, U+212A and U+017F.
        is_kept = character and not part["optional"] and not (ignore_case and character in "iIkKsS")
        run = run + character if is_kept else ""
        best = max(best, run, key=len)
        if part["optional"]:
            place -= 1
    return best


_UNANCHORED: Final = re.compile(
    r"""(?: [^\\\[(^$\r]                # a literal character, `.`, `|`, or a quantifier
        | \\[wWsSdD!-/:;=?@\[-_{-~]   # `\w`, `\s`, `\d`, or an escaped punctuation character
        | \((?!\?)                    # a group without flags
        | \[\^?[A-Za-z0-9_\ -]+\]     # a class of ASCII characters, or of all others
    )*""",
    re.VERBOSE,
)


def is_unanchored_non_ascii(pattern: str) -> bool:
    """Return whether a pattern has non-ASCII characters and no anchors, so that one run can list its candidates.

    Without anchors, each match with `--crlf` is also one without. Word boundaries would be slow. Few lines match most
    of these patterns.
    """
    return not pattern.isascii() and _UNANCHORED.fullmatch(pattern) is not None


class UnsupportedPatternError(Exception):
    """ripgrep does not support the pattern, or failed; Python may succeed."""


async def search_lines(
    program: str, directory: Path, targets: Sequence[str], pattern: str, *, ignore_case: bool, most: int
) -> AsyncGenerator[tuple[Parts, Positions], None]:
    """Yield the files of `targets` in the order of their paths, with their first `most` matching lines.

    `targets` are files below `directory`, or an empty name for all files. Without any, only the pattern is checked.

    Raises:
        UnsupportedPatternError: the pattern is not a Rust regular expression, or too large.
        TimeoutError: the search exceeded `UNSORTED_SECONDS`; its matches were yielded.
    """
    case = "--ignore-case" if ignore_case else "--case-sensitive"
    depth = [] if targets else ["--max-depth=0"]
    arguments = [*depth, *_LINE_FLAGS, f"--max-count={most}", case, "--", pattern]
    targets = targets or [""]
    try:
        files, is_complete = await _search_unsorted(program, directory, targets, arguments)
    except _TooManyError:
        pass  # the sorted search can stop at the first ones
    else:
        for parts in sorted(files, key=lambda parts: [os.fsencode(name) for name in parts]):
            yield parts, files[parts]
        if not is_complete:
            raise TimeoutError
        return
    arguments.insert(0, _SORTED)
    async with _running(program, directory, targets, arguments) as output, aclosing(_matches(output)) as matches:
        parts = ()
        positions: Positions = []
        async for where, position in matches:
            if positions and where != parts:
                yield parts, positions
                positions = []
            parts = where
            positions.append(position)
        if positions:
            yield parts, positions


_SYNTAX: Final = frozenset("\\.+*?()|[]{}^$")
"""The characters that Rust accepts with a backslash, other than `re.escape`, which escapes a space too."""


class _TooManyError(Exception):
    """Too many lines match, or too many files contain a text."""


async def _search_unsorted(
    program: str, directory: Path, targets: Sequence[str], arguments: Sequence[str]
) -> tuple[dict[Parts, Positions], bool]:
    """Return the matches by file, and whether they are complete.

    Raises:
        _TooManyError: there are too many.
    """
    files: dict[Parts, Positions] = {}
    count = 0
    try:
        async with asyncio.timeout(UNSORTED_SECONDS), _running(program, directory, targets, arguments) as output:
            async for parts, position in _matches(output):
                files.setdefault(parts, []).append(position)
                count += 1
                if count > MAX_UNSORTED:
                    raise _TooManyError
    except TimeoutError:
        return files, False
    return files, True


async def list_non_utf8_files(program: str, directory: Path) -> AsyncGenerator[Parts, None]:
    """Yield the files below `directory` that are not valid UTF-8, in any order. In them, ripgrep finds only ASCII."""
    async with _running(program, directory, [""], (*_FILE_FLAGS, "--", _INVALID_LINE)) as output:
        while path := await _record(output, b"\0"):
            yield _parts(path)


def expressions_of_text(literal: str) -> tuple[str, str]:
    """Return the expressions for candidates that contain an ASCII text, also in UTF-16."""
    texts = [f"\\{character}" if character in _SYNTAX else character for character in literal]
    # Two characters suffice: ripgrep finds a short text faster, and all candidates are searched again.
    return "".join(texts), r"\x00".join(texts[-2:])


def expressions_of_pattern(pattern: str) -> tuple[str, str]:
    """Return the expressions for candidates that match a non-ASCII pattern, or are not UTF-8.

    One run for both takes half of the time of two.
    """
    return _INVALID_LINE, pattern


async def list_candidates(
    program: str, directory: Path, expressions: Sequence[str], *, ignore_case: bool
) -> list[str] | None:
    """Return the files below `directory` that match one of `expressions`; None if they are too many, or take too long.

    Raises:
        UnsupportedPatternError: an expression is not a Rust regular expression, or too large.
    """
    case = "--ignore-case" if ignore_case else "--case-sensitive"
    arguments = (*_FILE_FLAGS, case, *(f"--regexp={expression}" for expression in expressions), "--")
    paths: list[str] = []
    left = _MAX_CANDIDATE_CHARS
    try:
        async with asyncio.timeout(CANDIDATE_SECONDS), _running(program, directory, [""], arguments) as output:
            while path := await _record(output, b"\0"):
                paths.append(os.fsdecode(path).removeprefix("./"))
                left -= len(paths[-1])
                if len(paths) > MAX_CANDIDATES or left < 0:
                    raise _TooManyError  # noqa: TRY301  it ends ripgrep
    except (_TooManyError, TimeoutError):
        return None
    return paths


@asynccontextmanager
async def _running(
    program: str, directory: Path, targets: Sequence[str], arguments: Sequence[str]
) -> AsyncGenerator[asyncio.StreamReader, None]:
    execution = Execution(
        argv=(program, *_LOCATION_FLAGS, *arguments, *(f"./{target}" for target in targets)),
        executable=program,
        cwd=str(directory),
        env=bare_environment(),
    )
    output, errors = asyncio.StreamReader(_MAX_RECORD_LENGTH), Capture(max_memory_bytes=10_000, max_file_bytes=0)
    process = Process(output, errors.write)
    try:
        await process.start(execution)
        yield output
        await process.finished()
        if process.exit_code not in {0, 1} and not (process.exit_code == 2 and _has_only_file_errors(errors)):
            raise UnsupportedPatternError
    finally:
        with anyio.CancelScope(shield=True):
            await process.end(at_once=True)


async def _matches(output: asyncio.StreamReader) -> AsyncGenerator[tuple[Parts, tuple[int, int]], None]:
    """Parse records until the end: a path, NUL, `LINE:COLUMN:` and a line feed.

    ripgrep omits the column of an empty match at the end of a file that has no final line feed.
    """
    last, parts = b"", Parts()
    while path := await _record(output, b"\0"):
        if path != last:  # the matches of a file follow each other
            last, parts = path, _parts(path)
        match (await _record(output, b"\n")).split(b":", 2):
            case [line, column, _] if column.isdigit():
                yield parts, (int(line), int(column))
            case [line, *_]:
                yield parts, (int(line), _END_OF_LINE)


async def _record(output: asyncio.StreamReader, ending: bytes) -> bytes:
    """Read up to `ending`; empty at the end, also if the last record lacks its ending."""
    try:
        return (await output.readuntil(ending))[: -len(ending)]
    except asyncio.IncompleteReadError:
        return b""


def _parts(path: bytes) -> Parts:
    return Path(os.fsdecode(path)).parts


def _has_only_file_errors(errors: Capture) -> bool:
    """Return whether every complete line is an error of a file: ripgrep starts these with its path, `./...`."""
    text = "".join(errors.texts())
    lines = text[: text.rfind("\n") + 1].splitlines()
    return bool(lines) and all(line.removeprefix("rg: ").startswith("./") for line in lines)
