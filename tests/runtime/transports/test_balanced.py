"""Processes of one server behind a balancer, with one state key: they answer as one, also after one was killed."""

from __future__ import annotations

import asyncio
import json
import os
import re
import select
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import pytest
from balancer import balancing
from http_peer import SAMPLE, RawClient, post, serving
from mcp import Client
from oracle import LEGACY, MODERN
from stdio_peer import PATIENCE_S
from toolmason_runtime.transports.http_access import AccessError
from toolmason_runtime.transports.http_settings import http_settings, variable

pytestmark = [pytest.mark.anyio, pytest.mark.skipif(sys.platform == "win32", reason="there are no Unix sockets")]

KEY = "0123456789abcdef" * 4
SHARED = {"SAMPLE_STATE_KEY": KEY}


@contextmanager
def two_processes() -> Iterator[tuple[list[subprocess.Popen[str]], str]]:
    """Start two processes behind a balancer, and give its address."""
    with ExitStack() as stack:
        balancer = stack.enter_context(balancing())
        processes = []
        for _ in range(2):
            process, address = stack.enter_context(serving("--allow-host", balancer.host, env=SHARED))
            balancer.addresses.append(address)
            processes.append(process)
        yield processes, balancer.address


def kill(process: subprocess.Popen[str]) -> None:
    process.kill()
    process.wait(PATIENCE_S)


def test_session_is_served_by_each_process_whichever_opened_it() -> None:
    with two_processes() as (_, address), ExitStack() as stack:
        client = RawClient(address, LEGACY, stack)
        results = [next(client.call("shout", {"text": "a"})) for _ in range(4)]
        missing = client.post({"jsonrpc": "2.0", "id": 1, "method": "ping"}, **{"Mcp-Session-Id": "unknown"}).status
        statuses = [client.end_session().status for _ in range(3)]

    assert [result["result"]["content"][0]["text"] for result in results] == ["A"] * 4
    assert (missing, statuses) == (404, [200, 404, 404])


def test_answer_to_a_question_reaches_the_process_that_asked() -> None:
    with two_processes() as (_, address), ExitStack() as stack:
        client = RawClient(address, LEGACY, stack)
        said = client.call("ask", {})
        for content in ({"name": "Ann"}, {"city": "Rome"}):
            asked = next(said)
            result = {"action": "accept", "content": content}
            assert client.post({"jsonrpc": "2.0", "id": asked["id"], "result": result}).status == 202
        answered = next(said)

    assert answered["result"]["content"][0]["text"] == "Ann of Rome"


def test_stream_of_a_session_is_resumed_at_each_process() -> None:
    with two_processes() as (_, address), ExitStack() as stack:
        client = RawClient(address, LEGACY, stack)
        lines = list(client.lines("shout", {"text": "a"}))
        first_event = next(line for line in lines if line.startswith("id: "))
        resumed = [next(line for line in client.resumed(first_event) if "result" in line) for _ in range(2)]

    assert resumed[0] == resumed[1]
    assert json.loads(resumed[0].removeprefix("data: "))["result"]["content"][0]["text"] == "A"


@pytest.mark.parametrize("is_killed", [False, True], ids=["alive", "killed"])
def test_question_of_one_process_is_answered_to_the_other(is_killed: bool) -> None:
    """2026-07-28: the answers so far come back with each request, sealed with the key of both processes."""
    with serving(env=SHARED) as (process, first), serving(env=SHARED) as (_, second), ExitStack() as stack:
        params: dict[str, Any] = {"name": "ask", "arguments": {}}
        capabilities: dict[str, Any] = {"clientCapabilities": {"elicitation": {"form": {}}}}
        clients = [RawClient(address, MODERN, stack) for address in (first, second, second)]
        answers = ({"name": {"name": "Ann"}}, {"city": {"city": "Rome"}})
        message: dict[str, Any] = {}
        for turn, client in enumerate(clients):
            meta = {f"io.modelcontextprotocol/{key}": value for key, value in (client._about | capabilities).items()}
            body = {"jsonrpc": "2.0", "id": turn, "method": "tools/call", "params": {**params, "_meta": meta}}
            headers = {"Mcp-Method": "tools/call", "Mcp-Name": "ask"}
            lines = [line.decode() for line in client.post(body, **headers)]
            message = next(json.loads(line[line.index("{") :]) for line in lines if "{" in line)
            if turn < len(answers):
                given = {key: {"action": "accept", "content": content} for key, content in answers[turn].items()}
                params |= {"inputResponses": given, "requestState": message["result"]["requestState"]}
            if is_killed and turn == 0:
                kill(process)

    assert message["result"]["content"][0]["text"] == "Ann of Rome"


