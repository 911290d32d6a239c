"""llama.cpp's own converter and grammar parser accept what we send, and refuse what is malformed.

The converter warns, and accepts any string, where it cannot express a pattern.
"""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Mapping
from typing import Any, NamedTuple

import pytest
from bench.schemas.corpus import SMALL_CASES, load_corpus
from hard_schemas import HARD

from toolmason.schema import Severity, advertise, check, project

SCHEMAS: dict[str, Any] = {f"{row.style}: {row.name}": row.schema for row in load_corpus()} | HARD
SCHEMAS |= {
    f"small: {number}": json.loads(line)["schema"]
    for number, line in enumerate(SMALL_CASES.read_text(encoding="utf-8").splitlines())
}


class Answer(NamedTuple):
    """The error of the converter or the parser, and the warnings; both empty if the schema is kept."""

    error: str
    warning: str


def convert(inputs: Mapping[str, str]) -> dict[str, Answer]:
    """Return the answer for each schema in JSON, or for each grammar."""
    program = os.environ["TOOLMASON_LLAMA_CPP"]
    text = "".join(f"{line}\n" for line in inputs.values())
    process = subprocess.run([program], input=text, capture_output=True, text=True, timeout=300, check=True)
    errors = process.stdout.split("\n")[:-1]
    warnings: list[list[str]] = [[]]
    for line in process.stderr.splitlines():
        if line == ".":
            warnings.append([])
        else:
            warnings[-1].append(line)
    texts = [" ".join(lines) for lines in warnings[:-1]]
    return {name: Answer(*pair) for name, *pair in zip(inputs, errors, texts, strict=True)}


def convert_schemas(schemas: Mapping[str, Any]) -> dict[str, Answer]:
    return convert({name: json.dumps(schema) for name, schema in schemas.items()})


@pytest.mark.parametrize(
    ("text", "error"),
    [
        ('root ::= "a', "failed to parse grammar"),
        ("root ::= missing", "failed to parse grammar"),
        ('{"type": "strin"}', "unrecognized type strin"),
        ('{"properties": {"a": {"$ref": "#/$defs/None"}}}', "cannot resolve $ref"),
        ('{"enum": []}', "enum must be a non-empty array"),
        ("{", "parse error"),
    ],
)
def test_malformed_grammars_and_schemas_are_refused(text: str, error: str) -> None:
    answer = convert({"a": text, "b": 'root ::= "a"'})

    assert error in answer["a"].error
    assert answer["b"] == Answer("", "")


def test_each_advertised_schema_is_converted_and_parsed() -> None:
    answers = convert_schemas({name: advertise(schema).schema for name, schema in SCHEMAS.items()})

    assert {name: answer.error for name, answer in answers.items() if answer.error} == {}
    assert any(answer.error for answer in convert_schemas(SCHEMAS).values())


def test_each_schema_in_the_form_for_llama_cpp_is_kept_without_a_warning() -> None:
    answers = convert_schemas({name: project(schema, "llama-cpp").schema for name, schema in SCHEMAS.items()})

    assert {name: answer for name, answer in answers.items() if any(answer)} == {}


@pytest.mark.parametrize(
    ("schema", "pattern"),
    [
        ({"$ref": "#/$defs/Missing"}, "dangling-$ref"),
        ({"$ref": "https://example.com/a.json"}, "network-$ref"),
        (True, "boolean-schema"),
        ({"type": "string", "maxLength": 2**70}, "int64"),
        ({"type": "array", "items": {"type": "string"}, "minItems": 2**70}, "int64"),
    ],
)
def test_a_refused_schema_has_a_finding(schema: Any, pattern: str) -> None:
    root = {"type": "object", "properties": {"a": schema}}

    assert convert_schemas({"a": root})["a"].error
    assert [found.pattern for found in check(root, "llama-cpp") if found.severity is Severity.REFUSED] == [pattern]


def test_each_pattern_that_becomes_any_string_is_a_finding() -> None:
    patterns = {"unanchored-pattern", "pattern-class", "look-around"}
    warned = {name for name, answer in convert_schemas(SCHEMAS).items() if "accepting any string" in answer.warning}

    assert warned
    assert [
        name for name in warned if patterns.isdisjoint(found.pattern for found in check(SCHEMAS[name], "llama-cpp"))
    ] == []
