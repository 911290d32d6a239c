"""Patterns mean what they mean to Python's `re`, and no text keeps them busy."""

from __future__ import annotations

import re
import sys
import unicodedata
import warnings
from typing import Annotated, Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import Field, ValidationError
from sample_server.catalogue import CATALOGUE
from toolmason_runtime.calls.arguments import ArgumentValidator
from toolmason_runtime.calls.model import Model
from toolmason_runtime.shared.catalogue import ToolEntry
from toolmason_runtime.shared.errors import ToolError
from toolmason_runtime.shared.values import patterns as values
from toolmason_runtime.shared.values.patterns import (
    MAX_STEPS,
    PatternTimeoutError,
    compile_linear,
    is_found,
    is_linear,
    time_limit,
)
from toolmason_runtime.shared.values.rust_pattern import UntranslatableError, translate
from toolmason_runtime.shared.values.validation import validator
from toolmason_runtime.wire.results import ResultError, ResultWriter

SLUG = "^([a-z0-9]+-?)+$"
HOSTILE_TO_SLUG = "a" * 40 + "!"
BACKTRACKING = "^(?=(a|aa)+$)"
"""Only a backtracking engine can match this; with HOSTILE it takes longer than anyone waits."""
HOSTILE = "a" * 100 + "b"
SHORT_S = 0.1

PIECES = (
    *"ab01_ -.^$|()[]{}*+?\\,:=<>!&~é\n\x1c",
    *(r"\d", r"\D", r"\w", r"\W", r"\s", r"\S", r"\b", r"\B", r"\A", r"\Z", r"\n", r"\x41", r"\u0660", r"\1", r"\0"),
    *("(?:", "(?P<n>", "(?=", "(?!", "(?i)", "(?#", "(a|", "$)", "|$", "[^", "[]", "[a-z]", r"[\w.-]", r"[^\s\b]"),
    *("{2}", "{1,2}", "{,1}", "{,}", "{1,}", "{2}?", "*?", "*+", "&&", "[[", "--", "||"),
)
CHARACTERS = (*"ab01_ -.A[]&\n\x1c\x85", "é", "\u0660", "\u00b2", "\u0301", "\u4e00", "\u2028", "\U0001f600")
patterns = st.lists(st.sampled_from(PIECES), max_size=10).map("".join) | st.text(max_size=6)
texts = st.text(st.sampled_from(CHARACTERS) | st.characters(exclude_categories=["Cs"]), max_size=8)


def compiled(pattern: str) -> re.Pattern[str] | None:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return re.compile(pattern)
    except (re.error, OverflowError):
        return None


@settings(max_examples=1_000)
@given(patterns, st.lists(texts, min_size=1, max_size=8), st.booleans())
def test_translated_pattern_is_found_where_python_finds_it(pattern: str, samples: list[str], is_ascii: bool) -> None:
    theirs = compiled(pattern)
    try:
        ours = compile_linear(translate(pattern, is_ascii=is_ascii).text)
    except UntranslatableError:
        return

    assert theirs is not None, "what is no pattern is not translated"
    for text in samples:
        if text.isascii() or not is_ascii:
            assert ours(text) == bool(theirs.search(text)), (pattern, text)


@pytest.mark.parametrize("name", [r"\d", r"\D", r"\w", r"\W", r"\s", r"\S", r"[^\d\w]", "."])
def test_class_has_the_same_characters_as_in_python(name: str) -> None:
    theirs = re.compile(name)
    characters = [chr(code) for code in range(sys.maxunicode + 1) if not 0xD800 <= code < 0xE000]
    for is_ascii in (True, False):
        ours = compile_linear(translate(name, is_ascii=is_ascii).text)
        those = characters[:128] if is_ascii else characters
        assert [each for each in those if ours(each) != bool(theirs.search(each))] == []


