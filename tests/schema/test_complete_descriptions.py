"""Every constraint of a schema is in its projection, in a description, or in a finding that names it."""

from __future__ import annotations

import itertools
import json
import re
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from toolmason.schema import Finding, Projection, Target, advertise, project
from toolmason.schema.findings import json_pointer, pointer_parts
from toolmason.schema.walk import walk

Draw = Callable[[st.SearchStrategy[Any]], Any]


class Marked:
    """Draws schemas in which every number, name, pattern and value occurs once, so that a text shows which it states.

    Numbers grow, so that lower bounds are below upper ones.
    """

    def __init__(self, draw: Draw) -> None:
        self._draw = draw
        self._numbers = itertools.count(10_001)

    def value(self, depth: int) -> Any:
        leaves = [self.text, self.number, self.enum]
        nested = [self.object, self.map, self.patterns, self.array, self.tuple, self.union, self.condition, self.rule]
        return self._pick([*leaves, *nested] if depth else leaves)(depth)

    def text(self, _: int) -> Any:
        limits = {"minLength": self._next(), "maxLength": self._next(), "pattern": f"^p{self._next()}"}
        if self._draw(st.booleans()):
            limits["pattern"] = f"^{'[a-z]' * 12}{self._next()}"
        return {"type": "string"} | self._some(limits) | self._described()

    def number(self, _: int) -> Any:
        limits = {"minimum": self._next(), "exclusiveMaximum": self._next(), "multipleOf": self._next() + 0.5}
        return {"type": "number"} | self._some(limits)

    def enum(self, _: int) -> Any:
        return {"enum": [f"v{self._next()}" for _ in range(self._pick([1, 3, 15, 400]))]}

    def object(self, depth: int) -> Any:
        names = [f"n{self._next()}" for _ in range(self._pick([1, 3, 15, 40]))]
        properties = {name: {"type": "number", "minimum": self._next()} for name in names}
        properties[names[-1]] = self.value(depth - 1) if depth else self.text(0)
        return {"type": "object", "properties": properties} | self._some({"required": names[::2]}) | self._described()

    def map(self, depth: int) -> Any:
        return {"type": "object", "additionalProperties": self.value(depth - 1)}

    def patterns(self, depth: int) -> Any:
        pattern = f"^{'[a-z]' * self._pick([1, 12])}{self._next()}"
        return {"type": "object", "patternProperties": {pattern: self.value(depth - 1)}}

    def array(self, depth: int) -> Any:
        limits = {"minItems": self._next(), "maxItems": self._next()}
        return {"type": "array", "items": self.value(depth - 1)} | self._some(limits)

    def tuple(self, depth: int) -> Any:
        items = [self.value(depth - 1) for _ in range(self._pick([1, 3]))]
        return {"type": "array", "prefixItems": items, "items": self._pick([False, True])}

    def union(self, depth: int) -> Any:
        return {"anyOf": [self.value(depth - 1), {"type": "array", "items": self.value(depth - 1)}]}

    def condition(self, depth: int) -> Any:
        rule = self._pick([{"if": self.object(0), "then": self.object(0)}, {"dependentSchemas": {"n": self.object(0)}}])
        return self.object(depth - 1) | rule

    def rule(self, depth: int) -> Any:
        """Draw a rule with any schema, which a sentence may have to quote."""
        value = self.value(depth - 1)
        match self._pick(["not", "contains", "propertyNames", "if"]):
            case "not":
                return {"type": "object", "not": {"properties": {f"n{self._next()}": value}}}
            case "contains":
                return {"type": "array", "contains": value}
            case "propertyNames":
                return {"type": "object", "propertyNames": self.text(0)}
            case _:
                return {
                    "type": "object",
                    "if": {"required": [f"n{self._next()}"]},
                    "then": {"minProperties": self._next()},
                }

    def root(self) -> dict[str, Any]:
        """Draw the schema of arguments."""
        part: dict[str, Any] = {"type": "object", "properties": {"x": self.value(3)}}
        if self._draw(st.booleans()):
            return part
        return {"type": "object", "anyOf": [part, self.condition(2), self.map(2)]}

    def _pick(self, values: list[Any]) -> Any:
        return self._draw(st.sampled_from(values))

    def _some(self, keywords: dict[str, Any]) -> dict[str, Any]:
        return {keyword: value for keyword, value in keywords.items() if self._draw(st.booleans())}

    def _described(self) -> dict[str, Any]:
        return self._some({"description": "What it is for. " * self._pick([1, 10])})

    def _next(self) -> int:
        return next(self._numbers)


