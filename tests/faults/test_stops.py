"""The server or the client stops: by signals, in the middle of a call, or in the middle of a line."""

from __future__ import annotations

import json
import signal
import socket
import sys
import threading
import time
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path
from typing import Final

import pytest
from edit_server import Person, Place
from http_peer import RawClient, serving
from oracle import LEGACY

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="not run: needs Linux")

STOPPED_S: Final = 5.0
CALLS: Final = 20
PATIENCE_S: Final = 30.0


def children_of(pid: int) -> list[int]:
    found = [pid]
    for parent in found:
        for task in Path(f"/proc/{parent}/task").glob("*/children"):
            found += [int(word) for word in task.read_text().split()]
    return found[1:]


def programs_of(pid: int) -> list[str]:
    """Return the commands of the descendants of a process, without Python's own."""
    commands = []
    for child in children_of(pid):
        try:
            command = Path(f"/proc/{child}/cmdline").read_bytes().replace(b"\0", b" ").decode()
        except FileNotFoundError:
            continue
        if command and "launcher" not in command:
            commands.append(command)
    return commands


def wait_until(condition: Callable[[], bool]) -> None:
    deadline = time.monotonic() + PATIENCE_S
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.05)


def test_a_server_that_was_stopped_answers_all_calls_when_it_continues(
    place: Place, user: Person, report: Callable[[str], None]
) -> None:
    place.write("a.txt", b"line\n" * 100)
    with place.server(LEGACY, "--call-timeout", "120", person=user) as client:
        client.call("list_allowed_directories")
        peer = client.peer
        peer.process.send_signal(signal.SIGSTOP)
        sent = [
            peer.send(
                "tools/call",
                name="read_files",
                arguments={"files": [{"path": "a.txt", "start_line": line, "end_line": line}]},
            )
            for line in range(1, CALLS)
        ]
        sent.append(peer.send("tools/call", name="word_count", arguments={"lines": True, "paths": ["a.txt"]}))
        time.sleep(STOPPED_S)
        peer.process.send_signal(signal.SIGCONT)
        answers = [peer.next_message() for _ in sent]

    assert sorted(answer["id"] for answer in answers) == sent
    assert not [answer for answer in answers if "error" in answer or answer["result"].get("isError")]
    for answer in answers:
        if answer["id"] != sent[-1]:
            line = sent.index(answer["id"]) + 1
            assert answer["result"]["content"][0]["text"].startswith(f"==> a.txt (lines {line}-{line} of 100)")
    report(f"{len(answers)} calls answered after {STOPPED_S:g} s")


@pytest.mark.parametrize("vanishing", ["cancelled", "input closed"])
def test_the_programs_of_a_client_that_vanishes_are_ended(
    vanishing: str, place: Place, user: Person, report: Callable[[str], None]
) -> None:
    place.write("b.json", b'{"a": [1]}')
    with place.server(LEGACY, person=user) as client:
        client.call("list_allowed_directories")
        peer = client.peer
        number = peer.send(
            "tools/call", name="query_json", arguments={"file_path": "b.json", "jq_expression": "[range(1e9)] | length"}
        )
        wait_until(lambda: any("worker_main" in command for command in programs_of(peer.process.pid)))
        children = children_of(peer.process.pid)
        if vanishing == "cancelled":
            peer.notify("notifications/cancelled", requestId=number)
            wait_until(lambda: not programs_of(peer.process.pid))
            client.call("list_allowed_directories")
        else:
            peer.end_of_input()
            assert peer.exit_status() == 0
            wait_until(lambda: not any(Path(f"/proc/{child}").exists() for child in children))

    report(f"{len(children)} processes ended")


def test_half_a_line_and_a_closed_input_end_the_server_with_its_answers(
    place: Place, report: Callable[[str], None]
) -> None:
    place.write("a.txt", b"line\n")
    with place.server(LEGACY) as client:
        peer = client.peer
        number = peer.send("tools/call", name="read_files", arguments={"files": [{"path": "a.txt"}]})
        assert peer.process.stdin is not None
        peer.process.stdin.write(b'{"jsonrpc": "2.0", "id": 99, "method": "tools/ca')
        peer.process.stdin.flush()
        peer.end_of_input()
        answers = peer.rest()
        assert peer.exit_status() == 0

    assert number in [answer.get("id") for answer in answers]
    report(f"{len(answers)} answers, exit code 0")


def test_sigterm_under_load_answers_or_closes_each_call(place: Place, report: Callable[[str], None]) -> None:
    place.write("a.txt", b"line\n" * 100)
    env = {"WORKBENCH_STATE": str(place.state)}
    flags = ("--classic", "--all", "--http", "--port", "0", "--log-level", "critical", "--root", str(place.project))
    outcomes: list[str] = []
    with serving(*flags, command=("-m", "workbench_server"), env=env) as (process, address):
        end = threading.Event()

        def use() -> None:
            while not end.is_set():
                try:
                    with ExitStack() as stack:
                        message = list(
                            RawClient(address, LEGACY, stack).call("read_files", {"files": [{"path": "a.txt"}]})
                        )[-1]
                    is_right = message["result"]["content"][0]["text"].startswith("==> a.txt (lines 1-100 of 100)")
                    outcomes.append("right" if is_right else "wrong")
                except (OSError, IndexError, KeyError, json.JSONDecodeError, ValueError):
                    outcomes.append("closed")
                    time.sleep(0.05)
                except Exception as error:  # noqa: BLE001  of http.client
                    outcomes.append("closed" if type(error).__module__ == "http.client" else f"wrong: {error!r}")

        threads = [threading.Thread(target=use) for _ in range(8)]
        for thread in threads:
            thread.start()
        wait_until(lambda: outcomes.count("right") > 20)
        started = time.monotonic()
        process.terminate()
        code = process.wait(PATIENCE_S)
        seconds = time.monotonic() - started
        end.set()
        for thread in threads:
            thread.join(PATIENCE_S)
        with pytest.raises(ConnectionRefusedError):
            socket.create_connection(("127.0.0.1", int(address.rsplit(":", 1)[1].partition("/")[0])), timeout=1)

    assert code == 0
    assert set(outcomes) <= {"right", "closed"}, set(outcomes)
    report(f"{outcomes.count('right')} right, 0 wrong, ended after {seconds:.1f} s with code 0")
