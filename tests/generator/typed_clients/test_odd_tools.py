"""The clients of a server with odd tools: their files, and what holds for any schema."""

from __future__ import annotations

import ast
import re
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pytest_regressions.file_regression import FileRegressionFixture

from toolmason.render.environment import make_environment
from toolmason.render.typed_clients.emit import client_texts
from toolmason.render.typed_clients.files import LANGUAGES
from toolmason.render.typed_clients.tools import ListedTool, typed_client

ENVIRONMENT = make_environment()
EXPECTED = Path(__file__).with_name("odd")
FILES = [
    *(f"python/odd_server_client/{name}.py" for name in ("client", "params", "results")),
    *(f"typescript/src/{name}.ts" for name in ("client", "params", "results", "schemas")),
]


@pytest.mark.parametrize("name", FILES)
def test_odd_tools_become_the_expected_files(name: str, odd: Path, file_regression: FileRegressionFixture) -> None:
    # Named `.txt`, so that no checker takes them for files of this repository.
    text = (odd / name).read_text(encoding="utf-8")
    file_regression.check(text, encoding="utf-8", newline="", fullpath=EXPECTED / f"{name}.txt")


KEYS = st.text(max_size=8) | st.sampled_from(["$ref", "self", "list", "model_dump", "__proto__", "class"])
REFERENCES = st.sampled_from(["#", "#/$defs/a", "#/properties/a", "#/$defs/b/items", "other.json", "#/%zz"])


def schemas(inner: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    """Return a strategy of schemas with parts, also invalid ones."""
    properties = st.dictionaries(KEYS, inner, max_size=4)
    keywords = {
        "type": st.sampled_from(["object", "array", "string", "null", ["string", "null"], "nonsense", 5]),
        "properties": properties | st.just([]),
        "required": st.lists(KEYS | st.integers(), max_size=3) | st.just("x"),
        "items": inner | st.lists(inner, max_size=2),
        "prefixItems": st.lists(inner, max_size=2),
        "additionalProperties": inner,
        "patternProperties": properties,
        "anyOf": st.lists(inner, max_size=3),
        "oneOf": st.lists(inner, max_size=3) | st.just({}),
        "allOf": st.lists(inner, max_size=3),
        "enum": st.lists(st.none() | st.booleans() | st.integers() | st.text(max_size=4) | st.floats(), max_size=4),
        "const": st.none() | st.text(max_size=4) | st.just([1]),
        "$ref": REFERENCES | st.just(5),
        "$defs": st.dictionaries(st.sampled_from(["a", "b"]), inner, max_size=2),
        "description": st.text(max_size=20) | st.just(5),
        "default": st.none() | st.text(max_size=5) | st.just({"a": [1]}),
        "nullable": st.booleans(),
    }
    return st.fixed_dictionaries({}, optional=keywords)


SCHEMAS = st.recursive(st.booleans() | st.just({}) | st.just({"type": "string"}), schemas, max_leaves=12)


@settings(max_examples=40)
@given(st.lists(st.tuples(st.text(min_size=1, max_size=8), SCHEMAS, SCHEMAS | st.none()), max_size=4))
def test_any_tools_become_valid_python_and_each_tool_a_method(tools: list[tuple[str, Any, Any]]) -> None:
    listed = [ListedTool(name=name, description=name, arguments=first, result=last) for name, first, last in tools]
    client = typed_client(listed, name="any", source="any tools")

    texts = {path.name: text for path, text in client_texts(client, LANGUAGES, ENVIRONMENT).items()}

    classes = [node for node in ast.parse(texts["client.py"]).body if isinstance(node, ast.ClassDef)]
    methods = [node for node in classes[0].body if isinstance(node, ast.AsyncFunctionDef)]
    assert len(methods) == len({name for name, _, _ in tools})
    for each in classes:
        names = [node.name for node in each.body if isinstance(node, ast.AsyncFunctionDef | ast.FunctionDef)]
        assert len(names) == len(set(names))
    for name in ("_connection.py", "errors.py", "__init__.py"):
        ast.parse(texts[name])
    for name in ("params.py", "results.py"):
        declared = re.findall(r"^(?:class (\w+)|(\w+) = (?:TypedDict|TypeAliasType))", texts[name], re.MULTILINE)
        assert len(declared) == len(set(declared))
