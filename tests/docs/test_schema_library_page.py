"""The Python examples of docs/schema-library.md and of the package's README. `tests/npm` has those in JavaScript."""

from __future__ import annotations

import ast
import contextlib
import io
import sys
from typing import Any, Final

import anyio
import pytest
from mcp import Client
from pages import Text, read

from toolmason import schema as library

PAGE: Final = read("docs/schema-library.md")
README: Final = read("packages/schema/README.md")
BLOCKS: Final = [*PAGE.blocks("python"), *README.blocks("python")]
RECIPES: Final = {"mcp", "fastmcp", "pydantic_ai", "langchain_core", "litellm", "agents"}
"""Packages with a recipe."""


@pytest.fixture(autouse=True)
def alias(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "toolmason_schema", library)


def run(code: str) -> tuple[dict[str, Any], str]:
    """Return the variables and the output of an example."""
    variables: dict[str, Any] = {}
    with contextlib.redirect_stdout(io.StringIO()) as output:
        exec(compile(code, "example", "exec"), variables)  # the page is ours
    return variables, output.getvalue()


@pytest.mark.parametrize("page", [PAGE, README], ids=["page", "README"])
def test_the_first_example_prints_what_the_page_shows(page: Text) -> None:
    _, output = run(page.blocks("python")[0])

    shown = page.blocks("text")[0] if page is PAGE else "0 of 1 tools lose nothing."
    assert output.strip().endswith(shown.strip())


def test_every_recipe_imports_names_that_exist() -> None:
    imports = [node for block in BLOCKS for node in ast.walk(ast.parse(block)) if isinstance(node, ast.ImportFrom)]
    names = {alias.name for node in imports if node.module == "toolmason_schema" for alias in node.names}
    used = {str(node.module).partition(".")[0] for node in imports}
    used |= {name for block in BLOCKS for name in RECIPES if f"import {name}\n" in block}

    assert names <= set(library.__all__)
    assert used >= RECIPES


def test_the_recipe_of_the_python_sdk_makes_a_server_portable() -> None:
    variables, _ = run(next(block for block in BLOCKS if block.startswith("from mcp.server")))
    server = variables["Server"]("pages")

    def find(query: str, page: int | None = None) -> str:
        return f"{query} {page}"

    server.tool()(find)

    async def ask() -> tuple[Any, Any]:
        async with Client(server) as client:
            tools = (await client.list_tools()).tools
            return tools[0].input_schema, (await client.call_tool("find", {"query": "cats"})).content[0]

    schema, content = anyio.run(ask)

    properties = {"query": {"type": "string"}, "page": {"type": "integer"}}
    assert schema == {"type": "object", "properties": properties, "required": ["query"]}
    assert content.text == "cats None"
