"""Parse docstrings in the styles of Google, NumPy and Sphinx: the text, and the descriptions of parameters."""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Final

_SECTION: Final = re.compile(
    r"(?P<params>Args|Arguments|Parameters|Params|Keyword Args|Keyword Arguments|Other Parameters)\s*:?$"
    r"|(?:Returns?|Yields?|Raises|Warns?|Warnings?|Examples?|Notes?|References|Attributes|See Also|Todo)\s*:?$"
)
"""The title of a section in the styles of Google, with a colon, and NumPy, underlined."""
_UNDERLINE: Final = re.compile(r"-{3,}|={3,}")
_GOOGLE: Final = re.compile(
    r"\*{0,2}(?P<names>[A-Za-z_]\w*+)\s*+(?:(?:\([^)]*+\)|\[[^\]]*+\])\s*+)?+:\s*+(?P<text>.*)$"
)
"""A parameter: `title (str, optional): The title.`"""
_NUMPY: Final = re.compile(r"(?P<names>\*{0,2}[A-Za-z_]\w*(?:\s*,\s*\*{0,2}[A-Za-z_]\w*)*)\s*(?::.*)?$")
"""One or several parameters with a type: `x, y : int, optional`."""
_FIELD: Final = re.compile(r"[:@](?P<kind>[a-z]++)(?P<words>(?:\s[^:]*+)?+):(?:\s++(?P<text>.*))?$")
"""A field of Sphinx or Epydoc: `:param str title: The title.`"""
_FIELD_PARAMS: Final = frozenset({"param", "parameter", "arg", "argument", "key", "keyword"})


@dataclass(frozen=True, slots=True)
class Docstring:
    """The text before the sections of a docstring, and the descriptions of parameters by name."""

    text: str = ""
    params: dict[str, str] = field(default_factory=dict)


def parse_docstring(docstring: str) -> Docstring:
    """Parse a docstring in any of the three styles."""
    lines = inspect.cleandoc(docstring).splitlines()
    sections = list(_sections(lines))
    first = next((number for number, _, _ in sections), len(lines))
    fields = next((number for number in range(first) if _is_field(lines[number])), first)
    params: dict[str, str] = {}
    for number, end, is_numpy in sections:
        if (match := _SECTION.match(lines[number])) and match["params"]:
            body = lines[number + 1 + is_numpy : end]
            params |= dict(_numpy(body) if is_numpy else _google(body))
    params |= dict(_fields(lines[fields:]))
    return Docstring("\n".join(lines[:fields]).strip(), params)


def _is_field(line: str) -> bool:
    return _FIELD.match(line) is not None


def _sections(lines: Sequence[str]) -> Iterator[tuple[int, int, bool]]:
    """Yield first line, end and style (True for NumPy) of each section."""
    starts = [number for number in range(len(lines)) if _starts_section(lines, number)]
    for number, end in pairwise([*starts, len(lines)]):
        yield number, end, number + 1 < len(lines) and _UNDERLINE.fullmatch(lines[number + 1]) is not None


def _starts_section(lines: Sequence[str], number: int) -> bool:
    if _SECTION.match(lines[number]) is None:
        return False
    following = lines[number + 1] if number + 1 < len(lines) else ""
    return _UNDERLINE.fullmatch(following) is not None or lines[number].endswith(":")


def _indent(line: str) -> int:
    return len(line) - len(line.lstrip())


def _google(body: Sequence[str]) -> Iterator[tuple[str, str]]:
    """Yield the parameters of a Google section: entries with the smallest indent, continued by deeper lines."""
    indented = [line for line in body if line.strip()]
    margin = min(map(_indent, indented), default=0)
    for entry in _entries(indented, margin):
        if match := _GOOGLE.match(entry[0].strip()):
            yield match["names"], " ".join([match["text"], *(line.strip() for line in entry[1:])]).strip()


def _numpy(body: Sequence[str]) -> Iterator[tuple[str, str]]:
    """Yield the parameters of a NumPy section, whose descriptions are below their names."""
    for entry in _entries([line for line in body if line.strip()], 0):
        if match := _NUMPY.match(entry[0]):
            text = " ".join(line.strip() for line in entry[1:])
            yield from ((name.strip().lstrip("*"), text) for name in match["names"].split(","))


def _entries(lines: Sequence[str], margin: int) -> Iterator[list[str]]:
    """Yield each line at the margin with the deeper ones that follow."""
    entry: list[str] = []
    for line in lines:
        if _indent(line) <= margin and entry:
            yield entry
            entry = []
        entry.append(line)
    if entry:
        yield entry


def _fields(lines: Sequence[str]) -> Iterator[tuple[str, str]]:
    """Yield the parameters of Sphinx fields. A field ends at the next one, or at a blank line."""
    name, parts = "", list[str]()
    for line in [*lines, ""]:
        match = _FIELD.match(line)
        if match or not line.strip():
            if name:
                yield name, " ".join(parts).strip()
            words = match["words"].split() if match and match["kind"] in _FIELD_PARAMS else []
            name, parts = (words[-1].lstrip("*\\"), [match["text"] or ""]) if match and words else ("", [])
        elif name:
            parts.append(line.strip())
