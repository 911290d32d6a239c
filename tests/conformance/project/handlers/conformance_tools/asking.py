"""Tools that need something of the user, of the client's model or of the client."""

# ruff: noqa: ARG001 - a handler is given both arguments, whether or not it needs them

from __future__ import annotations

import asyncio
import json
from collections.abc import Mapping
from typing import Any, Protocol

from toolmason_runtime import Content, PromptContent, ToolCall


class WithPrompt(Protocol):
    """Parameters of `test_sampling`, as far as they are read."""

    prompt: str


class WithMessage(Protocol):
    """Parameters of `test_elicitation`, as far as they are read."""

    message: str


async def sampling(params: WithPrompt, call: ToolCall) -> Content:
    """Pass the prompt to the client's model."""
    return f"LLM response: {_said(await call.sample(_prompt(params.prompt)))}"


async def elicitation(params: WithMessage, call: ToolCall) -> Content:
    """Ask the user for a name and an address."""
    username = {"type": "string", "description": "User's response"}
    email = {"type": "string", "description": "User's email address"}
    answer = await call.elicit(params.message, _form(username=username, email=email))
    return f"User response: {json.dumps(answer)}"


async def elicitation_defaults(params: object, call: ToolCall) -> Content:
    """Ask with a default for every kind of field."""
    fields = {
        "name": {"type": "string", "default": "John Doe"},
        "age": {"type": "integer", "default": 30},
        "score": {"type": "number", "default": 95.5},
        "status": {"type": "string", "enum": ["active", "inactive", "pending"], "default": "active"},
        "verified": {"type": "boolean", "default": True},
    }
    answer = await call.elicit("Please check the defaults", {"type": "object", "properties": fields})
    return f"Elicitation completed: {json.dumps(answer)}"


async def elicitation_choices(params: object, call: ToolCall) -> Content:
    """Ask for a choice in each way that the protocol has."""
    options = ["option1", "option2", "option3"]
    titled = [{"const": "value1", "title": "First"}, {"const": "value2", "title": "Second"}]
    fields = {
        "untitledSingle": {"type": "string", "enum": options},
        "titledSingle": {"type": "string", "oneOf": titled},
        "legacyEnum": {"type": "string", "enum": ["opt1", "opt2"], "enumNames": ["Option One", "Option Two"]},
        "untitledMulti": {"type": "array", "items": {"type": "string", "enum": options}},
        "titledMulti": {"type": "array", "items": {"anyOf": titled}},
    }
    answer = await call.elicit("Please choose", {"type": "object", "properties": fields})
    return f"Elicitation completed: {json.dumps(answer)}"


async def ask_name(params: object, call: ToolCall) -> Content:
    """Greet the user."""
    return f"Hello, {await _name(call)}!"


async def ask_model(params: object, call: ToolCall) -> Content:
    """Ask a question that any model can answer."""
    return _said(await call.sample(_prompt("What is the capital of France?"), key="capital_question"))


async def ask_roots(params: object, call: ToolCall) -> Content:
    """Name the client's folders."""
    return json.dumps(await call.client_roots())


async def ask_confirmation(params: object, call: ToolCall) -> Content:
    """Ask for a yes; the runtime checks the state that comes back with it."""
    answer = await call.elicit("Please confirm", _form(ok={"type": "boolean"}), key="confirm")
    return f"state-ok: {json.dumps(answer.get('content'))}"


async def ask_everyone(params: object, call: ToolCall) -> Content:
    """Ask three questions in one round."""
    async with asyncio.TaskGroup() as asked:
        name = asked.create_task(_name(call))
        greeting = asked.create_task(call.sample(_prompt("Generate a greeting"), key="greeting"))
        roots = asked.create_task(call.client_roots())
    return f"{_said(greeting.result())} {name.result()} has {len(roots.result())} roots."


async def ask_twice(params: object, call: ToolCall) -> Content:
    """Ask a second question that rests on the first answer."""
    name = _field(await call.elicit("Step 1: What is your name?", _form(name=_TEXT), key="step1"), "name")
    question = f"Step 2: What is your favorite color, {name}?"
    return f"{name} likes {_field(await call.elicit(question, _form(color=_TEXT), key='step2'), 'color')}."


async def ask_whom_possible(params: object, call: ToolCall) -> Content:
    """Ask the model if there is one, else the user."""
    if "sampling" in call.client_capabilities:
        return _said(await call.sample(_prompt("Say hello"), key="greeting"))
    return await ask_name(params, call)


async def ask_context(params: object, call: ToolCall) -> PromptContent:
    """Ask for the context of a prompt."""
    question = "What context should the prompt use?"
    answer = await call.elicit(question, _form(context=_TEXT), key="user_context")
    return f"Use this context: {_field(answer, 'context')}"


_TEXT = {"type": "string"}


async def _name(call: ToolCall) -> str:
    return _field(await call.elicit("What is your name?", _form(name=_TEXT), key="user_name"), "name")


def _form(**fields: Mapping[str, Any]) -> dict[str, Any]:
    return {"type": "object", "properties": fields, "required": list(fields)}


def _prompt(text: str) -> dict[str, Any]:
    return {"messages": [{"role": "user", "content": {"type": "text", "text": text}}], "maxTokens": 100}


def _field(answer: Mapping[str, Any], name: str) -> str:
    return str((answer.get("content") or {}).get(name, "(no answer)"))


def _said(answer: Mapping[str, Any]) -> str:
    """Give the text of a sampling answer, whose content is a block or a list of them."""
    content = answer["content"]
    parts = content if isinstance(content, list) else [content]
    return " ".join(part["text"] for part in parts if part["type"] == "text")
