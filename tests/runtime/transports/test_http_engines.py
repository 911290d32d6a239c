"""Both engines answer the same HTTP requests of 2026-07-28 with the same status, headers and messages."""

from __future__ import annotations

import asyncio
import copy
import json
import logging
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from typing import Any

import pytest
from http_probes import CALLS, JSON, ODD_BODIES
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from oracle import MODERN
from probes import META, SESSIONS, WITH_TASKS, normal
from sample_server.catalogue import CATALOGUE
from sample_server.server import build_dispatcher, load_index
from starlette.types import ASGIApp, Scope
from starlette.types import Message as AsgiMessage
from toolmason_runtime.server import sdk
from toolmason_runtime.server.dispatch import Dispatcher
from toolmason_runtime.server.sdk import sdk_server
from toolmason_runtime.shared.selection import Selection
from toolmason_runtime.transports import http_lean
from toolmason_runtime.transports.http import served_mcp
from toolmason_runtime.transports.http_sessions import Sessions

Lines = list[tuple[str, str]]
Answer = tuple[int, Mapping[str, str], list[Any]]
"""Status, headers, and the messages of the body."""
PATIENCE_S = 60.0
BOTH = "application/json, text/event-stream"
NAMES = {"tools/call": "name", "prompts/get": "name", "resources/read": "uri"}
TOKEN: dict[str, Any] = {**META, "progressToken": "p"}
PROBES = [*SESSIONS["modern"], *SESSIONS["tasks"], *CALLS]


def body_of(method: str, params: Any, identity: Any = 1) -> bytes:
    request = {"jsonrpc": "2.0", "id": identity, "method": method}
    return json.dumps(request if params is None else {**request, "params": params}).encode()


def headers_of(method: str, params: Any) -> Lines:
    """Return the headers of a client that follows the protocol."""
    name = (params or {}).get(NAMES.get(method, ""))
    lines = [("content-type", "application/json"), ("accept", BOTH), ("mcp-protocol-version", MODERN)]
    lines.append(("mcp-method", method))
    return [*lines, ("mcp-name", name)] if isinstance(name, str) else lines


def dispatcher_with_param_header() -> Dispatcher:
    """Return a dispatcher whose tool `count_words` declares a header for its text."""
    catalogue = copy.deepcopy(CATALOGUE)
    catalogue["tools"]["count_words"]["tool"]["inputSchema"]["properties"]["text"]["x-mcp-header"] = "Text"
    return Dispatcher(catalogue, load_index=load_index)


@asynccontextmanager
async def served(
    *, is_lean: bool, call_timeout_s: float | None = None, dispatcher: Dispatcher | None = None
) -> AsyncIterator[ASGIApp]:
    dispatcher = dispatcher or build_dispatcher(Selection("classic", all_tools=True))
    server = sdk_server(dispatcher, call_timeout_s=call_timeout_s)
    mcp = served_mcp(server, (), is_lean=is_lean)
    async with mcp.run(mcp.endpoint):
        yield mcp.endpoint


async def post(app: ASGIApp, lines: Lines, body: bytes, *, leaves: asyncio.Event | None = None) -> Answer:
    """Send a request, and return the answer; the client disconnects when `leaves` is set."""
    sent: list[AsgiMessage] = [{"type": "http.request", "body": body, "more_body": False}]
    answered = leaves or asyncio.Event()
    received: list[AsgiMessage] = []

    async def receive() -> AsgiMessage:
        if sent:
            return sent.pop()
        await answered.wait()
        return {"type": "http.disconnect"}

    async def send(message: AsgiMessage) -> None:
        received.append(message)
        if message["type"] == "http.response.body" and not message.get("more_body", False):
            answered.set()

    headers = [(name.encode(), value.encode("latin-1")) for name, value in lines]
    scope = {"type": "http", "method": "POST", "path": "/mcp", "headers": headers, "client": ("127.0.0.1", 1)}
    async with asyncio.timeout(PATIENCE_S):
        await app(scope, receive, send)
    if not received:
        return 0, {}, []
    text = b"".join(message["body"] for message in received[1:])
    own = {name.decode(): value.decode() for name, value in received[0]["headers"]}
    # The ASGI server decides whether the connection stays. The SDK says so too, and then a closing response says both.
    own.pop("connection", None)
    own.pop("mcp-session-id", None)  # a random one, of the sessions of older clients
    if "content-length" in own:
        assert int(own.pop("content-length")) == len(text)
    return (
        received[0]["status"],
        own,
        messages_in(text.decode(), is_stream="event-stream" in own.get("content-type", "")),
    )


