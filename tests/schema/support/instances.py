"""Hypothesis strategies for instances of a schema in JSON Schema 2020-12.

The instances are candidates: filter them with `Acceptance`. `not` and conditions are ignored.
"""

from __future__ import annotations

from typing import Any, Final

from bench.schemas.semantics import resolve_ref
from hypothesis import strategies as st

MAX_DEPTH: Final = 5
_TEXTS: Final = st.sampled_from(["", "a", "b", "ab", "abc", "x-1", "12", "2024", "Grüße"])
_BY_TYPE: Final[dict[str, st.SearchStrategy[Any]]] = {
    "null": st.none(),
    "boolean": st.booleans(),
    "string": _TEXTS,
    "integer": st.integers(-6, 21),
    "number": st.integers(-6, 21) | st.sampled_from([-1.25, 0.5, 2.5, 3.0]),
}
VALUES: Final = st.recursive(
    st.one_of(*_BY_TYPE.values()),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.sampled_from(["a", "b", "type"]), inner, max_size=2),
    max_leaves=3,
)


def instances(schema: Any, root: Any = None, depth: int = 0) -> st.SearchStrategy[Any]:
    """Return a strategy for candidates of `schema`; `root` contains its definitions."""
    root = schema if root is None else root
    if not isinstance(schema, dict) or depth > MAX_DEPTH:
        return VALUES
    if isinstance(schema.get("enum"), list) and schema["enum"]:
        return st.sampled_from(schema["enum"])
    if "const" in schema:
        return st.just(schema["const"])
    if isinstance(schema.get("$ref"), str):
        return st.deferred(lambda: instances(resolve_ref(root, schema["$ref"]), root, depth + 1))
    branches = [
        {**{name: value for name, value in schema.items() if name != keyword}, **branch}
        for keyword in ("anyOf", "oneOf", "allOf")
        for branch in schema.get(keyword, ())
        if isinstance(branch, dict)
    ]
    if branches:
        return st.deferred(lambda: st.one_of(*(instances(branch, root, depth + 1) for branch in branches)))
    kinds = schema.get("type", ["object"] if "properties" in schema else [])
    strategies = [_of_type(kind, schema, root, depth) for kind in ([kinds] if isinstance(kinds, str) else kinds)]
    return st.one_of(*strategies) if strategies else VALUES


def _of_type(kind: str, schema: dict[str, Any], root: Any, depth: int) -> st.SearchStrategy[Any]:
    match kind:
        case "array":
            items = instances(schema.get("items", True), root, depth + 1)
            prefix = [instances(item, root, depth + 1) for item in schema.get("prefixItems", ())]
            return st.builds(lambda first, rest: [*first, *rest], st.tuples(*prefix), st.lists(items, max_size=3))
        case "object":
            properties = {
                name: instances(child, root, depth + 1) for name, child in schema.get("properties", {}).items()
            }
            required = {name: properties.pop(name, VALUES) for name in schema.get("required", ())}
            declared = st.fixed_dictionaries(required, optional=properties)
            # Undeclared names only where the schema invites them: nobody counts their loss elsewhere.
            if not isinstance(schema.get("additionalProperties"), dict) and "patternProperties" not in schema:
                return declared
            extra = instances(schema.get("additionalProperties", True), root, depth + 1)
            more = st.dictionaries(st.sampled_from(["x-1", "key"]), extra, max_size=1)
            return st.builds(lambda first, rest: {**first, **rest}, declared, more)
        case _:
            return _BY_TYPE.get(kind, VALUES)
