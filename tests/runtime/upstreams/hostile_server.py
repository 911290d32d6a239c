"""An upstream that does what its caller tells it: `hostile_server.py [PORT]`, over stdio or HTTP, of 2025-11-25.

The tool `act` takes `steps`. Each step is a message, `{"method": ..., "params": ...}`, with the keys of `run_step`. The
result is JSON: the answers to the requests, and the capabilities that the client declared. A first step `{"raw": ...}`
is the whole answer, with `ID` for its id.
"""

from __future__ import annotations

import json
import queue
import sys
import threading
import time
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

capabilities: dict[str, Any] = {}
answers: queue.Queue[dict[str, Any]] = queue.Queue()
ids = iter(range(1_000_000))
Send = Callable[[dict[str, Any] | bytes], None]
"""Sends a message; bytes are sent unchanged, with one byte for each character of `raw`."""


def run_step(step: dict[str, Any], send: Send) -> list[Any]:
    """Send a message `times` times; requests wait for their answer, all together if they are `parallel`."""
    times, is_request = step.pop("times", 1), step.pop("is_request", True)
    parallel, background, sleep_s = (step.pop(key, 0) for key in ("parallel", "background", "sleep_s"))
    if background:
        threading.Thread(target=flood, args=(step, send, background), daemon=True).start()
        return []
    time.sleep(sleep_s)
    results: list[Any] = []
    for number in range(times):
        message = json.loads(json.dumps(step).replace("NUMBER", str(number)))
        send({"jsonrpc": "2.0", **message, **({"id": f"q{next(ids)}"} if is_request else {})})
        if is_request and not parallel:
            results.append(answers.get(timeout=30))
    if is_request and parallel:
        results += [answers.get(timeout=30) for _ in range(times)]
    return results


def flood(step: dict[str, Any], send: Send, seconds: float) -> None:
    """Send a notification again and again."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        try:
            send({"jsonrpc": "2.0", **step})
        except OSError:
            return


def respond(message: dict[str, Any], send: Send) -> None:
    """Answer a request of the client."""
    method: str = message["method"]
    result: dict[str, Any] = {}
    if method == "initialize":
        capabilities.update(message["params"]["capabilities"])
        info = {"name": "ev", "version": "1"}
        result = {"protocolVersion": "2025-11-25", "capabilities": {"tools": {}}, "serverInfo": info}
    elif method == "tools/list":
        result = {"tools": [{"name": "act", "inputSchema": {"type": "object"}}]}
    elif method == "tools/call":
        token = (message["params"].get("_meta") or {}).get("progressToken")
        steps = json.loads(
            json.dumps(message["params"].get("arguments", {}).get("steps", [])).replace('"TOKEN"', f"{token}")
        )
        if steps and "raw" in steps[0]:
            send(steps[0]["raw"].replace("ID", json.dumps(message["id"])).encode("latin-1"))
            return
        done = [answer for step in steps for answer in run_step(step, send)]
        text = json.dumps({"answers": done, "capabilities": capabilities})
        result = {"content": [{"type": "text", "text": text}]}
    elif method != "ping":
        send({"jsonrpc": "2.0", "id": message["id"], "error": {"code": -32601, "message": "unknown"}})
        return
    send({"jsonrpc": "2.0", "id": message["id"], "result": result})


def receive(message: dict[str, Any], send: Send) -> None:
    """Handle a message of the client."""
    if "method" not in message:
        answers.put(message.get("result", {"error": message.get("error")}))
    elif "id" in message:
        respond(message, send)


def encoded(message: dict[str, Any] | bytes) -> bytes:
    return message if isinstance(message, bytes) else json.dumps(message).encode()


def serve_stdio() -> None:
    lock = threading.Lock()

    def send(message: dict[str, Any] | bytes) -> None:
        with lock:
            sys.stdout.buffer.write(encoded(message) + b"\n")
            sys.stdout.buffer.flush()

    for line in sys.stdin:
        threading.Thread(target=receive, args=(json.loads(line), send), daemon=True).start()


class Handler(BaseHTTPRequestHandler):
    """Streamable HTTP: each request gets a stream of events."""

    def do_POST(self) -> None:
        message = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        if "method" in message and "id" in message:
            self.send_response(200)
            self.send_header("Content-Type", "text/event-stream")
            self.end_headers()
            receive(message, self.write)
        else:
            receive(message, lambda _: None)
            self.send_response(202)
            self.send_header("Content-Length", "0")
            self.end_headers()

    def do_GET(self) -> None:
        self.send_error(405)

    def do_DELETE(self) -> None:
        self.send_error(405)

    def write(self, message: dict[str, Any] | bytes) -> None:
        self.wfile.write(b"event: message\ndata: %b\n\n" % encoded(message))
        self.wfile.flush()

    def log_message(self, *_: Any) -> None:
        pass


if __name__ == "__main__":
    if len(sys.argv) > 1:
        with ThreadingHTTPServer(("127.0.0.1", int(sys.argv[1])), Handler) as http_server:
            sys.stdout.write("listening\n")
            sys.stdout.flush()
            http_server.serve_forever()
    else:
        serve_stdio()
