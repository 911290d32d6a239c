"""The arguments to send instead of refused ones, for the error text."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any, Final

from toolmason_runtime.shared.values.renaming import target_of
from toolmason_runtime.shared.values.schema_text import without_null

MAX_SHOWN_CHARS: Final = 80
"""Maximum characters of a text that is repeated from the refused arguments."""
MAX_SHOWN_ITEMS: Final = 2
_MAX_DEPTH: Final = 5


def corrected(
    arguments: Mapping[str, Any],
    wrong: Collection[str],
    schema: Mapping[str, Any],
    examples: Sequence[Mapping[str, Any]],
) -> dict[str, Any]:
    """Return arguments of the right form: those sent, with others in place of the wrong ones.

    Args:
        arguments: the refused arguments.
        wrong: names of those that are invalid or missing.
        schema: the JSON Schema of the arguments.
        examples: valid arguments of other calls; their values are preferred to made-up ones.
    """
    shared = max(examples, key=lambda example: len(example.keys() & {*arguments, *wrong}), default={})
    properties = schema.get("properties", {})
    result = {name: _shortened(value) for name, value in arguments.items() if name in properties and name not in wrong}
    for name in properties:
        if name in wrong:
            donors = (example[name] for example in (shared, *examples) if name in example)
            result[name] = next(donors, None) or sample(properties[name], schema)
    return {name: result[name] for name in properties if name in result}


def sample(schema: Any, root: Mapping[str, Any], depth: int = 0) -> Any:
    """Return a value of the form that a schema wants; a text without listed values is `...`.

    Args:
        schema: a part of `root`.
        root: the schema into which references point.
        depth: number of values around this one.
    """
    plain = without_null(schema)
    for _ in range(_MAX_DEPTH):
        if isinstance(reference := plain.get("$ref"), str) and reference.startswith("#"):
            plain = without_null(target_of(root, reference))
        elif branches := (*plain.get("anyOf", ()), *plain.get("oneOf", ())):
            plain = without_null(next((part for part in branches if part != {"type": "null"}), {}))
    listed = [plain.get("default"), plain.get("const"), *plain.get("enum", ()), *plain.get("examples", ())]
    if values := [value for value in listed if value is not None]:
        return values[0]
    types = plain.get("type", "object" if "properties" in plain else "string")
    match types[0] if isinstance(types, list) and types else types:
        case "integer" | "number":
            return _number(plain)
        case "boolean":
            return True
        case "array":
            count = max(1, min(plain.get("minItems", 1), MAX_SHOWN_ITEMS)) if depth < _MAX_DEPTH else 0
            return [sample(plain.get("items"), root, depth + 1)] * count
        case "object":
            names = plain.get("required", ()) if depth < _MAX_DEPTH else ()
            members = plain.get("properties", {})
            return {name: sample(members.get(name), root, depth + 1) for name in names}
        case _:
            return "..."


def _number(schema: Mapping[str, Any]) -> int | float:
    low = schema.get("minimum", schema["exclusiveMinimum"] + 1 if "exclusiveMinimum" in schema else None)
    number: int | float = 1 if low is None or low < 1 else low
    high: int | float = schema.get("maximum", number)
    return min(number, high)


def _shortened(value: Any) -> Any:
    if isinstance(value, str):
        return value if len(value) <= MAX_SHOWN_CHARS else f"{value[:MAX_SHOWN_CHARS]}..."
    if isinstance(value, list):
        return [_shortened(item) for item in value[:MAX_SHOWN_ITEMS]]
    if isinstance(value, dict):
        return {name: _shortened(member) for name, member in value.items()}
    return value
