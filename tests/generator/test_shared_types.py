"""Named enumerations, unions and recursive types of a manifest in a generated server, its schemas and its types."""

# ruff: noqa: ARG001  callbacks and fixtures are given what they may not need

from __future__ import annotations

import importlib
import json
import shutil
import subprocess
import sys
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft202012Validator
from mcp import Client
from mcp.client.context import ClientRequestContext
from mcp.types import ElicitRequestParams, ElicitResult, TextContent
from toolmason_runtime.shared.selection import Selection

CASE = Path(__file__).parents[1] / "golden" / "shared-values-and-files-become-one-manifest"
DEEP = {"any": [{"without": {"any": [{"any": [{"colors": ["red"]}]}]}}]}

pytestmark = pytest.mark.anyio


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The generated server and its handlers, side by side."""
    root = tmp_path_factory.mktemp("shapes")
    shutil.copytree(CASE / "expected", root, dirs_exist_ok=True)
    shutil.copytree(CASE / "handlers", root, dirs_exist_ok=True)
    (root / "shapes_tools" / "__init__.py").touch()
    return root


@pytest.fixture(scope="module")
def imported(project: Path) -> Iterator[None]:
    sys.path.insert(0, str(project))
    yield
    sys.path.remove(str(project))
    for name in [name for name in sys.modules if name.partition(".")[0] in {"shapes_server", "shapes_tools"}]:
        del sys.modules[name]


@pytest.fixture
async def client(imported: None) -> AsyncIterator[Client]:
    async def approve(context: ClientRequestContext, params: ElicitRequestParams) -> ElicitResult:
        return ElicitResult(action="accept", content={"approve": True})

    server = importlib.import_module("shapes_server.server").build_server(Selection("search-call", all_tools=True))
    async with Client(server, elicitation_callback=approve) as connected:
        yield connected


async def answer(client: Client, tool: str, arguments: dict[str, Any]) -> Any:
    result = await client.call_tool("call", {"tool_name": tool, "args": arguments})
    return "\n".join(content.text for content in result.content if isinstance(content, TextContent))


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        ({"shape": {"kind": "circle", "radius": 2}, "color": "red"}, "Circle 2, red line"),
        ({"shape": {"kind": "square", "side": "3"}}, "Square 3, other line"),
        ({"shape": {"kind": "square", "side": 3, "radius": 1}}, "unknown argument 'shape.radius' was ignored"),
        ({"shape": {"kind": "circle", "radius": -1}}, "'shape.radius' must be a number of at least 0.0; got -1"),
        ({"shape": {"kind": "square", "side": True}}, "'shape.side' must be a number; got true"),
        ({"shape": {"kind": "square"}}, "'shape.side' is required: a number"),
        ({"shape": {"kind": "oval"}}, "'shape.kind' must be one of: circle, square; got \"oval\""),
        ({"shape": {"radius": 2}}, "'shape.kind' is required: one of: circle, square"),
        ({"shape": "circle"}, "'shape' must be an object; got \"circle\""),
        ({"shape": {"kind": "circle", "radius": 2}, "color": "blue"}, "'color' must be one of: red, light-red, in"),
    ],
)
async def test_a_call_gets_the_class_of_its_kind_or_an_error_that_names_the_argument(
    client: Client, arguments: dict[str, Any], expected: str
) -> None:
    assert expected in await answer(client, "draw_shape", arguments)


async def test_a_server_checks_every_level_of_a_recursive_argument(client: Client) -> None:
    found = json.loads(await answer(client, "find_shapes", {"filter": DEEP}))
    assert found == {"shapes": [{"kind": "circle", "radius": 5.0, "color": "in"}], "color": "red"}
    wrong = json.loads(json.dumps(DEEP).replace("red", "blue"))
    assert "'filter.any[0].without.any[0].any[0].colors[0]' must be one of" in await answer(
        client, "find_shapes", {"filter": wrong}
    )


async def test_enumerations_are_words_on_a_command_line(client: Client) -> None:
    arguments = {"canvas": "plan", "shades": {"a": "red"}}
    assert "plan --color light-red --replace a=red" in await answer(client, "print_canvas", arguments)


async def test_a_found_tool_has_the_tags_of_its_group_and_its_own(client: Client) -> None:
    for name, tags in (("clear_canvas", ["canvas", "erasing"]), ("print_canvas", ["paper", "print"])):
        (hit,) = json.loads(await answer_of_search(client, name))["results"][:1]
        assert (hit["tool_name"], hit["tags"]) == (name, tags)


async def answer_of_search(client: Client, query: str) -> str:
    (content,) = (await client.call_tool("search", {"query": query})).content
    assert isinstance(content, TextContent)
    return content.text


@pytest.mark.parametrize("path", sorted((CASE / "expected" / "schemas").glob("*.json")), ids=lambda path: path.stem)
def test_the_schemas_of_every_provider_are_valid_and_accept_each_kind(path: Path) -> None:
    schemas = _schemas(json.loads(path.read_text(encoding="utf-8")))
    assert len(schemas) == 4
    for schema in schemas.values():
        if not path.stem.startswith("gemini") or path.stem == "gemini_json":
            Draft202012Validator.check_schema(schema)
    shape = json.dumps(schemas["draw_shape"])
    assert all(word in shape for word in ("radius", "side", '"circle"', '"square"', '"light-red"'))
    if path.stem in {"openai", "anthropic", "mcp", "gemini_json"}:
        validator = Draft202012Validator(schemas["draw_shape"])
        assert validator.is_valid({"shape": {"kind": "circle", "radius": 2}})
        assert not validator.is_valid({"shape": {"kind": "circle", "side": 2}})
        assert Draft202012Validator(schemas["find_shapes"]).is_valid({"filter": DEEP})


def _schemas(value: Any) -> dict[str, Any]:
    """Return the schema of each tool of a file, whose form depends on the provider."""
    found: dict[str, Any] = {}
    pending = [value]
    while pending:
        node = pending.pop()
        if isinstance(node, list):
            pending += node
        elif isinstance(node, dict) and isinstance(node.get("name"), str):
            keys = ("parameters", "parametersJsonSchema", "input_schema", "inputSchema")
            found[node["name"]] = next((node[key] for key in keys if key in node), {})
        elif isinstance(node, dict):
            pending += node.values()
    return {name: schema for name, schema in found.items() if name.endswith(("_shape", "_shapes", "_canvas"))}


@pytest.mark.uncovered
def test_handlers_and_generated_types_fit_for_mypy(project: Path) -> None:
    ran = subprocess.run(
        [sys.executable, "-m", "mypy", "--strict", "shapes_tools"],
        cwd=project,
        capture_output=True,
        encoding="utf-8",
        check=False,
    )
    assert ran.returncode == 0, ran.stdout
