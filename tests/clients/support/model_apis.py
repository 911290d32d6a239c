"""The APIs of models that real clients speak: requests to conversations, and answers to server-sent events."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Protocol

Json = Mapping[str, Any]


@dataclass(frozen=True)
class Call:
    """A call of a tool by the name that the client offers."""

    number: int
    name: str
    arguments: Json


@dataclass(frozen=True)
class Conversation:
    """What a client sends to a model."""

    tools: Mapping[str, Json]
    """The tools as the client describes them, by name."""
    texts: list[str]
    """The texts of the user."""
    results: list[str]
    """The results of the model's calls, in their order."""


class Api(Protocol):
    """One API. Requests and answers have its form."""

    def read(self, request: Json) -> Conversation: ...
    def write(self, answer: Call | str, request: Json) -> bytes: ...


class Anthropic:
    """POST /v1/messages, as Claude Code sends it."""

    def read(self, request: Json) -> Conversation:
        texts, results = [], []
        for message in request["messages"]:
            content = message["content"]
            for block in [{"type": "text", "text": content}] if isinstance(content, str) else content:
                if block["type"] == "tool_result":
                    results.append(text_of(block.get("content")))
                elif block["type"] == "text" and message["role"] == "user":
                    texts.append(block["text"])
        return Conversation({tool["name"]: tool for tool in request.get("tools", ())}, texts, results)

    def write(self, answer: Call | str, request: Json) -> bytes:
        block: dict[str, Any]
        if isinstance(answer, Call):
            block = {"type": "tool_use", "id": f"toolu_{answer.number}", "name": answer.name, "input": {}}
            delta = {"type": "input_json_delta", "partial_json": json.dumps(answer.arguments)}
        else:
            block, delta = {"type": "text", "text": ""}, {"type": "text_delta", "text": answer}
        usage = {"input_tokens": 1, "output_tokens": 1}
        message = {"id": "msg_1", "type": "message", "role": "assistant", "model": request["model"], "content": []}
        reason = {"stop_reason": "tool_use" if isinstance(answer, Call) else "end_turn", "stop_sequence": None}
        events: tuple[tuple[str, Json], ...] = (
            ("message_start", {"message": {**message, "stop_reason": None, "stop_sequence": None, "usage": usage}}),
            ("content_block_start", {"index": 0, "content_block": block}),
            ("content_block_delta", {"index": 0, "delta": delta}),
            ("content_block_stop", {"index": 0}),
            ("message_delta", {"delta": reason, "usage": usage}),
            ("message_stop", {}),
        )
        return b"".join(_event({"type": kind, **event}, kind) for kind, event in events)


class Gemini:
    """POST .../models/MODEL:streamGenerateContent, as Gemini CLI sends it."""

    def read(self, request: Json) -> Conversation:
        parts = [(content["role"], part) for content in request["contents"] for part in content["parts"]]
        groups = (tool.get("functionDeclarations", ()) for tool in request.get("tools", ()))
        return Conversation(
            {tool["name"]: tool for group in groups for tool in group},
            [part["text"] for role, part in parts if role == "user" and "text" in part],
            [text_of(part["functionResponse"]["response"]) for _, part in parts if "functionResponse" in part],
        )

    def write(self, answer: Call | str, request: Json) -> bytes:  # noqa: ARG002  the interface
        if isinstance(answer, Call):
            part: Json = {"functionCall": {"name": answer.name, "args": answer.arguments}}
        else:
            part = {"text": answer}
        candidate = {"content": {"role": "model", "parts": [part]}, "finishReason": "STOP", "index": 0}
        usage = {"promptTokenCount": 1, "candidatesTokenCount": 1, "totalTokenCount": 2}
        return _event({"candidates": [candidate], "usageMetadata": usage})


