"""How a server ends: with status 0, silently, at once, and whatever its standard streams are."""

from __future__ import annotations

import http.client
import json
import re
import signal
import subprocess
import sys
from contextlib import ExitStack

import pytest
from oracle import LEGACY
from stdio_peer import PATIENCE_S, talking

ENDS_BY_ITSELF = """
import atexit, runpy, sys
from toolmason_runtime.transports import shutdown

shutdown.GRACE_S = 3600
atexit.register(print, "the interpreter was torn down", file=sys.stderr)
sys.argv[0] = "sample"
runpy.run_module("sample_server", run_name="__main__", alter_sys=True)
"""
"""Runs the sample where nothing bounds its end, and says on standard error whether `atexit` hooks run."""
COMMAND = (sys.executable, "-m", "code_server", ENDS_BY_ITSELF, "--classic")
SIGNALS = [signal.SIGINT, signal.SIGTERM]


@pytest.mark.parametrize(
    ("ending", "last_call"),
    [
        ("end of input", ""),
        ("end of input", "ask_in_a_thread"),
        (signal.SIGINT, "shout"),
        (signal.SIGINT, ""),
        (signal.SIGTERM, "ask_in_a_thread"),
        (signal.SIGTERM, "shout"),
    ],
)
def test_server_that_is_idle_ends_by_itself_and_without_tearing_the_interpreter_down(
    ending: str | signal.Signals, last_call: str, each_engine: str
) -> None:
    with talking(LEGACY, "--all", "--engine", each_engine, command=COMMAND) as peer:
        if last_call:
            peer.call(last_call, {"text": "a"})
        if isinstance(ending, signal.Signals):
            peer.process.send_signal(ending)
        else:
            peer.end_of_input()

        assert peer.exit_status() == 0
        assert peer.rest() == []
        assert peer.stderr() == ""


def test_interrupt_ends_a_server_that_was_started_with_interrupts_ignored(each_engine: str) -> None:
    command = ["sh", "-c", 'trap "" INT; exec "$@"', "sh", *COMMAND]
    with talking(LEGACY, "--engine", each_engine, command=command) as peer:
        peer.process.send_signal(signal.SIGINT)

        assert peer.exit_status() == 0
        assert peer.stderr() == ""


@pytest.mark.parametrize("number", SIGNALS)
@pytest.mark.parametrize("has_stream", [False, True])
def test_server_over_http_ends_by_itself_though_a_client_listens(number: signal.Signals, has_stream: bool) -> None:
    handshake = {"protocolVersion": LEGACY, "capabilities": {}, "clientInfo": {"name": "x", "version": "0"}}
    body = json.dumps({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": handshake})
    headers = {"Content-Type": "application/json", "Accept": "application/json, text/event-stream"}
    command = [*COMMAND, "--http", "--port", "0", "--farewell", "state is closed"]
    with ExitStack() as stack:
        server = stack.enter_context(subprocess.Popen(command, stderr=subprocess.PIPE, encoding="utf-8"))
        stack.callback(server.kill)
        assert server.stderr is not None
        found = re.search(r":(\d+)/mcp", server.stderr.readline())
        assert found

        def ask(method: str, body: str | None = None) -> http.client.HTTPResponse:
            connection = http.client.HTTPConnection("127.0.0.1", int(found[1]), timeout=PATIENCE_S)
            stack.callback(connection.close)
            connection.request(method, "/mcp", body, headers)
            return connection.getresponse()

        opened = ask("POST", body)
        headers["Mcp-Session-Id"] = opened.headers["Mcp-Session-Id"]
        opened.read()
        call = {"name": "show_state", "arguments": {}}
        ask("POST", json.dumps({"jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": call})).read()
        if has_stream:
            assert ask("GET").status == 200
        server.send_signal(number)

        assert server.wait(PATIENCE_S) == 0
        assert server.stderr.read() == "state is closed\n"


@pytest.mark.parametrize("closed", ["<&-", "<&- >&-", "<&- 2>&-", "<&- >&- 2>&-"])
def test_closed_input_ends_the_server_whatever_else_is_closed(closed: str, each_engine: str) -> None:
    command = ["sh", "-c", f'exec "$@" {closed}', "sh", sys.executable, "-m", "sample_server", "--engine", each_engine]
    done = subprocess.run(command, capture_output=True, check=False, timeout=PATIENCE_S)

    assert (done.returncode, done.stdout, done.stderr) == (0, b"", b"")


def test_server_over_http_runs_and_ends_though_its_input_is_closed() -> None:
    command = ["sh", "-c", 'exec "$@" <&-', "sh", sys.executable, "-m", "sample_server", "--http", "--port", "0"]
    with subprocess.Popen(command, stderr=subprocess.PIPE, encoding="utf-8") as server:
        try:
            assert server.stderr is not None
            assert server.stderr.readline().startswith("serving MCP at")
            server.send_signal(signal.SIGTERM)
            assert server.wait(PATIENCE_S) == 0
        finally:
            server.kill()
