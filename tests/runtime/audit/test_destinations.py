"""The other ways to a log: a collector of OpenTelemetry, and an ASGI application."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import anyio
import anyio.lowlevel
import httpx2
import pytest
from ledger_process import Ledger, Trail
from notes_process import META, PATIENCE_S
from opentelemetry.proto.collector.logs.v1.logs_service_pb2 import ExportLogsServiceRequest
from toolmason_runtime.audit import events

pytestmark = pytest.mark.anyio
Records = list[tuple[str, dict[str, Any]]]


class Collector(ThreadingHTTPServer):
    """A collector on loopback, which keeps the records that it gets."""

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.records: Records = []
        self.services: set[str] = set()


class _Handler(BaseHTTPRequestHandler):
    server: Collector

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["content-length"]))
        if self.headers.get("content-encoding") == "gzip":
            import gzip

            body = gzip.decompress(body)
        for resource in ExportLogsServiceRequest.FromString(body).resource_logs:
            attributes = {item.key: item.value.string_value for item in resource.resource.attributes}
            self.server.services.add(attributes["service.name"])
            for scope in resource.scope_logs:
                for record in scope.log_records:
                    fields = {item.key: item.value for item in record.attributes}
                    self.server.records.append((record.body.string_value, fields))
        self.send_response(200)
        self.end_headers()

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002  the signature of the base class
        pass


@pytest.fixture
def collector() -> Iterator[Collector]:
    with Collector() as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        yield server
        server.shutdown()
        thread.join()


def test_events_become_log_records_of_a_collector(ledger: Ledger, collector: Collector) -> None:
    env = {"OTEL_EXPORTER_OTLP_ENDPOINT": f"http://127.0.0.1:{collector.server_port}", "LEDGER_AUDIT": "otel"}
    with ledger.stdio(Trail(Path()), env=env) as peer:
        peer.call("list_entries", {"word": "private"})
        peer.call("list_entries", {"word": 1})

    assert [event for event, _ in collector.records] == ["start", "call", "refusal", "stop"]
    call = collector.records[1][1]
    assert (call["tool"].string_value, call["outcome"].string_value) == ("list_entries", "ok")
    assert call["args_bytes"].int_value == len('{"word":"private"}')
    assert "private" not in str(collector.records)
    assert collector.services == {"ledger"}


APP = """
import anyio, json, sys
import httpx2
from sample_server.asgi import app


async def main():
    requests = anyio.create_memory_object_stream(1)
    sent = []
    async def receive():
        return await requests[1].receive()
    async def send(message):
        sent.append(message)
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(app, {"type": "lifespan"}, receive, send)
        await requests[0].send({"type": "lifespan.startup"})
        while not sent:
            await anyio.sleep(0.01)
        if sent[0]["type"] == "lifespan.startup.complete":
            transport = httpx2.ASGITransport(app)
            async with httpx2.AsyncClient(transport=transport, base_url="http://127.0.0.1") as client:
                message, headers = json.loads(sys.argv[1])
                response = await client.post("/mcp", json=message, headers=headers)
                refused = await client.post("/mcp", json=message, headers={**headers, "host": "other.example"})
                print(response.status_code, refused.status_code)
            await requests[0].send({"type": "lifespan.shutdown"})
        else:
            print(sent[0]["message"])


anyio.run(main)
"""


def run_app(path: str) -> str:
    params = {"name": "count_words", "arguments": {"text": "a", "label": None}, "_meta": META}
    message = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}
    headers = {
        "accept": "application/json, text/event-stream",
        "mcp-method": "tools/call",
        "mcp-name": "count_words",
        "mcp-protocol-version": "2026-07-28",
    }
    ended = subprocess.run(
        [sys.executable, "-c", APP, json.dumps([message, headers])],
        env={**os.environ, "SAMPLE_AUDIT": path, "SAMPLE_OPEN": "1"},
        capture_output=True,
        encoding="utf-8",
        timeout=PATIENCE_S,
        check=False,
    )
    assert ended.returncode == 0, ended.stderr
    return ended.stdout


def test_an_asgi_application_writes_the_log_of_its_variable(trail: Trail, capsys: pytest.CaptureFixture[str]) -> None:
    assert run_app(str(trail.path)) == "200 421\n"

    lines = trail.read(capsys)
    assert [(line["event"], line.get("tool"), line.get("rule")) for line in lines] == [
        ("start", None, None),
        ("call", "count_words", None),
        ("refusal", None, "HOST"),
        ("stop", None, None),
    ]


def test_an_asgi_application_does_not_start_without_its_log(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    assert "the audit log" in run_app(str(tmp_path / "file" / "audit.jsonl"))
    assert "must be an absolute path" in run_app("audit.jsonl")


async def test_a_full_log_makes_the_server_unhealthy(monkeypatch: pytest.MonkeyPatch) -> None:
    from toolmason_runtime.audit.log import AuditLog
    from toolmason_runtime.transports.http_app import Extras, http_app

    class Full:
        def append(self, _: bytes) -> None:
            raise OSError(28, "No space left on device")

        def close(self) -> None:
            pass

    log = AuditLog(Full(), bytes(32), {})
    monkeypatch.setattr(events, "_log", log)
    app = http_app(lambda *_: anyio.lowlevel.checkpoint(), Extras(), hosts=["127.0.0.1"])
    async with httpx2.AsyncClient(transport=httpx2.ASGITransport(app), base_url="http://127.0.0.1") as client:
        before = await client.get("/healthz")
        log.write("call", {})
        after = await client.get("/healthz")

    assert (before.status_code, after.status_code) == (200, 503)
    assert after.json() == {"status": "the audit log cannot be written"}
