"""Tasks on the wire, over stdio and HTTP: processes that are killed, and others that answer for them."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from http_peer import BEARER, TOKEN_FILE, serving
from oracle import LEGACY, MODERN
from redis_server import Servers
from stdio_peer import PATIENCE_S, talking
from toolmason_runtime.shared.engines import ENGINES
from toolmason_runtime.wire.requests import TASKS

DECLARED: dict[str, Any] = {"elicitation": {"form": {}}, "extensions": {TASKS: {}}}
COMMAND = (sys.executable, "-m", "desk_server")
KEY = "0123456789abcdef" * 4
Ask = Callable[..., dict[str, Any]]


def stdio(environ: dict[str, str], **options: Any) -> Any:
    return talking(MODERN, command=COMMAND, env=environ, capabilities=DECLARED, **options)


def until(ask: Ask, identity: str, *statuses: str) -> dict[str, Any]:
    """Poll a task until it has one of these statuses."""
    end = time.monotonic() + PATIENCE_S
    while time.monotonic() < end:
        state = ask("tasks/get", taskId=identity)
        if state["status"] in statuses:
            return state
        time.sleep(0.05)
    raise AssertionError(state)


def said(result: dict[str, Any]) -> str:
    return str(result["content"][0]["text"])


@pytest.mark.parametrize("engine", ENGINES)
def test_a_call_over_stdio_becomes_a_task_whose_changes_are_announced(environ: dict[str, str], engine: str) -> None:
    with talking(MODERN, "--engine", engine, command=COMMAND, env=environ, capabilities=DECLARED) as peer:
        assert said(peer.call("compute", {"seconds": 0})) == "computed for 0 s"
        created = peer.call("compute", {"seconds": 3}, meta={"progressToken": 1})
        identity = created["taskId"]
        listening = peer.send("subscriptions/listen", notifications={"taskIds": [identity, "task_unknown"]})
        first = peer.notification()
        changes = [peer.notification()]
        while changes[-1]["params"]["status"] == "working":
            changes.append(peer.notification())
        state = peer.result("tasks/get", taskId=identity)

    assert (created["resultType"], created["status"]) == ("task", "working")
    of_stream = {"io.modelcontextprotocol/subscriptionId": listening}
    assert first["method"] == "notifications/subscriptions/acknowledged"
    assert first["params"] == {"notifications": {"taskIds": [identity]}, "_meta": of_stream}
    assert {each["method"] for each in changes} == {"notifications/tasks"}
    assert all(each["params"]["_meta"] == of_stream for each in changes)
    assert "computing" in {each["params"].get("statusMessage") for each in changes}
    assert said(changes[-1]["params"]["result"]) == said(state["result"]) == "computed for 3 s"


def test_a_client_without_the_extension_gets_results_in_both_eras(environ: dict[str, str]) -> None:
    for version in (LEGACY, MODERN):
        with talking(version, command=COMMAND, env=environ, capabilities={"elicitation": {}}) as peer:
            assert said(peer.call("compute", {"seconds": 0.8})) == "computed for 0.8 s"
            response = peer.response(peer.send("tools/call", name="nightly", arguments={}))
            if version == LEGACY:
                assert "needs a client of MCP 2026-07-28" in said(response["result"])
                methods = [peer.response(peer.send(f"tasks/{name}", taskId="a")) for name in ("get", "cancel")]
                assert {each["error"]["code"] for each in methods} == {-32601}
            else:
                assert response["error"]["code"] == -32021


def test_a_terminal_runs_a_tool_that_needs_a_task(environ: dict[str, str]) -> None:
    command = [*COMMAND, "nightly"]
    run = subprocess.run(
        command,
        env={**os.environ, **environ},
        capture_output=True,
        encoding="utf-8",
        timeout=60,
        check=False,
    )

    assert (run.returncode, run.stdout.strip()) == (0, "is a task: False"), run.stderr


def test_a_tool_that_needs_a_task_is_one_at_once(environ: dict[str, str]) -> None:
    with stdio(environ) as peer:
        created = peer.call("nightly")
        assert created["resultType"] == "task"
        assert said(until(peer.result, created["taskId"], "completed")["result"]) == "is a task: True"


def test_a_program_that_takes_long_is_a_task_and_a_search_is_not(environ: dict[str, str]) -> None:
    with stdio(environ) as peer:
        assert peer.call("search", {"query": "compute"})["resultType"] == "complete"
        created = peer.call("run", {"code": "first = await compute(seconds=1.5)\nfirst + '!'"})
        assert created["resultType"] == "task"
        assert "computed for 1.5 s!" in said(until(peer.result, created["taskId"], "completed")["result"])


def test_a_program_that_asks_continues_after_its_server_was_killed(environ: dict[str, str]) -> None:
    with stdio(environ) as peer:
        code = "first = await compute(seconds=1)\nsecond = await confirm(name='the file')\nf'{first}, {second}'"
        identity = peer.call("run", {"code": code})["taskId"]
        asked = until(peer.result, identity, "input_required")
        peer.process.kill()
        peer.process.wait(PATIENCE_S)
    with stdio(environ) as peer:
        assert peer.result("tasks/get", taskId=identity)["inputRequests"] == asked["inputRequests"]
        answers = {key: {"action": "accept", "content": {}} for key in asked["inputRequests"]}
        peer.result("tasks/update", taskId=identity, inputResponses=answers)
        result = until(peer.result, identity, "completed")["result"]

    assert "computed for 1 s, the file: accept" in said(result)


def test_the_work_of_a_killed_server_is_reported_as_lost(environ: dict[str, str]) -> None:
    with stdio(environ) as peer:
        identity = peer.call("compute", {"seconds": 600})["taskId"]
        asking = peer.call("confirm", {"name": "the file"})["taskId"]
        until(peer.result, asking, "input_required")
        peer.process.kill()
        peer.process.wait(PATIENCE_S)
    with stdio(environ) as peer:
        lost = until(peer.result, identity, "failed")
        peer.result("tasks/update", taskId=asking, inputResponses={"change": {"action": "decline"}})
        declined = until(peer.result, asking, "completed")

    assert lost["error"]["code"] == -32603
    assert "repeat the call" in lost["error"]["message"]
    assert said(declined["result"]) == "the file: decline"


def test_the_audit_log_has_a_line_for_the_end_of_each_task(environ: dict[str, str], tmp_path: Path) -> None:
    audit = tmp_path / "audit.jsonl"
    with talking(MODERN, "--audit", str(audit), command=COMMAND, env=environ, capabilities=DECLARED) as peer:
        slow = peer.call("compute", {"seconds": 1.5})["taskId"]
        cancelled = peer.call("compute", {"seconds": 600})["taskId"]
        peer.result("tasks/cancel", taskId=cancelled)
        until(peer.result, slow, "completed")
        until(peer.result, cancelled, "cancelled")
    lines = [json.loads(line) for line in audit.read_text("utf-8").splitlines()]

    outcomes = [line["outcome"] for line in lines if line.get("tool") == "compute"]
    assert sorted(outcomes) == ["cancelled", "ok"]
    assert max(line.get("duration_ms", 0) for line in lines) >= 1500


def test_the_end_of_a_session_ends_its_tasks(environ: dict[str, str]) -> None:
    with stdio(environ) as peer:
        identity = peer.call("compute", {"seconds": 600})["taskId"]
        peer.end_of_input()
        assert peer.exit_status() == 0
    with stdio(environ) as peer:
        state = peer.result("tasks/get", taskId=identity)

    assert "The server was stopped" in state["statusMessage"]


@pytest.mark.skipif(sys.platform == "win32", reason="processes are looked up in another way")
def test_a_cancellation_ends_the_program_and_what_it_has_started(environ: dict[str, str], tmp_path: Path) -> None:
    pids = tmp_path / "pids"
    with stdio(environ | {"DESK_PYTHON": sys.executable}) as peer:
        created = peer.call("sleep", {"file": str(pids)})
        assert created["resultType"] == "task", created
        running = wait_for(lambda: [int(pid) for pid in pids.read_text("utf-8").split()] if pids.exists() else [])
        assert len(running) == 2
        assert peer.result("tasks/cancel", taskId=created["taskId"])["resultType"] == "complete"
        until(peer.result, created["taskId"], "cancelled")
        wait_for(lambda: not any(map(is_running, running)))


def wait_for(look: Callable[[], Any]) -> Any:
    end = time.monotonic() + PATIENCE_S
    while time.monotonic() < end:
        if found := look():
            return found
        time.sleep(0.05)
    raise AssertionError("it did not happen")


def is_running(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    status = Path(f"/proc/{pid}/stat")
    return not (status.exists() and status.read_text("utf-8").rpartition(")")[2].split()[0] == "Z")


@contextmanager
def process(environ: dict[str, str]) -> Iterator[tuple[Any, Ask]]:
    """A server over HTTP, and a function that sends it one request and returns the result."""
    command = ("-m", "desk_server", "--http", "--port", "0", "--token-file", TOKEN_FILE)
    with serving(command=command, env=environ) as (server, address):
        yield server, lambda method, **params: result_of(address, method, params)


def result_of(address: str, method: str, params: dict[str, Any], **headers: str) -> dict[str, Any]:
    meta = {
        "io.modelcontextprotocol/protocolVersion": MODERN,
        "io.modelcontextprotocol/clientCapabilities": DECLARED,
    }
    body = {"jsonrpc": "2.0", "id": 1, "method": method, "params": {**params, "_meta": meta}}
    sent = {
        "Content-Type": "application/json",
        "Accept": "application/json, text/event-stream",
        "MCP-Protocol-Version": MODERN,
        "Mcp-Method": method,
        "Mcp-Name": params.get("taskId") or params.get("name", ""),
        **BEARER,
        **headers,
    }
    request = urllib.request.Request(address, json.dumps(body).encode(), sent)
    with urllib.request.urlopen(request, timeout=PATIENCE_S) as response:
        text = response.read().decode()
    data = text if text.startswith("{") else text.rpartition("data: ")[2]
    answer: dict[str, Any] = json.loads(data)
    assert "result" in answer, answer
    found: dict[str, Any] = answer["result"]
    return found


@pytest.mark.skipif(sys.platform == "win32", reason="there is no redis-server")
@pytest.mark.parametrize("store", ["files", "redis"])
def test_another_process_answers_for_tasks_also_of_a_killed_one(
    environ: dict[str, str], redis_servers: Servers, store: str
) -> None:
    environ |= {"DESK_STATE_KEY": KEY, "DESK_STORE": redis_servers().url if store == "redis" else ""}
    with process(environ) as (first, ask_first), process(environ) as (_, ask_second):
        slow = ask_first("tools/call", name="compute", arguments={"seconds": 2})["taskId"]
        cancelled = ask_first("tools/call", name="compute", arguments={"seconds": 600})["taskId"]
        endless = ask_first("tools/call", name="compute", arguments={"seconds": 600})["taskId"]
        asking = ask_first("tools/call", name="confirm", arguments={"name": "the file"})["taskId"]
        assert ask_second("tasks/get", taskId=endless)["status"] == "working"
        ask_second("tasks/cancel", taskId=cancelled)
        until(ask_first, cancelled, "cancelled")
        assert said(until(ask_second, slow, "completed")["result"]) == "computed for 2 s"
        until(ask_second, asking, "input_required")
        first.kill()
        first.wait(PATIENCE_S)
        assert said(ask_second("tasks/get", taskId=slow)["result"]) == "computed for 2 s"
        ask_second("tasks/update", taskId=asking, inputResponses={"change": {"action": "accept", "content": {}}})
        assert said(until(ask_second, asking, "completed")["result"]) == "the file: accept"
        assert until(ask_second, endless, "failed")["error"]["code"] == -32603


def test_tasks_of_clients_over_stdio_are_listed_nowhere(environ: dict[str, str]) -> None:
    with stdio(environ) as peer:
        methods = ("tasks/list", "tasks/result")
        responses = [peer.response(peer.send(method, taskId="a")) for method in methods]

    assert {each["error"]["code"] for each in responses} == {-32601}


def test_a_start_and_a_call_of_a_client_without_tasks_import_nothing_for_them(environ: dict[str, str]) -> None:
    program = (
        "import sys; from desk_server.server import build_dispatcher; build_dispatcher().methods; "
        "print([name for name in sys.modules if name.startswith('toolmason_runtime.tasks')])"
    )
    run = subprocess.run(
        [sys.executable, "-c", program], env={**os.environ, **environ}, capture_output=True, check=True, timeout=60
    )
    assert run.stdout == b"[]\n"
