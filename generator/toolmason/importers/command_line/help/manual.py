"""Parse manual pages, which describe options that `--help` of some programs leaves out."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Final

from toolmason.importers.command_line.help.parser import Help, parse_help, text_lines

_TITLE: Final = re.compile(r"\s*[A-Z][\w.:-]*\([0-9][a-z]*\)\s", re.IGNORECASE)
"""Start of a manual page, such as `GIT-LOG(1)`."""
_NO_OPTIONS: Final = frozenset({"NAME", "SYNOPSIS", "EXAMPLES", "SEE ALSO", "AUTHOR", "AUTHORS", "BUGS", "COPYRIGHT"})
_NUMBER: Final = re.compile(r"(?<=^ {7})-<\w+>, ")
"""The number as a flag in the manual of git: `-<number>, -n <number>`."""


def is_manual(text: str) -> bool:
    """Return whether a text is a manual page."""
    return _TITLE.match(text) is not None


def parse_manual(text: str, command: Sequence[str]) -> Help:
    """Parse a rendered manual page. `command` is the program and its subcommand."""
    sections = dict(_sections(text))
    synopsis = [line.strip() for line in sections.get("SYNOPSIS", []) if line.strip()]
    usage = [f"usage: {synopsis[0]}", *(f"   {line}" for line in synopsis[1:])] if synopsis else []
    name = " ".join(line.strip() for line in sections.get("NAME", []) if line)
    described = [line for title, lines in sections.items() if title not in _NO_OPTIONS for line in (title, *lines)]
    parsed = parse_help("\n".join([*usage, "", *described]), command)
    summary = re.split(r"\s[-\u2010-\u2014]+\s", name, maxsplit=1)[-1]
    return replace(parsed, summary=summary, commands=())


def _sections(text: str) -> Iterator[tuple[str, list[str]]]:
    title, lines = "", list[str]()
    for printed in text_lines(text)[1:]:
        line = _NUMBER.sub("", printed)
        if line and not line.startswith(" "):
            yield title, lines
            title, lines = line, []
        else:
            lines.append(line)
    yield title, lines
