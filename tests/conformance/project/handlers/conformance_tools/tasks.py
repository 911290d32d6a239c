"""Tools whose calls become tasks."""

# ruff: noqa: ARG001 - a handler is given both arguments, whether or not it needs them

from __future__ import annotations

import asyncio
from typing import Any, Protocol

from toolmason_runtime import Content, MethodError, ToolCall, ToolError

_CONFIRM = {"type": "object", "properties": {"confirm": {"type": "boolean"}}, "required": ["confirm"]}
_NAME = {"type": "object", "properties": {"name": {"type": "string"}}, "required": ["name"]}


class WithName(Protocol):
    """Parameters of `greet`, as far as they are read."""

    name: str


class WithSeconds(Protocol):
    """Parameters of `slow_compute`, as far as they are read."""

    seconds: float
    label: str


class WithFile(Protocol):
    """Parameters of `confirm_delete`, as far as they are read."""

    filename: str


async def greet(params: WithName, call: ToolCall) -> Content:
    """Answer at once."""
    return f"Hello, {params.name}!"


async def slow_compute(params: WithSeconds, call: ToolCall) -> Content:
    """Answer after some seconds."""
    await call.progress(0, params.seconds, "computing")
    await asyncio.sleep(params.seconds)
    return f"{params.label} took {params.seconds:g} s"


async def failing_job(params: object, call: ToolCall) -> Content:
    """Fail as a tool fails."""
    raise ToolError("the job failed: try another one")


async def protocol_error_job(params: object, call: ToolCall) -> Content:
    """Fail as a request fails."""
    raise MethodError(-32603, "the job cannot be carried out")


async def confirm_delete(params: WithFile, call: ToolCall) -> Content:
    """Ask the user."""
    answer = await call.elicit(f"Delete {params.filename}?", _CONFIRM, key="confirm")
    is_confirmed = answer["action"] == "accept" and (answer.get("content") or {}).get("confirm") is True
    return f"{params.filename} would be {'deleted' if is_confirmed else 'kept'}"


async def multi_input(params: object, call: ToolCall) -> Content:
    """Ask two questions in one round."""
    async with asyncio.TaskGroup() as asked:
        name = asked.create_task(call.elicit("Your name?", _NAME, key="name"))
        confirm = asked.create_task(call.elicit("Go on?", _CONFIRM, key="confirm"))
    return f"{_content(name.result())} {_content(confirm.result())}"


async def ask_then_work(params: object, call: ToolCall) -> Content:
    """Ask in the request, then work in a task."""
    answer = await call.elicit("Your name?", _NAME, key="user_name")
    await asyncio.sleep(1)
    return f"Worked for {_content(answer).get('name')}"


def _content(answer: dict[str, Any]) -> dict[str, Any]:
    return answer.get("content") or {}
