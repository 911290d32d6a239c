import json
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft7Validator

from toolwright.manifest_schema import manifest_schema

GOOD = """
edition = 1
[server]
name = "catalog"
package = "catalog_server"
handlers = "catalog"
options.roots = { description = "Where to look", many = true }
[discovery]
style = "classic"
[categories.books]
summary = "Find and lend books"
[types.Book]
fields.title = { type = "string", max_length = 80, minimum = 1.5, default = { any = [1, "thing"] } }
[tools.search]
summary = "Search the catalog"
category = "books"
hints = { read_only = true, destructive = false, idempotent = true, open_world = false }
handler = "catalog:search"
params.query = { type = "string", required = false, enum = ["a", 1] }
ext = { anything = [1] }
deprecated = { since = "2" }
[[tools.search.examples]]
description = "One book"
arguments = { query = "Dune" }
[[tools.search.allow]]
rule = "TW501"
reason = "it is meant so"
[commands.find]
summary = "Find a book"
prompt = "Find {arguments}"
[workflows.lend]
summary = "Lend a book"
steps = [{ title = "Search", tool = "search", text = "Search it" }]
"""


def mistakes(text: str) -> list[str]:
    return [error.message for error in Draft7Validator(manifest_schema()).iter_errors(tomllib.loads(text))]


def objects(schema: dict[str, Any]) -> Iterator[tuple[str, dict[str, Any]]]:
    yield "the manifest", schema
    yield from schema["definitions"].items()


def test_the_schema_is_a_draft_07_schema() -> None:
    schema = manifest_schema()

    assert schema["$schema"] == "http://json-schema.org/draft-07/schema#"
    Draft7Validator.check_schema(schema)


def test_the_schema_is_the_same_each_time_and_plain_json() -> None:
    assert json.dumps(manifest_schema()) == json.dumps(manifest_schema())


def test_a_good_manifest_is_accepted() -> None:
    assert mistakes(GOOD) == []


@pytest.mark.parametrize(
    ("old", "new", "told"),
    [
        ("[tools.search]", "[tools.search]\nsumary = 'x'", "'sumary' was unexpected"),
        ("[tools.search]", "[tools.search]\nat = []", "'at' was unexpected"),
        ("edition = 1", "edition = 2", "1 was expected"),
        ("edition = 1", "edition = 1\nnews = 1", "'news' was unexpected"),
        ('category = "books"', "", "'category' is a required property"),
        (", open_world = false", "", "'open_world' is a required property"),
        ('"classic"', '"clasic"', "'clasic' is not one of"),
        ('name = "catalog"', 'name = "our_catalog"', "does not match"),
        ('"Find and lend books"', f'"{"x" * 81}"', "is too long"),
        ('"Find and lend books"', '""', "should be non-empty"),
        ("max_length = 80", "max_length = -1", "less than the minimum"),
        ("many = true", "many = 'true'", "is not of type 'boolean'"),
        ("minimum = 1.5", "minimum = '1'", "is not of type 'number'"),
    ],
)
def test_a_mistake_is_refused(old: str, new: str, told: str) -> None:
    assert old in GOOD

    (message,) = mistakes(GOOD.replace(old, new))

    assert told in message


def test_every_table_is_closed_and_every_key_described() -> None:
    for name, table in objects(manifest_schema()):
        assert table["additionalProperties"] is False, name
        assert table["description"], name
        assert "at" not in table["properties"], name
        for key, value in table["properties"].items():
            assert value["description"], f"{name}.{key}"


def test_descriptions_and_limits_are_those_of_the_tables() -> None:
    tool = manifest_schema()["definitions"]["ToolTable"]

    assert tool["description"] == "`[tools.NAME]`: one tool."
    assert tool["properties"]["summary"] == {
        "description": "What it does, in one line.",
        "type": "string",
        "minLength": 1,
        "maxLength": 80,
    }
    assert tool["properties"]["hints"] == {
        "description": "What running it may do.",
        "allOf": [{"$ref": "#/definitions/HintsTable"}],
    }
    assert tool["properties"]["tier"]["default"] == "core"
    assert tool["properties"]["enabled"]["default"] is True


def test_what_the_reader_accepts_the_schema_accepts(tmp_path: Path) -> None:
    from toolwright.diagnostics import Diagnostics
    from toolwright.load import load
    from toolwright.validate import validate

    path = tmp_path / "manifest.toml"
    path.write_text(GOOD, encoding="utf-8")
    diagnostics = Diagnostics()
    document = load(path, root=tmp_path, diagnostics=diagnostics)

    assert document is not None
    assert validate(document, diagnostics=diagnostics) is not None
    assert list(diagnostics) == []
