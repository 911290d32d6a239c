"""A model endpoint on loopback that answers a real client with prepared tool calls (OpenAI Responses API)."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

Step = tuple[str, Mapping[str, Any]]
"""A call of a tool of the server under test: its own name, and the arguments."""
FINAL_TEXT = "Done."


class ScriptedModel:
    """Sends the steps one after another, each after the result of the last one, then `FINAL_TEXT`."""

    def __init__(self, steps: Sequence[Step]) -> None:
        self.steps = steps
        self.tools: list[str] = []
        """The tools that the client offered, by their names in the client."""
        self.results: list[str] = []
        """What the client sent as the results of the steps."""

    def answer(self, request: Mapping[str, Any]) -> dict[str, Any]:
        """Return the output item for a request of the client."""
        offered = {
            tool["name"]: (group["name"], tool["name"])
            for group in request.get("tools", ())
            if group.get("type") == "namespace"  # the tools of one MCP server
            for tool in group["tools"]
        }
        self.tools = list(offered)
        outputs = [item["output"] for item in request["input"] if item["type"] == "function_call_output"]
        self.results = [output if isinstance(output, str) else json.dumps(output) for output in outputs]
        if len(outputs) >= len(self.steps):
            text = {"type": "output_text", "text": FINAL_TEXT, "annotations": []}
            return {"type": "message", "id": "msg_1", "role": "assistant", "status": "completed", "content": [text]}
        tool, arguments = self.steps[len(outputs)]
        namespace, name = offered[tool]
        return {
            "type": "function_call",
            "id": f"fc_{len(outputs)}",
            "call_id": f"call_{len(outputs)}",
            "namespace": namespace,
            "name": name,
            "arguments": json.dumps(arguments),
            "status": "completed",
        }


def _events(model: str, item: Mapping[str, Any]) -> Iterator[bytes]:
    """Yield the server-sent events of one response."""
    response: dict[str, Any] = {"id": "resp_1", "object": "response", "model": model, "status": "in_progress"}
    usage = {"input_tokens": 1, "output_tokens": 1, "total_tokens": 2}
    for kind, member in (
        ("response.created", {"response": {**response, "output": []}}),
        ("response.output_item.added", {"output_index": 0, "item": item}),
        ("response.output_item.done", {"output_index": 0, "item": item}),
        ("response.completed", {"response": {**response, "status": "completed", "output": [item], "usage": usage}}),
    ):
        yield f"event: {kind}\ndata: {json.dumps({'type': kind, **member})}\n\n".encode()


@contextmanager
def serving(model: ScriptedModel) -> Iterator[str]:
    """Serve the model on a free port of loopback; yield its base URL."""

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            request = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            events = b"".join(_events(request["model"], model.answer(request)))
            self.send_response(200)
            self.send_header("Content-Type", "text/event-stream")
            self.send_header("Content-Length", str(len(events)))
            self.end_headers()
            self.wfile.write(events)

        def log_message(self, format: str, *args: Any) -> None:  # noqa: A002  the name of the base class
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}/v1"
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
