"""The work for a schema grows in proportion to its size, counted in calls, since times vary."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

import pytest

from toolmason.schema import advertise, check

TEXT = {"type": "string", "minLength": 1}
COUNT = 120
MAX_GROWTH = 3.2
"""Maximum ratio of the calls for a schema of twice the size: 4 is quadratic, and a schema over the budget is emitted
more than once."""


def condition(number: int) -> dict[str, Any]:
    return {
        "if": {"properties": {"kind": {"const": f"v{number}"}}, "required": ["kind"]},
        "then": {"properties": {f"a{number}": TEXT}, "required": [f"a{number}"]},
    }


def model(number: int) -> dict[str, Any]:
    return {"type": "object", "properties": {f"a{number}": TEXT, "b": {"type": "integer"}}, "required": ["b"]}


SCHEMAS: dict[str, Callable[[int], dict[str, Any]]] = {
    "conditions in one `allOf`": lambda count: {
        "type": "object",
        "properties": {"kind": {"type": "string"}},
        "allOf": [condition(number) for number in range(count)],
    },
    "models in one `allOf`": lambda count: {"type": "object", "allOf": [model(number) for number in range(count)]},
    "required names in one `allOf`": lambda count: {
        "type": "object",
        "allOf": [{"required": [f"a{number}"]} for number in range(count)],
    },
    "patterns in one `allOf`": lambda count: {
        "type": "object",
        "properties": {"a": {"type": "string", "allOf": [{"pattern": f"^[a{number}]"} for number in range(count)]}},
    },
    "alternatives": lambda count: {
        "type": "object",
        "properties": {"a": {"anyOf": [model(number) for number in range(count)]}},
    },
    "arguments beyond the budget": lambda count: {
        "type": "object",
        "properties": {f"a{number}": TEXT for number in range(5 * count)},
    },
    "references to one model beyond the budget": lambda count: {
        "type": "object",
        "properties": {f"a{number}": {"$ref": "#/$defs/A"} for number in range(3 * count)},
        "$defs": {"A": model(0)},
    },
    "models": lambda count: {"type": "object", "properties": {f"a{number}": model(number) for number in range(count)}},
}


def calls(schema: Any) -> int:
    """Return the number of calls, of Python and C functions, that both conversions make."""
    count = 0

    def count_call(_frame: object, event: str, _argument: object) -> None:
        nonlocal count
        count += event in {"call", "c_call"}

    previous = sys.getprofile()
    sys.setprofile(count_call)
    try:
        advertise(schema)
        check(schema, "mcp")
    finally:
        sys.setprofile(previous)
    return count


@pytest.mark.uncovered
@pytest.mark.parametrize("name", SCHEMAS)
def test_work_is_proportional_to_the_size(name: str) -> None:
    calls(SCHEMAS[name](2))  # Fills the caches.
    before, after = calls(SCHEMAS[name](COUNT)), calls(SCHEMAS[name](2 * COUNT))

    assert after < MAX_GROWTH * before