class Responses:
    """POST /v1/responses of OpenAI, as Codex sends it."""

    def read(self, request: Json) -> Conversation:
        items = request["input"]
        return Conversation(
            dict(self._tools(request)),
            [text_of(item["content"]) for item in items if item.get("role") == "user"],
            [text_of(item["output"]) for item in items if item["type"] == "function_call_output"],
        )

    def write(self, answer: Call | str, request: Json) -> bytes:
        item: dict[str, Any]
        if isinstance(answer, Call):
            name = dict(self._tools(request))[answer.name]["name"]
            item = {"type": "function_call", "id": f"fc_{answer.number}", "call_id": f"call_{answer.number}"}
            item |= {"name": name, "arguments": json.dumps(answer.arguments), "status": "completed"}
            if answer.name != name:
                item["namespace"] = answer.name.removesuffix(f"__{name}")
        else:
            text = {"type": "output_text", "text": answer, "annotations": []}
            item = {"type": "message", "id": "msg_1", "role": "assistant", "status": "completed", "content": [text]}
        response = {"id": "resp_1", "object": "response", "model": request["model"], "status": "in_progress"}
        usage = {"input_tokens": 1, "output_tokens": 1, "total_tokens": 2}
        events: tuple[tuple[str, Json], ...] = (
            ("response.created", {"response": {**response, "output": []}}),
            ("response.output_item.added", {"output_index": 0, "item": item}),
            ("response.output_item.done", {"output_index": 0, "item": item}),
            ("response.completed", {"response": response | {"status": "completed", "output": [item], "usage": usage}}),
        )
        return b"".join(_event({"type": kind, **event}, kind) for kind, event in events)

    def _tools(self, request: Json) -> Iterator[tuple[str, Json]]:
        """Yield the tools; those of an MCP server are in a namespace, and have its name before theirs."""
        for tool in request.get("tools", ()):
            if tool["type"] == "namespace":
                yield from ((f"{tool['name']}__{member['name']}", member) for member in tool["tools"])
            elif "name" in tool:
                yield tool["name"], tool


class ChatCompletions:
    """POST /v1/chat/completions of OpenAI, as opencode sends it."""

    def read(self, request: Json) -> Conversation:
        messages = request["messages"]
        return Conversation(
            {tool["function"]["name"]: tool["function"] for tool in request.get("tools", ())},
            [text_of(message["content"]) for message in messages if message["role"] == "user"],
            [text_of(message["content"]) for message in messages if message["role"] == "tool"],
        )

    def write(self, answer: Call | str, request: Json) -> bytes:
        if isinstance(answer, Call):
            function = {"name": answer.name, "arguments": json.dumps(answer.arguments)}
            call = {"index": 0, "id": f"call_{answer.number}", "type": "function", "function": function}
            delta, reason = {"role": "assistant", "tool_calls": [call]}, "tool_calls"
        else:
            delta, reason = {"role": "assistant", "content": answer}, "stop"
        chunk = {"id": "chatcmpl-1", "object": "chat.completion.chunk", "created": 0, "model": request["model"]}
        usage = {"prompt_tokens": 1, "completion_tokens": 1, "total_tokens": 2}
        first = {**chunk, "choices": [{"index": 0, "delta": delta, "finish_reason": None}]}
        last = {**chunk, "choices": [{"index": 0, "delta": {}, "finish_reason": reason}], "usage": usage}
        return _event(first) + _event(last) + b"data: [DONE]\n\n"


API_BY_PATH: Mapping[str, Api] = {
    "/messages": Anthropic(),
    ":streamGenerateContent": Gemini(),
    "/responses": Responses(),
    "/chat/completions": ChatCompletions(),
}


def text_of(content: Any) -> str:
    """Return all texts of a content, whatever its form: a text, a block, a list of them."""
    if isinstance(content, str):
        return content
    if isinstance(content, Iterable) and not isinstance(content, Mapping):
        return "\n".join(map(text_of, content))
    members = (content[key] for key in ("text", "content", "output", "error") if key in content or ())
    return text_of(next(members, json.dumps(content)))


def _event(data: Json, kind: str = "") -> bytes:
    first = f"event: {kind}\n" if kind else ""
    return f"{first}data: {json.dumps(data)}\n\n".encode()
