"""Programs that serve the same synthetic tools with other frameworks, written as in their documentation.

Each is a package with the tools in a separate module, so that byte code is cached for all.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

from toolmason_runtime.discovery.listing import listed_tool

from bench.synthetic import SyntheticTool, categories_of

_MAIN: Final = "from {package}.tools import main\n\nmain()\n"

_BARE: Final = """\
import anyio
import mcp_types as types
from mcp.server.lowlevel import Server
from mcp.server.stdio import stdio_server

TOOLS = {table!r}


async def list_tools(ctx, params):
    return types.ListToolsResult.model_validate({{"tools": TOOLS}})


async def call_tool(ctx, params):
    return types.CallToolResult(content=[types.TextContent(type="text", text="done")])


async def serve():
    server = Server("synthetic", version="0.1.0", on_list_tools=list_tools, on_call_tool=call_tool)
    async with stdio_server() as (read, write):
        await server.run(read, write, server.create_initialization_options())


def main():
    anyio.run(serve)
"""

_DECORATED: Final = """\
from typing import Annotated, Literal

from mcp_types import ToolAnnotations
from pydantic import BaseModel, Field
{imports}

READS = ToolAnnotations(
    read_only_hint=True, destructive_hint=False, idempotent_hint=True, open_world_hint=False
)
CHANGES = ToolAnnotations(
    read_only_hint=False, destructive_hint=True, idempotent_hint=False, open_world_hint=False
)
"""

_SDK_IMPORTS: Final = """\
from mcp.server import MCPServer

server = MCPServer("synthetic")
"""

_FASTMCP_IMPORTS: Final = """\
from fastmcp import FastMCP

server = FastMCP("synthetic")
"""

_FASTMCP_SEARCH_IMPORTS: Final = """\
from fastmcp import FastMCP
from fastmcp.server.transforms.search import BM25SearchTransform

server = FastMCP("synthetic", transforms=[BM25SearchTransform()])
"""

_TARGET: Final = '''

class {target}(BaseModel):
    """Which {one} is meant"""

    id: Annotated[str, Field(description="Its number or name")]
    revision: Annotated[int | None, Field(description="Revision to start from", ge=1)] = None
'''

_READING: Final = """

@server.tool(description={description!r}, annotations=READS, {unstructured})
def {name}(
    path: Annotated[str, Field(description="Folder or file, relative to the workspace")],
    limit: Annotated[int, Field(description="Most entries to give", ge=1, le=100)] = 20,
    order: Annotated[Literal["newest", "oldest", "name"], Field(description="What comes first")] = "newest",
) -> str:
    return "done"
"""

_CHANGING: Final = """

@server.tool(description={description!r}, annotations=CHANGES, {unstructured})
def {name}(
    mode: Annotated[Literal["draft", "final"], Field(description="Try it or do it")],
    target: Annotated[{target}, Field(description="What it is done to")],
    labels: Annotated[list[str] | None, Field(description="Words to file it under", max_length=10)] = None,
) -> str:
    return "done"
"""


def write_bare(directory: Path, table: Sequence[dict[str, Any]]) -> str:
    """Write a low-level server of the SDK with the wire-ready `table` of tools; give the module to run."""
    return _package(directory, "bare_sdk", _BARE.format(table=list(table)))


def write_sdk_decorators(directory: Path, tools: Sequence[SyntheticTool]) -> str:
    """Write a server of the SDK's decorators; give the module to run."""
    text = _decorated(_SDK_IMPORTS, tools, "structured_output=False")
    return _package(directory, "sdk_decorators", f'{text}\n\ndef main():\n    server.run("stdio")\n')


def write_fastmcp(directory: Path, tools: Sequence[SyntheticTool], *, search: bool = False) -> str:
    """Write a FastMCP server, with its BM25 search in place of the full list if asked; give the module to run."""
    text = _decorated(_FASTMCP_SEARCH_IMPORTS if search else _FASTMCP_IMPORTS, tools, "output_schema=None")
    end = '\n\ndef main():\n    server.run("stdio", show_banner=False)\n'
    return _package(directory, "fastmcp_search" if search else "fastmcp_decorators", text + end)


def wire_table(generated: Path) -> list[dict[str, Any]]:
    """Read the tools of a generated project as they go over the wire."""
    table = json.loads(generated.joinpath("schemas", "mcp.json").read_text("utf-8"))["tools"]
    return [listed_tool(tool) for tool in table]


def _decorated(imports: str, tools: Sequence[SyntheticTool], unstructured: str) -> str:
    nouns = [noun for noun in categories_of(tools) if any(tool.noun is noun and not tool.reads for tool in tools)]
    classes = [_TARGET.format(target=f"{noun.one.capitalize()}Target", one=noun.one) for noun in nouns]
    functions = [
        (_READING if tool.reads else _CHANGING).format(
            name=tool.name, description=tool.description, target=tool.target, unstructured=unstructured
        )
        for tool in tools
    ]
    return "".join([_DECORATED.format(imports=imports), *classes, *functions])


def _package(directory: Path, name: str, tools: str) -> str:
    package = directory / name
    package.mkdir(parents=True)
    files = {"__init__.py": "", "__main__.py": _MAIN.format(package=name), "tools.py": tools}
    for file, text in files.items():
        package.joinpath(file).write_text(text, encoding="utf-8", newline="\n")
    return name
