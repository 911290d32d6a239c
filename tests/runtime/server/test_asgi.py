"""A server as an ASGI application, with the author's routes and middleware, limits, a health check and spans."""

from __future__ import annotations

import json
import os
import re
import signal
import socket
import subprocess
import sys
import threading
from contextlib import ExitStack
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from queue import Queue
from typing import Any

import pytest
from http_peer import BEARER, TOKEN_FILE, RawClient, asgi, fetch, post, serving
from mcp import Client
from oracle import ERAS, MODERN
from stdio_peer import PATIENCE_S

pytestmark = pytest.mark.anyio

HOOKED = """
import sys
from toolmason_runtime.server.command import Command
from sample_server.catalogue import CATALOGUE
from sample_server.server import OPTIONS, load_index

hooks = {"routes": "sample_server.web:routes", "middleware": "sample_server.web:middleware"}
flags = ["--classic", "--http", "--port", "0", *sys.argv[1:]]
about = {"catalogue": CATALOGUE, "load_index": load_index, "options": OPTIONS, "prog": "sample", "version": "1"}
sys.exit(Command(**about, **hooks).run(flags))
"""


@pytest.mark.parametrize("mode", ["legacy", MODERN])
async def test_application_serves_both_eras_and_ends_with_its_lifespan(mode: str) -> None:
    with asgi() as (process, address):
        async with Client(address, mode=mode) as client:
            result = await client.call_tool("shout", {"text": "a"})
        process.send_signal(signal.SIGTERM)
        status = process.wait(PATIENCE_S)

    assert result.content[0].text == "A"  # type: ignore[union-attr]
    assert status in {0, -signal.SIGTERM}  # uvicorn raises the signal again after its shutdown


@pytest.mark.parametrize("how", ["asgi", "command"])
def test_routes_need_the_token_unless_they_are_public_and_middleware_wraps_all(how: str) -> None:
    env = {"SAMPLE_TOKEN_FILE": TOKEN_FILE}
    server = asgi(env=env) if how == "asgi" else serving(command=["-m", "code_server", HOOKED], env=env)
    with server as (_, address):
        answers = [
            fetch(address, "GET", "/reports/may"),
            fetch(address, "GET", "/reports/may", **BEARER),
            fetch(address, "POST", "/hook", "text"),
            fetch(address, "GET", "/hook"),
            fetch(address, "POST", "/hook", "text", Host="evil.example"),
            fetch(address, "GET", "/else", **BEARER),
        ]
        without_token, with_token = post(address, {}), post(address, BEARER)

    assert [status for status, _, _ in answers] == [401, 200, 200, 401, 421, 404]
    assert [answers[1][2], answers[2][2]] == ["report of may", "TEXT"]
    assert [bool(headers["x-signed"]) for _, headers, _ in answers] == [False, True, True, False, False, True]
    assert (without_token, with_token) == (401, 200)


def test_route_with_the_path_of_the_server_ends_the_start() -> None:
    with asgi(app="reserved") as (process, said):
        status = process.wait(PATIENCE_S)

    assert status == 3  # of uvicorn, for a failed lifespan
    assert "a route must not have the path /mcp, which the server itself answers" in said


def test_invalid_setting_of_an_application_ends_the_start() -> None:
    with asgi(env={"SAMPLE_STATE_KEY": "short"}) as (process, said):
        process.wait(PATIENCE_S)

    assert "SAMPLE_STATE_KEY needs at least 32 random characters" in said


def test_hosts_of_an_application_are_those_of_its_variable_on_each_port() -> None:
    with asgi(env={"SAMPLE_ALLOW_HOST": "tools.example, [2001:db8::1]"}) as (_, address):
        hosts = [
            "127.0.0.1",
            "localhost:1",
            "tools.example:443",
            "[2001:db8::1]:8",
            "tools.example.evil",
            "evil.example",
        ]
        statuses = [post(address, {"Host": host}) for host in hosts]

    assert statuses == [200, 200, 200, 200, 421, 421]


async def test_application_that_is_not_open_answers_nothing() -> None:
    from sample_server.asgi import app

    async def nothing(*_: object) -> Any:
        raise AssertionError

    with pytest.raises(RuntimeError, match="run the application with its lifespan"):
        await app({"type": "http", "method": "GET", "path": "/mcp", "headers": []}, nothing, nothing)


@pytest.mark.parametrize("headers", [{}, {"Host": "192.0.2.1:8000"}, BEARER])
def test_health_check_needs_no_token_and_no_allowed_host(headers: dict[str, str]) -> None:
    with serving("--token-file", TOKEN_FILE) as (_, address):
        get, head, posted = (fetch(address, method, "/healthz", **headers) for method in ("GET", "HEAD", "POST"))

    assert (get[0], json.loads(get[2]), head[0], head[2]) == (200, {"status": "ok"}, 200, "")
    assert posted[0] != 200