def messages_in(text: str, *, is_stream: bool) -> list[Any]:
    parts = [line.removeprefix("data: ") for line in text.split("\r\n") if line.startswith("data: ")]
    return [normal(json.loads(part)) for part in (parts if is_stream else [text] if text.startswith("{") else [])]


async def answers(requests: Sequence[tuple[Lines, bytes]], *, is_lean: bool) -> list[Answer]:
    async with served(is_lean=is_lean) as app:
        return [await post(app, lines, body) for lines, body in requests]


def compare(requests: Sequence[tuple[Lines, bytes]]) -> list[Answer]:
    by_sdk = asyncio.run(answers(requests, is_lean=False))
    by_lean = asyncio.run(answers(requests, is_lean=True))
    for request, expected, answer in zip(requests, by_sdk, by_lean, strict=True):
        assert answer == expected, request
    return by_lean


@pytest.fixture(scope="module", autouse=True)
def imported_handlers() -> None:
    """Import the handlers first: on a busy machine that can take so long that a response becomes a stream."""
    for name in ("count_words", "raw"):
        params = {"name": name, "arguments": {}, "_meta": META}
        asyncio.run(answers([(headers_of("tools/call", params), body_of("tools/call", params))], is_lean=True))


def test_both_engines_answer_each_probe_alike() -> None:
    found = compare(
        [
            (headers_of(method, params), body_of(method, params, number))
            for number, (method, params) in enumerate(PROBES)
            if method != "subscriptions/listen" or "taskIds" in str(params)
        ]
    )

    assert {status for status, _, _ in found} == {200, 400, 404}
    assert any(len(messages) > 1 for _, _, messages in found)


def test_valid_requests_do_not_reach_the_sdk(monkeypatch: pytest.MonkeyPatch) -> None:
    async def refuse(*_: Any) -> None:
        raise AssertionError("the SDK answers")

    monkeypatch.setattr(Sessions, "_handle_request", refuse)
    valid = [
        ("tools/list", {"_meta": META}),
        ("server/discover", {"_meta": META}),
        ("tools/call", {"name": "count_words", "arguments": {"text": "a", "label": None}, "_meta": META}),
        ("tools/call", {"name": "count_words", "arguments": {"text": "a", "label": None}, "_meta": WITH_TASKS}),
        ("tools/call", {"name": "report", "arguments": {}, "_meta": TOKEN}),
        ("tools/call", {"name": "ask", "arguments": {}, "_meta": META}),
    ]

    found = asyncio.run(
        answers([(headers_of(method, params), body_of(method, params)) for method, params in valid], is_lean=True)
    )

    assert [status for status, _, _ in found] == [200] * len(valid)


@pytest.mark.parametrize("reason", ["--engine sdk", "traces"])
def test_the_sdk_answers_valid_requests_with_its_engine_and_while_traces_are_recorded(
    monkeypatch: pytest.MonkeyPatch, reason: str
) -> None:
    reached: list[str] = []

    async def note(_: Any, scope: Scope, *rest: Any) -> None:  # noqa: ARG001  the caller passes it
        reached.append(scope["path"])

    monkeypatch.setattr(Sessions, "_handle_request", note)
    monkeypatch.setattr(sdk, "is_tracing", lambda: reason == "traces")
    request = (headers_of("tools/list", {}), body_of("tools/list", {"_meta": META}))

    asyncio.run(answers([request], is_lean=reason == "traces"))

    assert reached == ["/mcp"]


def test_headers_of_arguments_must_agree_with_the_arguments() -> None:
    params = {"name": "count_words", "arguments": {"text": "a b", "label": None}, "_meta": META}
    given: list[Lines] = [
        [("mcp-param-text", "a b")],
        [("mcp-param-text", "=?base64?YSBi?=")],
        [("mcp-param-text", "b")],
        [("mcp-param-text", "a b"), ("mcp-param-text", "a b")],
        [("mcp-param-other", "a b")],
        [],
    ]

    async def call(*, is_lean: bool) -> list[Answer]:
        async with served(is_lean=is_lean, dispatcher=dispatcher_with_param_header()) as app:
            lines = headers_of("tools/call", params)
            return [await post(app, [*lines, *own], body_of("tools/call", params)) for own in given]

    by_sdk, by_lean = (asyncio.run(call(is_lean=is_lean)) for is_lean in (False, True))

    assert by_lean == by_sdk
    assert [status for status, _, _ in by_lean] == [200, 200, 400, 400, 400, 400]


