"""What a client may send and what it is told when it does not fit."""

from __future__ import annotations

import json
from copy import deepcopy
from typing import Any, Literal

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import BaseModel
from sample_server.catalogue import CATALOGUE
from sample_server.text.models import CountWordsParams
from toolmason_runtime import ToolError
from toolmason_runtime.calls.arguments import Arguments, ArgumentValidator, values_at
from toolmason_runtime.shared.catalogue import ToolEntry

COUNT = ArgumentValidator(CATALOGUE["tools"]["count_words"], CountWordsParams)
RAW = ArgumentValidator(CATALOGUE["tools"]["raw"], None)
GOOD = {"text": "a", "label": "x"}
RANGES = "Argument 'ranges' must be an array of at most 3 items"


def read(**arguments: Any) -> Arguments:
    return COUNT.validate(GOOD | arguments)


def complaint(reader: ArgumentValidator, arguments: dict[str, Any]) -> list[str]:
    with pytest.raises(ToolError) as refused:
        reader.validate(arguments)
    return refused.value.message.split("\n")


def problem(**arguments: Any) -> str:
    return complaint(COUNT, GOOD | arguments)[0]


@pytest.mark.parametrize(
    ("arguments", "name", "value"),
    [
        ({"limit": "42"}, "limit", 42),
        ({"limit": 7.0}, "limit", 7),
        ({"ratio": "2.5"}, "ratio", 2.5),
        ({"ratio": 2}, "ratio", 2.0),
        ({"is_strict": "true"}, "is_strict", True),
        ({"weights": {"a": "1"}}, "weights", {"a": 1}),
    ],
)
def test_plain_meaning_is_taken(arguments: dict[str, Any], name: str, value: Any) -> None:
    assert getattr(read(**arguments).value, name) == value


BEYOND = 2**53 + 1


@pytest.mark.parametrize(
    ("sent", "note"),
    [
        (BEYOND, "Argument 'ratio' is a floating-point number: 9007199254740993 was rounded to 9007199254740992"),
        (-BEYOND, "Argument 'ratio' is a floating-point number: -9007199254740993 was rounded to -9007199254740992"),
        (str(BEYOND), "Argument 'ratio' is a floating-point number: 9007199254740993 was rounded to 9007199254740992"),
        (2**53, ""),
        (2**60, ""),
        (1e300, ""),
        (0.1, ""),
        (7, ""),
    ],
)
def test_an_integer_that_a_float_cannot_have_is_noted(sent: Any, note: str) -> None:
    assert list(read(ratio=sent).notes) == ([note] if note else [])


class Inner(BaseModel):
    """A value inside another one."""

    amount: float


class Amounts(BaseModel):
    """Numbers, wherever they stand."""

    amount: float
    amounts: list[float] = []
    by_name: dict[str, float] = {}
    inner: Inner | None = None
    inners: list[Inner] = []


def test_an_api_gets_the_digits_that_were_sent() -> None:
    entry: Any = deepcopy(CATALOGUE["tools"]["count_words"]) | {"api": "shop", "examples": []}
    entry["tool"] = entry["tool"] | {"inputSchema": Amounts.model_json_schema()}
    sent = {
        "amount": BEYOND,
        "amounts": [BEYOND, 0.5],
        "by_name": {"a": BEYOND},
        "inner": {"amount": BEYOND},
        "inners": [{"amount": BEYOND}],
    }
    validated = ArgumentValidator(entry, Amounts).validate(sent)

    assert json.dumps(validated.value) == json.dumps(sent)
    assert validated.notes == ()


class Choices(BaseModel):
    """Integers that are one of a few, wherever they stand."""

    level: Literal[1, 2] = 1
    only: Literal[3] | None = None
    levels: list[Literal[1, 2]] = []
    by_name: dict[str, Literal[1, 2]] = {}
    size: Literal["1", "2"] = "1"


