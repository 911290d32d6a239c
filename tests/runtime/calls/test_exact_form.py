"""Arguments of exact form skip the walks through the arguments, with the same result as with them."""

from __future__ import annotations

from typing import Annotated, Any, Literal
from unittest.mock import patch

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from pydantic import Field
from toolmason_runtime import ToolError
from toolmason_runtime.calls import arguments
from toolmason_runtime.calls.arguments import ArgumentValidator
from toolmason_runtime.calls.model import Model
from toolmason_runtime.discovery import parameters
from toolmason_runtime.discovery.parameters import TOOL_NAME, Parameter, parse_arguments
from toolmason_runtime.shared.values.exact_form import exact_form
from toolmason_runtime.shared.values.flat_arguments import MAX_EXACT


class Branch(Model):
    name: str
    below: Annotated[list[Branch], Field(default_factory=list)]


class Cat(Model):
    kind: Literal["cat"]
    lives: int = 9


class Dog(Model):
    kind: Literal["dog"]
    weight: float | None = None


class Everything(Model):
    text: str | None = None
    count: Annotated[int, Field(ge=0)] | None = None
    ratio: float | None = None
    flag: bool | None = None
    level: Literal["low", "high"] | None = None
    tags: list[str] | None = None
    branch: Branch | None = None
    either: int | list[float] | None = None


class Pets(Model):
    pet: Annotated[Cat | Dog, Field(discriminator="kind")]
    labels: Annotated[dict[str, int], Field(default_factory=dict)]


class Nothing(Model):
    pass


SCALARS = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-3, 3),
    st.floats(allow_nan=False, allow_infinity=False),
    st.sampled_from(["a", "low", "LOW", "3", "null", "", "[]", '{"name": "a"}', MAX_EXACT, MAX_EXACT + 1, 10**400]),
)
BRANCHES = st.recursive(
    st.fixed_dictionaries({"name": SCALARS}, optional={"nmae": SCALARS}),
    lambda below: st.fixed_dictionaries({"name": st.text(max_size=3)}, optional={"below": st.lists(below, max_size=2)}),
    max_leaves=4,
)
VALUES = st.one_of(SCALARS, st.lists(SCALARS, max_size=3), BRANCHES)
PETS = st.fixed_dictionaries(
    {"kind": st.sampled_from(["cat", "dog", "cow", 1])}, optional={"lives": SCALARS, "weight": SCALARS}
)
SENT = st.one_of(
    st.fixed_dictionaries({}, optional={**dict.fromkeys(Everything.model_fields, VALUES), "other": SCALARS}),
    st.fixed_dictionaries({"pet": PETS}, optional={"labels": st.dictionaries(st.text(max_size=2), SCALARS)}),
)
MODELS = st.sampled_from([Everything, Pets, Nothing])


def outcome(model: type[Model], sent: dict[str, Any]) -> object:
    """The value and the notes, or the error."""
    schema = model.model_json_schema()
    validator = ArgumentValidator({"tool": {"name": "tool", "inputSchema": schema}, "examples": []}, model)  # type: ignore[typeddict-item]
    try:
        result = validator.validate(sent)
    except ToolError as error:
        return error.message
    return result.value.model_dump(), result.value.model_fields_set, result.notes


@given(model=MODELS, sent=SENT)
@example(Everything, {"ratio": MAX_EXACT + 1})
@example(Everything, {"flag": 1, "count": True})
@example(Everything, {"branch": {"name": "a", "below": [{"name": "b", "nmae": "c"}]}})
@example(Pets, {"pet": {"kind": "dog", "lives": 9}})
@example(Nothing, {"a": 1})
def test_the_result_is_that_without_the_shortcut(model: type[Model], sent: dict[str, Any]) -> None:
    before = repr(sent)
    found = outcome(model, sent)
    with patch.object(arguments, "exact_form", lambda _: None):
        assert repr(found) == repr(outcome(model, sent))
    assert repr(sent) == before


@pytest.mark.parametrize(
    ("model", "sent", "is_exact"),
    [
        (Everything, {"text": "a", "count": 1, "ratio": 2, "flag": True, "level": "low", "tags": ["a"]}, True),
        (Everything, {"text": None, "branch": {"name": "a", "below": [{"name": "b", "below": []}]}}, True),
        (Everything, {"either": [1, 2.5]}, True),
        (Everything, {"count": True}, False),
        (Everything, {"count": "1"}, False),
        (Everything, {"flag": 1}, False),
        (Everything, {"ratio": MAX_EXACT + 1}, False),
        (Everything, {"other": 1}, False),
        (Everything, {"branch": {"name": "a", "below": [{"nmae": "b"}]}}, False),
        (Nothing, {}, True),
    ],
    ids=repr,
)
def test_which_arguments_have_exact_form(model: type[Model], sent: dict[str, Any], *, is_exact: bool) -> None:
    check = exact_form(model.model_json_schema())
    assert check is not None
    assert check(sent) is is_exact


def test_a_union_with_a_tag_and_a_map_have_no_exact_form() -> None:
    assert exact_form(Pets.model_json_schema()) is None


PARAMETERS = {
    "tool_name": TOOL_NAME,
    "args": Parameter(type="object", required=True, misnomers=("arguments", "name")),
    "limit": Parameter(type="integer", default=5, minimum=1),
    "full": Parameter(type="boolean", default=False),
    "name": Parameter(max_length=4),
}
PLAIN = st.fixed_dictionaries(
    {},
    optional={
        **dict.fromkeys(
            [*PARAMETERS, "tool", "arguments", "wait_for_previous"], st.one_of(SCALARS, st.just("too long"))
        ),
        "args": st.one_of(SCALARS, st.dictionaries(st.text(max_size=2), SCALARS, max_size=2)),
    },
)


@given(sent=PLAIN)
@example({"tool_name": "", "tool": "a", "args": {}})
@example({"tool_name": "a", "args": {}, "name": "b"})
@example({"tool_name": "a", "args": {}, "limit": 2.0})
@example({"tool_name": "a", "args": {}, "name": "too long"})
def test_arguments_of_a_meta_tool_have_the_result_without_the_shortcut(sent: dict[str, Any]) -> None:
    def parsed() -> object:
        try:
            return parse_arguments(PARAMETERS, sent, lambda arguments, names: f"{arguments} {sorted(names)}")
        except ToolError as error:
            return error.message

    found = parsed()
    with patch.object(parameters, "_plain_values", lambda _parameters, _sent: None):
        assert repr(found) == repr(parsed())
