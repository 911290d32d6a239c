"""Handlers that return the caller, as they see it."""

from __future__ import annotations

from typing import Any

from toolmason_runtime import ToolCall


async def whoami(params: Any, call: ToolCall) -> str:  # noqa: ARG001  there are none
    principal = call.principal
    if principal is None:
        return "nobody"
    return f"{principal.subject or '-'} by {principal.client_id or '-'}: {' '.join(sorted(principal.scopes))}"


async def remove_note(params: Any, call: ToolCall) -> str:  # noqa: ARG001  a handler gets both
    return f"removed {params.title}"


async def own_notes(params: Any, call: ToolCall) -> str:  # noqa: ARG001  a handler gets both
    return f"notes of {params.user} with {params.word!r}"


async def team_notes(params: Any, call: ToolCall) -> str:  # noqa: ARG001  a handler gets both
    return f"notes of {params.team}"


async def share_notes(params: Any, call: ToolCall) -> str:  # noqa: ARG001  there are none
    answer = await call.elicit("Share all notes?", {"type": "object", "properties": {}})
    return f"{answer['action']} by {call.principal.subject if call.principal else 'nobody'}"
