"""The parameters of the requests of clients, as MCP defines them, checked without the SDK, in both protocol eras."""

from __future__ import annotations

from toolmason_runtime.wire.answers import ANSWERS, ICON
from toolmason_runtime.wire.shapes import (
    anything,
    either,
    flag,
    integer,
    list_of,
    map_of,
    members,
    object_,
    one_of,
    text,
)

TYPE_CHECKING = False  # see `boot`: importing `typing` takes long
if TYPE_CHECKING:
    from collections.abc import Collection, Mapping
    from typing import Any, Final, Literal

    from toolmason_runtime.wire.shapes import Shape

    Level = Literal["debug", "info", "notice", "warning", "error", "critical", "alert", "emergency"]

HANDSHAKE_VERSIONS: Final = ("2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25")
MODERN_VERSIONS: Final = ("2026-07-28",)
PROTOCOL_VERSION: Final = "io.modelcontextprotocol/protocolVersion"
CAPABILITIES: Final = "io.modelcontextprotocol/clientCapabilities"
CLIENT_INFO: Final = "io.modelcontextprotocol/clientInfo"
LOG_LEVEL: Final = "io.modelcontextprotocol/logLevel"
SERVER_INFO: Final = "io.modelcontextprotocol/serverInfo"
SUBSCRIPTION_ID: Final = "io.modelcontextprotocol/subscriptionId"
TASKS: Final = "io.modelcontextprotocol/tasks"
"""Identifier of the extension: https://modelcontextprotocol.io/seps/2663-tasks-extension"""
TASK_METHODS: Final = ("tasks/get", "tasks/update", "tasks/cancel")
DEFAULT_LEVEL: Final[Level] = "info"
"""Minimum log level sent to a client of 2025-11-25 that has not set one."""

_TOKEN: Final = either(text, integer)
_LEVEL: Final = one_of("debug", "info", "notice", "warning", "error", "critical", "alert", "emergency")
_ELICITATION: Final = members({}, {"form": object_, "url": object_})
_SAMPLING: Final = members({}, {"context": object_, "tools": object_})
_CLIENT: Final = members(
    {"name": text, "version": text},
    {"description": text, "icons": list_of(ICON), "title": text, "websiteUrl": text},
)
_SHARED_CAPABILITIES: Final = {
    "elicitation": _ELICITATION,
    "sampling": _SAMPLING,
    "experimental": map_of(object_),
}
_REFERENCE: Final = either(
    members({"type": one_of("ref/prompt"), "name": text}, {"title": text}),
    members({"type": one_of("ref/resource"), "uri": text}),
)
_COMPLETION: Final = {"ref": _REFERENCE, "argument": members({"name": text, "value": text})}
_COMPLETION_CONTEXT: Final = {"context": members({}, {"arguments": map_of(text)})}
_URI: Final = {"uri": text}
_NAME: Final = {"name": text}
_CURSOR: Final = {"cursor": text}

_OLD_META: Final = {"_meta": members({}, {"progressToken": _TOKEN})}
_TASK: Final = {"task": members({}, {"ttl": integer})}
_OLD: Final[Mapping[str, Shape]] = {
    "initialize": members(
        {
            "protocolVersion": text,
            "clientInfo": _CLIENT,
            "capabilities": members(
                {}, {**_SHARED_CAPABILITIES, "roots": members({}, {"listChanged": flag}), "tasks": object_}
            ),
        },
        _OLD_META,
    ),
    "ping": members({}, _OLD_META),
    "logging/setLevel": members({"level": _LEVEL}, _OLD_META),
    **dict.fromkeys(
        ("tools/list", "prompts/list", "resources/list", "resources/templates/list", "skills/list"),
        members({}, {**_OLD_META, **_CURSOR}),
    ),
    "skills/get": members(_URI, _OLD_META),
    "resources/directory/read": members(_URI, {**_OLD_META, **_CURSOR}),
    "tools/call": members(_NAME, {**_OLD_META, **_TASK, "arguments": object_}),
    "prompts/get": members(_NAME, {**_OLD_META, "arguments": map_of(text)}),
    **dict.fromkeys(("resources/read", "resources/subscribe", "resources/unsubscribe"), members(_URI, _OLD_META)),
    "completion/complete": members(_COMPLETION, {**_OLD_META, **_COMPLETION_CONTEXT}),
}

