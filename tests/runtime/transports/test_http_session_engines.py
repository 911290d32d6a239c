"""The lean engine serves sessions of 2025-11-25 and earlier over HTTP as the SDK does."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Any

import pytest
from asgi_client import PATIENCE_S, AsgiClient, Exchange, asgi_client
from http_probes import CALLS, JSON, ODD_BODIES
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from mcp.server.streamable_http import StreamableHTTPServerTransport
from oracle import LEGACY, MODERN
from probes import COMMON, META, SESSIONS
from sample_server.server import build_dispatcher
from toolmason_runtime.server import sdk
from toolmason_runtime.server.sdk import sdk_server
from toolmason_runtime.shared.selection import Selection
from toolmason_runtime.transports.http import served_mcp
from toolmason_runtime.transports.lean_session import LeanSession
from toolmason_runtime.transports.sdk_sessions import SdkSessions

Scenario = Callable[[AsgiClient], Awaitable[Any]]
LEAN, ENGINE_SDK, BARE = "lean", "--engine sdk", "the SDK's own sessions"
VERSIONS = ["2024-11-05", "2025-03-26", "2025-06-18", LEGACY]
ASKED: dict[str, Any] = {"elicitation": {"form": {}, "url": {}}, "sampling": {}, "roots": {}}


@asynccontextmanager
async def client_of(engine: str, call_timeout_s: float | None = None) -> AsyncIterator[AsgiClient]:
    server = sdk_server(build_dispatcher(Selection("classic", all_tools=True)), call_timeout_s=call_timeout_s)
    sessions = SdkSessions(server) if engine == BARE else served_mcp(server, (), is_lean=engine == LEAN).sessions
    async with sessions.run(), asgi_client(sessions.handle_request) as client:
        yield client


async def run(scenario: Scenario, engine: str, **options: Any) -> Any:
    async with client_of(engine, **options) as client, asyncio.timeout(PATIENCE_S):
        return await scenario(client)


def compare(scenario: Scenario, **options: Any) -> Any:
    """Return what the scenario finds with the lean engine, which is the same with both other ones."""
    found = {engine: asyncio.run(run(scenario, engine, **options)) for engine in (BARE, ENGINE_SDK, LEAN)}
    assert found[LEAN] == found[ENGINE_SDK] == found[BARE]
    return found[LEAN]


async def answer(exchange: Exchange) -> tuple[int, str, list[Any]]:
    status = await exchange.status()
    return status, exchange.headers.get("content-type", "").partition(";")[0], await exchange.rest()


def without_meta(params: Any) -> Any:
    """Return the parameters of a request of 2026-07-28 as those of an older one."""
    meta = {key: value for key, value in params["_meta"].items() if not key.startswith("io.modelcontextprotocol/")}
    return {**params, "_meta": meta}


OLDER_CALLS = [(method, without_meta(params)) for method, params in CALLS]


@pytest.fixture(scope="module", autouse=True)
def imported_handlers() -> None:
    """Import the handlers first."""

    async def call(client: AsgiClient) -> None:
        await client.open()
        for name in ("count_words", "raw"):
            await answer(client.call(name))

    asyncio.run(run(call, LEAN))


@pytest.mark.parametrize("version", VERSIONS)
def test_each_probe_is_answered_alike_in_a_session_of_each_version(version: str) -> None:
    probes = [probe for probe in (*COMMON, *OLDER_CALLS, *SESSIONS["handshake"]) if probe[0] != "initialize"]

    async def ask(client: AsgiClient) -> list[Any]:
        opened = await client.open(version)
        found: list[Any] = [opened]
        for number, (method, params) in enumerate(probes):
            found.append((method, params, await answer(client.ask(method, params, number))))
        return found

    found = compare(ask)

    assert any(len(messages) > 1 for _, _, (_, _, messages) in found[1:])


@pytest.mark.parametrize("name", ["before the handshake", *(name for name in SESSIONS if name.startswith("revision"))])
def test_handshakes_are_answered_alike(name: str) -> None:
    async def ask(client: AsgiClient) -> list[Any]:
        found = []
        for number, (method, params) in enumerate(SESSIONS[name]):
            exchange = client.ask(method, params, number)
            found.append(await answer(exchange))
            if "mcp-session-id" in exchange.headers and found[-1][0] == 200:
                client.headers["mcp-session-id"] = exchange.headers["mcp-session-id"]
        return found

    compare(ask)


async def report_levels(client: AsgiClient) -> list[Any]:
    found = []
    for level in ("warning", "debug", "emergency"):
        await answer(client.ask("logging/setLevel", {"level": level}))
        found.append(await answer(client.call("report")))
    return found


async def answer_questions(client: AsgiClient) -> list[Any]:
    """Answer the questions of a tool in each way."""
    replies: list[list[dict[str, Any]]] = [
        [{"result": {"action": "accept", "content": content}} for content in ({"name": "Ada"}, {"city": "London"})],
        [{"result": {"action": "decline"}}],
        [{"result": {"action": "cancel"}}],
        [{"result": {"action": "shrug"}}],
        [{"result": {}}],
        [{"error": {"code": -32603, "message": "no"}}],
    ]
    found: list[Any] = []
    for number, given_replies in enumerate(replies):
        exchange = client.call("ask", f"ask {number}")
        await exchange.status()
        pending = list(given_replies)
        async for message in exchange.messages():
            found.append(message)
            if "method" in message and "id" in message:
                found.append(await client.reply(message, **(pending.pop(0) if pending else given_replies[-1])))
    return found


async def answer_other_requests(client: AsgiClient) -> list[Any]:
    results: dict[str, Any] = {
        "sample": {"role": "assistant", "content": {"type": "text", "text": "hello"}, "model": "m"},
        "roots": {"roots": [{"uri": "file:///a"}]},
        "open_page": {"action": "accept"},
    }
    found: list[Any] = []
    for name, result in results.items():
        exchange = client.call(name, name)
        await exchange.status()
        async for message in exchange.messages():
            found.append(message)
            if message.get("id") != name and "method" in message:
                found.append(await client.reply(message, result=result))
    return found


async def cancel_by_each_id(client: AsgiClient) -> list[Any]:
    """Cancel calls by their ids, by ids of other types, and by ids of no call."""
    found: list[Any] = []
    for identity, cancelled in ((5, 5), ("six", "six"), ("7", 7), (8, "8")):
        waiting = client.call("wait", identity)
        await waiting.status()
        messages = waiting.messages()
        found.append(await anext(messages))
        others: list[Any] = [99, None, True, {}, cancelled]
        for other in others:
            status = await client.notify("notifications/cancelled", {"requestId": other, "reason": "enough"})
            found.append((other, status))
        found += [message async for message in messages]
        found.append(await answer(client.ask("tools/list", {}, identity)))
    return found


async def cancel_silently(client: AsgiClient) -> list[Any]:
    """Cancel a call that has sent nothing."""
    waiting = client.ask("tools/call", {"name": "wait", "arguments": {}}, 1)
    await asyncio.sleep(0.05)
    cancelled = await client.notify("notifications/cancelled", {"requestId": 1})
    return [cancelled, await answer(waiting)]


async def cancel_while_asking(client: AsgiClient) -> list[Any]:
    """Cancel a call that waits for the client: its question is withdrawn."""
    exchange = client.call("ask")
    await exchange.status()
    messages = exchange.messages()
    asked = await anext(messages)
    await client.notify("notifications/cancelled", {"requestId": 1})
    rest = [message async for message in messages]
    late = await client.reply(asked, result={"action": "decline"})
    return [asked, rest, late]


async def delete_while_running(client: AsgiClient) -> list[Any]:
    exchanges = [client.call("ask", 1), client.call("wait", 2), client.ask("tools/call", {"name": "wait"}, 3)]
    for exchange in exchanges[:2]:
        await exchange.status()
        await anext(exchange.messages())
    deleted = await answer(client.begin("DELETE"))
    rests = [await exchanges[0].rest(), await exchanges[1].rest(), await answer(exchanges[2])]
    return [deleted, rests, await answer(client.call("report")), await answer(client.begin("DELETE"))]


async def resume_each_stream(client: AsgiClient) -> list[Any]:
    """Disconnect before a response, and ask for the rest by the id of the last event."""
    found: list[Any] = []
    for name in ("ask", "silent"):
        question = client.call("ask", name) if name == "ask" else client.ask("tools/call", {"name": "ask"}, name)
        await question.status()
        asked = await anext(question.messages())
        question.leave()
        await asyncio.sleep(0.05)
        resumed = client.begin("GET", last_event_id=question.event_ids[-1])
        found += [asked, await resumed.status()]
        found.append(await client.reply(asked, result={"action": "decline"}))
        found.append(await anext(resumed.messages()))
        missed = client.begin("GET", last_event_id=question.event_ids[0])
        found += [await missed.status(), await anext(missed.messages())]
    return found


async def leave_before_the_first_event(client: AsgiClient) -> list[Any]:
    """Disconnect from a silent call: it goes on, and its result can be fetched."""
    held = client.ask("tools/call", {"name": "hold", "arguments": {}}, "held")
    await held.status()
    await held.opened()
    held.leave()
    await asyncio.sleep(0.1)
    resumed = client.begin("GET", last_event_id=held.event_ids[0])
    found: list[Any] = [await resumed.status(), await answer(client.ask("tools/call", {"name": "release"}, 2))]
    found.append(await anext(resumed.messages()))
    return found


async def open_streams(client: AsgiClient) -> list[Any]:
    first = client.begin("GET")
    found: list[Any] = [await first.status()]
    found.append(await answer(client.begin("GET")))
    found.append(await answer(client.call("report")))
    found.append(await answer(client.begin("GET", accept="application/json")))
    found.append(await answer(client.begin("PUT")))
    return found


async def repeat_ids(client: AsgiClient) -> list[Any]:
    return [
        await answer(client.ask("tools/call", {"name": "report"}, identity))
        for identity in (1, "1", 1, 0, -5, "", "é", 2**53)
    ]


async def initialize_again(client: AsgiClient) -> list[Any]:
    """Open an open session again, as another client of another version."""
    about = {"protocolVersion": VERSIONS[0], "capabilities": {"roots": {}}, "clientInfo": {"name": "b", "version": "2"}}
    shown = await answer(client.ask("tools/call", {"name": "show_client"}))
    opened = await answer(client.ask("initialize", about, 2))
    return [shown, opened, await answer(client.ask("tools/call", {"name": "show_client"}, 3))]


RESUMING: list[Scenario] = [resume_each_stream, leave_before_the_first_event]
"""Only streams of 2025-11-25 begin with the id of an event."""
OTHERS: list[Scenario] = [
    report_levels,
    answer_questions,
    answer_other_requests,
    cancel_by_each_id,
    cancel_silently,
    cancel_while_asking,
    delete_while_running,
    open_streams,
    repeat_ids,
    initialize_again,
]


@pytest.mark.parametrize(
    ("version", "scenario"),
    [
        *((LEGACY, scenario) for scenario in (*OTHERS, *RESUMING)),
        *((version, scenario) for version in VERSIONS[:-1] for scenario in OTHERS),
    ],
    ids=lambda value: value if isinstance(value, str) else value.__name__,
)
def test_sessions_are_served_alike(version: str, scenario: Scenario) -> None:
    async def with_session(client: AsgiClient) -> Any:
        await client.open(version, ASKED)
        return await scenario(client)

    compare(with_session)


CHANGES: dict[str, list[str | None]] = {
    "mcp_session_id": [None, "", "nobody", "é", "0" * 32],
    "mcp_protocol_version": [None, "", *VERSIONS, MODERN, "1999-01-01", "2025-11-25 "],
    "accept": [None, "", "*/*", "application/json", "text/event-stream", "text/*, application/*", "x", "*/*;q=0"],
    "content_type": [
        None,
        "",
        "application/json; charset=utf-8",
        "APPLICATION/JSON",
        "text/plain",
        "application/jsonx",
    ],
    "traceparent": [f"00-{'1' * 32}-{'2' * 16}-01"],
    "origin": ["https://example.org"],
    "last_event_id": ["unknown"],
}


@pytest.mark.parametrize(("name", "value"), [(name, value) for name, values in CHANGES.items() for value in values])
def test_each_header_has_the_same_effect(name: str, value: str | None) -> None:
    async def ask(client: AsgiClient) -> list[Any]:
        await client.open()
        changes = {name: value}
        found = [
            await answer(client.ask("tools/call", {"name": "report"}, 1, **changes)),
            await answer(client.ask("ping", None, 2, **changes)),
            await answer(client.begin("POST", {"jsonrpc": "2.0", "method": "notifications/initialized"}, **changes)),
        ]
        return [*found, await answer(client.begin("DELETE", **changes))]

    compare(ask)


@settings(max_examples=50, deadline=None, suppress_health_check=list(HealthCheck))
@given(
    changes=st.dictionaries(st.sampled_from(sorted(CHANGES)), st.integers(0, 20), max_size=2),
    body=st.one_of(
        st.sampled_from(ODD_BODIES),
        st.tuples(
            st.sampled_from([*OLDER_CALLS, *COMMON]),
            st.sampled_from(["name", "arguments", "_meta", "cursor", "requestState", "inputResponses", "task", "uri"]),
            JSON,
        ),
    ),
    identity=st.one_of(st.integers(), st.text(st.characters(codec="utf-8"), max_size=5), st.floats(), st.none()),
)
def test_any_request_of_a_session_is_answered_alike(changes: dict[str, int], body: Any, identity: Any) -> None:
    async def ask(client: AsgiClient) -> Any:
        await client.open()
        values = {name: CHANGES[name][number % len(CHANGES[name])] for name, number in changes.items()}
        if isinstance(body, bytes):
            return await answer(client.begin("POST", body, **values))
        (method, params), member, value = body
        return await answer(client.ask(method, {**params, member: value}, identity, **values))

    compare(ask)


def test_valid_requests_do_not_reach_the_sdk(monkeypatch: pytest.MonkeyPatch) -> None:
    reached: list[str] = []
    create = StreamableHTTPServerTransport._create_session_message

    def note(session: Any, message: Any, *parts: Any) -> Any:
        reached.append(message.method)
        return create(session, message, *parts)

    async def ask(client: AsgiClient) -> list[int]:
        await client.open()
        names = ("count_words", "report", "crash", "raw", "nobody")
        asked = [client.call(name, name) for name in names] + [client.ask("tools/list", None)]
        return [(await answer(exchange))[0] for exchange in asked]

    monkeypatch.setattr(StreamableHTTPServerTransport, "_create_session_message", note)

    assert asyncio.run(run(ask, LEAN)) == [200] * 6
    assert reached == ["initialize"]


def test_concurrent_calls_with_the_same_id_each_get_an_answer() -> None:
    async def ask(client: AsgiClient) -> list[Any]:
        await client.open()
        asked = [client.ask("tools/call", {"name": name, "arguments": {}}, 1) for name in ("show_state", "nobody") * 3]
        return [await answer(exchange) for exchange in asked]

    found = asyncio.run(run(ask, LEAN))

    assert found[0] != found[1]
    assert found == found[:2] * 3


@pytest.mark.parametrize("reason", ["traces", "a trace of the client", "an envelope of 2026-07-28"])
def test_the_sdk_answers_what_only_it_can(monkeypatch: pytest.MonkeyPatch, reason: str) -> None:
    async def refuse(*_: Any) -> None:
        raise AssertionError("the lean engine answers")

    monkeypatch.setattr(LeanSession, "answer", refuse)
    monkeypatch.setattr(sdk, "is_tracing", lambda: reason == "traces")
    trace = f"00-{'1' * 32}-{'2' * 16}-01"
    meta = {"a trace of the client": {"traceparent": trace}, "an envelope of 2026-07-28": META}.get(reason, {})

    async def ask(client: AsgiClient) -> Any:
        await client.open()
        return await answer(client.ask("tools/list", {"_meta": meta}))

    status, _, (message,) = asyncio.run(run(ask, LEAN))

    assert (status, "result" in message) == (200, True)


def test_a_call_that_takes_too_long_ends_alike() -> None:
    async def ask(client: AsgiClient) -> Any:
        await client.open()
        return [await answer(client.call("wait")), await answer(client.ask("tools/call", {"name": "wait"}, 2))]

    assert "0.1" in str(compare(ask, call_timeout_s=0.1))


def test_a_call_ends_with_its_session_when_the_server_stops(capfd: pytest.CaptureFixture[str]) -> None:
    async def leave_running(client: AsgiClient) -> None:
        await client.open()
        await client.call("wait").status()

    asyncio.run(run(leave_running, LEAN))

    assert "the wait was cancelled" in capfd.readouterr().err


def test_a_request_that_the_asgi_server_cancels_ends_with_an_error_that_can_be_fetched() -> None:
    async def fetch_the_rest(client: AsgiClient) -> Any:
        await client.open()
        waiting = client.ask("tools/call", {"name": "wait"}, "cancelled")
        await waiting.status()
        await waiting.opened()
        waiting.cancel()
        await waiting.rest()
        resumed = client.begin("GET", last_event_id=waiting.event_ids[0])
        return [await resumed.status(), await anext(resumed.messages()), await answer(client.ask("ping", None, 2))]

    status, rest, (pinged, *_) = asyncio.run(run(fetch_the_rest, LEAN))

    assert (status, rest["id"], rest["error"]["message"], pinged) == (200, "cancelled", "Request cancelled", 200)