@st.composite
def marked_schemas(draw: Draw) -> dict[str, Any]:
    return Marked(draw).root()


def constraints(schema: Any) -> Iterator[tuple[str, str, str]]:
    """Yield the pointer of the schema, the keyword and one marker for each constraint."""
    for part, parts in walk(schema):
        for keyword, value in part.items():
            if keyword in {"properties", "patternProperties", "required", "enum"}:
                yield from ((json_pointer(parts), keyword, marker) for marker in value)
            elif isinstance(value, int | float) and not isinstance(value, bool):
                yield json_pointer(parts), keyword, json.dumps(value)
            elif keyword == "pattern":
                yield json_pointer(parts), keyword, value


def is_in_output(projection: Projection, keyword: str, marker: str) -> bool:
    text = json.dumps(projection.schema, ensure_ascii=False)
    return bool(re.search(re.escape(marker) + (r"\b(?!\?)" if keyword == "required" else ""), text))


def names_it(finding: Finding, pointer: str, keyword: str, marker: str) -> bool:
    """Return whether a finding at or above the schema at `pointer` reports the loss of the constraint."""
    steps, above = pointer_parts(pointer), pointer_parts(finding.pointer)
    if not (steps[: len(above)] == above or finding.pointer == f"{pointer}/{keyword}"):
        return False
    if "moved to the description" in finding.message:
        return False
    return any(f"`{name}`" in finding.message for name in (keyword, marker, *above[-1:], *steps[len(above) :]))


@pytest.mark.parametrize("target", list(Target))
@settings(max_examples=25)
@given(schema=marked_schemas())
def test_every_constraint_is_in_the_projection_or_in_a_finding_that_names_it(
    schema: dict[str, Any], target: Target
) -> None:
    projection = project(schema, target)

    assert [
        (pointer, keyword, marker)
        for pointer, keyword, marker in constraints(schema)
        if not is_in_output(projection, keyword, marker)
        and not any(names_it(finding, pointer, keyword, marker) for finding in projection.findings)
    ] == []


def described(part: dict[str, Any], **root: Any) -> str:
    schema = {"type": "object", "properties": {"x": part}} | root
    return str(advertise(schema).schema["properties"]["x"].get("description", ""))


LONG = "^" + "[a-z]" * 12 + "$"
TREE = {
    "type": "object",
    "properties": {"name": {"type": "string"}, "inner": {"type": "array", "items": {"$ref": "#/$defs/Tree"}}},
    "required": ["name"],
}
VALUES = [f"v{number}" for number in range(20)]


@pytest.mark.parametrize(
    ("values", "text"),
    [
        ({"type": "string", "enum": VALUES}, ", ".join(f'"{value}"' for value in VALUES[:-1]) + ' or "v19"'),
        (
            {"type": "object", "properties": {"a": {"type": "integer", "minimum": 1}, "b": {}}, "required": ["a"]},
            "object (a: integer (at least 1), b?: anything)",
        ),
        (
            {"type": "array", "items": {"type": "object", "additionalProperties": {"type": ["integer", "null"]}}},
            "array of object (names mapped to (integer or null))",
        ),
        ({"type": "string", "maxLength": 3, "description": "A code."}, "string (at most 3 characters; A code)"),
        (
            {"type": "object", "properties": {"a": {}}, "additionalProperties": False},
            "object (a?: anything, no other names)",
        ),
        ({"type": "string", "pattern": LONG}, "string (...)"),
        ({"$ref": "#/$defs/Tree"}, "object (name: string, inner?: array of object (...))"),
        (
            {"type": "object", "properties": {"a": {"type": "integer"}}, "dependentRequired": {"a": ["b"]}},
            "object (a?: integer; with `a` give also `b`)",
        ),
    ],
    ids=["enum", "object", "nested maps", "description", "closed", "long pattern", "recursion", "rule"],
)
def test_values_of_a_map_are_described_completely(values: Any, text: str) -> None:
    description = described({"type": "object", "additionalProperties": values}, **{"$defs": {"Tree": TREE}})

    assert description == f"Names mapped to {text}."