CHOICES = ArgumentValidator(CATALOGUE["tools"]["count_words"], Choices)


@pytest.mark.parametrize(
    ("arguments", "value"),
    [
        ({"level": "2"}, {"level": 2}),
        ({"level": " 2 "}, {"level": 2}),
        ({"level": 2.0}, {"level": 2}),
        ({"only": "3"}, {"only": 3}),
        ({"levels": ["1", 2]}, {"levels": [1, 2]}),
        ({"by_name": {"a": "1"}}, {"by_name": {"a": 1}}),
        ({"size": "2"}, {"size": "2"}),
    ],
)
def test_plain_meaning_is_taken_where_only_some_integers_fit(arguments: dict[str, Any], value: dict[str, Any]) -> None:
    assert CHOICES.validate(arguments).value.model_dump(exclude_unset=True) == value


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ({"level": "3"}, "Argument 'level' must be one of: 1, 2; got \"3\""),
        ({"level": "one"}, "Argument 'level' must be one of: 1, 2; got \"one\""),
        ({"level": 1.5}, "Argument 'level' must be one of: 1, 2; got 1.5"),
        ({"level": True}, "Argument 'level' must be one of: 1, 2; got true"),
        ({"level": "1" * 5000}, f"Argument 'level' must be one of: 1, 2; got \"{'1' * 59}..."),
        ({"levels": ["1", "x"]}, "Argument 'levels[1]' must be one of: 1, 2; got \"x\""),
        ({"size": 1}, "Argument 'size' must be one of: 1, 2; got 1"),
    ],
)
def test_a_value_outside_an_integer_enum_is_answered_with_the_choices(arguments: dict[str, Any], said: str) -> None:
    assert complaint(CHOICES, arguments)[0] == said


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ({"limit": 2.9}, "Argument 'limit' must be an integer from 1 to 100; got 2.9"),
        ({"limit": "many"}, "Argument 'limit' must be an integer from 1 to 100; got \"many\""),
        ({"limit": 0}, "Argument 'limit' must be an integer from 1 to 100; got 0"),
        ({"limit": True}, "Argument 'limit' must be an integer from 1 to 100; got true"),
        ({"limit": [1]}, "Argument 'limit' must be an integer from 1 to 100; got an array of 1 item"),
        ({"ratio": False}, "Argument 'ratio' must be a number; got false"),
        ({"ratio": "NaN"}, "Argument 'ratio' must be a number; got \"NaN\""),
        ({"is_strict": 1}, "Argument 'is_strict' must be true or false; got 1"),
        ({"text": 5}, "Argument 'text' must be a string; got 5"),
        ({"text": None}, "Argument 'text' is required: a string"),
        ({"format": "xml"}, "Argument 'format' must be one of: json, text, csv; got \"xml\""),
        ({"ranges": 5}, "Argument 'ranges' must be an array of at most 3 items; got 5"),
        (
            {"ranges": [{"start": 1}] * 4},
            "Argument 'ranges' must be an array of at most 3 items; got an array of 4 items",
        ),
        ({"ranges": [{"start": "x"}]}, "Argument 'ranges[0].start' must be an integer; got \"x\""),
        ({"ranges": [{}]}, "Argument 'ranges[0].start' is required: an integer"),
        ({"ranges": [None]}, "Argument 'ranges[0]' must be an object; got null"),
        ({"weights": {"a": True}}, "Argument 'weights.a' must be an integer; got true"),
        ({"weights": {"a": 1.5}}, "Argument 'weights.a' must be an integer; got 1.5"),
    ],
)
def test_an_invalid_argument_is_answered_with_the_expected_form(arguments: dict[str, Any], said: str) -> None:
    assert problem(**arguments) == said