@pytest.mark.parametrize("version", ERAS)
def test_further_requests_are_refused_with_retry_after(version: str) -> None:
    with serving("--max-requests", "2", "--max-client-requests", "3") as (_, address), ExitStack() as stack:
        client = RawClient(address, version, stack)
        waiting = [client.lines("wait", {}, {"progressToken": turn}) for turn in range(2)]
        for said in waiting:
            assert "notifications/progress" in next(line for line in said if line.startswith("data: {"))
        refused = client.post({"jsonrpc": "2.0", "id": 9, "method": "ping"})
        health = fetch(address, "GET", "/healthz")[0]

        assert (refused.status, refused.headers["Retry-After"], health) == (503, "1", 200)


@pytest.mark.parametrize("version", ERAS)
def test_call_that_takes_too_long_ends_with_an_error_for_the_model(version: str) -> None:
    with serving("--call-timeout", "1") as (_, address), ExitStack() as stack:
        client = RawClient(address, version, stack)
        answered = list(client.call("wait", {}))[-1]
        following = next(client.call("shout", {"text": "a"}))

    assert answered["result"]["isError"] is True
    assert "cancelled after 1 s, the limit of this server" in answered["result"]["content"][0]["text"]
    assert following["result"]["content"][0]["text"] == "A"


LATE = """
from toolmason_runtime.transports import http_app, limits
http_app.limited = lambda app, number, **_: limits.limited(app, number, body_timeout_s=1)
import uvicorn
from sample_server.asgi import app
uvicorn.run(app, port=0)
"""


def test_body_that_does_not_arrive_in_time_is_refused_by_each_asgi_server() -> None:
    environ = {**os.environ, "SAMPLE_OPEN": "1"}
    process = subprocess.Popen(
        [sys.executable, "-m", "code_server", LATE], stderr=subprocess.PIPE, encoding="utf-8", env=environ
    )
    try:
        assert process.stderr is not None
        found = None
        while found is None:
            found = re.search(r"running on http://127\.0\.0\.1:(\d+)", process.stderr.readline())
        with socket.create_connection(("127.0.0.1", int(found[1])), timeout=PATIENCE_S) as connection:
            connection.sendall(b"POST /mcp HTTP/1.1\r\nHost: localhost\r\nContent-Length: 100\r\n\r\n{")
            answer = connection.recv(65_536)
    finally:
        process.kill()
        process.communicate(timeout=PATIENCE_S)

    assert answer.startswith(b"HTTP/1.1 408 ")


class Collector(BaseHTTPRequestHandler):
    """Collects what an exporter sends."""

    def do_POST(self) -> None:
        self.server.received.put(self.rfile.read(int(self.headers["Content-Length"])))  # type: ignore[attr-defined]
        self.send_response(200)
        self.end_headers()

    def log_message(self, *_: object) -> None: ...


@pytest.mark.parametrize("version", ERAS)
def test_spans_have_the_name_of_the_tool_and_the_parent_of_the_request(version: str) -> None:
    from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

    with ThreadingHTTPServer(("127.0.0.1", 0), Collector) as collector, ExitStack() as stack:
        collector.received = Queue()  # type: ignore[attr-defined]
        threading.Thread(target=collector.serve_forever, daemon=True).start()
        stack.callback(collector.shutdown)
        endpoint = {"OTEL_EXPORTER_OTLP_ENDPOINT": f"http://127.0.0.1:{collector.server_port}"}
        searching = ("-m", "sample_server", "--http", "--port", "0")
        with serving(command=searching, env=endpoint) as (process, address):
            client = RawClient(address, version, stack)
            client._headers["traceparent"] = f"00-{'ab' * 16}-{'cd' * 8}-01"
            answered = next(client.call("call", {"tool_name": "shout", "args": {"text": "a-private-text"}}))
            process.send_signal(signal.SIGTERM)
            data = collector.received.get(timeout=PATIENCE_S)  # type: ignore[attr-defined]
            status = process.wait(PATIENCE_S)
    request = ExportTraceServiceRequest.FromString(data)
    [resource] = request.resource_spans
    spans = [span for scope in resource.scope_spans for span in scope.spans]
    span = next(span for span in spans if span.name == "tools/call shout")
    attributes = {each.key: each.value.string_value for each in (*span.attributes, *resource.resource.attributes)}

    assert (answered["result"]["content"][0]["text"], status) == ("A-PRIVATE-TEXT", 0)
    assert (span.trace_id.hex(), span.parent_span_id.hex()) == ("ab" * 16, "cd" * 8)
    assert (attributes["gen_ai.tool.name"], attributes["service.name"]) == ("shout", "sample")
    assert attributes["service.version"] == "1.2.3"
    assert b"a-private-text" not in data


def test_collector_without_the_sdk_is_reported() -> None:
    hide = "import sys; sys.modules['opentelemetry.sdk'] = None\n"
    code = hide + "import importlib.util as u; find = u.find_spec\n"
    code += "u.find_spec = lambda name, *rest: None if name == 'opentelemetry.sdk' else find(name, *rest)\n" + HOOKED
    env = {"OTEL_EXPORTER_OTLP_ENDPOINT": "http://127.0.0.1:1"}
    command = [sys.executable, "-c", code]
    with subprocess.Popen(command, stderr=subprocess.PIPE, encoding="utf-8", env={**os.environ, **env}) as process:
        try:
            assert process.stderr is not None
            line = process.stderr.readline()
        finally:
            process.kill()

    assert "needs OpenTelemetry: `pip install 'toolmason[telemetry]'`" in line