def test_required_names_remain_if_a_description_is_too_long() -> None:
    names = [f"name_{number}" for number in range(200)]
    value = {"type": "object", "properties": {name: {"type": "integer"} for name in names}, "required": names[-2:]}
    schema = {"type": "object", "properties": {"x": {"type": "object", "additionalProperties": value}}}
    projection = advertise(schema)

    description = projection.schema["properties"]["x"]["description"]
    assert description.startswith("Names mapped to object (name_198, name_199, name_0?, ")
    assert description.endswith(", ...).")
    lost = {finding.pointer.rpartition("/")[2] for finding in projection.findings if "the rules of" in finding.message}
    assert lost == set(names)


@pytest.mark.parametrize(
    ("rule", "text"),
    [
        (
            {
                "if": {"properties": {"m": {"const": "p"}}},
                "then": {"properties": {"p_arg": {"type": "integer"}}, "required": ["p_arg"]},
            },
            'If `m` is "p", give `p_arg` (integer).',
        ),
        (
            {
                "if": {"properties": {"m": {"not": {"enum": ["p", "q"]}}}, "required": ["n"]},
                "then": {"not": {"required": ["o"]}},
                "else": {"properties": {"o": {"minimum": 3}}},
            },
            'If `m` is not "p" or "q" and `n` is given, do not give `o`; otherwise `o` must be at least 3.',
        ),
        ({"if": {"required": ["m"]}, "else": {"required": ["n", "o"]}}, "Unless `m` is given, give `n` and `o`."),
        ({"dependentSchemas": {"m": {"required": ["n"]}}}, "With `m`, give `n`."),
        ({"not": {"properties": {"m": {"const": "p"}}, "required": ["m"]}}, 'Not allowed: `m` is "p".'),
        ({"propertyNames": {"maxLength": 5, "type": "string"}}, "Names must have at most 5 characters."),
        ({"anyOf": [{"required": ["m"]}, {"required": ["n"]}]}, "Give `m` or `n` (at least one)."),
        ({"oneOf": [{"required": ["m"]}, {"required": ["n"]}]}, "Give exactly one of `m` and `n`."),
        ({"if": {"minProperties": 2}, "then": {"required": ["n"]}}, "If it has at least 2 properties, give `n`."),
        ({"not": {"required": ["m"]}}, "Do not give `m`."),
        ({"not": {"properties": {"m": {"const": "p"}}}}, 'Not allowed: `m` is "p" or is absent.'),
        ({"if": {"required": ["m"]}, "then": False}, "Do not give `m`."),
        (
            {
                "if": {"properties": {"m": {"const": "p"}}},
                "then": {"required": ["n"]},
                "else": {"required": ["o"]},
                "required": ["m"],
            },
            'If `m` is "p", give `n`; otherwise give `o`.',
        ),
        ({"not": {"pattern": "^a", "format": {}}}, 'Must not fit {"pattern": "^a", "format": {}}.'),
        ({"if": {"required": []}, "then": False}, 'Must not fit {"required": []}.'),
        ({"propertyNames": {"pattern": "^[a-z]+$"}}, "Names must match `^[a-z]+$`."),
        (
            {
                "if": {"properties": {"m": {"pattern": "^p", "minLength": 2}}, "required": ["m"]},
                "then": {"properties": {"l": {"type": "array", "items": {"type": "integer"}}}, "required": ["l"]},
                "else": {"properties": {"n": {"format": "uuid"}}},
            },
            (
                "If `m` has at least 2 characters and matches `^p`, give `l` (array of integer); "
                "otherwise `n` must have the format uuid."
            ),
        ),
    ],
    ids=lambda rule: json.dumps(rule)[:50],
)
def test_a_rule_is_a_sentence(rule: dict[str, Any], text: str) -> None:
    properties = {name: {"type": "string"} for name in "mno"} | {"p_arg": {"type": "integer"}}

    assert described({"type": "object", "properties": properties} | rule) == text


def test_the_other_case_of_a_condition_does_not_apply_if_the_property_is_absent() -> None:
    rule = {"if": {"properties": {"m": {"const": "p"}}}, "else": {"required": ["n"]}}
    both = rule | {"then": {"required": ["o"]}}

    assert described({"type": "object"} | rule) == 'Unless `m` is "p" or is absent, give `n`.'
    assert described({"type": "object"} | both) == 'If `m` is "p" or is absent, give `o`; otherwise give `n`.'


def alternatives_of(*names: str) -> list[dict[str, Any]]:
    return [{"type": "object", "properties": {name: {"type": "string"}}, "required": [name]} for name in names]


