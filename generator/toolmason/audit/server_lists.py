"""The lists of an MCP server, complete and as on the wire, with the official SDK's client."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, Final

from mcp import Client, MCPError
from mcp.types import (
    ListPromptsRequest,
    ListPromptsResult,
    ListResourcesRequest,
    ListResourcesResult,
    ListResourceTemplatesRequest,
    ListResourceTemplatesResult,
    ListToolsRequest,
    ListToolsResult,
    PaginatedRequestParams,
)

MAX_PAGES: Final = 1_000
MAX_TOOLS: Final = 10_000


class ServerError(Exception):
    """The server returned no valid tool list.

    `stderr_tail` is the end of its stderr, `advice` the key of a manifest that may help.
    """

    def __init__(self, message: str, stderr_tail: str = "") -> None:
        super().__init__(message)
        self.stderr_tail = stderr_tail
        self.advice = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class ServerDescription:
    """A server's description of itself, as on the wire."""

    name: str
    title: str = ""
    version: str = ""
    instructions: str = ""
    tools: tuple[Mapping[str, Any], ...] = ()
    prompts: tuple[str, ...] = ()
    """Names."""
    resources: tuple[str, ...] = ()
    """URIs and URI templates."""


async def list_all_tools(client: Client) -> list[Any]:
    """Return the tools of a server.

    Raises:
        ServerError: its list never ends, or is too long.
    """
    # Not `client.list_tools`, which drops tools with invalid headers.
    return await _pages(client, ListToolsRequest, ListToolsResult, "tools")


async def describe(client: Client) -> ServerDescription:
    """Return the description of a server.

    Raises:
        ServerError: one of its lists never ends, or is too long.
    """
    about, capabilities = client.server_info, client.server_capabilities
    prompts: list[Any] = []
    resources: list[Any] = []
    templates: list[Any] = []
    with suppress(MCPError):  # a server may declare prompts that it cannot list
        if capabilities.prompts:
            prompts = await _pages(client, ListPromptsRequest, ListPromptsResult, "prompts")
    with suppress(MCPError):
        if capabilities.resources:
            resources = await _pages(client, ListResourcesRequest, ListResourcesResult, "resources")
            templates = await _pages(
                client, ListResourceTemplatesRequest, ListResourceTemplatesResult, "resource_templates"
            )
    return ServerDescription(
        name=about.name if about else "",
        title=(about.title or "") if about else "",
        version=about.version if about else "",
        instructions=client.instructions or "",
        tools=tuple(await list_all_tools(client)) if capabilities.tools else (),
        prompts=tuple(prompt["name"] for prompt in prompts),
        resources=(
            *(resource["uri"] for resource in resources),
            *(template["uriTemplate"] for template in templates),
        ),
    )


async def _pages(client: Client, request: Any, result: Any, field: str) -> list[Any]:
    """Return the entries of all pages of a list, as on the wire."""
    entries: list[Any] = []
    cursors: set[str] = set()
    cursor: str | None = None
    while len(cursors) < MAX_PAGES and len(entries) <= MAX_TOOLS:
        page = await client.session.send_request(request(params=PaginatedRequestParams(cursor=cursor)), result)
        entries += [entry.model_dump(mode="json", by_alias=True, exclude_unset=True) for entry in getattr(page, field)]
        cursor = page.next_cursor
        if cursor is None:
            return entries
        if cursor in cursors:
            raise ServerError(f"it returned the cursor {cursor[:60]!r} twice, so pagination never ends")
        cursors.add(cursor)
    entry_name = field.replace("_", " ").removesuffix("s")
    raise ServerError(f"its {entry_name} list exceeds {MAX_TOOLS:,} {entry_name}s or {MAX_PAGES:,} pages")
