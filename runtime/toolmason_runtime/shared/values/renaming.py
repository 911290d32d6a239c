"""Translate between the argument names of a tool and the public ones, which every provider accepts."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final
from urllib.parse import unquote

_COMBINATORS: Final = ("allOf", "anyOf", "oneOf")
_CONDITIONALS: Final = ("if", "then", "else")


def renamed(value: Any, schema: Any, names: Mapping[str, str], root: Any = None) -> Any:
    """Return `value` with its declared members renamed.

    Args:
        value: arguments, or a part of them.
        schema: declares the members, under either name. Other names, such as the keys of a map, stay.
        names: old name to new name.
        root: the schema into which references point; by default `schema`.
    """
    root = schema if root is None else root
    if not names:
        return value
    if isinstance(value, list):
        item_schemas = [part for node in _nodes(schema, root) for part in _item_schemas(node)]
        return [renamed(item, {"anyOf": item_schemas}, names, root) for item in value]
    if not isinstance(value, dict):
        return value
    declared: dict[str, list[Any]] = {}
    rest: list[Any] = []
    for node in _nodes(schema, root):
        for name, part in node.get("properties", {}).items():
            declared.setdefault(name, []).append(part)
        rest += [node["additionalProperties"]] if "additionalProperties" in node else []
    result: dict[str, Any] = {}
    for name, member in value.items():
        new_name = names.get(name, name)
        parts = declared.get(name) or declared.get(new_name)
        result[name if parts is None else new_name] = renamed(member, {"anyOf": parts or rest}, names, root)
    return result


def _item_schemas(node: Mapping[str, Any]) -> Iterator[Any]:
    items = node.get("items", [])
    yield from items if isinstance(items, list) else [items]
    yield from node.get("prefixItems", ())


def _nodes(schema: Any, root: Any) -> Iterator[Mapping[str, Any]]:
    """Yield `schema` and the schemas inside it that apply to the same value, each once."""
    pending, seen = [schema], set[int]()
    while pending:
        node = pending.pop()
        if not isinstance(node, Mapping) or id(node) in seen:
            continue
        seen.add(id(node))
        yield node
        pending += [branch for keyword in _COMBINATORS for branch in node.get(keyword, ())]
        pending += [node[keyword] for keyword in _CONDITIONALS if keyword in node]
        pending += node.get("dependentSchemas", {}).values()
        if isinstance(node.get("$ref"), str):
            pending.append(target_of(root, node["$ref"]))


def target_of(root: Any, reference: str) -> Any:
    """Return the schema at a JSON Pointer (RFC 6901), such as `#/$defs/a`, or at an anchor among the definitions."""
    if not reference.startswith("#/"):
        definitions = root.get("$defs", {}).values() if isinstance(root, Mapping) else ()
        anchor = reference[1:]
        return root if not anchor else next((part for part in definitions if part.get("$anchor") == anchor), None)
    value = root
    for step in unquote(reference[2:]).split("/"):
        name = step.replace("~1", "/").replace("~0", "~")
        if isinstance(value, Mapping):
            value = value.get(name)
        elif isinstance(value, list) and name.isdecimal() and int(name) < len(value):
            value = value[int(name)]
        else:
            return None
    return value