@pytest.mark.parametrize(
    "rule",
    [
        {"anyOf": [{"oneOf": alternatives_of("a", "b")}, *alternatives_of("c")]},
        {"oneOf": [{"anyOf": alternatives_of("a", "b")}, *alternatives_of("c")]},
        {"allOf": [{"oneOf": alternatives_of("a", "b")}, {"anyOf": alternatives_of("c", "d")}]},
        {"oneOf": alternatives_of("a", "b"), "anyOf": alternatives_of("c", "d")},
        {"oneOf": [{"enum": ["a", "b"]}, {"enum": ["b", "c"]}]},
        {
            "type": "object",
            "additionalProperties": {"oneOf": [{"anyOf": alternatives_of("a", "b")}, {"required": ["c"]}]},
        },
    ],
    ids=["in anyOf", "around anyOf", "beside anyOf in allOf", "beside anyOf", "of enums", "in a map"],
)
def test_one_of_combined_with_another_union_is_reported_instead_of_a_sentence_about_all_alternatives(
    rule: dict[str, Any],
) -> None:
    projection = advertise({"type": "object", "properties": {"x": rule}})

    assert "Exactly one" not in json.dumps(projection.schema)
    assert [
        finding.message
        for finding in projection.findings
        if finding.pattern == "oneOf" and "omitted" in finding.message
    ]


def test_one_of_beside_null_keeps_its_sentence() -> None:
    sent = advertise(
        {"type": "object", "properties": {"x": {"anyOf": [{"oneOf": alternatives_of("a", "b")}, {"type": "null"}]}}}
    )

    assert json.dumps(sent.schema).count("Exactly one of the alternatives must fit.") == 1


def test_one_of_single_names_beside_another_union_names_them() -> None:
    rule = {"oneOf": [{"required": ["a"]}, {"required": ["b"]}], "anyOf": [{"required": ["c"]}, {"required": ["d"]}]}

    assert described({"type": "object"} | rule) == (
        "Give `c` and `a`; or `c` and `b`; or `d` and `a`; or `d` and `b`. Give exactly one of `a` and `b`."
    )


@pytest.mark.parametrize(
    ("limits", "text"),
    [
        ({"pattern": "^a"}, "Must match `^a`."),
        ({"pattern": LONG}, ""),
        ({"pattern": "^a", "format": "uuid"}, "Format: uuid."),
        ({"pattern": "^a", "format": "path"}, "Must match `^a`. Format: path."),
    ],
    ids=["short", "long", "known format", "other format"],
)
def test_a_description_repeats_only_a_short_pattern_without_a_known_format(limits: dict[str, Any], text: str) -> None:
    part = {"type": "string"} | limits

    assert described(part) == text
    assert (
        advertise({"type": "object", "properties": {"x": part}}).schema["properties"]["x"]["pattern"]
        == limits["pattern"]
    )
    sent = project({"type": "object", "properties": {"x": part}}, "gemini-json")
    assert ["pattern" in finding.message for finding in sent.findings if finding.pattern == "pattern"] == [True]


@pytest.mark.parametrize("pattern", [LONG, "^[0-9a-f]{8}$"])
def test_no_sentence_contains_a_long_pattern(pattern: str) -> None:
    text = {"type": "string", "pattern": pattern, "format": "uuid"}
    for part in (
        {"type": "object", "additionalProperties": text},
        {"type": "object", "propertyNames": text},
        {"type": "object", "if": {"properties": {"m": text}}, "then": {"properties": {"n": {"items": text}}}},
        {"type": "string", "not": {"anyOf": [text]}},
        {"allOf": [{"type": "string", "pattern": "^b"}, text]},
    ):
        assert pattern not in described(part)


