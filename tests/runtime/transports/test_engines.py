"""Both engines answer the same messages with the same JSON; guarantees of the lean engine alone."""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
from collections.abc import Callable
from contextlib import suppress
from typing import Any

import pytest
from oracle import LEGACY
from probes import META, SESSIONS, Probe, normal
from stdio_peer import PATIENCE_S, SAMPLE, talking
from toolmason_runtime.shared.engines import ENGINES, LEAN
from toolmason_runtime.transports.stdio.output import MAX_BYTES_WITH_NOTICES, Output


def answers(engine: str, probes: list[Probe]) -> dict[int, Any]:
    """The response to each probe, by its number; each is sent after the response to the last."""
    command = [*SAMPLE, "--engine", engine]
    found: dict[int, Any] = {}
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL) as server:
        assert server.stdin is not None
        assert server.stdout is not None
        try:
            for number, (method, params) in enumerate(probes):
                request = {"jsonrpc": "2.0", "id": number, "method": method}
                line = json.dumps(request if params is None else {**request, "params": params})
                server.stdin.write(line.encode() + b"\n")
                server.stdin.flush()
                response = json.loads(server.stdout.readline())
                found[response["id"]] = normal(response)
            server.stdin.close()
            assert server.wait(PATIENCE_S) == 0
        finally:
            server.kill()
    return found


@pytest.mark.parametrize("name", SESSIONS)
def test_both_engines_answer_with_the_same_json(name: str) -> None:
    by_sdk, by_lean = (answers(engine, SESSIONS[name]) for engine in ENGINES)
    for number, probe in enumerate(SESSIONS[name]):
        assert by_lean[number] == by_sdk[number], probe


def test_an_answer_and_a_ping_pass_the_calls_that_wait_for_a_client_that_does_not_read() -> None:
    with talking(LEGACY, "--engine", LEAN, capabilities={"elicitation": {}}) as peer:
        asking = peer.send("tools/call", name="ask_in_a_thread", arguments={})
        question = peer.next_message()
        peer.reads.clear()
        shouts = [peer.send("tools/call", name="shout", arguments={"text": "x" * 1_000_000}) for _ in range(20)]
        ping = peer.send("ping")
        answer = {"action": "accept", "content": {"name": "Ada"}}
        peer.write(json.dumps({"jsonrpc": "2.0", "id": question["id"], "result": answer}).encode())
        peer.write(b'{"method":"notifications/marker"}')
        peer.wait_for_stderr_containing(b"jsonrpc must be")
        peer.reads.set()
        order = [peer.next_message()["id"] for _ in range(len(shouts) + 2)]

    assert sorted(order) == sorted([asking, ping, *shouts])
    # The thread that asked may be slower than this client; `test_backpressure.py` has a queue that stays full.
    assert order.index(ping) < order.index(shouts[-1])


def test_a_response_with_a_long_number_as_id_does_not_lose_the_messages_behind_it() -> None:
    with talking(LEGACY, "--engine", LEAN) as peer:
        peer.call("shout", {"text": "a"})
        response = json.dumps({"jsonrpc": "2.0", "id": "9" * 5000, "result": {}})
        ping = peer.message("ping")
        peer.oracle.from_client(ping)
        peer.write(f"{response}\n{json.dumps(ping)}".encode())
        answered = peer.next_message()

    assert answered["result"] == {}


def test_a_waiting_call_that_is_cancelled_never_runs() -> None:
    with talking(LEGACY, "--engine", LEAN) as peer:
        peer.reads.clear()
        sent = [peer.send("tools/call", name="shout", arguments={"text": "x" * 1_000_000}) for _ in range(20)]
        peer.notify("notifications/cancelled", requestId=sent[-1])
        peer.write(b'{"method":"notifications/marker"}')
        peer.wait_for_stderr_containing(b"jsonrpc must be")
        peer.reads.set()
        peer.send("ping")
        answered = {peer.next_message()["id"] for _ in range(len(sent))}

    assert sent[-1] not in answered


def test_the_first_call_starts_the_event_loop_and_the_state_of_the_connection_is_kept() -> None:
    with talking(LEGACY, "--engine", LEAN) as peer:
        peer.result("logging/setLevel", level="critical")
        reporting = json.dumps(peer.message("tools/call", name="report", arguments={})).encode()
        pinging = json.dumps(peer.message("ping")).encode()
        assert peer.process.stdin is not None
        peer.oracle.from_client(json.loads(reporting))
        peer.oracle.from_client(json.loads(pinging))
        peer.process.stdin.write(reporting + b"\n" + pinging[:20])
        peer.process.stdin.flush()
        logged = [peer.next_message()["params"]["level"] for _ in range(3)]
        reported = peer.next_message()
        peer.write(pinging[20:])
        pinged = peer.next_message()
        refused = peer.response(peer.send("tools/list", meta=META))["error"]

    assert logged == ["critical", "alert", "emergency"]
    assert (reported["id"], pinged["id"]) == (json.loads(reporting)["id"], json.loads(pinging)["id"])
    assert refused["code"] == -32600


def test_a_client_that_does_not_read_loses_notices_and_no_reply() -> None:
    def write(output: Output) -> None:
        for _ in range(10):
            output.offer(b"n" * (MAX_BYTES_WITH_NOTICES // 4))
            output.write(b"r")

    found = read_after(write)

    assert found.count(b"r") == 10
    assert MAX_BYTES_WITH_NOTICES <= found.count(b"n") < 10 * (MAX_BYTES_WITH_NOTICES // 4)


def test_an_announcement_that_waits_is_not_queued_again() -> None:
    def write(output: Output) -> None:
        output.write(b"-" * MAX_BYTES_WITH_NOTICES)  # more than a pipe holds
        for _ in range(100):
            output.write_once(b"a")
            output.write_once(b"b")

    found = read_after(write, lambda output: output.write_once(b"a"))

    # The thread may take the first ones together with the text before them.
    assert found.count(b"a") in {2, 3}
    assert found.count(b"b") in {1, 2}


def read_after(*writes: Callable[[Output], None]) -> bytes:
    """Return the output of a server whose client begins to read after the first of `writes`; each is flushed."""

    async def write() -> bytes:
        output = Output(sink, lambda: None)
        writes[0](output)
        reading = asyncio.create_task(asyncio.to_thread(read_all, source))
        await output.flush()
        for later in writes[1:]:
            later(output)
            await output.flush()
        os.close(sink)
        return await reading

    source, sink = os.pipe()
    try:
        return asyncio.run(write())
    finally:
        os.close(source)


def read_all(source: int) -> bytes:
    found = bytearray()
    with suppress(OSError):
        while chunk := os.read(source, 65_536):
            found += chunk
    return bytes(found)


def test_lean_start_and_list_do_not_import_the_sdk_or_pydantic() -> None:
    code = (
        "import sys; import toolmason_runtime.transports.stdio.lean, toolmason_runtime.server.dispatch;"
        "print(*sys.modules)"
    )
    result = subprocess.run([SAMPLE[0], "-I", "-c", code], capture_output=True, encoding="utf-8", check=True)
    assert {"mcp", "mcp_types", "pydantic", "pydantic_core", "anyio", "asyncio", "jsonschema"} & set(
        result.stdout.split()
    ) == set()