def test_a_question_of_the_lean_engine_is_answered_in_the_next_rounds_and_no_other_call_can_use_it() -> None:
    async def rounds() -> tuple[str, Any]:
        async with served(is_lean=True) as app:
            params: dict[str, Any] = {"name": "ask", "arguments": {}, "_meta": META}
            for content in ({"name": "Ada"}, {"city": "London"}):
                result = (await raw_result(app, params))["result"]
                (key,) = result["inputRequests"]
                params["inputResponses"] = {key: {"action": "accept", "content": content}}
                params["requestState"] = result["requestState"]
            answered = await raw_result(app, params)
            foreign = await raw_result(app, {**params, "arguments": {"other": 1}})
        return answered["result"]["content"][0]["text"], foreign["error"]["data"]

    assert asyncio.run(rounds()) == ("Ada of London", {"reason": "invalid_request_state"})


async def raw_result(app: ASGIApp, params: Any) -> Any:
    """Return the response to a call with its sealed state."""
    text = b""
    sent: list[AsgiMessage] = [{"type": "http.request", "body": body_of("tools/call", params), "more_body": False}]

    async def receive() -> AsgiMessage:
        return sent.pop() if sent else await asyncio.Future()

    async def send(message: AsgiMessage) -> None:
        nonlocal text
        text += message.get("body", b"")

    lines = [(name.encode(), value.encode()) for name, value in headers_of("tools/call", params)]
    await app({"type": "http", "method": "POST", "path": "/mcp", "headers": lines}, receive, send)
    return json.loads(text)


HEADERS: list[tuple[str, list[str]]] = [
    (
        "accept",
        ["", "*/*", "application/json", "text/*, application/*", "text/event-stream;q=0.1,application/json", "x"],
    ),
    ("content-type", ["", "application/json; charset=utf-8", "APPLICATION/JSON", "text/plain", "application/jsonx"]),
    ("mcp-protocol-version", ["", "2030-01-01", MODERN, "2026-07-28 "]),
    ("mcp-method", ["", "tools/list", "TOOLS/CALL", "tools/call"]),
    ("mcp-name", ["", "count_words", "=?base64?Y291bnRfd29yZHM=?=", "=?base64?!?=", "caf\xe9"]),
    ("mcp-param-text", ["a"]),
    ("traceparent", ["00-11111111111111111111111111111111-2222222222222222-01"]),
]
CHANGES = [(name, value) for name, values in HEADERS for value in (None, *values)]
MEMBERS = st.sampled_from(
    [
        ("params", "name"),
        ("params", "arguments"),
        ("params", "requestState"),
        ("params", "inputResponses"),
        ("params", "cursor"),
        ("params",),
        ("id",),
        ("method",),
        ("params", "_meta"),
        *(("params", "_meta", key) for key in (*TOKEN, "io.modelcontextprotocol/clientInfo", "traceparent")),
        ("params", "_meta", "io.modelcontextprotocol/clientCapabilities", "extensions"),
        ("params", "_meta", "io.modelcontextprotocol/logLevel"),
    ]
)


@settings(max_examples=60, deadline=None, suppress_health_check=list(HealthCheck))
@given(
    changes=st.lists(st.sampled_from(CHANGES), max_size=2),
    repeated=st.sampled_from(["", "", "", "accept", "mcp-method", "mcp-name", "mcp-protocol-version"]),
    body=st.one_of(st.sampled_from(ODD_BODIES), st.tuples(st.sampled_from([*CALLS, *PROBES[:30]]), MEMBERS, JSON)),
    is_exact=st.booleans(),
)
def test_both_engines_answer_any_headers_and_bodies_alike(
    changes: list[tuple[str, str | None]], repeated: str, body: Any, is_exact: bool
) -> None:
    if isinstance(body, bytes):
        lines, data = headers_of("tools/list", {}), body
    else:
        (method, params), path, value = body
        lines = headers_of(method, params)
        message = json.loads(body_of(method, params))
        if not is_exact:
            place = message
            for key in path[:-1]:
                place = place.get(key) or {}
            place[path[-1]] = value
        data = json.dumps(message).encode()
        if message.get("method") == "subscriptions/listen":
            return  # a stream without an end
    for name, text in changes:
        lines = [line for line in lines if line[0] != name]
        lines += [] if text is None else [(name, text)]
    lines += [line for line in lines if line[0] == repeated]
    compare([(lines, data)])


