"""Programs that serve the same synthetic tools with other frameworks, written as in their documentation.

Each is a package with the tools in a separate module, so that byte code is cached for all.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

from toolmason_runtime.discovery.listing import listed_tool

from bench.parameters import Kind, Parameter
from bench.synthetic import SyntheticTool

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
    text = "x" * params.arguments["size"] if params.name == "large" else "done"
    return types.CallToolResult(content=[types.TextContent(type="text", text=text)])


async def serve():
    server = Server("synthetic", version="0.1.0", on_list_tools=list_tools, on_call_tool=call_tool)
    async with stdio_server() as (read, write):
        await server.run(read, write, server.create_initialization_options())


def main():
    anyio.run(serve)
"""

_BARE_HTTP: Final = """\
import hmac
import sys
from collections import deque
from uuid import uuid4

import mcp_types as types
import uvicorn
from mcp.server.auth.provider import AccessToken, TokenVerifier
from mcp.server.auth.settings import AuthSettings
from mcp.server.lowlevel import Server
from mcp.server.streamable_http import EventStore

TOOLS = {table!r}
TOKEN = {token!r}


async def list_tools(ctx, params):
    return types.ListToolsResult.model_validate({{"tools": TOOLS}})


async def call_tool(ctx, params):
    return types.CallToolResult(content=[types.TextContent(type="text", text="done")])


class Verifier(TokenVerifier):
    async def verify_token(self, token):
        if hmac.compare_digest(token.encode(), TOKEN.encode()):
            return AccessToken(token=token, client_id="bench", scopes=[])
        return None


class Events(EventStore):
    def __init__(self):
        self.events = deque(maxlen=200)

    async def store_event(self, stream_id, message):
        event_id = str(uuid4())
        self.events.append((event_id, stream_id, message))
        return event_id

    async def replay_events_after(self, last_event_id, send_callback):
        raise NotImplementedError


def main():
    port = int(sys.argv[1])
    url = f"http://127.0.0.1:{{port}}"
    server = Server("synthetic", version="0.1.0", on_list_tools=list_tools, on_call_tool=call_tool)
    app = server.streamable_http_app(
        event_store=Events(),
        retry_interval=500,
        auth=AuthSettings(issuer_url=url, resource_server_url=f"{{url}}/mcp"),
        token_verifier=Verifier(),
    )
    uvicorn.run(app, host="127.0.0.1", port=port, log_level="warning", timeout_keep_alive=60)
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

_FASTMCP_HTTP_IMPORTS: Final = """\
import sys

import uvicorn
from fastmcp import FastMCP
from fastmcp.server.auth.providers.jwt import StaticTokenVerifier
from fastmcp.server.event_store import EventStore

verifier = StaticTokenVerifier(tokens={{{token!r}: {{"client_id": "bench", "scopes": []}}}})
server = FastMCP("synthetic", auth=verifier)
"""

_FASTMCP_HTTP_MAIN: Final = """

def main():
    app = server.http_app(event_store=EventStore())
    uvicorn.run(app, host="127.0.0.1", port=int(sys.argv[1]), log_level="warning", timeout_keep_alive=60)
"""

_FASTMCP_LARGE: Final = """\
from fastmcp import FastMCP

server = FastMCP("synthetic")


@server.tool(output_schema=None)
def large(size: int) -> str:
    return "x" * size


def main():
    server.run("stdio", show_banner=False)
"""

_FASTMCP_SEARCH_IMPORTS: Final = """\
from fastmcp import FastMCP
from fastmcp.server.transforms.search import BM25SearchTransform

server = FastMCP("synthetic", transforms=[BM25SearchTransform()])
"""

_TARGET: Final = '''

class {target}(BaseModel):
    """Which {one} is meant"""

    id: Annotated[str, Field(description="Number or name of the {one}")]
    revision: Annotated[int | None, Field(description="Revision of the {one}", ge=1)] = None
'''

_TOOL: Final = """

@server.tool(description={description!r}, annotations={hints}, {unstructured})
def {name}(
{parameters}
) -> str:
    return "done"
