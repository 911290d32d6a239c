"""What a schema cannot keep on its way to a provider, and where that stands."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Final

from toolmason.schema.keywords import MANY_SCHEMAS, NAMED_SCHEMAS

_PLAIN_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")


class Severity(StrEnum):
    """How much a change matters to whoever calls the tool, worst first."""

    REFUSED = "refused"
    """The provider answers the whole request with an error, or there is no schema to send."""
    NARROWED = "narrowed"
    """A value that the original takes is no longer taken."""
    LOSSY = "lossy"
    """A value that the original refuses is no longer refused; the description says the rule where it can."""
    NOTE = "note"
    """Said in other words; nothing is lost."""

    @property
    def rank(self) -> int:
        """0 for the worst."""
        return list(Severity).index(self)


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """One thing that a schema loses, or has changed, on its way to a provider.

    `pointer` leads to the place in the schema as it was given (JSON Pointer, RFC 6901); `pattern` is the keyword or
    construct at fault, such as `$ref` or `oneOf`; `lossy` is false where only the words changed.
    """

    pointer: str
    pattern: str
    severity: Severity
    lossy: bool
    message: str

    @property
    def path(self) -> str:
        """The same place as a JSONPath (RFC 9535): `$.properties.files.items`."""
        return json_path(self.pointer)

    def as_data(self) -> dict[str, Any]:
        """Give the finding as JSON data, keys in the order they are read."""
        return {
            "path": self.path,
            "pointer": self.pointer,
            "pattern": self.pattern,
            "severity": str(self.severity),
            "lossy": self.lossy,
            "message": self.message,
        }


def json_pointer(parts: Sequence[str | int]) -> str:
    """Give the JSON Pointer (RFC 6901) that leads along `parts`."""
    pointer = ""
    for part in parts:
        name = str(part)
        # Most names need no escape, and this is the hottest line of reading a schema.
        pointer += f"/{name}" if name.isidentifier() else f"/{name.replace('~', '~0').replace('/', '~1')}"
    return pointer


def pointer_parts(pointer: str) -> tuple[str, ...]:
    """Give the parts of a JSON Pointer, unescaped. An array's places stay text."""
    return tuple(part.replace("~1", "/").replace("~0", "~") for part in pointer.split("/")[1:])


def json_path(pointer: str) -> str:
    """Give a JSON Pointer as a JSONPath (RFC 9535)."""
    path, around, is_name = "$", "", False
    for part in pointer_parts(pointer):
        path += f"[{part}]" if around in _LISTS and _PLACE.fullmatch(part) else _step(part)
        # What stands below `properties` is a name, and no keyword even if it is called like one.
        around, is_name = ("", False) if is_name else (part, part in NAMED_SCHEMAS)
    return path


_PLACE: Final = re.compile(r"0|[1-9][0-9]*")
_LISTS: Final = MANY_SCHEMAS | {"any_of", "enum", "examples", "required", "type"}
"""Keywords below which digits are a place, not a name."""


def _step(part: str) -> str:
    return f".{part}" if _PLAIN_NAME.fullmatch(part) else f"['{''.join(map(_quoted, part))}']"


def _quoted(sign: str) -> str:
    if sign == "'":
        return "\\'"
    return sign if sign.isprintable() and sign != "\\" else json.dumps(sign)[1:-1]