def test_a_client_that_disconnects_ends_its_call_and_no_other(capfd: pytest.CaptureFixture[str]) -> None:
    async def leave() -> tuple[Answer, Answer]:
        async with served(is_lean=True) as app:
            leaves = asyncio.Event()
            params = {"name": "wait", "arguments": {}, "_meta": META}
            waiting = asyncio.create_task(
                post(app, headers_of("tools/call", params), body_of("tools/call", params), leaves=leaves)
            )
            await asyncio.sleep(0.2)
            listed = await post(app, headers_of("tools/list", {}), body_of("tools/list", {"_meta": META}))
            leaves.set()
            return await waiting, listed

    left, listed = asyncio.run(leave())

    assert (left[0], listed[0]) == (0, 200)
    assert "the wait was cancelled" in capfd.readouterr().err


def test_a_call_that_the_server_cancels_stays_cancelled() -> None:
    async def stop() -> None:
        async with served(is_lean=True) as app:
            params = {"name": "wait", "arguments": {}, "_meta": META}
            waiting = asyncio.create_task(post(app, headers_of("tools/call", params), body_of("tools/call", params)))
            await asyncio.sleep(0.1)
            waiting.cancel()
            await waiting

    with pytest.raises(asyncio.CancelledError):
        asyncio.run(stop())


@pytest.mark.parametrize("is_lean", [True, False])
def test_a_call_that_takes_too_long_ends_with_an_error_for_the_model(*, is_lean: bool) -> None:
    async def call() -> Answer:
        async with served(is_lean=is_lean, call_timeout_s=0.1) as app:
            params = {"name": "wait", "arguments": {}, "_meta": META}
            return await post(app, headers_of("tools/call", params), body_of("tools/call", params))

    status, _, (message,) = asyncio.run(call())

    assert (status, message["result"]["isError"]) == (200, True)
    assert "0.1" in message["result"]["content"][0]["text"]


def test_a_silent_call_gets_a_stream_with_pings(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(http_lean, "PING_S", 0.02)

    async def call() -> list[AsgiMessage]:
        sent: list[AsgiMessage] = []
        leaves = asyncio.Event()
        params = {"name": "wait", "arguments": {}, "_meta": META}
        first: list[AsgiMessage] = [{"type": "http.request", "body": body_of("tools/call", params)}]

        async def receive() -> AsgiMessage:
            if first:
                return first.pop()
            await leaves.wait()
            return {"type": "http.disconnect"}

        async def send(message: AsgiMessage) -> None:
            sent.append(message)
            if len(sent) == 4:
                leaves.set()

        lines = [(name.encode(), value.encode()) for name, value in headers_of("tools/call", params)]
        async with served(is_lean=True) as app, asyncio.timeout(PATIENCE_S):
            await app({"type": "http", "method": "POST", "path": "/mcp", "headers": lines}, receive, send)
        return sent

    head, *parts = asyncio.run(call())

    assert (b"content-type", b"text/event-stream") in head["headers"]
    assert b"connection" not in dict(head["headers"])
    assert [part["body"] for part in parts[:3]] == [b": ping\r\n\r\n"] * 3


def test_an_incomplete_body_is_not_answered(caplog: pytest.LogCaptureFixture) -> None:
    async def send_half() -> list[AsgiMessage]:
        parts: list[AsgiMessage] = [
            {"type": "http.disconnect"},
            {"type": "http.request", "body": body_of("tools/list", {"_meta": META}), "more_body": True},
        ]
        sent: list[AsgiMessage] = []

        async def receive() -> AsgiMessage:
            return parts.pop()

        async def send(message: AsgiMessage) -> None:
            sent.append(message)

        lines = [(name.encode(), value.encode()) for name, value in headers_of("tools/list", {})]
        async with served(is_lean=True) as app:
            await app({"type": "http", "method": "POST", "path": "/mcp", "headers": lines}, receive, send)
        return sent

    with caplog.at_level(logging.WARNING):
        assert asyncio.run(send_half()) == []
    assert not caplog.records
