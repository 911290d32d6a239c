"""Parse the headings of a work log: sections, entries, and the marks in an entry's heading."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final

from workbench_handlers.files.sections import after_fence

MAX_TITLE_CHARACTERS: Final = 200
"""Maximum characters of a title, type, task, date or reason."""
MAX_REFERENCES: Final = 20
"""Maximum references of one kind in an entry; only the first are kept."""

# A log is untrusted text: each of these takes linear time on any line.
_SECTION: Final = re.compile(r"##\s+([^\s#].*)")  # `## Decisions`
# `### [LOG-012] - [PLAN] - Title - Task: NAME`, any part of it between `~~`
_ENTRY: Final = re.compile(r"###\s+(~~)?\[(LOG-\d+)\](?:~~)?\s*-\s*(~~)?\[([^\]]+)\](?:~~)?\s*-\s*(\S.*)")
_ENTRY_LIKE: Final = re.compile(r"#{1,6}\s+~{0,2}\[?LOG-\d+", re.IGNORECASE)
_TASK: Final = re.compile(r"(?<=\s)-\s+Task:\s*(\S.*)")  # `- Task: NAME`
_DATE: Final = re.compile(r"\*\*(?:Date|Timestamp):\*\*\s*(\S+)")  # `**Date:** 2026-02-17`
_FENCE: Final = re.compile(r"\s{0,3}(`{3,}|~{3,})")
_CODE: Final = re.compile(r"`[^`]*`")
_MARK: Final = re.compile(
    r"""\b(?:
        (?P<superseded>SUPERSEDED\s{1,3}BY)(?=[:\s*]{1,8}LOG-\d)
      | (?P<depends>DEPENDS\s{1,3}ON)(?=[:\s*]{1,8}LOG-\d)
      | (?P<blocked>(?-i:BLOCKED)|HIT\s{1,3}(?:A\s{1,3})?(?:WALL|DEAD\s{1,3}END|ROADBLOCK))
      | (?P<obsolete>(?-i:DEPRECATED|OBSOLETE|ARCHIVED|SUPERSEDED))
    )\b""",
    re.VERBOSE | re.IGNORECASE,
)
_REFERENCE: Final = re.compile(r"\bLOG-\d{1,12}\b")

Heading = tuple[int, str, re.Match[str] | None]
"""A 1-based line, its kind (`section`, `entry` or `odd`), and its match."""


@dataclass(frozen=True, slots=True)
class EntryHeading:
    """The parts of one entry's heading. `blocked` is the mark with its reason; empty if it is not blocked."""

    id: str
    type: str
    title: str
    task: str | None = None
    superseded_by: tuple[str, ...] = ()
    depends_on: tuple[str, ...] = ()
    blocked: str = ""
    is_struck: bool = False
    is_obsolete: bool = False


def find_headings(lines: Sequence[str], step: Callable[[], None]) -> tuple[list[Heading], set[int]]:
    """Return the headings, and the lines (1-based) inside of code fences. `step` is called for each line."""
    headings: list[Heading] = []
    fenced: set[int] = set()
    fence = ""
    for number, line in enumerate((raw_line.removesuffix("\r") for raw_line in lines), 1):
        step()
        if fence:
            fenced.add(number)
        if not line.lstrip().startswith(("#", "`", "~")):
            continue
        if mark := _FENCE.match(line):
            fence = after_fence(fence, mark[1], line)
        elif entry := _ENTRY.match(line):
            # Logs quote each other, so an unclosed fence must not hide the following entries.
            if not fence or (number > 1 and lines[number - 2].strip() in {"", "---"} and _is_dated(lines, number)):
                fence = ""
                headings.append((number, "entry", entry))
        elif not fence and (section := _SECTION.match(line)):
            headings.append((number, "section", section))
        elif not fence and _ENTRY_LIKE.match(line):
            headings.append((number, "odd", None))
    return headings, fenced


