"""References between the parts of one schema. `generate` accepts only these, so no file or URL is read."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cached_property
from typing import Any, Final
from urllib.parse import unquote

_SCHEMA_KEYWORDS: Final = (
    *("additionalProperties", "contains", "contentSchema", "else", "if", "items", "not", "propertyNames", "then"),
    *("unevaluatedItems", "unevaluatedProperties"),
)
_SCHEMA_LIST_KEYWORDS: Final = ("allOf", "anyOf", "oneOf", "prefixItems")
_SCHEMA_MAP_KEYWORDS: Final = ("$defs", "definitions", "dependentSchemas", "patternProperties", "properties")


class UnknownReferenceError(LookupError):
    """A reference has no target in its schema."""


class References:
    """The targets of references in `schema`: `#`, `#/$defs/name`, and `#name` for an `$anchor`."""

    def __init__(self, schema: Any) -> None:
        self.schema = schema

    def target(self, reference: str) -> Any:
        """Return the target of a reference.

        Raises:
            UnknownReferenceError: there is none in this schema.
        """
        if not reference.startswith("#"):
            raise UnknownReferenceError(f"{reference} refers to another document, which is not read")
        fragment = unquote(reference[1:])
        if fragment and not fragment.startswith("/"):
            if fragment not in self._anchors:
                raise UnknownReferenceError(f"{reference} has no target in this schema")
            return self._anchors[fragment]
        part = self.schema
        for step in fragment.split("/")[1:]:
            part = _child(part, step.replace("~1", "/").replace("~0", "~"), reference)
        return part

    @cached_property
    def _anchors(self) -> Mapping[str, Any]:
        return {part["$anchor"]: part for part in _parts(self.schema) if "$anchor" in part}


def _child(part: Any, step: str, reference: str) -> Any:
    if isinstance(part, dict) and step in part:
        return part[step]
    if isinstance(part, list) and step.isascii() and step.isdecimal() and int(step) < len(part):
        return part[int(step)]
    raise UnknownReferenceError(f"{reference} has no target in this schema")


def _parts(schema: Any) -> Iterator[dict[str, Any]]:
    """Yield the schema and all schemas in it."""
    pending = [schema]
    while pending:
        part = pending.pop()
        if not isinstance(part, dict):
            continue
        yield part
        pending += (part[keyword] for keyword in _SCHEMA_KEYWORDS if keyword in part)
        for keyword in _SCHEMA_LIST_KEYWORDS:
            pending += part.get(keyword, ())
        for keyword in _SCHEMA_MAP_KEYWORDS:
            pending += part.get(keyword, {}).values()
