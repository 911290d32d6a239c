"""Parse the fields in the text of a log entry: dependencies, blocked, superseded."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Final

from workbench_handlers.notes.headings import find_references, shorten, without_code

# A log is untrusted text: each of these takes linear time on any line.
# `**Dependencies:** LOG-001, LOG-002 (why)`, `- **Status:** blocked`; bold, with a colon, or in capitals
_FIELD: Final = re.compile(
    r"""\s{0,8}(?:[-*+>]\s{1,3})?(?:\*\*|__)?(?:
        (?P<status>Status)
      | (?P<superseded>Superseded\s{1,3}by)
      | (?P<depends>Dependenc(?:y|ies)|Depends\s{1,3}on)
      | (?P<blocked>Blocked(?:\s{1,3}(?:by|on))?|Hit\s{1,3}(?:a\s{1,3})?(?:wall|dead\s{1,3}end|roadblock))
    )\b(?P<end>\s{0,3}:(?:\*\*|__)?|(?:\*\*|__)\s{0,3}:?)?(?P<value>.*)""",
    re.VERBOSE | re.IGNORECASE,
)
_HIT_WALL: Final = re.compile(r"\bhit\s{1,3}(?:a\s{1,3})?(?:wall|dead\s{1,3}end|roadblock)\b", re.IGNORECASE)
_ITEM: Final = re.compile(r"\s{0,8}[-*+]\s")
_BRACKETS: Final = re.compile(r"\([^()]*\)")
_NO_VALUE: Final = re.compile(r"\W*(?:none|nothing|no|n/a|false|resolved)\s*(?:[(.,;\u2014-].*)?$", re.IGNORECASE)
_OBSOLETE: Final = re.compile(r"\W*(?:obsolete|deprecated|superseded|abandoned|archived)\b", re.IGNORECASE)
_BLOCKED: Final = re.compile(r"\W*blocked\b", re.IGNORECASE)
MAX_FIELD_LINE: Final = 2000
"""Maximum characters of a line with a field; the rest of it is text."""


@dataclass(slots=True)
class Body:
    """The fields of one entry's text."""

    superseded_by: list[str] = field(default_factory=list)
    depends_on: list[str] = field(default_factory=list)
    blocked: str = ""
    is_obsolete: bool = False


def parse_body(lines: Iterable[str]) -> Body:
    """Return the fields in the lines of an entry without its heading and its code blocks."""
    body = Body()
    in_list = has_items = False  # the list below an empty `**Dependencies:**`
    for line in lines:
        if in_list and _ITEM.match(line):
            body.depends_on += _references(line)
            has_items = True
            continue
        in_list = in_list and not line.strip() and not has_items
        plain = without_code(line[:MAX_FIELD_LINE])
        if (match := _FIELD.match(plain)) and _is_field(match):
            in_list, has_items = _add_field(body, match), False
        elif not body.blocked and (wall := _HIT_WALL.search(plain)):
            body.blocked = _reason(line[max(0, wall.start() - 80) :])
    return body


def _is_field(match: re.Match[str]) -> bool:
    """Return whether a line is a field, not a sentence: the name ends with a colon or bold text, or is in capitals."""
    name = match["status"] or match["superseded"] or match["depends"] or match["blocked"]
    return bool(match["end"]) or name.split()[0].isupper()


def _add_field(body: Body, match: re.Match[str]) -> bool:
    """Add a field; return whether a list with its values may follow."""
    value = match["value"]
    if match["depends"]:
        body.depends_on += _references(value)
        return not value.strip()
    if match["superseded"]:
        body.superseded_by += _references(value)
    elif match["status"]:
        successors = _references(value) if "superseded" in value.lower() else []
        body.superseded_by += successors
        body.is_obsolete |= bool(_OBSOLETE.match(value)) and not successors
        if _BLOCKED.match(value):
            body.blocked = body.blocked or _reason(value)
    elif not _NO_VALUE.match(value):
        body.blocked = body.blocked or _reason(match[0])
    return False


def _references(text: str) -> list[str]:
    """Return the entries that a text names. Those in brackets are reasons and do not count."""
    return find_references(_BRACKETS.sub(" ", text))


def _reason(line: str) -> str:
    return shorten(line.replace("**", "").strip(" \t-*_>:"))
