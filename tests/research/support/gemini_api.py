"""A loopback stand-in for the Gemini HTTP API: it says what a test tells it to, and keeps what it was asked.

What a test scripts are replies, each made of steps: `Say`, `Call`, `Refuse`, `Hold`, `Pause`, `Break`. Only requests
for a streamed answer take a reply from the script; token counts and what the CLI asks on the side are answered anyhow.

    api.will(Call("read_file", file_path="a.txt"))       # the first turn: the model calls a tool
    api.will(Say("Hello "), Say("world"))                # the second: two pieces of text
    api.always(Refuse(429, "RESOURCE_EXHAUSTED"))        # every later one
    api.decides(lambda request: [Say(request.prompt)])   # instead of `always`: a reply that depends on the request
"""

from __future__ import annotations

import json
import threading
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Final, Self

HELD_S: Final = 60.0
"""Seconds that `Hold` lasts at most, so that a test which fails ends."""
TOKENS: Final = {"promptTokenCount": 100, "candidatesTokenCount": 20, "totalTokenCount": 120}
"""What each streamed turn is said to have cost."""

ASIDE: Final = json.dumps(
    {"complexity_reasoning": "small", "complexity_score": 10, "reasoning": "", "next_speaker": "user"}
)
"""What is answered when the CLI asks something on the side, as which model a question needs."""


@dataclass(frozen=True)
class Say:
    """One piece of text."""

    text: str


@dataclass(frozen=True)
class Found:
    """The text of a search of the web, with the addresses of its pages."""

    text: str
    pages: tuple[str, ...]


@dataclass(frozen=True)
class Call:
    """The model calls a tool; several in one reply are one turn. `Call("read_file", file_path="a.txt")`."""

    name: str
    args: dict[str, Any]

    def __init__(self, name: str, /, **args: Any) -> None:
        object.__setattr__(self, "name", name)
        object.__setattr__(self, "args", args)


@dataclass(frozen=True)
class Refuse:
    """An HTTP error in the shape of Google's: it must be the only step of its reply."""

    code: int
    status: str
    message: str = ""
    retry_after_s: float | None = None

    @property
    def body(self) -> dict[str, Any]:
        details = []
        if self.retry_after_s is not None:
            kind = "type.googleapis.com/google.rpc.RetryInfo"
            details.append({"@type": kind, "retryDelay": f"{self.retry_after_s}s"})
        error = {"code": self.code, "message": self.message or self.status, "status": self.status}
        return {"error": {**error, "details": details} if details else error}


@dataclass(frozen=True)
class Hold:
    """Send nothing more until the test says `api.release()`; `api.held` is set meanwhile."""


@dataclass(frozen=True)
class Pause:
    """Send nothing for some seconds."""

    seconds: float


@dataclass(frozen=True)
class Break:
    """Close the connection in mid-answer."""


Step = Say | Found | Call | Refuse | Hold | Pause | Break
Reply = Sequence[Step]

TOO_MANY: Final = Refuse(429, "RESOURCE_EXHAUSTED", "Resource has been exhausted (e.g. check quota).")
OVERLOADED: Final = Refuse(503, "UNAVAILABLE", "The model is overloaded. Please try again later.")
NO_MODEL: Final = Refuse(404, "NOT_FOUND", "models/nonesuch is not found for API version v1beta")
BAD_KEY: Final = Refuse(400, "INVALID_ARGUMENT", "API key not valid. Please pass a valid API key.")


@dataclass(frozen=True)
class Request:
    """One request for content, as it came."""

    path: str
    headers: dict[str, str]
    body: dict[str, Any] = field(repr=False)

    @property
    def model(self) -> str:
        return self.path.partition("/models/")[2].partition(":")[0]

    @property
    def is_stream(self) -> bool:
        return "streamGenerateContent" in self.path

    @property
    def texts(self) -> list[str]:
        """Give every text of the conversation, the oldest first."""
        parts = [part for content in self.body.get("contents", ()) for part in content.get("parts", ())]
        return [part["text"] for part in parts if "text" in part]

    @property
    def prompt(self) -> str:
        """Give the last text of the user, which is the whole question in a first turn."""
        parts = [
            part
            for each in self.body.get("contents", ())
            if each.get("role") == "user"
            for part in each.get("parts", ())
        ]
        return str(next((part["text"] for part in reversed(parts) if "text" in part), ""))

    @property
    def tools(self) -> set[str]:
        """Give the names of the tools that the model is offered."""
        declared = [tool.get("functionDeclarations", ()) for tool in self.body.get("tools", ())]
        return {each["name"] for some in declared for each in some}

    @property
    def results(self) -> list[dict[str, Any]]:
        """Give what tools returned, in the order of the conversation: `{"name":..., "response":...}`."""
        parts = [part for content in self.body.get("contents", ()) for part in content.get("parts", ())]
        return [part["functionResponse"] for part in parts if "functionResponse" in part]


