"""The shape of a generated `catalogue.json`: plain data, ready for the wire.

Nothing here is computed when a server starts, so its start does not grow with the number of tools.
"""

from __future__ import annotations

from typing import Any, Final, NotRequired, TypedDict

ALWAYS_LOAD: Final = "anthropic/alwaysLoad"
"""Key of `_meta`: Claude Code lists such a tool at once and does not defer it behind a tool search of its own."""
SEARCH_HINT: Final = "anthropic/searchHint"
"""Key of `_meta`: text that the tool search of Claude Code matches beside name and description."""

WireTool = dict[str, Any]
"""A `Tool` of the MCP schema: name, title?, description, inputSchema, outputSchema?, annotations, _meta?."""


class ServerEntry(TypedDict):
    """`[server]` of the manifest, as far as a running server needs it."""

    name: str
    title: str
    version: str
    package: str
    """Import name of the generated package; a category's `module` stands under it."""
    instructions: str
    website: str
    page_size: int
    lifespan: str
    """`absolute.module:function`, or empty."""
    chunk_store: NotRequired[str]
    """Environment variable with the URL of a Redis for long texts; absent where processes share none."""


class DiscoveryEntry(TypedDict):
    """`[discovery]` of the manifest."""

    style: str
    prefix: str
    pinned: list[str]
    page_tokens: int
    split_calls: bool
    list_fetch_chunk: NotRequired[bool]
    """Whether `classic` lists `fetch_chunk`; absent means false."""


class CategoryEntry(TypedDict):
    """A group of tools. `module` is the sub-package with its models and handlers."""

    module: str
    summary: str
    tags: list[str]
    errors: NotRequired[str]
    """`json` where failures are told as JSON; absent for plain text."""


class CliEntry(TypedDict):
    """A command-line program that tools run, as it is shown to those who look for tools."""

    summary: str
    tags: list[str]
    confined: NotRequired[bool]
    """Whether it declares the files and the network that it may use; absent means false."""


class ExampleEntry(TypedDict):
    """A call that works, as data and as call syntax."""

    description: str
    arguments: dict[str, Any]
    invocation: str
    expected_output: NotRequired[str]


class DeprecationEntry(TypedDict):
    """Why a tool should no longer be used."""

    since: str
    replaced_by: str
    message: str


class ToolEntry(TypedDict):
    """One tool: what is sent (`tool`), and what discovery knows of it besides."""

    tool: WireTool
    summary: str
    category: str
    complexity: str
    tier: str
    """`core`, or `all` for tools served only with `--all`."""
    keywords: list[str]
    use_cases: list[str]
    related: list[str]
    examples: list[ExampleEntry]
    requires_codebase: NotRequired[bool]
    """Absent means false."""
    aliases: NotRequired[list[str]]
    deprecated: NotRequired[DeprecationEntry]
    enabled: NotRequired[bool]
    """Absent means true."""
    arguments_schema: NotRequired[dict[str, Any]]
    """What arguments must fit, where that is more than `inputSchema` says and no model says it."""
    result_schema: NotRequired[dict[str, Any]]
    """What results must fit, where that is more than `outputSchema` says."""
    unique: NotRequired[list[list[str]]]
    """Where the items of an array must differ, which no model holds: steps from the arguments, `*` for each item."""
    renamed: NotRequired[dict[str, str]]
    """Property of `inputSchema` to the one of the tool's own, which some provider refuses."""
    cli: NotRequired[str]
    """Name of the command-line program behind it; absent for a handler, which counts to its category."""


class Catalogue(TypedDict):
    """Everything a server serves. Tools stand by category, then as in the manifest."""

    server: ServerEntry
    discovery: DiscoveryEntry
    categories: dict[str, CategoryEntry]
    clis: NotRequired[dict[str, CliEntry]]
    """The programs that tools run; absent where they run none."""
    tools: dict[str, ToolEntry]


def with_meta(tool: WireTool, key: str, *, value: Any) -> WireTool:
    """Return `tool` with one more key in `_meta`; a value that the manifest gives for it stays."""
    return {**tool, "_meta": {key: value, **tool.get("_meta", {})}}
