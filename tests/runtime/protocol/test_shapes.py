"""The shapes of MCP's requests and answers, compared with the SDK's models.

The SDK accepts more than it needs to, such as the text "1" for a number. So a value must be accepted if the SDK accepts
it strictly, and refused if the SDK refuses it otherwise.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from mcp.types import methods
from oracle import LEGACY, MODERN
from pydantic import TypeAdapter, ValidationError
from toolmason_runtime.protocol.answers import ANSWERS, is_answer_to
from toolmason_runtime.protocol.requests import request_shape

STUB = {"jsonrpc": "2.0", "id": 0}
CLIENT = {"name": "c", "version": "1"}
META = {
    "io.modelcontextprotocol/protocolVersion": MODERN,
    "io.modelcontextprotocol/clientCapabilities": {"elicitation": {"form": {}}, "sampling": {"tools": {}}, "roots": {}},
    "io.modelcontextprotocol/clientInfo": CLIENT,
    "io.modelcontextprotocol/logLevel": "info",
    "progressToken": 1,
}
TEXT = {"type": "text", "text": "a", "annotations": {"audience": ["user"], "priority": 0.5, "lastModified": "x"}}
IMAGE = {"type": "image", "data": "QQ==", "mimeType": "image/png"}
LINK = {"type": "resource_link", "name": "n", "uri": "a:b", "size": 1, "icons": [{"src": "a:b", "sizes": ["any"]}]}
FILE = {"type": "resource", "resource": {"uri": "a:b", "text": "t", "mimeType": "text/plain"}}
BINARY = {"type": "resource", "resource": {"uri": "a:b", "blob": "QQ=="}}
SAMPLED = {"role": "assistant", "model": "m", "stopReason": "endTurn"}
TOOL_USE = {"type": "tool_use", "id": "1", "name": "t", "input": {}}
TOOL_RESULT = {"type": "tool_result", "toolUseId": "1", "content": [TEXT, LINK, FILE, BINARY], "isError": False}
VALID_ANSWERS: list[tuple[str, dict[str, Any]]] = [
    ("elicitation/create", {"action": "accept", "content": {"a": "b", "c": 1, "d": 0.5, "e": True, "f": ["g"]}}),
    ("elicitation/create", {"action": "decline", "_meta": {"a": 1}}),
    ("roots/list", {"roots": [{"uri": "file:///a", "name": "a", "_meta": {}}]}),
    ("sampling/createMessage", {**SAMPLED, "content": TEXT}),
    ("sampling/createMessage", {**SAMPLED, "content": [IMAGE, TOOL_USE, TOOL_RESULT]}),
]
REFERENCE = {"ref": {"type": "ref/prompt", "name": "p"}, "argument": {"name": "a", "value": "b"}}
TEMPLATE = {"ref": {"type": "ref/resource", "uri": "a:b"}, "argument": {"name": "a", "value": "b"}}
SHARED: list[tuple[str, dict[str, Any]]] = [
    *((f"{part}/list", {"cursor": "c"}) for part in ("tools", "prompts", "resources", "resources/templates")),
    ("tools/call", {"name": "t", "arguments": {"a": 1}}),
    ("prompts/get", {"name": "t", "arguments": {"a": "b"}}),
    ("resources/read", {"uri": "a:b"}),
    ("completion/complete", {**REFERENCE, "context": {"arguments": {"c": "d"}}}),
    ("completion/complete", TEMPLATE),
]
CAPABILITIES = {"roots": {"listChanged": True}, "sampling": {}, "elicitation": {"url": {}}, "experimental": {"a": {}}}
HANDSHAKE = {"protocolVersion": LEGACY, "capabilities": CAPABILITIES, "clientInfo": {**CLIENT, "title": "C"}}
VALID_REQUESTS: list[tuple[str, str, dict[str, Any]]] = [
    *((LEGACY, method, {**params, "_meta": {"progressToken": "t"}}) for method, params in SHARED),
    (LEGACY, "initialize", HANDSHAKE),
    (LEGACY, "ping", {}),
    (LEGACY, "logging/setLevel", {"level": "debug"}),
    (LEGACY, "resources/subscribe", {"uri": "a:b"}),
    (LEGACY, "resources/unsubscribe", {"uri": "a:b"}),
    *((MODERN, method, {**params, "_meta": META}) for method, params in SHARED),
    (MODERN, "server/discover", {"_meta": META}),
    (MODERN, "subscriptions/listen", {"_meta": META, "notifications": {"resourceSubscriptions": ["a:b"]}}),
    (MODERN, "tools/call", {"_meta": META, "name": "t", "inputResponses": {"a": VALID_ANSWERS[0][1]}}),
]


def changes(value: Any) -> st.SearchStrategy[Any]:
    """Values like this one in which one part is missing or another value."""
    junk: list[Any] = [None, True, 5, -0.5, "text", [], {}, ["text"], {"a": "b"}, [{}], 2**70]
    other = st.sampled_from(junk)
    if isinstance(value, dict) and value:
        parts = [st.builds(lambda inner, name=name: {**value, name: inner}, changes(value[name])) for name in value]
        missing = st.sampled_from(sorted(value)).map(
            lambda name: {key: member for key, member in value.items() if key != name}
        )
        return st.one_of(other, missing, *parts)
    if isinstance(value, list) and value:
        return other | st.builds(lambda inner: [inner, *value[1:]], changes(value[0]))
    return other


def accepts(model: Any, value: Mapping[str, Any], *, strict: bool) -> bool:
    try:
        TypeAdapter(model).validate_python(value, strict=strict, by_name=False)
    except ValidationError:
        return False
    return True


def agree(is_accepted: bool, model: Any, value: Mapping[str, Any]) -> None:
    if is_accepted:
        assert accepts(model, value, strict=False), value
    else:
        assert not accepts(model, value, strict=True), value


@pytest.mark.parametrize(("method", "answer"), VALID_ANSWERS)
def test_a_valid_answer_is_accepted(method: str, answer: dict[str, Any]) -> None:
    assert is_answer_to(method, answer)
    methods.validate_client_result(method, LEGACY, answer)


@given(st.data())
def test_an_answer_is_accepted_if_the_sdk_accepts_it(data: st.DataObject) -> None:
    method, answer = data.draw(st.sampled_from(VALID_ANSWERS))
    changed = data.draw(changes(answer))
    agree(is_answer_to(method, changed), methods.CLIENT_RESULTS[method, LEGACY], changed)


def test_every_answer_of_a_client_has_a_shape() -> None:
    assert {method for method, version in methods.CLIENT_RESULTS if version == LEGACY} - {"ping"} == ANSWERS.keys()


@pytest.mark.parametrize(("version", "method", "params"), VALID_REQUESTS)
def test_a_valid_request_is_accepted(version: str, method: str, params: dict[str, Any]) -> None:
    shape = request_shape(method, is_modern=version == MODERN)
    assert shape
    assert shape(params)
    methods.validate_client_request(method, version, params)


@given(st.data())
def test_a_request_is_accepted_if_the_sdk_accepts_it(data: st.DataObject) -> None:
    version, method, params = data.draw(st.sampled_from(VALID_REQUESTS))
    changed = data.draw(changes(params).filter(lambda value: isinstance(value, dict)))
    shape = request_shape(method, is_modern=version == MODERN)
    assert shape
    model = methods.CLIENT_REQUESTS[method, version]
    agree(shape(changed), model, {**STUB, "method": method, "params": changed})


@pytest.mark.parametrize("version", [LEGACY, MODERN])
def test_each_era_has_the_methods_of_the_sdk(version: str) -> None:
    known = {method for method, era in methods.CLIENT_REQUESTS if era == version}
    every = {method for method, _ in methods.CLIENT_REQUESTS} | {"nobody/knows"}
    assert {method for method in every if request_shape(method, is_modern=version == MODERN)} == known