"""


def write_bare(directory: Path, table: Sequence[dict[str, Any]]) -> str:
    """Write a low-level server of the SDK with the wire-ready `table` of tools; return the module to run."""
    return _package(directory, "bare_sdk", _BARE.format(table=list(table)))


def write_bare_http(directory: Path, table: Sequence[dict[str, Any]], token: str) -> str:
    """Write the same server over streamable HTTP; it takes its port as argument.

    It has the checks of ours: the host (the SDK's default on loopback), a bearer token, and a store of events.
    """
    return _package(directory, "bare_sdk_http", _BARE_HTTP.format(table=list(table), token=token))


def write_sdk_decorators(directory: Path, tools: Sequence[SyntheticTool]) -> str:
    """Write a server of the SDK's decorators; return the module to run."""
    text = _decorated(_SDK_IMPORTS, tools, "structured_output=False")
    return _package(directory, "sdk_decorators", f'{text}\n\ndef main():\n    server.run("stdio")\n')


def write_fastmcp(directory: Path, tools: Sequence[SyntheticTool], *, search: bool = False) -> str:
    """Write a FastMCP server, with its BM25 search in place of the full list if asked; return the module to run."""
    text = _decorated(_FASTMCP_SEARCH_IMPORTS if search else _FASTMCP_IMPORTS, tools, "output_schema=None")
    end = '\n\ndef main():\n    server.run("stdio", show_banner=False)\n'
    return _package(directory, "fastmcp_search" if search else "fastmcp_decorators", text + end)


def write_fastmcp_http(directory: Path, tools: Sequence[SyntheticTool], token: str) -> str:
    """Write a FastMCP server over streamable HTTP with the checks of `write_bare_http`; return the module to run."""
    text = _decorated(_FASTMCP_HTTP_IMPORTS.format(token=token), tools, "output_schema=None")
    return _package(directory, "fastmcp_http", text + _FASTMCP_HTTP_MAIN)


def write_fastmcp_large(directory: Path) -> str:
    """Write a FastMCP server with the tool `large` alone; return the module to run."""
    return _package(directory, "fastmcp_large", _FASTMCP_LARGE)


def wire_table(generated: Path) -> list[dict[str, Any]]:
    """Read the tools of a generated project as they go over the wire."""
    table = json.loads(generated.joinpath("schemas", "mcp.json").read_text("utf-8"))["tools"]
    return [listed_tool(tool) for tool in table]


def write_table(directory: Path, table: Sequence[dict[str, Any]]) -> Path:
    """Write the wire-ready `table` of tools for the servers in other languages; return its path."""
    directory.mkdir(parents=True, exist_ok=True)
    path = directory / "table.json"
    path.write_text(json.dumps(list(table), ensure_ascii=False), encoding="utf-8", newline="\n")
    return path


def _decorated(imports: str, tools: Sequence[SyntheticTool], unstructured: str) -> str:
    nouns = dict.fromkeys(tool.noun for tool in tools if not tool.reads)
    classes = [_TARGET.format(target=noun.target, one=noun.words["one"]) for noun in nouns]
    functions = [
        _TOOL.format(
            name=tool.name,
            description=tool.description,
            hints="READS" if tool.reads else "CHANGES",
            parameters="\n".join(f"    {_parameter(part, tool)}," for part in tool.parameters),
            unstructured=unstructured,
        )
        for tool in tools
    ]
    return "".join([_DECORATED.format(imports=imports), *classes, *functions])


def _parameter(part: Parameter, tool: SyntheticTool) -> str:
    """Return a parameter of a Python function, with its type and description."""
    annotation, bounds = {
        Kind.TEXT: ("str", ""),
        Kind.NUMBER: ("int", f", ge=1, le={part.bound}"),
        Kind.CHOICE: (f"Literal[{', '.join(map(repr, part.choices))}]", ""),
        Kind.LIST: ("list[str] | None", f", max_length={part.bound}"),
        Kind.TARGET: (tool.noun.target, ""),
    }[part.kind]
    default = "" if part.is_required else f" = {part.default!r}"
    return f"{part.name}: Annotated[{annotation}, Field(description={part.description!r}{bounds})]{default}"


def _package(directory: Path, name: str, tools: str) -> str:
    package = directory / name
    package.mkdir(parents=True)
    files = {"__init__.py": "", "__main__.py": _MAIN.format(package=name), "tools.py": tools}
    for file, text in files.items():
        package.joinpath(file).write_text(text, encoding="utf-8", newline="\n")
    return name
