"""Arguments and schemas that were made to be slow take a bounded number of steps."""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from typing import Any

import pytest
from toolmason_runtime.calls.repair import Repair

PATIENCE_S = 20.0
"""Far above the time on a busy machine, far below that of an unbounded conversion."""
INTEGERS = {"type": "array", "items": {"type": "integer"}}
NODE: dict[str, Any] = {"type": "object", "properties": {"next": {"$ref": "#"}, "value": {"type": "integer"}}}


def closed(**properties: Any) -> dict[str, Any]:
    return {"type": "object", "properties": properties, "additionalProperties": False}


def nested(levels: int) -> dict[str, Any]:
    value: dict[str, Any] = {"value": "1"}
    for _ in range(levels):
        value = {"next": value}
    return value


def doubled(levels: int) -> dict[str, Any]:
    """A schema of which each level refers to the next one twice."""
    definitions = {
        f"d{level}": {"allOf": [{"$ref": f"#/$defs/d{level + 1}"}, {"$ref": f"#/$defs/d{level + 1}"}]}
        for level in range(levels)
    }
    return closed(a={"$ref": "#/$defs/d0"}) | {"$defs": definitions | {f"d{levels}": {"type": "integer"}}}


def crossed(branches: int, factors: int) -> dict[str, Any]:
    """A schema whose branches have `branches ** factors` combinations."""
    factor = [{"properties": {"x": {"const": number}}} for number in range(branches)]
    return closed(a={"allOf": [{"anyOf": factor} for _ in range(factors)]})


HOSTILE: dict[str, tuple[Callable[[], dict[str, Any]], Callable[[], dict[str, Any]]]] = {
    "a million texts": (lambda: closed(a=INTEGERS), lambda: {"a": ["1"] * 1_000_000}),
    "a million values as text": (lambda: closed(a=INTEGERS), lambda: {"a": json.dumps([1] * 1_000_000)}),
    "a long text many times": (lambda: closed(a=INTEGERS), lambda: {"a": ["[" + " " * 1_000_000 + "1]"] * 100}),
    "a million brackets": (lambda: closed(a=INTEGERS), lambda: {"a": "[" * 1_000_000}),
    "a number of many digits": (lambda: closed(a={"type": "integer"}), lambda: {"a": "9" * 1_000_000}),
    "a number of many digits in a text": (lambda: closed(a=INTEGERS), lambda: {"a": f"[{'9' * 1_000_000}]"}),
    "a deep value": (lambda: NODE, lambda: nested(900)),
    "a circle of references": (
        lambda: closed(a={"$ref": "#/$defs/a"}) | {"$defs": {"a": {"anyOf": [{"$ref": "#/$defs/a"}] * 3}}},
        lambda: {"a": "1"},
    ),
    "references that double": (lambda: doubled(60), lambda: {"a": "1"}),
    "branches of branches": (lambda: crossed(8, 12), lambda: {"a": {"x": "1"}}),
    "a large union": (
        lambda: closed(a={"type": "array", "items": {"anyOf": [closed(x={"const": n}) for n in range(60)]}}),
        lambda: {"a": [{"x": "5"}] * 100_000},
    ),
    "a large enum": (
        lambda: closed(a={"type": "array", "items": {"enum": [f"v{number}" for number in range(5000)]}}),
        lambda: {"a": ["V3"] * 100_000},
    ),
    "names in another form": (
        lambda: closed(**{f"\u00e9{number}": {"type": "integer"} for number in range(3000)}),
        lambda: {f"e\u0301{number}": "1" for number in range(3000)},
    ),
    "a slow pattern": (
        lambda: {"type": "object", "patternProperties": {"^(a|a)*(?=b)$": {"type": "integer"}}},
        lambda: {"a" * (30 + number): "1" for number in range(100)},
    ),
}


@pytest.mark.parametrize(("schema", "arguments"), HOSTILE.values(), ids=HOSTILE)
def test_hostile_input_is_answered_in_bounded_time(
    schema: Callable[[], dict[str, Any]], arguments: Callable[[], dict[str, Any]]
) -> None:
    sent, repair = arguments(), Repair(schema())
    start = time.monotonic()
    repair.apply(sent)

    assert time.monotonic() - start < PATIENCE_S


def test_a_deep_value_is_converted_down_to_a_limit() -> None:
    assert Repair(NODE).apply({"next": {"value": "1"}}) == {"next": {"value": 1}}
    assert Repair(NODE).apply(nested(900)) == nested(900)


def test_doubling_references_are_resolved() -> None:
    assert Repair(doubled(15)).apply({"a": "1"}) == {"a": 1}
