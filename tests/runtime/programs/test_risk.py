"""How dangerous a call is: by its tool, and by the values it is made with."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from toolmason_runtime.programs.risk import risk_of
from toolmason_runtime.programs.spec import ArgumentPlacement, CommandTool, PlacementKind, Program, Risk

METHODS = {"GET": Risk.READ, "POST": Risk.WRITE, "DELETE": Risk.DESTRUCTIVE}


def request(risk: Risk = Risk.READ, **by_value: dict[str, Risk]) -> CommandTool:
    """Make a tool with a text, a switch, a number and a list, and a text of its program that the environment sets."""
    return CommandTool(
        name="api_request",
        program=Program(
            name="api",
            command=("api",),
            placements=(
                ArgumentPlacement(name="host", place=PlacementKind.FLAG, flag="--host", default_env="API_HOST"),
            ),
        ),
        placements=(
            ArgumentPlacement(name="method", place=PlacementKind.FLAG, flag="--method", default="GET"),
            ArgumentPlacement(name="verb", place=PlacementKind.POSITIONAL),
            ArgumentPlacement(name="force", place=PlacementKind.FLAG, flag="--force", switch=True),
            ArgumentPlacement(name="count", place=PlacementKind.FLAG, flag="--count"),
            ArgumentPlacement(name="fields", place=PlacementKind.FLAG, flag="--field"),
        ),
        risk=risk,
        risk_by_value=by_value,
    )


@pytest.mark.parametrize("risk", list(Risk))
def test_risk_of_a_tool_is_that_of_any_call(risk: Risk) -> None:
    assert risk_of(request(risk), {"method": "DELETE"}, environ={}) is risk


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        pytest.param({"method": "GET"}, Risk.READ, id="as listed"),
        pytest.param({"method": "POST"}, Risk.WRITE, id="another"),
        pytest.param({"method": "DELETE"}, Risk.DESTRUCTIVE, id="the worst"),
        pytest.param({"method": "delete"}, Risk.DESTRUCTIVE, id="in small letters"),
        pytest.param({"method": "gEt"}, Risk.DESTRUCTIVE, id="in mixed letters, which is another value"),
        pytest.param({"method": "GET "}, Risk.DESTRUCTIVE, id="with a space, which is another value"),
        pytest.param({"method": "PATCH"}, Risk.DESTRUCTIVE, id="not listed"),
        pytest.param({"method": ""}, Risk.DESTRUCTIVE, id="empty"),
        pytest.param({"method": 5}, Risk.DESTRUCTIVE, id="a number"),
        pytest.param({"method": {"a": 1}}, Risk.DESTRUCTIVE, id="an object"),
        pytest.param({"method": "GET\0"}, Risk.DESTRUCTIVE, id="what cannot be passed"),
        pytest.param({"method": ["GET", "POST"]}, Risk.WRITE, id="the greatest of a list"),
        pytest.param({"method": ["GET", "PATCH"]}, Risk.DESTRUCTIVE, id="a list with one that is not listed"),
        pytest.param({"method": []}, Risk.DESTRUCTIVE, id="an empty list, which leaves it to the program"),
        pytest.param({}, Risk.READ, id="the default"),
        pytest.param({"method": None}, Risk.READ, id="null, so the default"),
        pytest.param({"verb": "DELETE"}, Risk.READ, id="the value of another parameter"),
    ],
)
def test_value_decides_and_one_that_is_not_listed_is_destructive(arguments: dict[str, Any], expected: Risk) -> None:
    assert risk_of(request(method=METHODS), arguments, environ={}) is expected


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [({}, Risk.DESTRUCTIVE), ({"verb": "GET"}, Risk.READ), ({"verb": None}, Risk.DESTRUCTIVE)],
)
def test_value_that_is_left_to_the_program_is_not_listed(arguments: dict[str, Any], expected: Risk) -> None:
    assert risk_of(request(verb=METHODS), arguments, environ={}) is expected


def test_the_risk_of_an_absent_argument_can_be_listed() -> None:
    which = request(verb=METHODS | {"": Risk.READ})

    assert risk_of(which, {}, environ={}) is Risk.READ
    assert risk_of(which, {"verb": "PATCH"}, environ={}) is Risk.DESTRUCTIVE


@pytest.mark.parametrize(
    ("listed", "arguments", "expected"),
    [
        ({"true": Risk.WRITE}, {"force": True}, Risk.WRITE),
        ({"true": Risk.WRITE}, {"force": False}, Risk.READ),
        ({"true": Risk.WRITE}, {}, Risk.READ),
        ({"false": Risk.WRITE}, {}, Risk.WRITE),
        ({"false": Risk.WRITE}, {"force": False}, Risk.WRITE),
        ({"false": Risk.READ}, {"force": True}, Risk.DESTRUCTIVE),
    ],
)
def test_switch_that_is_off_writes_nothing_and_so_adds_nothing(
    listed: dict[str, Risk], arguments: dict[str, Any], expected: Risk
) -> None:
    assert risk_of(request(force=listed), arguments, environ={}) is expected


@pytest.mark.parametrize(("value", "expected"), [(1, Risk.READ), (2, Risk.DESTRUCTIVE), ("1", Risk.READ)])
def test_number_is_looked_up_as_it_is_written(value: Any, expected: Risk) -> None:
    assert risk_of(request(count={"1": Risk.READ}), {"count": value}, environ={}) is expected


@pytest.mark.parametrize(
    ("environ", "expected"),
    [({"API_HOST": "test"}, Risk.READ), ({"API_HOST": "live"}, Risk.DESTRUCTIVE), ({}, Risk.DESTRUCTIVE)],
)
def test_default_from_the_environment_counts(environ: dict[str, str], expected: Risk) -> None:
    assert risk_of(request(host={"test": Risk.READ}), {}, environ=environ) is expected


def test_greatest_risk_of_all_that_is_sent_counts() -> None:
    which = request(Risk.WRITE, method=METHODS, force={"true": Risk.DESTRUCTIVE})

    assert risk_of(which, {"method": "GET"}, environ={}) is Risk.WRITE
    assert risk_of(which, {"method": "GET", "force": True}, environ={}) is Risk.DESTRUCTIVE
    assert risk_of(which, {"method": "DELETE", "force": False}, environ={}) is Risk.DESTRUCTIVE


@pytest.mark.parametrize(
    ("value", "expected"), [("d", Risk.READ), ("D", Risk.DESTRUCTIVE), ("list", Risk.READ), ("LIST", Risk.DESTRUCTIVE)]
)
def test_an_option_in_capitals_is_another_one(value: str, expected: Risk) -> None:
    assert risk_of(request(verb={"d": Risk.READ, "list": Risk.READ}), {"verb": value}, environ={}) is expected


def test_two_values_that_differ_in_case_alone_have_a_risk_each() -> None:
    which = request(verb={"D": Risk.WRITE, "d": Risk.READ})

    assert [risk_of(which, {"verb": each}, environ={}) for each in "Dd"] == [Risk.WRITE, Risk.READ]


@given(
    st.sampled_from(list(Risk)),
    st.one_of(st.sampled_from([*METHODS, "get", "", None]), st.text(), st.integers(), st.lists(st.text(), max_size=3)),
)
def test_risk_is_at_least_that_of_the_tool_and_destructive_for_unlisted_values(own: Risk, value: Any) -> None:
    found = risk_of(request(own, verb=METHODS), {"verb": value}, environ={})

    assert found.rank >= own.rank
    if not isinstance(value, str) or value not in METHODS:
        assert found is Risk.DESTRUCTIVE