@pytest.mark.parametrize(
    ("part", "sent"),
    [
        ({"enum": [1.0, 2.0]}, {"type": "integer", "enum": [1, 2]}),
        ({"type": "integer", "enum": [1.0, 8.0]}, {"type": "integer", "enum": [1, 8]}),
        (
            {"type": "object", "propertyNames": {"enum": ["p", "q"]}, "additionalProperties": {"type": "integer"}},
            {
                "type": "object",
                "properties": {"p": {"type": "integer"}, "q": {"type": "integer"}},
                "additionalProperties": False,
            },
        ),
        (
            {"type": "object", "propertyNames": {"$ref": "#/$defs/Names"}, "properties": {"p": {"type": "integer"}}},
            {"type": "object", "properties": {"p": {"type": "integer"}, "q": {}}, "additionalProperties": False},
        ),
        (
            {"type": "array", "prefixItems": [{"type": "number"}], "unevaluatedItems": {"type": "string"}},
            {"type": "array", "prefixItems": [{"type": "number"}], "items": {"type": "string"}},
        ),
    ],
    ids=["floats of an enum", "floats of an integer enum", "names", "names by reference", "unevaluatedItems"],
)
def test_a_rule_is_written_as_the_keyword_that_every_provider_reads(part: Any, sent: Any) -> None:
    names = {"$defs": {"Names": {"type": "string", "enum": ["p", "q"], "title": "Names"}}}
    projection = project({"type": "object", "properties": {"x": part}} | names, "anthropic")

    assert json.dumps(projection.schema["properties"]["x"]) == json.dumps(sent)


def test_further_items_of_an_open_tuple_are_anything() -> None:
    sent = advertise({"type": "object", "properties": {"x": {"type": "array", "items": [{"type": "number"}] * 2}}})

    assert sent.schema["properties"]["x"]["description"] == "Items in order: 1. number; 2. number."
    assert len(sent.schema["properties"]["x"]["items"]["anyOf"]) > 1


@pytest.mark.parametrize(
    "ref",
    [
        "item.json#/properties/n",
        "https://x.org/item.json#/properties/n",
        "item.json#n",
        "#/properties/y/properties/own",
    ],
)
@pytest.mark.parametrize("base", [{}, {"$id": "https://x.org/root.json"}], ids=["no base", "base"])
def test_a_reference_into_an_embedded_document_resolves(ref: str, base: dict[str, Any]) -> None:
    item = {
        "$id": "item.json" if base else "https://x.org/item.json",
        "type": "object",
        "properties": {"n": {"$anchor": "n", "type": "integer"}, "own": {"$ref": "#/properties/n"}},
    }
    ref = ref if base else ref.replace("item.json", "https://x.org/item.json").replace("https://x.org/https", "https")
    schema = base | {"type": "object", "properties": {"x": {"$ref": ref}, "y": item}}
    projection = advertise(schema)

    assert projection.schema["properties"]["x"] == {"type": "integer"}
    assert projection.schema["properties"]["y"]["properties"]["own"] == {"type": "integer"}
    assert not [finding for finding in projection.findings if finding.severity == "refused"]


def test_a_reference_inside_an_embedded_document_is_relative_to_it() -> None:
    references = {"own": {"$ref": "#/properties/n"}, "outer": {"$ref": "#/properties/o"}}
    item = {"$id": "https://x.org/item.json", "type": "object", "properties": {"n": {"type": "integer"}, **references}}
    sent = advertise({"type": "object", "properties": {"n": {"type": "string"}, "o": {"type": "boolean"}, "x": item}})

    assert sent.schema["properties"]["x"]["properties"] == {
        "n": {"type": "integer"},
        "own": {"type": "integer"},
        "outer": {"type": "boolean"},
    }


def test_property_names_that_allow_none_are_a_closed_object() -> None:
    names = {"type": "object", "properties": {"x": {"type": "object", "propertyNames": False}}}

    assert project(names, "anthropic").schema["properties"]["x"] == {"type": "object", "additionalProperties": False}
    assert [finding.severity for finding in advertise(names).findings] == ["note", "lossy"]


def test_a_bound_that_a_description_omits_is_a_note() -> None:
    values = {"type": "integer", "minimum": 0, "maximum": 2**53 - 1}
    projection = advertise({"type": "object", "properties": {"x": {"type": "object", "additionalProperties": values}}})

    assert [(finding.severity, finding.pattern) for finding in projection.findings][1:] == [("note", "maximum")]


def test_root_alternatives_with_different_patterns_stay_open() -> None:
    parts = [{"properties": {name: {}}, "patternProperties": {f"^{name}": {"type": "string"}}} for name in "ab"]
    closed = [{"type": "object", "additionalProperties": False} | part for part in parts]
    projection = project({"type": "object", "anyOf": closed}, "openai")

    assert "additionalProperties" not in projection.schema
    assert {finding.pointer for finding in projection.findings if finding.pattern == "patternProperties"} == {
        "/anyOf/0",
        "/anyOf/1",
    }