def test_all_problems_are_reported_at_once_with_an_example() -> None:
    lines = complaint(COUNT, {"limit": 0, "ranges": [{"stop": "x"}], "colour": 1})

    assert lines == [
        "Argument 'text' is required: a string",
        "Argument 'label' is required: a string or null",
        "Argument 'limit' must be an integer from 1 to 100; got 0",
        "Argument 'ranges[0].start' is required: an integer",
        "Argument 'ranges[0].stop' must be an integer; got \"x\"",
        f"Note: unknown argument 'colour' was ignored; known are: {', '.join(CountWordsParams.model_fields)}",
        'Example: count_words {"text": "a b", "limit": 10, "ranges": [{"start": 0}], "label": "x"}',
    ]


def test_items_that_must_differ_are_held_to_it_however_they_are_written() -> None:
    entry = deepcopy(CATALOGUE["tools"]["count_words"])
    entry["unique"] = [["ranges"]]
    reader = ArgumentValidator(entry, CountWordsParams)
    fitting = {"text": "a", "label": "x", "ranges": [{"start": 1}, {"start": 2}]}
    assert reader.validate(fitting).value.ranges

    (said, *_example) = complaint(reader, {**fitting, "ranges": [{"start": 1, "stop": 2}, {"stop": 2, "start": 1}]})
    assert said.startswith("Argument 'ranges' must be an array of at most 3 items all different; got")


def test_very_many_problems_are_counted() -> None:
    lines = complaint(COUNT, GOOD | {"weights": {str(number): "x" for number in range(50)}})

    assert "... and 30 more." in lines
    assert len(lines) == 22


def test_long_values_are_quoted_in_short() -> None:
    assert len(problem(format="x" * 10_000)) < 150


@pytest.mark.parametrize("name", ["limit", "format", "ratio", "is_strict", "ranges", "weights"])
def test_null_of_an_optional_argument_is_the_same_as_leaving_it_out(name: str) -> None:
    assert read(**{name: None}).value == read().value


def test_null_inside_an_argument_is_left_out_too() -> None:
    assert read(ranges=[{"start": 1, "stop": None}]).value == read(ranges=[{"start": 1}]).value


def test_null_of_a_nullable_argument_is_a_value() -> None:
    assert COUNT.validate({"text": "a", "label": None}).value.label is None
    assert complaint(COUNT, {"text": "a"})[0] == "Argument 'label' is required: a string or null"


@pytest.mark.parametrize(
    ("arguments", "note"),
    [
        ({"limt": 1}, "Note: unknown argument 'limt' was ignored; did you mean 'limit'?"),
        (
            {"ranges": [{"start": 1, "end": 2}]},
            "Note: unknown argument 'ranges[0].end' was ignored; known are: start, stop",
        ),
    ],
)
def test_unknown_arguments_are_dropped_and_noted(arguments: dict[str, Any], note: str) -> None:
    assert read(**arguments).notes == (note,)


def test_members_of_a_map_are_not_unknown() -> None:
    assert read(weights={"anything": 1}).notes == ()


def test_sent_arguments_are_not_changed() -> None:
    sent = GOOD | {"ranges": [{"start": 1, "x": 1, "stop": None}], "limit": None, "wait_for_previous": True}
    before = repr(sent)
    COUNT.validate(sent)

    assert repr(sent) == before


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ({}, "Argument 'depth' is required: an integer of at least 0"),
        ({"depth": -1}, "Argument 'depth' must be an integer of at least 0; got -1"),
        ({"depth": True}, "Argument 'depth' must be an integer of at least 0; got true"),
        ({"depth": None}, "Argument 'depth' is required: an integer of at least 0"),
        ({"depth": 1, "mode": "c"}, "Argument 'mode' must be one of: a, b; got \"c\""),
    ],
)
def test_raw_schema_is_enforced_in_the_same_words(arguments: dict[str, Any], said: str) -> None:
    assert complaint(RAW, arguments)[0] == said


def test_raw_schema_gives_the_handler_a_dict_with_nulls_as_the_schema_has_them() -> None:
    result = RAW.validate({"depth": 1, "mode": None, "name": None, "else": 1})

    assert result.value == {"depth": 1, "name": None}
    assert len(result.notes) == 1


