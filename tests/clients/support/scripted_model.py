"""A model on loopback that answers a real client with prepared tool calls, through the API that the client speaks."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from model_apis import API_BY_PATH, Api, Call, Conversation

Step = tuple[str, Mapping[str, Any]]
"""A call of a tool: its own name, which can have a prefix in the client, and the arguments."""
FINAL_TEXT = "Done."


class ScriptedModel:
    """Sends the steps one after another, each after the result of the last one, then `FINAL_TEXT`."""

    def __init__(self, steps: Sequence[Step] = ()) -> None:
        self.steps = steps
        self.conversations: list[Conversation] = []
        """The content of each request that offered tools."""
        self.tools_field: Any = None
        """The member `tools` of the last of these requests."""
        self.outside: list[str] = []
        """Requests of the client for other hosts. They are refused."""

    @property
    def tools(self) -> list[str]:
        """The tools that the client offered at last, by their names in the client."""
        return list(self.conversations[-1].tools)

    @property
    def results(self) -> list[str]:
        """The results of the steps, as the client sent them."""
        return self.conversations[-1].results

    @property
    def texts(self) -> list[str]:
        """Texts of the user that the client sent."""
        return self.conversations[-1].texts

    def answer(self, api: Api, request: Mapping[str, Any]) -> Call | str:
        """Return the answer to a request of the client."""
        conversation = api.read(request)
        if not conversation.tools:  # for the title of the conversation, for example
            return FINAL_TEXT
        self.conversations.append(conversation)
        self.tools_field = request["tools"]
        number = len(conversation.results)
        if number >= len(self.steps):
            return FINAL_TEXT
        tool, arguments = self.steps[number]
        names = [name for name in conversation.tools if name == tool or name.endswith(f"_{tool}")]
        if not names:
            return f"The client does not offer {tool}."
        return Call(number, min(names, key=len), arguments)


@contextmanager
def serving(model: ScriptedModel) -> Iterator[str]:
    """Serve the model on a free port of loopback; yield its base URL."""

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            request = json.loads(self._body() or b"{}")
            path = self.path.partition("?")[0]
            api = next((api for end, api in API_BY_PATH.items() if path.endswith(end)), None)
            if self.path.startswith("http"):
                self._refuse()
            elif api is None:
                self._send({"totalTokens": 1, "input_tokens": 1})  # of a path that counts tokens
            else:
                self._send(api.write(model.answer(api, request), request))

        def do_GET(self) -> None:
            if self.path.startswith("http"):
                self._refuse()
            elif self.path.endswith("/models"):
                self._send({"object": "list", "data": [], "models": []})
            else:
                self.send_error(404)

        def do_HEAD(self) -> None:
            self.send_response(200)
            self.send_header("Content-Length", "0")
            self.end_headers()

        def do_CONNECT(self) -> None:
            self._refuse()

        def _refuse(self) -> None:
            """Refuse a request that the client sent to this server as its proxy."""
            model.outside.append(self.path)
            self.send_error(403)

        def _body(self) -> bytes:
            if "chunked" not in self.headers.get("Transfer-Encoding", ""):
                return self.rfile.read(int(self.headers.get("Content-Length", 0)))
            parts = []
            while size := int(self.rfile.readline(), 16):
                parts.append(self.rfile.read(size))
                self.rfile.readline()
            return b"".join(parts)

        def _send(self, answer: Mapping[str, Any] | bytes) -> None:
            """Send JSON, or server-sent events."""
            body = answer if isinstance(answer, bytes) else json.dumps(answer).encode()
            self.send_response(200)
            self.send_header("Content-Type", "text/event-stream" if body is answer else "application/json")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, format: str, *args: Any) -> None:  # noqa: A002  the name of the base class
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