def parse_entry_heading(match: re.Match[str]) -> EntryHeading:
    """Return the parts of a heading, without its marks.

    `[LOG-1] - [DECISION] - Title - Task: A - **SUPERSEDED BY: LOG-3**` is task A, superseded by LOG-3.
    """
    text = match[5].rstrip()
    plain = without_code(text)
    marks = [mark for mark in _MARK.finditer(plain) if _is_set_apart(plain, mark.start())]
    task = _TASK.search(plain)
    cuts = [mark.start() for mark in marks if not _is_first(plain, mark.start())]
    ends = sorted([*cuts, *([task.start()] if task else []), len(text)])

    def part(start: int) -> str:
        end = ends[bisect_right(ends, start)]
        return text[start:end] if end in (len(text), task and task.start()) else _without_separator(text[start:end])

    title = part(0).strip()
    type_ = match[4].strip()
    starts = {kind: [mark.start() for mark in marks if mark.lastgroup == kind] for kind in _MARK.groupindex}
    blocked = [part(start).replace("**", "").rstrip(" ])") for start in starts["blocked"]]
    is_struck = bool(match[1] or match[3]) or _is_struck(title, text)
    return EntryHeading(
        shorten(match[2]),
        shorten(type_),
        shorten(title.strip("~") if is_struck else title),
        shorten(part(task.start(1)).strip().strip("~")) if task else None,
        unique([name for start in starts["superseded"] for name in find_references(part(start))]),
        unique([name for start in starts["depends"] for name in find_references(part(start))]),
        shorten(blocked[0]) if blocked else "BLOCKED" if type_ == "BLOCKED" else "",
        is_struck,
        bool(starts["obsolete"]) or type_ in {"DEPRECATED", "OBSOLETE", "ARCHIVED"},
    )


def _is_struck(title: str, text: str) -> bool:
    """Return whether the whole title is between `~~`, alone or together with the next parts of the heading."""
    return title.startswith("~~") and text.find("~~", 2) >= len(title) - 2


def _is_first(text: str, position: int) -> bool:
    """Return whether a mark is the beginning of the title: `**BLOCKED**: no key`."""
    return position < 10 and not text[:position].strip(" *_([~")


def _is_set_apart(text: str, position: int) -> bool:
    """Return whether a mark is first, or follows punctuation such as `-`, `*` or `(`, and so is not in a sentence."""
    before = text[max(0, position - 10) : position].rstrip()
    return _is_first(text, position) or before.endswith(("-", "*", "_", "(", "[", "–", "—", ":", "|"))  # noqa: RUF001


def _without_separator(text: str) -> str:
    """Return a part of a heading without the separator and the emphasis that begin the next part."""
    return text.rstrip().rstrip("*_([~").rstrip().rstrip("-–—|:").rstrip()  # noqa: RUF001


def read_date(line: str) -> str | None:
    """Return the date of a line `**Date:** 2026-02-17`; None for others."""
    match = _DATE.match(line)
    return shorten(match[1]) if match else None


def _is_dated(lines: Sequence[str], heading: int) -> bool:
    return any(_DATE.match(line) for line in lines[heading : heading + 3])


def is_entry(line: str) -> bool:
    """Return whether a line is the heading of an entry."""
    return _ENTRY.match(line) is not None


def section_title(match: re.Match[str]) -> str:
    """Return the title of a section."""
    return shorten(match[1].rstrip())


def without_code(line: str) -> str:
    """Return a line with its inline code blanked, so that positions stay."""
    return _CODE.sub(lambda code: " " * len(code[0]), line)


def find_references(text: str) -> list[str]:
    """Return the entries that a text names, such as `LOG-003`."""
    return _REFERENCE.findall(text)


def unique(names: Sequence[str]) -> tuple[str, ...]:
    """Return the first names, each once."""
    return tuple(dict.fromkeys(names))[:MAX_REFERENCES]


def shorten(text: str) -> str:
    """Return a text cut to the length of a title."""
    return text if len(text) <= MAX_TITLE_CHARACTERS else f"{text[:MAX_TITLE_CHARACTERS]}..."