def test_open_raw_schema_accepts_unknown_arguments() -> None:
    entry = CATALOGUE["tools"]["raw"]
    schema = {"type": "object", "properties": {"a": {"type": "integer"}}}
    reader = ArgumentValidator(entry | {"tool": {"name": "raw", "inputSchema": schema}}, None)

    assert reader.validate({"a": 1, "b": 2}) == Arguments({"a": 1, "b": 2}, ())


def test_raw_schema_never_fetches_another_document() -> None:
    entry = CATALOGUE["tools"]["raw"]
    schema = {"type": "object", "properties": {"a": {"$ref": "http://127.0.0.1:1/schema.json"}}}
    reader = ArgumentValidator(entry | {"tool": {"name": "raw", "inputSchema": schema}}, None)

    with pytest.raises(Exception, match="refers to another document"):
        reader.validate({"a": 1})


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=8,
)
NAMES = st.sampled_from([*CountWordsParams.model_fields, "other", "wait_for_previous"])


def read_or_refused(reader: ArgumentValidator, arguments: dict[str, Any]) -> Arguments | str:
    try:
        return reader.validate(arguments)
    except ToolError as error:
        return error.message


@given(st.dictionaries(NAMES, JSON))
def test_any_arguments_are_accepted_or_refused_with_a_message(arguments: dict[str, Any]) -> None:
    match read_or_refused(COUNT, arguments):
        case Arguments(value):
            assert isinstance(value, CountWordsParams)
        case str(message):
            assert message.startswith("Argument '")


@given(st.dictionaries(st.sampled_from(["depth", "mode", "name", "other"]), JSON))
def test_whatever_is_sent_to_a_raw_schema_is_read_or_refused_in_words(arguments: dict[str, Any]) -> None:
    match read_or_refused(RAW, arguments):
        case Arguments(value):
            assert value.keys() <= {"depth", "mode", "name"}
        case str(message):
            assert message.startswith("Argument '")


@given(st.text(max_size=20), st.none() | st.text(max_size=5), st.integers(1, 100))
def test_good_arguments_are_read_as_they_are(text: str, label: str | None, limit: int) -> None:
    result = COUNT.validate({"text": text, "label": label, "limit": limit})

    assert (result.value.text, result.value.label, result.value.limit, result.notes) == (text, label, limit, ())


QUERY: dict[str, Any] = {
    "type": "object",
    "properties": {
        "$top": {"type": "integer", "minimum": 1},
        "filters": {"type": "array", "items": {"$ref": "#/$defs/Filter"}},
        "labels": {"type": "object", "additionalProperties": {"type": "string"}},
    },
    "required": ["$top"],
    "additionalProperties": False,
    "$defs": {"Filter": {"type": "object", "properties": {"@field": {"const": "a"}}, "required": ["@field"]}},
}
SENT: dict[str, Any] = {
    "type": "object",
    "properties": {
        "top": {"type": "integer", "minimum": 1},
        "filters": {"type": "array", "items": {"type": "object", "properties": {"field": {"type": "string"}}}},
        "labels": {"type": "object"},
    },
    "required": ["top"],
}


@pytest.fixture
def query() -> ArgumentValidator:
    """Give the reader of a tool whose raw schema had to be sent in other words and names."""
    entry: ToolEntry = {
        **CATALOGUE["tools"]["raw"],
        "tool": {"name": "query", "inputSchema": SENT},
        "arguments_schema": QUERY,
        "renamed": {"top": "$top", "field": "@field"},
    }
    return ArgumentValidator(entry, None)


