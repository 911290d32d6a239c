"""Names of arguments that some provider refuses: what a model calls them, and what the tool does."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final
from urllib.parse import unquote

_COMBINING: Final = ("allOf", "anyOf", "oneOf")
_CONDITIONAL: Final = ("if", "then", "else")


def renamed(value: Any, schema: Any, names: Mapping[str, str], root: Any = None) -> Any:
    """Give `value` with the members that `schema` declares called as `names` has it (name there to name wanted).

    `schema` may declare either name; what it does not declare, such as the names in a map, stays. References lead into
    `root`, which is `schema` itself if left out.
    """
    root = schema if root is None else root
    if not names:
        return value
    if isinstance(value, list):
        inner = [each for node in _nodes(schema, root) for each in _items(node)]
        return [renamed(item, {"anyOf": inner}, names, root) for item in value]
    if not isinstance(value, dict):
        return value
    declared: dict[str, list[Any]] = {}
    others: list[Any] = []
    for node in _nodes(schema, root):
        for name, part in node.get("properties", {}).items():
            declared.setdefault(name, []).append(part)
        others += [node["additionalProperties"]] if "additionalProperties" in node else []
    found: dict[str, Any] = {}
    for name, item in value.items():
        other = names.get(name, name)
        parts = declared.get(name) or declared.get(other)
        found[name if parts is None else other] = renamed(item, {"anyOf": parts or others}, names, root)
    return found


def _items(node: Mapping[str, Any]) -> Iterator[Any]:
    items = node.get("items", [])
    yield from items if isinstance(items, list) else [items]
    yield from node.get("prefixItems", ())


def _nodes(schema: Any, root: Any) -> Iterator[Mapping[str, Any]]:
    """Give the schemas that speak about one value, each once."""
    waiting, seen = [schema], set[int]()
    while waiting:
        node = waiting.pop()
        if not isinstance(node, Mapping) or id(node) in seen:
            continue
        seen.add(id(node))
        yield node
        waiting += [each for keyword in _COMBINING for each in node.get(keyword, ())]
        waiting += [node[keyword] for keyword in _CONDITIONAL if keyword in node]
        waiting += node.get("dependentSchemas", {}).values()
        if isinstance(node.get("$ref"), str):
            waiting.append(_target(root, node["$ref"]))


def _target(root: Any, address: str) -> Any:
    """Follow a path into the schema (RFC 6901), or the name of an anchor among its definitions."""
    if not address.startswith("#/"):
        named = root.get("$defs", {}).values() if isinstance(root, Mapping) else ()
        return root if address == "#" else next((each for each in named if each.get("$anchor") == address[1:]), None)
    value = root
    for step in unquote(address[2:]).split("/"):
        name = step.replace("~1", "/").replace("~0", "~")
        if isinstance(value, Mapping):
            value = value.get(name)
        elif isinstance(value, list) and name.isdecimal() and int(name) < len(value):
            value = value[int(name)]
        else:
            return None
    return value
