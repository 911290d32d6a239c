"""Links in the header `Link` of an answer (RFC 8288), read in one pass: `MAX_LINKS` links, `MAX_LENGTH` characters."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import islice
from typing import Final

MAX_LINKS: Final = 20
"""Links of one header that are read. APIs send up to five: first, prev, self, next and last."""
MAX_LENGTH: Final = 16_000
"""Characters of a header that are read. Servers limit all headers of an answer to 8 or 16 kB."""

_END_OF_NAME: Final = re.compile(r"[=;,]")
_END_OF_VALUE: Final = re.compile(r"[;,]")


def next_link(header: str) -> str:
    """Return the URL with `rel="next"` of a `Link` header, empty if it has none.

    Example:
        `<https://api.example/issues?page=2>; rel="next"` has the URL `https://api.example/issues?page=2`.
    """
    for url, relations in islice(_links(header[:MAX_LENGTH]), MAX_LINKS):
        if url and "next" in relations.lower().split():
            return url
    return ""


def _links(header: str) -> Iterator[tuple[str, str]]:
    """Yield the URL of each link and its relations, which are separated by spaces."""
    position = 0
    while (start := header.find("<", position)) >= 0 and (end := header.find(">", start)) >= 0:
        relations, position = _relations(header, end + 1)
        yield header[start + 1 : end].strip(), relations


def _relations(header: str, position: int) -> tuple[str, int]:
    """Return the first `rel` of the parameters at a position, and the position of the comma behind them."""
    relations: str | None = None
    while position < len(header) and header[position] != ",":
        end = _position(_END_OF_NAME.search(header, position), header)
        name = header[position:end].strip(" \t;").lower()
        position, value = end, ""
        if header[end : end + 1] == "=":
            value, position = _value(header, end + 1)
        elif header[end : end + 1] == ";":
            position += 1
        if name == "rel" and relations is None:  # further ones must be ignored (RFC 8288, section 3.3)
            relations = value
    return relations or "", position


def _value(header: str, position: int) -> tuple[str, int]:
    """Return the value of a parameter and the position behind it, which is that of `;` or `,`, or the end."""
    while header[position : position + 1] in (" ", "\t"):
        position += 1
    value, closing = _quoted(header, position + 1) if header[position : position + 1] == '"' else ("", -1)
    end = _position(_END_OF_VALUE.search(header, max(position, closing)), header)
    # Without its closing quote, a value ends like one without quotes.
    return (value if closing >= 0 else header[position:end].strip(' \t"')), end


def _quoted(header: str, position: int) -> tuple[str, int]:
    """Return the text of a quoted string and the position behind its closing quote; -1 if it has none."""
    parts: list[str] = []
    while (quote := header.find('"', position)) >= 0:
        escape = header.find("\\", position, quote)
        if escape < 0:
            return "".join([*parts, header[position:quote]]), quote + 1
        parts += [header[position:escape], header[escape + 1 : escape + 2]]
        position = escape + 2
    return "", -1


def _position(match: re.Match[str] | None, header: str) -> int:
    return len(header) if match is None else match.start()