def test_names_that_were_replaced_lead_back_to_the_tools_own(query: ArgumentValidator) -> None:
    sent = {"top": 3, "filters": [{"field": "a"}], "labels": {"field": "stays", "top": "too"}}
    before = deepcopy(sent)
    assert query.validate(sent) == Arguments(
        {"$top": 3, "filters": [{"@field": "a"}], "labels": {"field": "stays", "top": "too"}}, ()
    )
    assert sent == before
    assert query.validate({"$top": 3}).value == {"$top": 3}


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ({}, "Argument 'top' is required: an integer of at least 1"),
        ({"top": 0}, "Argument 'top' must be an integer of at least 1; got 0"),
        ({"top": 1, "filters": [{"field": "b"}]}, "Argument 'filters[0].field' must be one of: a; got \"b\""),
        ({"top": 1, "filters": [{}]}, "Argument 'filters[0].field' is required: one of: a"),
    ],
)
def test_arguments_are_held_to_the_schema_as_written_in_the_names_that_were_sent(
    query: ArgumentValidator, arguments: dict[str, Any], said: str
) -> None:
    with pytest.raises(ToolError) as caught:
        query.validate(arguments)
    assert said in str(caught.value).splitlines()[0]


def test_a_name_that_was_given_is_not_suggested(query: ArgumentValidator) -> None:
    (note,) = query.validate({"top": 1, "topp": 2}).notes

    assert note == "Note: unknown argument 'topp' was ignored; known are: top, filters, labels"


def test_unknown_argument_is_noted_with_the_names_that_were_sent(query: ArgumentValidator) -> None:
    assert query.validate({"top": 1, "filterss": []}).notes == (
        "Note: unknown argument 'filterss' was ignored; did you mean 'filters'?",
    )


@pytest.mark.parametrize(
    ("steps", "arguments", "place"),
    [
        (["ranges", "*", "tags"], {"ranges": [{"start": 1}, {"start": 1, "tags": ["a", "a"]}]}, "ranges[1].tags"),
        (["by_name", "*"], {"by_name": {"x": [1, 2], "y": [3, 3]}}, "by_name.y"),
        (["absent", "*", "tags"], {"ranges": [{"tags": ["a", "a"]}]}, ""),
    ],
)
def test_items_that_must_differ_are_found_in_lists_and_maps(
    steps: list[str], arguments: dict[str, Any], place: str
) -> None:
    found = [path for path, value in values_at(arguments, steps, ()) if len(value) > len({*map(str, value)})]
    assert [".".join(map(str, path)) for path in found] == ([place.replace("[", ".").replace("]", "")] if place else [])


PET: dict[str, Any] = {
    "type": "object",
    "properties": {
        "pet": {
            "oneOf": [
                {
                    "type": "object",
                    "properties": {"kind": {"const": "cat"}, "lives": {"type": "integer"}},
                    "required": ["kind"],
                    "additionalProperties": False,
                },
                {
                    "type": "object",
                    "properties": {"kind": {"const": "dog"}, "tricks": {"type": "array", "items": {"type": "string"}}},
                    "required": ["kind", "tricks"],
                },
            ]
        },
        "counts": {"type": "object", "additionalProperties": {"type": "integer"}},
        "node": {"$ref": "#/$defs/N"},
    },
    "allOf": [{"$ref": "#/$defs/Base"}],
    "$defs": {
        "Base": {"properties": {"wait_for_previous": {"type": "boolean"}}},
        "N": {
            "type": "object",
            "properties": {"my-val": {"type": "integer"}, "kids": {"type": "array", "items": {"$ref": "#/$defs/N"}}},
            "required": ["my-val"],
            "additionalProperties": False,
        },
    },
}


@pytest.fixture
def pets() -> ArgumentValidator:
    sent = {"type": "object", "properties": {**PET["properties"], "wait_for_previous": {"type": "boolean"}}}
    entry: ToolEntry = {
        **CATALOGUE["tools"]["raw"],
        "tool": {"name": "pets", "inputSchema": sent},
        "arguments_schema": PET,
        "renamed": {"my_val": "my-val"},
    }
    return ArgumentValidator(entry, None)


