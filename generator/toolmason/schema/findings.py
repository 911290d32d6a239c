"""Findings: changes and losses of a schema that is sent to a provider, with their JSON Pointers."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Final

from toolmason.schema.keywords import SCHEMA_LIST_KEYWORDS, SCHEMA_MAP_KEYWORDS

_IDENTIFIER = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")


class Severity(StrEnum):
    """How much a change affects a caller of the tool, worst first."""

    REFUSED = "refused"
    """The provider rejects the whole request, or there is no schema to send."""
    BREAKS = "breaks"
    """A client crashes and loses all tools of the session."""
    NARROWED = "narrowed"
    """A value that the original accepts is now rejected."""
    LOSSY = "lossy"
    """A value that the original rejects is now accepted; the description states the rule if possible."""
    NOTE = "note"
    """Expressed differently, without loss."""

    @property
    def rank(self) -> int:
        """0 for the worst."""
        return list(Severity).index(self)


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """One change or loss of a schema that is sent to a provider.

    `pointer` is the JSON Pointer (RFC 6901) into the original schema; `pattern` the keyword or construct, such as
    `$ref` or `oneOf`; `lossy` is false if the meaning is unchanged. `message` quotes the schema and contains `reason`
    and `fix`, which are equal for all findings of one rule of `check`; `project` leaves them empty. `opens_object`: all
    that is lost is that an object has no other properties than the listed ones.

    For findings of `check` for `mcp`: `clients` and `providers` are the keys of those concerned (all without any), and
    `share` the weighted share of clients that fail, from 0 to 1.
    """

    pointer: str
    pattern: str
    severity: Severity
    lossy: bool
    message: str
    reason: str = ""
    fix: str = ""
    opens_object: bool = False
    clients: tuple[str, ...] = ()
    providers: tuple[str, ...] = ()
    share: float = 1.0

    @property
    def path(self) -> str:
        """The location as a JSONPath (RFC 9535): `$.properties.files.items`."""
        return json_path(self.pointer)

    @property
    def concerns_all(self) -> bool:
        """Whether the finding names neither clients nor providers."""
        return not self.clients and not self.providers

    def as_data(self) -> dict[str, Any]:
        """Return the finding as JSON data."""
        return {
            "path": self.path,
            "pointer": self.pointer,
            "pattern": self.pattern,
            "severity": str(self.severity),
            "lossy": self.lossy,
            "message": self.message,
            "clients": list(self.clients),
            "providers": list(self.providers),
            "share": round(self.share, 3),
        }


def finding(pointer: str, pattern: str, severity: Severity, message: str, *, opens_object: bool = False) -> Finding:
    """Return a finding. Every severity except `note` is lossy."""
    lossy = severity is not Severity.NOTE
    return Finding(
        pointer=pointer, pattern=pattern, severity=severity, lossy=lossy, message=message, opens_object=opens_object
    )


def json_pointer(parts: Sequence[str | int]) -> str:
    """Return the JSON Pointer (RFC 6901) of `parts`: `("a/b", 0)` -> `/a~1b/0`."""
    pointer = ""
    for part in parts:
        name = str(part)
        # Most names need no escape, and profiles of the normalizer are dominated by this line.
        pointer += f"/{name}" if name.isidentifier() else f"/{name.replace('~', '~0').replace('/', '~1')}"
    return pointer


def pointer_parts(pointer: str) -> tuple[str, ...]:
    """Return the unescaped parts of a JSON Pointer. Array indexes stay strings."""
    return tuple(part.replace("~1", "/").replace("~0", "~") for part in pointer.split("/")[1:])


def json_path(pointer: str) -> str:
    """Convert a JSON Pointer to a JSONPath (RFC 9535): `/properties/a-b/anyOf/0` -> `$.properties['a-b'].anyOf[0]`."""
    path, parent, is_name = "$", "", False
    for part in pointer_parts(pointer):
        path += f"[{part}]" if parent in _LISTS and _INDEX.fullmatch(part) else _step(part)
        # Below `properties` a part is a property name, even if it equals a keyword.
        parent, is_name = ("", False) if is_name else (part, part in SCHEMA_MAP_KEYWORDS)
    return path


_INDEX: Final = re.compile(r"0|[1-9][0-9]*")
_LISTS: Final = SCHEMA_LIST_KEYWORDS | {"any_of", "enum", "examples", "required", "type"}
"""Keywords below which digits are an array index instead of a name."""


def _step(part: str) -> str:
    return f".{part}" if _IDENTIFIER.fullmatch(part) else f"['{''.join(map(_escape, part))}']"


def _escape(char: str) -> str:
    if char == "'":
        return "\\'"
    return char if char.isprintable() and char != "\\" else json.dumps(char)[1:-1]