@pytest.mark.parametrize(
    ("pattern", "text"),
    [
        ("^a$", "a\n"),
        ("^a$", "a\n\n"),
        (r"^a\Z", "a\n"),
        ("^(a$|b)$", "a"),
        (r"^\d+$", "\u0660"),
        (r"^\w+$", "e\u0301"),
        (r"^\w{1,255}$", "a" * 255),
        (r"\bcat\b", "a cat's"),
        (r"\bcat\b", "écat"),
        (r"^\s$", "\x1c"),
        ("^a{,2}$", "aa"),
        ("^[[a&&b]$", "&"),
        ("(?i)^straße$", "STRASSE"),
        (r"^(\w)\1$", "aa"),
        ("", "anything"),
    ],
)
def test_pattern_matches_as_in_python(pattern: str, text: str) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FutureWarning)
        assert is_found(pattern, text) == bool(re.search(pattern, text))


@pytest.mark.parametrize(
    ("pattern", "is_it"),
    [
        (SLUG, True),
        (r"^\w{1,255}$", True),
        (r"^[\w.+-]+@[\w-]+\.[\w.]+$", True),
        (r"\bcat\b", True),
        ("^(?:a|b$)", True),
        ("^a$b", False),
        ("(a$)*", False),
        ("^(?=a)", False),
        (r"^(a)\1$", False),
        ("(?i)a", False),
        (r"\Ba", False),
        ("^a*+$", False),
        (r"\ud800", False),
    ],
)
def test_linear_patterns_are_recognised(pattern: str, is_it: bool) -> None:
    assert is_linear(pattern) is is_it


@given(patterns)
def test_whatever_python_compiles_can_be_matched(pattern: str) -> None:
    if compiled(pattern) is not None:
        assert is_found(pattern, "ab 1\n") in {True, False}


OF_REGEX = ("{e}", "{d}", "{i<2}", "{e<=1}", "{s:[a]}", "{}", "{ 1}", "{", "[[:alpha:]]", "[^[:a:]]", r"\N{DIGIT ONE}")
"""Syntax of the package `regex` that is literal in `re`, and an escape that is equal in both."""
IN_BOTH = ("a", "b", "^", "$", "(?:", ")", "|", "{2}", r"\{", r"\[", "[{]")
mixed = st.lists(st.sampled_from((*IN_BOTH, *OF_REGEX)), max_size=6)


@given(mixed.map("".join), st.lists(st.text("ab1{}e:d<=is[] alph", max_size=8), min_size=1, max_size=8))
def test_syntax_of_the_regex_package_matches_as_in_python(pattern: str, samples: list[str]) -> None:
    theirs = compiled(pattern)
    if theirs is None:
        return
    for text in samples:
        assert is_found(f"(?=){pattern}", text) == bool(theirs.search(text)), (pattern, text)


@pytest.mark.parametrize(
    ("pattern", "text"),
    [
        ("^(?=a)abc{e<=1}$", "abd"),
        ("^(?=a)abc{e<=1}$", "abc{e<=1}"),
        ("^(?=a)(?:abc){d}$", "ab"),
        ("^(?=a)(?:abc){i}$", "abxc"),
        ("^(?=.)[[:alpha:]]$", "b"),
        ("^(?=.)[[:alpha:]]$", "a]"),
        ("^(?=.)[^[:alpha:]]$", "1]"),
        (r"(?=.)\{e}$", "{e}"),
        ("(?#[)(?=a)a{e}", "b"),
    ],
)
def test_fuzzy_matches_and_posix_classes_are_literal_text(pattern: str, text: str) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FutureWarning)
        expected = bool(re.search(pattern, text))
    assert not is_linear(pattern)
    assert is_found(pattern, text) == expected


@pytest.mark.parametrize("pattern", [r"(?=a)[\w-z]", r"(?=a)\p{L}", "(?=a)(?e)a", "(?<=a+)b", "(?=a)(?R)?"])
def test_a_pattern_that_python_does_not_compile_is_refused(pattern: str) -> None:
    with pytest.raises(ValueError, match="cannot be matched with a time limit"):
        is_found(pattern, "ab")