def test_processes_with_different_keys_know_nothing_of_each_other() -> None:
    other = serving(env={"SAMPLE_STATE_KEY": KEY[::-1]})
    with serving(env=SHARED) as (_, first), other as (_, second), ExitStack() as stack:
        client = RawClient(first, LEGACY, stack)
        client._place = RawClient(second, MODERN, stack)._place

        assert client.post({"jsonrpc": "2.0", "id": 1, "method": "ping"}).status == 404


def test_session_of_a_killed_process_gets_404_and_the_client_opens_another() -> None:
    with two_processes() as (processes, address), ExitStack() as stack:
        ping = {"jsonrpc": "2.0", "id": 9, "method": "ping"}
        first = RawClient(address, LEGACY, stack)
        first.post(ping)  # now it is the turn of the other process to open a session
        second = RawClient(address, LEGACY, stack)
        calls = [client.lines("wait", {}, {"progressToken": "t"}) for client in (first, second)]
        for said in calls:
            assert "notifications/progress" in next(line for line in said if line.startswith("data: {"))
        kill(processes[0])
        statuses = [{client.post(ping).status for _ in range(3)} for client in (first, second)]
        lost = calls[statuses.index({404})]
        rest = list(lost)
        again = RawClient(address, LEGACY, stack)
        answered = next(again.call("shout", {"text": "a"}))

    assert sorted(map(min, statuses)) == [200, 404]
    assert not any('"result"' in line for line in rest)
    assert answered["result"]["content"][0]["text"] == "A"


@pytest.mark.parametrize("mode", ["legacy", MODERN])
async def test_each_call_is_answered_or_fails_and_succeeds_when_repeated_though_a_process_is_killed(mode: str) -> None:
    with two_processes() as (processes, address):
        done = asyncio.Event()

        async def work(number: int) -> int:
            failures = 0
            for turn in range(6):
                text = f"{number}-{turn}"
                for _ in range(5):
                    try:
                        async with asyncio.timeout(PATIENCE_S), Client(address, mode=mode) as client:
                            result = await client.call_tool("shout", {"text": text})
                    except (Exception, BaseExceptionGroup):  # noqa: BLE001  whatever a broken connection becomes
                        failures += 1
                    else:
                        assert result.content[0].text == text.upper()  # type: ignore[union-attr]
                        break
                else:
                    raise AssertionError("the call fails although a process serves")
                if turn == 2:
                    done.set()
            return failures

        async def kill_one() -> None:
            await done.wait()
            processes[0].kill()

        killing = asyncio.create_task(kill_one())
        failures = await asyncio.gather(*map(work, range(4)))
        await killing

    assert max(failures) <= 4, "only calls of the moment fail"


def test_socket_of_a_killed_process_is_removed_by_the_others(tmp_path: Path) -> None:
    env = SHARED | {"TMPDIR": str(tmp_path)}
    with serving(env=env) as (process, first), serving(env=env) as (_, second), ExitStack() as stack:
        client = RawClient(first, LEGACY, stack)
        client._place = RawClient(second, MODERN, stack)._place
        wait_for(second)
        before = set(tmp_path.glob("mcp-*/s"))
        kill(process)
        status = client.post({"jsonrpc": "2.0", "id": 1, "method": "ping"}).status

        assert (len(before), status, len(set(tmp_path.glob("mcp-*")))) == (2, 404, 1)


def test_socket_that_others_have_put_in_the_place_of_an_ended_process_gets_no_request(tmp_path: Path) -> None:
    env = SHARED | {"TMPDIR": str(tmp_path)}
    with serving(env=env) as (process, first), serving(env=env) as (_, second), ExitStack() as stack:
        wait_for(second)
        others = set(tmp_path.glob("mcp-*/s"))
        client = RawClient(first, LEGACY, stack)
        client._place = RawClient(second, MODERN, stack)._place
        kill(process)
        [path] = [path for path in others if not answers(path)]
        path.unlink()
        path.parent.chmod(0o777)
        thief = stack.enter_context(socket.socket(socket.AF_UNIX))
        thief.bind(str(path))
        thief.listen()
        status = client.post({"jsonrpc": "2.0", "id": 1, "method": "ping"}).status

        assert (status, select.select([thief], [], [], 0)[0]) == (404, [])


def answers(path: Path) -> bool:
    with socket.socket(socket.AF_UNIX) as connection:
        return connection.connect_ex(str(path)) == 0


@contextmanager
def workers(*arguments: str, env: dict[str, str] | None = None) -> Iterator[tuple[subprocess.Popen[str], str]]:
    with serving("--workers", "2", *arguments, env=env) as (process, address):
        yield process, address


