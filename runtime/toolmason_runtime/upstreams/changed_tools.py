"""Approval of calls of tools that an upstream changed after the import: a person decides on each call."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Awaitable, Callable, Mapping
from typing import Any, Final

from toolmason_runtime.calls.call import ToolCall
from toolmason_runtime.programs.approval import approve_handler
from toolmason_runtime.shared.errors import ToolError
from toolmason_runtime.shared.specs.pins import REVIEW_COMMAND
from toolmason_runtime.shared.specs.program import Risk
from toolmason_runtime.shared.specs.upstream import UpstreamTool
from toolmason_runtime.upstreams.connection import Connection, Send

CHANGED: Final = "UPSTREAM_TOOL_CHANGED"
_MAX_QUESTIONS: Final = 3
"""Maximum questions of one call: an upstream may change the tool again while a person reads the question."""


async def approve_change(
    tool: UpstreamTool,
    arguments: Mapping[str, Any],
    connection: Connection,
    ask: Callable[[Send], Awaitable[dict[str, Any]]],
) -> None:
    """Ask a person about a call of a tool that differs from the manifest, regardless of its hints and the policy.

    `ask` sends a question in the request that follows the call.

    Raises:
        ToolError: the upstream does not list the tool, the person refused, or the client cannot ask.
    """
    approved: str | None = None
    for _ in range(_MAX_QUESTIONS):
        listing = await connection.listing()
        if tool.upstream.pins.get(tool.original) and tool.original not in listing.hashes:
            raise missing_error(tool)
        if tool.original not in listing.changed or (current := listing.hashes[tool.original]) == approved:
            return
        await ask(_question(tool, arguments, current, listing.changed[tool.original]))
        approved = current
    message = (
        f"Not run: the MCP server '{tool.upstream.name}' keeps changing its tool '{tool.original}'. Tell the user."
    )
    raise ToolError(message, code=CHANGED)


def missing_error(tool: UpstreamTool) -> ToolError:
    """Return the error for a tool that the upstream does not list."""
    message = (
        f"The MCP server '{tool.upstream.name}' no longer lists the tool '{tool.original}'. Do not retry; tell the "
        f"user, who can update the manifest: `{REVIEW_COMMAND}` shows the changes."
    )
    return ToolError(message, code="UPSTREAM_TOOL_MISSING")


def _question(tool: UpstreamTool, arguments: Mapping[str, Any], current: str, parts: tuple[str, ...]) -> Send:
    name, original = tool.upstream.name, tool.original
    text = json.dumps(arguments, ensure_ascii=False, indent=2)
    question = (
        f"The MCP server {name} has changed its tool {original} since it was imported: {', '.join(parts)}. Its effect "
        f"may be different too. Call {original} anyway?\n\n{text}"
    )
    digest = hashlib.sha256(json.dumps([tool.name, current, arguments], sort_keys=True).encode()).hexdigest()[:32]

    async def send(call: ToolCall, key: str) -> dict[str, Any]:
        if not call.can_elicit("form"):
            message = (
                f"Not run: the MCP server '{name}' has changed its tool '{original}' since it was imported "
                f"({', '.join(parts)}), so each call needs user approval, and this client does not support MCP "
                f"elicitation. Do not retry. Tell the user, who can compare it with `{REVIEW_COMMAND}` and approve it "
                f"with `{REVIEW_COMMAND} --approve {tool.name}`."
            )
            raise ToolError(message, code=CHANGED)
        await approve_handler(
            call,
            tool=tool.name,
            risk=Risk.DESTRUCTIVE,
            question=question,
            key=f"{key}-{digest}",
            advice="Send shorter arguments",
            always=True,
        )
        return {}

    return send
