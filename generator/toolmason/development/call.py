"""Call one tool of a project's server in a process of its own, as a client does."""

from __future__ import annotations

import asyncio
import json
import os
import sys
from collections.abc import Sequence
from typing import Any, Final

import click
from mcp import Client, MCPError, StdioServerParameters
from mcp.client import ClientRequestContext
from mcp.types import CallToolResult, ElicitRequestParams, ElicitResult, Implementation
from toolmason_runtime.shared.client_profiles import TOOLMASON

from toolmason.project import Project

_ALL_TOOLS: Final = ("--classic", "--all", "--log-format", "text")
"""Arguments with which every tool can be called by its own name."""


def call_tool(
    project: Project, tool: str, arguments: dict[str, Any], server_arguments: Sequence[str]
) -> CallToolResult:
    """Start the server of `project` and return the result of one call. Questions of the server go to the terminal.

    Raises:
        MCPError: the server ended or refused the request.
    """
    server = StdioServerParameters(
        command=sys.executable,
        args=["-m", "toolmason", "run", str(project.manifest), *_ALL_TOOLS, *server_arguments],
        env=dict(os.environ),
    )

    async def call() -> CallToolResult:
        about = Implementation(name=TOOLMASON, version="1")
        async with Client(server, elicitation_callback=_ask, client_info=about) as client:
            return await client.call_tool(tool, arguments, progress_callback=_show_progress)

    try:
        return asyncio.run(call())
    except* MCPError as group:
        raise _first(group) from None


def _first(error: BaseException) -> BaseException:
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    return error


async def _show_progress(progress: float, total: float | None, message: str | None) -> None:
    amount = f"{progress:g}" if total is None else f"{progress:g}/{total:g}"
    click.echo(f"[{amount}] {message or ''}".rstrip(), err=True)


async def _ask(context: ClientRequestContext, params: ElicitRequestParams) -> ElicitResult:  # noqa: ARG001
    """Ask the question of a server on the terminal. Without a terminal, decline it."""
    click.echo(params.message, err=True)
    if not sys.stdin.isatty():
        click.echo("declined: stdin is not a terminal", err=True)
        return ElicitResult(action="decline")
    fields = getattr(params, "requested_schema", {}).get("properties", {})
    return await asyncio.to_thread(_prompt, fields)


def _prompt(fields: dict[str, Any]) -> ElicitResult:
    if not fields:
        accepted = click.confirm("Accept?", err=True)
        return ElicitResult(action="accept" if accepted else "decline", content={} if accepted else None)
    try:
        return ElicitResult(action="accept", content={name: _value(name, field) for name, field in fields.items()})
    except click.Abort:
        return ElicitResult(action="cancel")


def _value(name: str, field: dict[str, Any]) -> Any:
    types: dict[str, Any] = {"integer": int, "number": float, "boolean": bool}
    choices = field.get("enum") or [option["const"] for option in field.get("oneOf", ())]
    kind = click.Choice(choices) if choices else types.get(field.get("type", ""), str)
    return click.prompt(field.get("title") or name, type=kind, default=field.get("default"), err=True)


def shown_result(result: CallToolResult, *, as_json: bool) -> str:
    """Return a result as text: its texts as a model reads them, or the whole result as JSON."""
    if as_json:
        return json.dumps(
            result.model_dump(mode="json", by_alias=True, exclude_none=True), indent=2, ensure_ascii=False
        )
    return "\n".join(_shown_block(block) for block in result.content)


def _shown_block(block: Any) -> str:
    if block.type == "text":
        return str(block.text)
    if block.type in {"image", "audio"}:
        return f"[{block.type}: {block.mime_type}, {len(block.data) * 3 // 4:,} bytes]"
    uri = block.uri if block.type == "resource_link" else block.resource.uri
    return f"[{block.type.replace('_', ' ')}: {uri}]"