def test_null_of_an_optional_member_is_left_out_inside_alternatives_too(pets: ArgumentValidator) -> None:
    assert pets.validate({"pet": {"kind": "cat", "lives": None}}).value == {"pet": {"kind": "cat"}}


def test_null_in_a_map_is_not_an_absent_argument(pets: ArgumentValidator) -> None:
    assert complaint(pets, {"counts": {"a": None, "b": 1}})[0] == "Argument 'counts.a' must be an integer; got null"


@pytest.mark.parametrize(
    ("pet", "said"),
    [
        ({"kind": "dog"}, "Argument 'pet.tricks' is required: an array of strings"),
        ({"kind": "dog", "tricks": [1]}, "Argument 'pet.tricks[0]' must be a string; got 1"),
        ({"kind": "cat", "lives": "nine"}, "Argument 'pet.lives' must be an integer; got \"nine\""),
        ({"kind": "cow"}, "Argument 'pet.kind' must be one of: cat; got \"cow\""),
        (7, "Argument 'pet' must be an object; got 7"),
    ],
)
def test_an_invalid_value_is_reported_for_the_alternative_of_its_tag(
    pets: ArgumentValidator, pet: Any, said: str
) -> None:
    assert complaint(pets, {"pet": pet})[0] == said


def test_renamed_arguments_are_restored_at_every_depth(pets: ArgumentValidator) -> None:
    sent: dict[str, Any] = {"my_val": 0}
    own: dict[str, Any] = {"my-val": 0}
    for level in range(1, 9):
        sent, own = {"my_val": level, "kids": [sent]}, {"my-val": level, "kids": [own]}
    assert pets.validate({"node": sent}).value == {"node": own}


def test_argument_that_a_schema_takes_from_elsewhere_is_declared(pets: ArgumentValidator) -> None:
    assert pets.validate({"wait_for_previous": True}).value == {"wait_for_previous": True}


def with_deprecated(**deprecations: Any) -> ArgumentValidator:
    """The tool `raw` with deprecated arguments."""
    entry = deepcopy(CATALOGUE["tools"]["raw"])
    entry["deprecated_arguments"] = {
        name: {"since": "2.0", "replaced_by": "", "message": ""} | changes for name, changes in deprecations.items()
    }
    return ArgumentValidator(entry, None)


def test_a_deprecated_argument_works_with_a_note() -> None:
    reader = with_deprecated(mode={"replaced_by": "name", "until": "9999-12-31"}, name={"message": "It has no use."})
    assert reader.validate({"depth": 1}).notes == ()
    read = reader.validate({"depth": 1, "mode": "a", "name": "b"})
    assert read.value == {"depth": 1, "mode": "a", "name": "b"}
    assert read.notes == (
        "Note: argument 'mode' is deprecated: since 2.0; works until 9999-12-31; use `name`",
        "Note: argument 'name' is deprecated: since 2.0; It has no use.",
    )


@pytest.mark.parametrize(
    ("changes", "sent", "error", "example"),
    [
        ({"replaced_by": "name"}, {"mode": "a"}, ": use `name`", {"depth": 1, "name": "a"}),
        ({"replaced_by": "name"}, {"name": "b", "mode": "a"}, ": use `name`", {"depth": 1, "name": "b"}),
        ({"message": "It had no use."}, {"mode": "a", "name": "b"}, ". It had no use.", {"depth": 1, "name": "b"}),
    ],
)
def test_after_its_last_day_an_argument_is_refused_with_the_call_to_send(
    changes: dict[str, str], sent: dict[str, Any], error: str, example: dict[str, Any]
) -> None:
    lines = complaint(with_deprecated(mode={"until": "2001-02-03", **changes}), {"depth": 1, **sent})
    assert lines[0] == f"Argument 'mode' was removed after 2001-02-03{error}"
    assert json.loads(lines[1].removeprefix("Example: raw ")) == example
