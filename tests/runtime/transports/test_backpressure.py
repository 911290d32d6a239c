"""A client that does not read, or sends too much: what passes, what waits, what is dropped, and the memory of a server.

These tests are of the lean engine.
"""

from __future__ import annotations

import json
import os
import select
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from oracle import LEGACY
from stdio_peer import Message, Peer, talking
from toolmason_runtime.shared.engines import LEAN
from toolmason_runtime.transports.stdio.calls import MAX_RUNNING, MAX_WAITING
from toolmason_runtime.transports.stdio.output import MAX_BYTES_WITH_NOTICES, MAX_QUEUED_BYTES, MAX_UNREAD_BYTES
from toolmason_runtime.wire.parts import PART_CHARS

MEGABYTE = 1_000_000
ANSWER = {"action": "accept", "content": {"name": "Ada"}}
PINGS = 300
SHORT_CHARS = PART_CHARS // 4
"""Characters of a result that the event loop encodes itself, so that such calls end in their order."""
UNREAD_BYTES = (MAX_BYTES_WITH_NOTICES + MAX_QUEUED_BYTES) // 2
"""So many that messages are dropped, and few enough that calls still start."""
STALLED_S = 0.5
"""Seconds after which a server that accepts no input is taken for one that does not read."""


@contextmanager
def lean() -> Iterator[Peer]:
    with talking(LEGACY, "--engine", LEAN, capabilities={"elicitation": {}}) as peer:
        yield peer


def send_call(peer: Peer, tool: str, **arguments: object) -> int:
    return peer.send("tools/call", name=tool, arguments=arguments)


def send_answer(peer: Peer, question: Message) -> None:
    peer.write(json.dumps({"jsonrpc": "2.0", "id": question["id"], "result": ANSWER}).encode())


def test_a_full_queue_lets_answers_pings_and_cancellations_pass_and_refuses_more_requests() -> None:
    with lean() as peer:
        asking = send_call(peer, "ask_in_a_thread")
        question = peer.next_message()
        running = [send_call(peer, "wait") for _ in range(MAX_RUNNING - 1)]
        waiting = [send_call(peer, "shout", text="a") for _ in range(MAX_WAITING)]
        refused = peer.response(send_call(peer, "shout", text="one too many"))
        assert peer.result("ping") == {}
        send_answer(peer, question)
        asked = peer.next_message()
        for number in running:
            peer.notify("notifications/cancelled", requestId=number)
        answered = [peer.next_message()["id"] for _ in waiting]

    assert refused["error"] == {
        "code": -32603,
        "message": "too many requests are waiting; send the next one after a response",
    }
    assert (asked["id"], asked["result"]["content"][0]["text"]) == (asking, "Ada")
    assert answered == waiting


def test_progress_and_log_messages_are_dropped_first_and_no_response() -> None:
    with lean() as peer:
        peer.call("shout", {"text": "a"})
        peer.call("report", meta={"progressToken": "t"})
        before = list(peer.notifications)
        peer.reads.clear()
        sent = [send_call(peer, "shout", text="x" * SHORT_CHARS) for _ in range(UNREAD_BYTES // SHORT_CHARS)]
        sent.append(peer.send("tools/call", name="report", arguments={}, meta={"progressToken": "t"}))
        sent.append(send_call(peer, "chatter"))
        peer.wait_for_stderr(b"printed by a child\n")
        peer.reads.set()
        answered = [peer.next_message() for _ in sent]
        peer.notifications.clear()
        peer.call("report", meta={"progressToken": "t"})

    assert [message["id"] for message in answered] == sent
    assert peer.notifications == before
    assert len(before) > 1


@pytest.mark.skipif(sys.platform != "linux", reason="reads the peak memory in /proc")
@pytest.mark.real_start(reason="measures the memory of a server")
def test_memory_is_bounded_though_a_client_sends_for_ever_and_does_not_read() -> None:
    with lean() as peer:
        peer.call("shout", {"text": "the event loop runs"})
        peer.reads.clear()
        pings = [{"jsonrpc": "2.0", "id": f"{n:03}" + "x" * MEGABYTE, "method": "ping"} for n in range(PINGS)]
        for ping in pings:
            peer.oracle.from_client(ping)
        data = b"".join(json.dumps(ping).encode() + b"\n" for ping in pings)
        written = write_until_stalled(peer, data)
        peer.reads.set()
        peer.write(data[written:-1])
        answered = [peer.next_message()["id"][:3] for _ in pings]
        peak = peak_memory(peer.process.pid)

    assert answered == [ping["id"][:3] for ping in pings]
    assert written < len(data), "the server read all"
    assert peak < 2 * MAX_UNREAD_BYTES + 150 * MEGABYTE


def write_until_stalled(peer: Peer, data: bytes) -> int:
    """Write until the server reads no more; return the number of bytes."""
    assert peer.process.stdin is not None
    descriptor = peer.process.stdin.fileno()
    os.set_blocking(descriptor, False)
    view, written = memoryview(data), 0
    while written < len(data) and select.select([], [descriptor], [], STALLED_S)[1]:
        written += os.write(descriptor, view[written : written + 65_536])
    os.set_blocking(descriptor, True)
    return written


def peak_memory(pid: int) -> int:
    lines = Path(f"/proc/{pid}/status").read_text(encoding="utf-8").splitlines()
    return next(int(line.split()[1]) * 1024 for line in lines if line.startswith("VmHWM:"))