@pytest.mark.parametrize(
    "pattern",
    [
        "(?:(?:a{1000}){1000}){1000}(?=b)",
        "(?:aww{1000}){1000}(?!b)",
        "((?:[a-z]{1,2000}){0,2000})(?=x)",
        r"(?<=\d)(?:(?:\w{500,}){500}){500,}",
        "(?=a)(?:(?:(?:(?:x{99}){99}){99}){99}){99}",
    ],
)
def test_pattern_with_too_many_copies_is_refused_before_it_is_compiled(pattern: str) -> None:
    with pytest.raises(ValueError, match="its repeats are too large"):
        is_found(pattern, "a")


def test_linear_pattern_is_done_with_any_text() -> None:
    assert not is_found(SLUG, "a" * 1_000_000 + "!")


def test_match_that_does_not_end_is_ended() -> None:
    with pytest.raises(PatternTimeoutError, match="in time; send a shorter value"):
        is_found(BACKTRACKING, HOSTILE)


def test_large_pattern_and_long_text_together_are_timed_as_well() -> None:
    pattern = "^(?:(?:[a-z]{1,100}-?){1,100}x)$"
    assert translate(pattern, is_ascii=True).size * 100_000 > MAX_STEPS
    with time_limit(0), pytest.raises(PatternTimeoutError):
        is_found(pattern, "a" * 100_000)


def test_one_time_limit_covers_all_matches_within_it() -> None:
    with time_limit(0):
        assert is_found(SLUG, "a-b")
        with pytest.raises(PatternTimeoutError):
            is_found("^(?=a)", "a")
    assert is_found("^(?=a)", "a")


class Inner(Model):
    slug: Annotated[str | None, Field(pattern=SLUG, max_length=200)] = None
    others: list[Inner] | None = None


class Outer(Model):
    slug: Annotated[str, Field(pattern=SLUG)] = "a"
    slow: Annotated[str, Field(pattern=BACKTRACKING)] = "a"
    inner: Inner | None = None
    by_name: dict[str, Annotated[str, Field(pattern=SLUG)]] | None = None


@pytest.mark.parametrize(
    ("value", "place"),
    [
        ({"slug": HOSTILE_TO_SLUG}, ("slug",)),
        ({"inner": {"slug": HOSTILE_TO_SLUG}}, ("inner", "slug")),
        ({"inner": {"others": [{"slug": HOSTILE_TO_SLUG}]}}, ("inner", "others", 0, "slug")),
        ({"by_name": {"a": HOSTILE_TO_SLUG}}, ("by_name", "a")),
    ],
    ids=["field", "model", "model in itself", "map"],
)
def test_no_text_keeps_a_model_busy(value: dict[str, Any], place: tuple[str | int, ...]) -> None:
    with pytest.raises(ValidationError) as caught:
        Outer.model_validate(value)

    assert [(each["loc"], each["type"]) for each in caught.value.errors()] == [(place, "string_pattern_mismatch")]


def test_model_accepts_values_that_match_its_patterns() -> None:
    value = {"slug": "a-b", "slow": "aa", "inner": {"slug": "a", "others": [{"slug": "b"}]}, "by_name": {"x": "c"}}
    assert Outer.model_validate(value).model_dump(exclude_unset=True) == value


def test_schema_of_a_model_has_its_patterns_as_written() -> None:
    schema = Outer.model_json_schema()

    assert schema["properties"]["slug"] == {"pattern": SLUG, "type": "string", "default": "a", "title": "Slug"}
    assert schema["$defs"]["Inner"]["properties"]["slug"]["anyOf"][0] == {
        "pattern": SLUG,
        "type": "string",
        "maxLength": 200,
    }


def reader(schema: dict[str, Any], model: type[Model] | None = None) -> ArgumentValidator:
    entry: ToolEntry = {**CATALOGUE["tools"]["raw"], "tool": {"name": "raw", "inputSchema": schema}}
    return ArgumentValidator(entry, model)


def refusal(arguments: dict[str, Any], schema: dict[str, Any], model: type[Model] | None = None) -> str:
    with pytest.raises(ToolError) as caught:
        reader(schema, model).validate(arguments)
    return str(caught.value).splitlines()[0]


TEXT = {"type": "string"}


