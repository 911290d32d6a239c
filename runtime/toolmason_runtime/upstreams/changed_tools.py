"""Approval of calls of tools that an upstream changed after the import: a person decides on each call."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Awaitable, Callable, Mapping
from typing import Any, Final

from toolmason_runtime.calls.call import ToolCall
from toolmason_runtime.programs.approval import approve_handler
from toolmason_runtime.shared.errors import ToolError
from toolmason_runtime.shared.specs.program import Risk
from toolmason_runtime.shared.specs.upstream import UpstreamTool
from toolmason_runtime.upstreams.connection import Connection, Send

CHANGED: Final = "UPSTREAM_TOOL_CHANGED"
_MAX_QUESTIONS: Final = 3
"""Questions of one call: an upstream may change the tool again while a person reads the question."""


async def approve_change(
    tool: UpstreamTool,
    arguments: Mapping[str, Any],
    connection: Connection,
    ask: Callable[[Send], Awaitable[dict[str, Any]]],
) -> None:
    """Ask a person about a call of a tool that differs from the manifest, whatever its hints and the policy say.

    `ask` sends a question in the request that follows the call.

    Raises:
        ToolError: the person refused, or the client cannot ask.
    """
    approved: str | None = None
    for _ in range(_MAX_QUESTIONS):
        listing = await connection.listing()
        if tool.original not in listing.changed or (current := listing.hashes[tool.original]) == approved:
            return
        await ask(_question(tool, arguments, current))
        approved = current
    message = (
        f"Not run: the MCP server '{tool.upstream.name}' keeps changing its tool '{tool.original}'. Tell the user."
    )
    raise ToolError(message, code=CHANGED)


def _question(tool: UpstreamTool, arguments: Mapping[str, Any], current: str) -> Send:
    name, original = tool.upstream.name, tool.original
    text = json.dumps(arguments, ensure_ascii=False, indent=2)
    question = (
        f"The MCP server {name} has changed its tool {original} since it was imported: a text, a hint or a schema is "
        f"different. Its effect may be different too. Call {original} anyway?\n\n{text}"
    )
    digest = hashlib.sha256(json.dumps([tool.name, current, arguments], sort_keys=True).encode()).hexdigest()[:32]

    async def send(call: ToolCall, key: str) -> dict[str, Any]:
        if not call.can_elicit("form"):
            message = (
                f"Not run: the MCP server '{name}' has changed its tool '{original}' since it was imported, so each "
                f"call needs user approval, and this client does not support MCP elicitation. Do not retry. Tell the "
                f"user, who can compare it with `toolmason check --upstreams` and then accept its new `upstream_hash`."
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