def children(process: subprocess.Popen[str]) -> set[int]:
    listed = Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text(encoding="utf-8")
    return set(map(int, listed.split()))


def wait_for(address: str) -> None:
    """Wait until a session can be opened."""
    assert post(address, {}) == 200


@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
def test_workers_serve_one_address_and_a_killed_one_is_replaced() -> None:
    with workers() as (process, address), ExitStack() as stack:
        wait_for(address)
        before = children(process)
        clients = [RawClient(address, LEGACY, stack) for _ in range(6)]
        texts = [next(client.call("shout", {"text": "a"})) for client in clients for _ in range(2)]
        killed = min(before)
        os.kill(killed, signal.SIGKILL)
        assert process.stderr is not None
        said = [process.stderr.readline() for _ in range(2)]
        again = [post(address, {}) for _ in range(4)]
        after = children(process)
        process.send_signal(signal.SIGTERM)

        assert process.wait(PATIENCE_S) == 0
    assert [text["result"]["content"][0]["text"] for text in texts] == ["A"] * 12
    assert "`chunk_store` in the manifest shares them" in said[0]
    assert "exit code -9" in said[1]
    assert (len(before), len(after), killed in after, again) == (2, 2, False, [200] * 4)


@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
def test_workers_end_with_their_supervisor_however_it_ends() -> None:
    with workers() as (process, address):
        wait_for(address)
        ids = children(process)
        kill(process)
        ended = [pid for pid in ids if _ends(pid)]

    assert len(ended) == 2


def _ends(pid: int) -> bool:
    """Wait until a process has ended. It is not our child."""
    descriptor = os.pidfd_open(pid)
    ready, _, _ = select.select([descriptor], [], [], PATIENCE_S)
    os.close(descriptor)
    return bool(ready)


def test_workers_that_cannot_start_end_the_server() -> None:
    env = {"SAMPLE_MAX_REQUESTS": "none"}
    command = [sys.executable, *SAMPLE, "--workers", "2"]
    ended = subprocess.run(
        command, env={**os.environ, **env}, capture_output=True, encoding="utf-8", timeout=PATIENCE_S, check=False
    )

    assert ended.returncode == 2
    assert "SAMPLE_MAX_REQUESTS must be a number of at least 1" in ended.stderr


@pytest.mark.parametrize(
    ("name", "text", "problem"),
    [
        ("STATE_KEY", "short", "MY_SERVER_STATE_KEY needs at least 32 random characters"),
        ("STATE_KEY", f"{KEY} short", "MY_SERVER_STATE_KEY needs at least 32 random characters"),
        ("CALL_TIMEOUT", "soon", "MY_SERVER_CALL_TIMEOUT must be a number of at least 1"),
        ("MAX_REQUESTS", "0", "MY_SERVER_MAX_REQUESTS must be a number of at least 1"),
        ("MAX_CLIENT_REQUESTS", "0", "MY_SERVER_MAX_CLIENT_REQUESTS must be a number of at least 1"),
        ("MAX_CLIENT_SESSIONS", "many", "MY_SERVER_MAX_CLIENT_SESSIONS must be a number of at least 1"),
        ("MAX_REQUESTS", "inf", "MY_SERVER_MAX_REQUESTS must be a number of at least 1"),
        ("ENGINE", "fast", "MY_SERVER_ENGINE must be sdk or lean; got `fast`"),
    ],
)
def test_invalid_setting_names_its_variable(
    monkeypatch: pytest.MonkeyPatch, name: str, text: str, problem: str
) -> None:
    monkeypatch.setenv(variable("my-server", name), text)
    with pytest.raises(AccessError, match=re.escape(problem)):
        http_settings("my-server")


def test_flags_replace_variables(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, text in {
        "ALLOW_HOST": "a.example, b.example",
        "MAX_REQUESTS": "5",
        "STATE_KEY": f"{KEY} {KEY} x{KEY}",
        "ENGINE": "sdk",
    }.items():
        monkeypatch.setenv(variable("my-server", name), text)
    set_there = http_settings("my-server")
    given = http_settings(
        "my-server", {"allow_host": ["c.example"], "max_requests": 6, "call_timeout": None, "engine": "lean"}
    )

    assert (set_there.allowed_hosts, set_there.max_requests, set_there.call_timeout_s) == (
        ("a.example", "b.example"),
        5,
        None,
    )
    assert set_there.state_keys == (KEY, f"x{KEY}")
    assert (set_there.is_lean, given.is_lean) == (False, True)
    assert (given.allowed_hosts, given.max_requests, given.max_client_requests) == (("c.example",), 6, 3)
