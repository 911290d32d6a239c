"""Requests of both protocol eras, valid and invalid, that all engines answer alike."""

from __future__ import annotations

from typing import Any

from oracle import LEGACY, MODERN

META: dict[str, Any] = {
    "io.modelcontextprotocol/protocolVersion": MODERN,
    "io.modelcontextprotocol/clientCapabilities": {"elicitation": {}},
}
WITH_TASKS: dict[str, Any] = {
    **META,
    "io.modelcontextprotocol/clientCapabilities": {
        "elicitation": {},
        "extensions": {"io.modelcontextprotocol/tasks": {}},
    },
}
CLIENT = {"name": "probe", "version": "0"}
HANDSHAKE = {"protocolVersion": LEGACY, "capabilities": {}, "clientInfo": CLIENT}
INITIALIZE = ("initialize", HANDSHAKE)
Probe = tuple[str, Any]
COMMON: list[Probe] = [
    ("tools/list", {}),
    ("tools/list", {"cursor": "?"}),
    ("tools/list", {"cursor": 5}),
    ("tools/call", {}),
    ("tools/call", {"name": "shout", "arguments": []}),
    ("tools/call", {"name": "shout", "arguments": {"text": "a"}}),
    ("tools/call", {"name": "shout", "arguments": {}}),
    ("tools/call", {"name": "nobody"}),
    ("tools/call", {"name": "mixed"}),
    ("tools/call", {"name": "lie"}),
    ("tools/call", {"name": "raw", "arguments": {"depth": 1}}),
    ("tools/call", {"name": "refuse", "arguments": {"text": "a"}}),
    ("tools/call", {"name": "shout", "arguments": {"text": "a"}, "requestState": "forged"}),
    ("prompts/list", {}),
    ("prompts/get", {}),
    ("prompts/get", {"name": "a"}),
    ("resources/list", {}),
    ("resources/read", {"uri": 5}),
    ("resources/read", {"uri": "a:b"}),
    ("resources/subscribe", {"uri": "a:b"}),
    ("resources/templates/list", {}),
    ("completion/complete", {"ref": {}}),
    ("subscriptions/listen", {"notifications": {"resourceSubscriptions": 5}}),
    ("subscriptions/listen", {"notifications": {"taskIds": ["task_a"]}}),
    ("tasks/list", {}),
    ("tasks/result", {"taskId": "task_a"}),
    ("tasks/get", {}),
    ("tasks/get", {"taskId": "task_a"}),
    ("tasks/update", {"taskId": "task_a", "inputResponses": {}}),
    ("tasks/cancel", {"taskId": "task_a"}),
    ("nobody/knows", {}),
    ("ping", {}),
    ("logging/setLevel", {"level": "loud"}),
    ("logging/setLevel", {"level": "debug"}),
    ("server/discover", {}),
]
OF_TASKS: list[Probe] = [
    *(("tasks/get", {"taskId": identity}) for identity in (5, None, "", "../../key", f"task_{'0' * 32}", "é")),
    ("tasks/get", {"task_id": "task_a"}),
    ("tasks/cancel", {"taskId": ["task_a"]}),
    ("tasks/cancel", {"taskId": f"task_{'0' * 32}"}),
    ("tasks/update", {"taskId": "task_a"}),
    ("tasks/update", {"taskId": "task_a", "inputResponses": []}),
    ("tasks/update", {"taskId": "task_a", "inputResponses": {"a": 5}}),
    ("tasks/update", {"taskId": "task_a", "inputResponses": {"a": {}}}),
    ("tasks/list", {}),
    ("tasks/result", {"taskId": "task_a"}),
    ("subscriptions/listen", {"notifications": {"taskIds": "task_a"}}),
    ("subscriptions/listen", {"notifications": {"taskIds": [5]}}),
    ("tools/call", {"name": "shout", "arguments": {"text": "a"}}),
    ("tools/call", {"name": "shout", "arguments": {"text": "a"}, "task": {"ttl": 5}}),
    ("tools/call", {"name": "nobody"}),
    ("tools/call", {"name": "ask", "arguments": {}}),
]
SESSIONS: dict[str, list[Probe]] = {
    "handshake": [
        INITIALIZE,
        *COMMON,
        ("tools/list", None),
        ("tools/call", None),
        ("tools/list", {"_meta": META}),
        ("tools/list", {"_meta": {"progressToken": {}}}),
        INITIALIZE,
    ],
    "modern": [
        *((method, {**params, "_meta": META}) for method, params in COMMON),
        ("tools/list", {}),
        ("tools/list", None),
        ("tools/list", {"_meta": {"io.modelcontextprotocol/protocolVersion": MODERN}}),
        ("tools/list", {"_meta": {**META, "io.modelcontextprotocol/protocolVersion": 5}}),
        ("tools/list", {"_meta": {**META, "io.modelcontextprotocol/protocolVersion": "2030-01-01"}}),
        ("tools/list", {"_meta": {**META, "io.modelcontextprotocol/clientCapabilities": 5}}),
        ("tools/list", {"_meta": {**META, "io.modelcontextprotocol/clientInfo": {"name": 5}}}),
        ("tools/call", {"name": "ask", "arguments": {}, "_meta": META}),
        ("tools/call", {"name": "sample", "arguments": {}, "_meta": META}),
        INITIALIZE,
        ("initialize", {}),
    ],
    "tasks": [(method, {**params, "_meta": WITH_TASKS}) for method, params in OF_TASKS],
    "before the handshake": [
        ("ping", {}),
        ("tools/list", {}),
        ("nobody/knows", {}),
        ("initialize", {}),
        ("initialize", {**HANDSHAKE, "capabilities": 5}),
        ("initialize", {**HANDSHAKE, "clientInfo": {}}),
        ("initialize", {**HANDSHAKE, "_meta": META}),
        ("tools/list", {}),
    ],
    **{
        f"revision {version}": [("initialize", {**HANDSHAKE, "protocolVersion": version}), ("tools/list", {})]
        for version in ("2024-11-05", "2025-03-26", "2025-06-18", MODERN, "1999-01-01")
    },
}


def normal(response: dict[str, Any]) -> dict[str, Any]:
    """The response without the sealed state; an error without data is the same as one with null."""
    if "requestState" in response.get("result", {}):
        response["result"]["requestState"] = "sealed"
    if "error" in response and response["error"].get("data") is None:
        response["error"].pop("data", None)
    return response
