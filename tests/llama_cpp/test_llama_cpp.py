"""llama.cpp's own converter and grammar parser accept what we send, and refuse what is malformed.

The converter warns, and accepts any string, where it cannot express a pattern.
"""

from __future__ import annotations

import importlib.util
import json
import os
import subprocess
from collections.abc import Mapping
from functools import cache
from pathlib import Path
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


def argument(schema: Any) -> dict[str, Any]:
    other = {"anyOf": [{"type": "string"}, {"type": "integer"}]}
    text = {"type": "string"}
    named: dict[str, Any] = {"a/b": text, "a~b": text, "a%b": text, "a b": text, "plain": text}
    named["Named"] = {"$anchor": "Named", "type": "string"}
    named["Id"] = {"$id": "https://example.com/id.json", "type": "string"}
    named["recursive"] = {"type": "object", "properties": {"n": {"$ref": "#/$defs/recursive"}}}
    return {"type": "object", "properties": {"a": schema, "other": other}, "$defs": named}


def refusals(schema: Any, provider: str) -> set[str]:
    return {found.pattern for found in check(schema, provider) if found.severity is Severity.REFUSED}


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
        ({"$ref": "#"}, "unpointed-$ref"),
        ({"type": "array", "items": {"$ref": "#"}}, "unpointed-$ref"),
        ({"$ref": "#Named"}, "unpointed-$ref"),
        ({"$ref": "https://example.com/id.json"}, "unpointed-$ref"),
        ({"$ref": "#/$defs/a~1b"}, "escaped-$ref"),
        ({"$ref": "#/$defs/a~0b"}, "escaped-$ref"),
        ({"$ref": "#/$defs/a%25b"}, "escaped-$ref"),
        ({"$ref": "#/$defs/a%20b"}, "escaped-$ref"),
        (True, "boolean-schema"),
        ({"type": "string", "maxLength": 2**70}, "int64"),
        ({"type": "array", "items": {"type": "string"}, "minItems": 2**70}, "int64"),
    ],
    ids=str,
)
def test_a_refused_schema_has_a_finding(schema: Any, pattern: str) -> None:
    root = argument(schema)

    assert convert_schemas({"a": root})["a"].error
    assert refusals(root, "llama-cpp") == {pattern}
    assert convert_schemas({"a": project(root, "llama-cpp").schema})["a"].error == ""


@pytest.mark.parametrize(
    "ref", ["#/$defs/a b", "#/$defs/plain", "#/properties/other", "#/properties/other/anyOf/0", "#/$defs/recursive"]
)
def test_a_pointer_without_escapes_is_no_finding(ref: str) -> None:
    root = argument({"$ref": ref})

    assert convert_schemas({"a": root})["a"] == Answer("", "")
    assert refusals(root, "llama-cpp") == set()


@cache
def python_converter() -> Any:
    """Return the module of llama-cpp-python's own converter, which needs only Python."""
    path = Path(os.environ["TOOLMASON_LLAMA_CPP"]).with_name("llama_grammar.py")
    spec = importlib.util.spec_from_file_location("llama_grammar", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def python_errors(schemas: Mapping[str, Any]) -> dict[str, str]:
    """Return the errors of that converter, and of llama.cpp's parser for its grammars."""
    errors: dict[str, str] = {}
    grammars: dict[str, str] = {}
    for name, schema in schemas.items():
        try:
            grammar = python_converter().json_schema_to_gbnf(json.dumps(schema))
        except Exception as error:  # noqa: BLE001  it raises many kinds
            errors[name] = f"{type(error).__name__}: {error}"
        else:  # the program reads one line, which begins with the root
            rules = sorted(grammar.splitlines(), key=lambda rule: not rule.startswith("root "))
            grammars[name] = "\t".join(rules)
    return errors | {name: answer.error for name, answer in convert(grammars).items() if answer.error}


@pytest.mark.parametrize(
    ("schema", "pattern"),
    [
        ({"type": "string", "pattern": "a"}, "unanchored-pattern"),
        ({"type": "string", "pattern": "^(?=a)a$"}, "look-around"),
        ({"type": "string", "pattern": "^\\d+$"}, "pattern-class"),
        ({"type": "string", "pattern": "^(?:a|b)$"}, "unnamed-group"),
        ({"$ref": "#"}, "unpointed-$ref"),
        ({"$ref": "#Named"}, "unpointed-$ref"),
        ({"$ref": "#/$defs/a~1b"}, "escaped-$ref"),
        ({"$ref": "#/$defs/a%25b"}, "escaped-$ref"),
        ({"$ref": "#/$defs/Missing"}, "dangling-$ref"),
        (True, "boolean-schema"),
        ({"type": "string", "maxLength": 2_083}, "large-count"),
        ({"description": "Anything"}, "missing-type"),
        ({"type": "array", "items": {}}, "empty-items"),
    ],
    ids=str,
)
def test_what_the_converter_in_python_refuses_is_a_finding(schema: Any, pattern: str) -> None:
    root = argument(schema)

    assert python_errors({"a": root})
    assert pattern in refusals(root, "llama-cpp-python")
    assert python_errors({"a": project(root, "llama-cpp-python").schema}) == {}


def test_each_schema_in_the_form_for_the_converter_in_python_is_converted_and_parsed() -> None:
    sent = {name: project(schema, "llama-cpp-python").schema for name, schema in SCHEMAS.items()}
    # It resolves `$ref` also in data, and among the names of properties.
    sent = {name: schema for name, schema in sent.items() if '"$ref"' not in json.dumps(schema)}

    assert len(SCHEMAS) - len(sent) < 10
    assert python_errors(sent) == {}
    assert len(python_errors(SCHEMAS)) > 10


def test_each_pattern_that_becomes_any_string_is_a_finding() -> None:
    patterns = {"unanchored-pattern", "pattern-class", "look-around"}
    warned = {name for name, answer in convert_schemas(SCHEMAS).items() if "accepting any string" in answer.warning}

    assert warned
    assert [
        name for name in warned if patterns.isdisjoint(found.pattern for found in check(SCHEMAS[name], "llama-cpp"))
    ] == []
