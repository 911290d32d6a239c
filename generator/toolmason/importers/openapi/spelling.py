"""Values that an API document means as text, as they are spelled: `NO`, `1.10` and `2024-01-01` need no quotes.

YAML gives plain scalars a type by their form. Where the document specifies a string, the form must not matter.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Final

_TAG: Final = "tag:yaml.org,2002:"
_MERGE: Final = f"{_TAG}merge"
_CHANGED: Final = frozenset({f"{_TAG}int", f"{_TAG}float", f"{_TAG}bool", _MERGE})
_NULL: Final = f"{_TAG}null"
_CHOICES: Final = frozenset({"enum", "const"})
_SAMPLES: Final = frozenset({"default", "example", "examples"})
_TEXTS: Final = frozenset(
    {
        *("$ref", "$id", "$anchor", "name", "operationId", "summary", "description", "title", "version", "url"),
        *("pattern", "in", "openapi", "swagger", "propertyName", "basePath", "host", "format"),
    }
)
"""Members of objects that are text."""
_LISTS: Final = frozenset({"required", "tags", "consumes", "produces", "schemes"})
"""Members of objects that are lists of texts."""
_NAMED: Final = frozenset(
    {
        *("properties", "patternProperties", "$defs", "definitions", "dependentSchemas", "schemas", "parameters"),
        *("responses", "requestBodies", "headers", "paths", "variables", "securitySchemes", "securityDefinitions"),
        *("pathItems", "content", "encoding", "callbacks", "mediaTypes"),
    }
)
"""Members of objects whose own members have names that the author chose."""
_DATA: Final = _CHOICES | _SAMPLES | {"value"}
"""Members of objects that are data, not parts of the document."""


def keep_spelling(root: Any) -> None:
    """Change the scalars of YAML nodes that are strings: names, texts, and values of schemas with `type: string`."""
    waiting: list[tuple[Any, str, bool]] = [(root, "", False)]
    seen = set[tuple[int, bool]]()
    while waiting:
        node, name, has_names = waiting.pop()
        if (id(node), has_names) in seen or not isinstance(getattr(node, "value", None), list):
            continue
        seen.add((id(node), has_names))
        if node.id == "sequence":
            waiting += [(item, name, False) for item in node.value]
            continue
        _spell((key for key, _ in node.value if key.tag != _MERGE), with_null=True)
        members = {key.value: value for key, value in node.value if key.id == "scalar"}
        if not has_names:
            _spell_members(members, is_variable=name == "variables")
        for key, value in members.items():
            if has_names:
                waiting.append((value, name, False))
            elif key not in _DATA and not key.startswith("x-"):
                waiting.append((value, key, key in _NAMED and value.id == "mapping"))


def _spell_members(members: dict[str, Any], *, is_variable: bool) -> None:
    """Change the members of one object. Variables of servers are strings without a type."""
    for name, value in members.items():
        if name in _TEXTS:
            _spell([value])
        elif name in _LISTS and value.id == "sequence":
            _spell(value.value)
    is_string, is_nullable = _string_type(members)
    items = members.get("items")
    is_list = items is not None and items.id == "mapping" and _string_type(_members(items))[0]
    if not (is_string or is_variable or is_list):
        return
    for name in (_CHOICES | _SAMPLES) & members.keys():
        value = members[name]
        nodes = value.value if value.id == "sequence" else [value]
        if is_list and not is_string:
            nodes = [inner for node in nodes if node.id == "sequence" for inner in node.value] or nodes
        _spell(nodes, with_null=name in _CHOICES and is_string and not is_nullable)


def _members(node: Any) -> dict[str, Any]:
    return {key.value: value for key, value in node.value if key.id == "scalar"}


def _string_type(members: dict[str, Any]) -> tuple[bool, bool]:
    """Return whether the values of a schema are strings, and whether null is one as well."""
    kind = members.get("type")
    kinds = [] if kind is None else [item.value for item in kind.value] if kind.id == "sequence" else [kind.value]
    nullable = members.get("nullable") or members.get("x-nullable")
    is_nullable = "null" in kinds or getattr(nullable, "value", "") in ("true", "True", "TRUE")
    return "string" in kinds and set(kinds) <= {"string", "null"}, is_nullable


def _spell(nodes: Iterable[Any], *, with_null: bool = False) -> None:
    for node in nodes:
        if node.id == "scalar" and (node.tag in _CHANGED or (with_null and node.tag == _NULL and node.value)):
            node.tag = f"{_TAG}str"