def raw_schemas(pattern: str) -> list[dict[str, Any]]:
    """Make a schema for each keyword that matches `pattern` with a value or a name."""
    return [
        {"properties": {"x": {"type": "string", "pattern": pattern}}},
        {"propertyNames": {"pattern": pattern}},
        {"patternProperties": {pattern: TEXT}, "additionalProperties": False},
        {"$schema": "http://json-schema.org/draft-07/schema#", "properties": {"x": {"pattern": pattern}}},
        {"$ref": "#/$defs/X", "$defs": {"X": {"properties": {"x": {"pattern": pattern}}}}},
        {"patternProperties": {pattern: TEXT}},
        {"patternProperties": {pattern: TEXT}, "additionalProperties": TEXT},
        {"not": {"properties": {"x": {"pattern": pattern}}, "propertyNames": {"pattern": pattern}}},
    ]


@pytest.mark.parametrize(
    ("schema", "fits"), list(zip(raw_schemas(SLUG), [*[False] * 5, *[True] * 3], strict=True)), ids=str
)
def test_no_text_keeps_a_raw_schema_busy(schema: dict[str, Any], *, fits: bool) -> None:
    assert validator(schema).is_valid({"x": HOSTILE_TO_SLUG, HOSTILE_TO_SLUG: "x"}) is fits


@pytest.fixture
def short_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let matches end sooner than in a server."""
    monkeypatch.setattr(values, "TIMEOUT_S", SHORT_S)
    monkeypatch.setattr(time_limit, "__defaults__", (SHORT_S,))


@pytest.mark.usefixtures("short_limit")
@pytest.mark.parametrize("schema", raw_schemas(BACKTRACKING), ids=", ".join)
def test_match_beyond_the_time_limit_is_refused_with_a_fix(schema: dict[str, Any]) -> None:
    said = refusal({"x": HOSTILE, HOSTILE: "x"}, {"type": "object", **schema})
    assert said.endswith(f"could not be matched with {BACKTRACKING} in time; send a shorter value")


@pytest.mark.usefixtures("short_limit")
def test_match_that_takes_too_long_names_the_argument() -> None:
    said = f"could not be matched with {BACKTRACKING} in time; send a shorter value"
    assert refusal({"slow": HOSTILE}, {"type": "object"}, Outer) == f"Argument 'slow' {said}"
    schema = raw_schemas(BACKTRACKING)[0]
    assert refusal({"x": HOSTILE}, {"type": "object", **schema}) == f"Argument 'x' {said}"


def test_very_many_slow_values_share_one_limit() -> None:
    schema = {"type": "object", "properties": {"x": {"type": "array", "items": {"pattern": BACKTRACKING}}}}
    assert "in time" in refusal({"x": [HOSTILE] * 100_000}, schema)


@pytest.mark.usefixtures("short_limit")
def test_result_that_cannot_be_matched_in_time_is_a_mistake_of_the_server() -> None:
    writer = ResultWriter({"type": "object", "properties": {"x": {"pattern": BACKTRACKING}}})
    with pytest.raises(ResultError, match="in time"):
        writer.to_wire({"x": HOSTILE})


def test_additional_properties_are_those_that_nothing_names() -> None:
    schema = {"properties": {"a": TEXT}, "patternProperties": {"^x-": {"type": "integer"}}}
    closed = validator({**schema, "additionalProperties": False})
    is_text = validator({**schema, "additionalProperties": TEXT})

    assert closed.is_valid({"a": "1", "x-b": 2})
    assert [error.message for error in closed.iter_errors({"b": 1, "x-b": "2"})] == [
        "'2' is not of type 'integer'",
        "Additional properties are not allowed ('b' was unexpected)",
    ]
    assert [list(error.path) for error in is_text.iter_errors({"b": 1, "x-b": 2})] == [["b"]]


def test_engine_knows_the_characters_of_this_python() -> None:
    assert is_linear(r"^\d+$"), unicodedata.unidata_version
    assert compile_linear(translate(r"\w", is_ascii=False).text)("\u00e9")
