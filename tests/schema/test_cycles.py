"""Recursive references are found in linear time. The tests count calls, because seconds depend on the machine."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import pairwise
from typing import Any

import pytest

from toolmason.schema import advertise, check


def chain(length: int, last: dict[str, Any]) -> dict[str, Any]:
    """Return a schema whose definitions refer to each other in a line that ends in `last`."""
    names = [f"N{number}" for number in range(length + 1)]
    links = {name: {"$ref": f"#/$defs/{following}"} for name, following in pairwise(names)}
    return {"type": "object", "properties": {"x": {"$ref": "#/$defs/N0"}}, "$defs": links | {names[-1]: last}}


@contextmanager
def count_calls(maximum: float = float("inf")) -> Iterator[list[int]]:
    """Count the calls of functions in Python and C; fail at more than `maximum` of them."""
    count, before = [0], sys.getprofile()

    def profile(_: Any, event: str, __: Any) -> None:
        count[0] += event in {"call", "c_call"}
        if count[0] > maximum:
            sys.setprofile(before)
            pytest.fail(f"more than {maximum} calls")

    sys.setprofile(profile)
    try:
        yield count
    finally:
        sys.setprofile(before)


@pytest.mark.parametrize("last", [{"type": "string"}, {"$ref": "#/$defs/N0"}], ids=["a line", "a ring"])
def test_check_of_5000_chained_references_takes_linear_time(last: dict[str, Any]) -> None:
    check(chain(10, last), "mcp")
    with count_calls() as calls:
        check(chain(500, last), "mcp")

    with count_calls(maximum=12 * calls[0]):
        findings = check(chain(5_000, last), "mcp")

    recursive = [finding for finding in findings if finding.pattern == "recursive-$ref"]
    assert len(recursive) == (5_001 if "$ref" in last else 0)


def test_advertise_of_5000_chained_references_takes_linear_time() -> None:
    with count_calls() as calls:
        advertise(chain(500, {"type": "string"}))

    with count_calls(maximum=12 * calls[0]):
        assert advertise(chain(5_000, {"type": "string"})).schema["properties"].keys() == {"x"}