_META: Final = {
    "_meta": members(
        {
            PROTOCOL_VERSION: text,
            CAPABILITIES: members({}, {**_SHARED_CAPABILITIES, "extensions": map_of(object_), "roots": object_}),
        },
        {CLIENT_INFO: _CLIENT, LOG_LEVEL: _LEVEL, "progressToken": _TOKEN},
    )
}
# The server refuses an invalid `requestState` with an error of its own.
_ROUNDS: Final = {"inputResponses": map_of(either(*ANSWERS.values())), "requestState": anything}
_FILTER: Final = members(
    {},
    {
        **dict.fromkeys(("promptsListChanged", "resourcesListChanged", "toolsListChanged"), flag),
        "resourceSubscriptions": list_of(text),
        "taskIds": list_of(text),
    },
)
_MODERN: Final[Mapping[str, Shape]] = {
    "server/discover": members(_META),
    **dict.fromkeys(
        ("tools/list", "prompts/list", "resources/list", "resources/templates/list", "skills/list"),
        members(_META, _CURSOR),
    ),
    "skills/get": members({**_META, **_URI}),
    "resources/directory/read": members({**_META, **_URI}, _CURSOR),
    "tools/call": members({**_META, **_NAME}, {**_ROUNDS, "arguments": object_}),
    "prompts/get": members({**_META, **_NAME}, {**_ROUNDS, "arguments": map_of(text)}),
    "resources/read": members({**_META, **_URI}, _ROUNDS),
    "completion/complete": members({**_META, **_COMPLETION}, _COMPLETION_CONTEXT),
    "subscriptions/listen": members({**_META, "notifications": _FILTER}),
    **dict.fromkeys(("tasks/get", "tasks/cancel"), members({**_META, "taskId": text})),
    "tasks/update": members({**_META, "taskId": text, "inputResponses": map_of(object_)}),
}


SKILLS: Final = "io.modelcontextprotocol/skills"
"""The extension for skills as resources (SEP-2640)."""
SKILL_SCHEME: Final = "skill://"
EXTENSIONS: Final[Mapping[str, Mapping[str, Mapping[str, Any]]]] = {
    "skills/list": {SKILLS: {"directoryRead": True}},
    "tools/call": {TASKS: {}},
}
"""The extensions that a server declares if it answers a method."""


def declared_extensions(methods: Collection[str]) -> dict[str, Any]:
    """Return the extensions that a server declares, by the methods that it answers."""
    return {name: dict(value) for method, own in EXTENSIONS.items() if method in methods for name, value in own.items()}


def request_shape(method: str, *, is_modern: bool) -> Shape | None:
    """Return the shape of the parameters of `method`; None if the protocol era does not define it.

    Missing parameters have the shape of an empty object.
    """
    return (_MODERN if is_modern else _OLD).get(method)


_NO_META: Final[Mapping[str, Any]] = {}


def meta_of(params: Mapping[str, Any] | None) -> Mapping[str, Any]:
    """Return `_meta`; empty if it is missing or malformed."""
    meta = params.get("_meta") if params else None
    return meta if isinstance(meta, dict) else _NO_META


def declares_tasks(capabilities: Mapping[str, Any]) -> bool:
    """Return whether a client declares the extension for tasks."""
    return TASKS in (capabilities.get("extensions") or {})


def progress_token(params: Mapping[str, Any] | None) -> str | int | None:
    """Return the progress token of a request; None without a valid one."""
    token = meta_of(params).get("progressToken")
    return token if token is not None and _TOKEN(token) else None