class GeminiApi:
    """The stub. `start` and `stop` it, or use it as a context manager; `url` is its address."""

    def __init__(self) -> None:
        self.requests: list[Request] = []
        """Every request for content so far, streamed or not."""
        self.held = threading.Event()
        """Set while a reply waits at a `Hold`."""
        self._released = threading.Event()
        self._script: deque[Reply] = deque()
        self._decide: Callable[[Request], Iterable[Step]] = lambda _: (Say("Done."),)
        self._lock = threading.Lock()
        self._server: ThreadingHTTPServer | None = None

    @property
    def url(self) -> str:
        assert self._server is not None, "the stub is not started"
        return f"http://127.0.0.1:{self._server.server_address[1]}"

    @property
    def streamed(self) -> list[Request]:
        """Give the requests that took a reply."""
        return [each for each in self.requests if each.is_stream]

    def will(self, *steps: Step) -> None:
        """Append one reply to the script."""
        self._script.append(steps)

    def always(self, *steps: Step) -> None:
        """Give this reply whenever the script is used up; it is "Done." unless told otherwise."""
        self._decide = lambda _: steps

    def decides(self, decide: Callable[[Request], Iterable[Step]]) -> None:
        """Let a function choose the reply whenever the script is used up."""
        self._decide = decide

    def release(self) -> None:
        """Let every reply that waits at a `Hold` go on, now and later."""
        self._released.set()

    def start(self) -> None:
        self._server = _Server(self)
        threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True).start()

    def stop(self) -> None:
        self.release()
        if self._server is not None:
            self._server.shutdown()
            self._server.server_close()
            self._server = None

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    def answer(self, request: Request) -> Iterator[Step]:
        """Give the steps of the reply to a request, waiting where they say so."""
        with self._lock:
            self.requests.append(request)
            scripted = self._script.popleft() if request.is_stream and self._script else None
        steps = self._decide(request) if scripted is None else scripted
        for step in steps:
            if isinstance(step, Hold):
                self.held.set()
                self._released.wait(HELD_S)
                self.held.clear()
            elif isinstance(step, Pause):
                time.sleep(step.seconds)
            else:
                yield step


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 128

    def __init__(self, api: GeminiApi) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.api = api

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Say nothing: a CLI that is ended in mid-answer hangs up, and that is the test."""


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: _Server

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002  the base class names it
        pass

    def do_GET(self) -> None:
        self._send({})

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers.get("content-length", 0))) or b"{}")
        if "countTokens" in self.path:
            self._send({"totalTokens": 10})
            return
        request = Request(path=self.path, headers={k.lower(): v for k, v in self.headers.items()}, body=body)
        steps = self.server.api.answer(request)
        first = next(steps, None)
        if isinstance(first, Refuse):
            self._send(
                first.body, first.code, {} if first.retry_after_s is None else {"retry-after": str(first.retry_after_s)}
            )
        elif request.is_stream:
            self._stream(first, steps)
        else:
            given = (first, *steps)
            parts = [part for step in given for part in _parts(step)]
            asks_for_json = request.body.get("generationConfig", {}).get("responseMimeType") == "application/json"
            answer = _chunk([{"text": ASIDE}] if asks_for_json else parts, is_last=True)
            pages = [page for step in given if isinstance(step, Found) for page in step.pages]
            if pages:
                chunks = [{"web": {"uri": page, "title": f"Title of {page}"}} for page in pages]
                answer["candidates"][0]["groundingMetadata"] = {"groundingChunks": chunks, "groundingSupports": []}
            self._send(answer)

    def _stream(self, first: Step | None, rest: Iterator[Step]) -> None:
        self.send_response(200)
        self.send_header("content-type", "text/event-stream")
        self.send_header("transfer-encoding", "chunked")
        self.end_headers()
        for step in (first, *rest) if first is None else _chain(first, rest):
            if isinstance(step, Break):
                self.close_connection = True
                return
            self._event(_chunk(_parts(step), is_last=False))
        self._event(_chunk([{"text": ""}], is_last=True))
        self.wfile.write(b"0\r\n\r\n")

    def _event(self, data: dict[str, Any]) -> None:
        raw = b"data: " + json.dumps(data, ensure_ascii=False).encode() + b"\r\n\r\n"
        self.wfile.write(b"%x\r\n%b\r\n" % (len(raw), raw))
        self.wfile.flush()

    def _send(self, data: dict[str, Any], code: int = 200, headers: dict[str, str] | None = None) -> None:
        raw = json.dumps(data, ensure_ascii=False).encode()
        self.send_response(code)
        for name, value in {
            "content-type": "application/json",
            "content-length": str(len(raw)),
            **(headers or {}),
        }.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(raw)


def _chain(first: Step, rest: Iterator[Step]) -> Iterator[Step]:
    yield first
    yield from rest


def _parts(step: Step | None) -> list[dict[str, Any]]:
    match step:
        case Say(text) | Found(text, _):
            return [{"text": text}]
        case Call():
            return [{"functionCall": {"name": step.name, "args": step.args}}]
    return []


def _chunk(parts: list[dict[str, Any]], *, is_last: bool) -> dict[str, Any]:
    candidate: dict[str, Any] = {"content": {"role": "model", "parts": parts}, "index": 0}
    if is_last:
        candidate["finishReason"] = "STOP"
    return {"candidates": [candidate], "usageMetadata": TOKENS, "modelVersion": "stub"}
