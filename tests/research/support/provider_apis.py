"""Loopback stand-ins for the HTTP APIs of models: each judges requests by the types of the official library.

A test scripts replies, one for each request for an answer; without a script, the reply is "Done.":

    api.will(Say("Hello "), Say("world"))       two pieces of text
    api.will(Fail(429, retry_after="2"))        an HTTP error
    api.will(Say("Hel"), Break())               the connection is lost in the middle of an answer
    api.will(Say("Hel"), EndEarly())            the stream ends well, but the answer has no end
    api.will(Say("Hel"), FailInStream(529))     an error event in the middle of an answer
    api.will(Finish("refusal"))                 the reason for which the model stopped

A token is four bytes of the prompt. `api.requests` has what was asked, and `api.problems` what the types refuse.
"""

from __future__ import annotations

import json
import re
import socket
import struct
import sys
import threading
import time
from collections import deque
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, ClassVar, Final, Self
from urllib.parse import unquote
from zlib import crc32

from pydantic import BaseModel, TypeAdapter

BYTES_PER_TOKEN: Final = 4
TOKENS_WRITTEN: Final = 7
"""Tokens of every answer."""


@dataclass(frozen=True)
class Say:
    text: str


@dataclass(frozen=True)
class Fail:
    """An HTTP error. `name` is the API's name for it, `details` those of Google."""

    status: int
    retry_after: str = ""
    name: str = ""
    message: str = "It failed."
    details: tuple[dict[str, Any], ...] = ()
    headers: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class FailInStream:
    status: int


@dataclass(frozen=True)
class Break:
    pass


@dataclass(frozen=True)
class EndEarly:
    pass


@dataclass(frozen=True)
class Pause:
    seconds: float


@dataclass(frozen=True)
class Finish:
    reason: str


@dataclass(frozen=True)
class Garbage:
    """Text that is not in the API's format, with the status 200."""

    text: str = "<html>Sign in to this network</html>"


Step = Say | Fail | FailInStream | Break | EndEarly | Pause | Finish | Garbage


@dataclass(frozen=True)
class Request:
    method: str
    path: str
    headers: dict[str, str]
    body: dict[str, Any] = field(repr=False)
    size: int

    @property
    def text(self) -> str:
        """Return all texts of the prompt."""
        return "".join(_texts(self.body))


class ModelApi:
    """A stub: use it as a context manager."""

    root: ClassVar[str] = ""
    """The path that the base URL ends with."""

    def __init__(self) -> None:
        self.requests: list[Request] = []
        self.problems: list[str] = []
        self.connections = 0
        self._script: deque[Sequence[Step]] = deque()
        self._always: Sequence[Step] = (Say("Done."),)
        self._lock = threading.Lock()
        self._server: _Server | None = None

    @property
    def url(self) -> str:
        assert self._server is not None
        return f"http://127.0.0.1:{self._server.server_address[1]}{self.root}"

    @property
    def asked(self) -> list[Request]:
        """Return the requests for an answer."""
        return [request for request in self.requests if self.is_question(request)]

    def will(self, *steps: Step) -> None:
        self._script.append(steps)

    def always(self, *steps: Step) -> None:
        self._always = steps

    def __enter__(self) -> Self:
        self._server = _Server(self)
        threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        assert self._server is not None
        self._server.shutdown()
        self._server.server_close()

    def reply(self, request: Request) -> Reply:
        with self._lock:
            self.requests.append(request)
            try:
                other = self.other(request)
            except Exception as error:  # noqa: BLE001  the types of a library may raise anything
                self.problems.append(f"{request.method} {request.path}: {error}")
                return JsonReply(400, self.error(Fail(400, message="The request is invalid.")))
            if other is not None:
                return other
            try:
                self.judge(request)
            except Exception as error:  # noqa: BLE001  as above
                self.problems.append(f"{request.method} {request.path}: {error}")
                return JsonReply(400, self.error(Fail(400, message="The request is invalid.")))
            steps = self._script.popleft() if self._script else self._always
            usage = self.usage(request)
        first = steps[0] if steps else None
        if isinstance(first, Fail):
            headers = {**first.headers, **({"retry-after": first.retry_after} if first.retry_after else {})}
            return JsonReply(first.status, self.error(first), {**headers, **self.error_headers(first)})
        return StreamReply(self, request, steps, usage)

    # What an API decides

    content_type = "text/event-stream"

    def is_question(self, request: Request) -> bool:
        raise NotImplementedError

    def other(self, request: Request) -> JsonReply | None:
        """Return the reply to a request that is not for an answer; None if it is for one."""
        raise NotImplementedError

    def judge(self, request: Request) -> None:
        """Raise an error if the library's types refuse the request."""
        raise NotImplementedError

    def usage(self, request: Request) -> dict[str, int]:
        raise NotImplementedError

    def error(self, failure: Fail) -> dict[str, Any]:
        raise NotImplementedError

    def error_headers(self, failure: Fail) -> dict[str, str]:  # noqa: ARG002  one interface
        return {}

    def start(self, request: Request, usage: dict[str, int]) -> Iterator[bytes]:
        raise NotImplementedError

    def piece(self, request: Request, text: str) -> bytes:
        raise NotImplementedError

    def end(self, request: Request, usage: dict[str, int], reason: str) -> Iterator[bytes]:
        raise NotImplementedError

    def failure_event(self, status: int) -> bytes:
        raise NotImplementedError


@dataclass(frozen=True)
class JsonReply:
    status: int
    body: dict[str, Any]
    headers: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class StreamReply:
    api: ModelApi
    request: Request
    steps: Sequence[Step]
    usage: dict[str, int]


Reply = JsonReply | StreamReply


class AnthropicApi(ModelApi):
    """`/v1/messages`, with prefixes that are cached up to a mark, and found again at most 20 blocks before one."""

    NAMES: ClassVar[dict[int, str]] = {
        400: "invalid_request_error",
        401: "authentication_error",
        402: "billing_error",
        403: "permission_error",
        404: "not_found_error",
        413: "request_too_large",
        429: "rate_limit_error",
        500: "api_error",
        504: "timeout_error",
        529: "overloaded_error",
    }
    LOOK_BACK: ClassVar[int] = 20

    def __init__(self) -> None:
        super().__init__()
        self._cached: set[str] = set()

    def is_question(self, request: Request) -> bool:
        return request.path == "/v1/messages"

    def other(self, request: Request) -> JsonReply | None:
        if request.path == "/v1/messages/count_tokens":
            from anthropic.types import MessageCountTokensParams

            _check_typed(MessageCountTokensParams, request.body)
            return JsonReply(200, {"input_tokens": _tokens(request.text)})
        return None if self.is_question(request) else JsonReply(404, self.error(Fail(404)))

    def judge(self, request: Request) -> None:
        from anthropic.types.message_create_params import MessageCreateParamsStreaming

        _check_typed(MessageCreateParamsStreaming, request.body)
        marks = [block for block in self._blocks(request) if "cache_control" in block]
        assert len(marks) <= 4, "too many marks of a cache"
        assert "anthropic-version" in request.headers, "no version of the API"

    def _blocks(self, request: Request) -> list[dict[str, Any]]:
        return [block for message in request.body["messages"] for block in message["content"]]

    def usage(self, request: Request) -> dict[str, int]:
        blocks = self._blocks(request)
        prefixes = [
            json.dumps([request.body["system"], [b["text"] for b in blocks[: i + 1]]]) for i in range(len(blocks))
        ]
        marks = [index for index, block in enumerate(blocks) if "cache_control" in block]
        total = _tokens(request.text)
        near = [i for mark in marks for i in range(max(0, mark - self.LOOK_BACK + 1), mark + 1)]
        read = max(
            (_tokens("".join(json.loads(prefixes[i])[1])) for i in near if prefixes[i] in self._cached), default=0
        )
        upto = _tokens("".join(json.loads(prefixes[marks[-1]])[1])) if marks else 0
        self._cached |= {prefixes[mark] for mark in marks}
        written = max(0, upto - read)
        return {
            "input_tokens": total - read - written,
            "cache_read_input_tokens": read,
            "cache_creation_input_tokens": written,
        }

    def error(self, failure: Fail) -> dict[str, Any]:
        name = failure.name or self.NAMES.get(failure.status, "api_error")
        return {"type": "error", "error": {"type": name, "message": failure.message}}

    def start(self, request: Request, usage: dict[str, int]) -> Iterator[bytes]:
        message = {
            "id": "msg_1",
            "type": "message",
            "role": "assistant",
            "model": request.body["model"],
            "content": [],
            "stop_reason": None,
            "stop_sequence": None,
            "usage": {**usage, "output_tokens": 1},
        }
        yield self._event({"type": "message_start", "message": message})
        yield self._event({"type": "ping"}, check=False)
        yield self._event({"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}})

    def piece(self, request: Request, text: str) -> bytes:  # noqa: ARG002  one interface
        return self._event({"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": text}})

    def end(self, request: Request, usage: dict[str, int], reason: str) -> Iterator[bytes]:  # noqa: ARG002  one interface
        yield self._event({"type": "content_block_stop", "index": 0})
        delta = {"stop_reason": reason or "end_turn", "stop_sequence": None}
        yield self._event({"type": "message_delta", "delta": delta, "usage": {"output_tokens": TOKENS_WRITTEN}})
        yield self._event({"type": "message_stop"})

    def failure_event(self, status: int) -> bytes:
        return self._event(self.error(Fail(status)), check=False)

    def _event(self, data: dict[str, Any], *, check: bool = True) -> bytes:
        if check:
            from anthropic.types import RawMessageStreamEvent

            _check(RawMessageStreamEvent, data)
        return f"event: {data['type']}\ndata: {json.dumps(data)}\n\n".encode()


class OpenAIApi(ModelApi):
    """`/v1/chat/completions`, which finds the longest common beginning with an earlier request by itself."""

    root = "/v1"
    MODELS: ClassVar[tuple[str, ...]] = ("qwen3:8b", "llama3.3")
    STEP: ClassVar[int] = 128
    MIN_CACHED: ClassVar[int] = 1_024

    def __init__(self) -> None:
        super().__init__()
        self._prompts: list[str] = []

    def is_question(self, request: Request) -> bool:
        return request.path == "/v1/chat/completions"

    def other(self, request: Request) -> JsonReply | None:
        if request.path == "/v1/models":
            models = [{"id": name, "object": "model", "created": 1, "owned_by": "me"} for name in self.MODELS]
            return JsonReply(200, {"object": "list", "data": models})
        return None if self.is_question(request) else JsonReply(404, self.error(Fail(404)))

    def judge(self, request: Request) -> None:
        from openai.types.chat.completion_create_params import CompletionCreateParamsStreaming

        _check_typed(CompletionCreateParamsStreaming, request.body)

    def usage(self, request: Request) -> dict[str, int]:
        text = request.text
        common = max((_common_length(text, earlier) for earlier in self._prompts), default=0)
        self._prompts.append(text)
        tokens = common // BYTES_PER_TOKEN // self.STEP * self.STEP
        return {"prompt_tokens": _tokens(text), "cached": tokens if tokens >= self.MIN_CACHED else 0}

    def error(self, failure: Fail) -> dict[str, Any]:
        error = {"message": failure.message, "type": "an_error", "code": failure.name or None, "param": None}
        return {"error": error}

    def start(self, request: Request, usage: dict[str, int]) -> Iterator[bytes]:  # noqa: ARG002  one interface
        yield self._event(request, [self._choice({"role": "assistant", "content": ""})])

    def piece(self, request: Request, text: str) -> bytes:
        return self._event(request, [self._choice({"content": text})])

    def end(self, request: Request, usage: dict[str, int], reason: str) -> Iterator[bytes]:
        yield self._event(request, [self._choice({}, reason or "stop")])
        if request.body.get("stream_options", {}).get("include_usage"):
            counts = {
                "prompt_tokens": usage["prompt_tokens"],
                "completion_tokens": TOKENS_WRITTEN,
                "total_tokens": usage["prompt_tokens"] + TOKENS_WRITTEN,
                "prompt_tokens_details": {"cached_tokens": usage["cached"]},
            }
            yield self._event(request, [], counts)
        yield b"data: [DONE]\n\n"

    def failure_event(self, status: int) -> bytes:
        return f"data: {json.dumps({'error': {'message': 'It failed.', 'code': status}})}\n\n".encode()

    def _choice(self, delta: dict[str, Any], reason: str | None = None) -> dict[str, Any]:
        return {"index": 0, "delta": delta, "finish_reason": reason}

    def _event(self, request: Request, choices: list[dict[str, Any]], usage: dict[str, Any] | None = None) -> bytes:
        from openai.types.chat import ChatCompletionChunk

        data = {
            "id": "chat-1",
            "object": "chat.completion.chunk",
            "created": 1,
            "model": f"{request.body['model']}-2026-11-01",
            "choices": choices,
            "usage": usage,
        }
        ChatCompletionChunk.model_validate(data)
        return f"data: {json.dumps(data)}\n\n".encode()


class GeminiApi(ModelApi):
    """`models/*:streamGenerateContent`, `:countTokens` and `cachedContents`; judged by Google's own messages."""

    STATUSES: ClassVar[dict[int, str]] = {
        400: "INVALID_ARGUMENT",
        401: "UNAUTHENTICATED",
        403: "PERMISSION_DENIED",
        404: "NOT_FOUND",
        429: "RESOURCE_EXHAUSTED",
        500: "INTERNAL",
        503: "UNAVAILABLE",
        504: "DEADLINE_EXCEEDED",
    }

    def __init__(self) -> None:
        super().__init__()
        self.caches: dict[str, str] = {}
        self.created = 0

    def is_question(self, request: Request) -> bool:
        return ":streamGenerateContent" in request.path

    def other(self, request: Request) -> JsonReply | None:
        if self.is_question(request):
            return None
        if ":countTokens" in request.path:
            self._parse("CountTokensRequest", request.body)
            return JsonReply(200, {"totalTokens": _tokens(request.text)})
        if request.path.startswith("/v1beta/cachedContents"):
            return self._cache(request)
        return JsonReply(404, self.error(Fail(404)))

    def _cache(self, request: Request) -> JsonReply:
        if request.method == "POST":
            self._parse("CachedContent", request.body)
            assert re.fullmatch(r"\d+s", request.body["ttl"])
            self.created += 1
            name = f"cachedContents/c{self.created}"
            self.caches[name] = request.text
            counted = {"totalTokenCount": _tokens(request.text)}
            return JsonReply(200, {"name": name, "model": request.body["model"], "usageMetadata": counted})
        name = request.path.removeprefix("/v1beta/")
        assert request.method == "DELETE"
        return JsonReply(200, {}) if self.caches.pop(name, None) is not None else JsonReply(404, self.error(Fail(404)))

    def judge(self, request: Request) -> None:
        self._parse("GenerateContentRequest", request.body)
        name = request.body.get("cachedContent")
        assert not (name and request.body.get("systemInstruction")), "a cache has its own instruction"
        if name and name not in self.caches:
            self._script.appendleft((Fail(403, message="CachedContent not found (or permission denied)"),))

    def _parse(self, message: str, body: dict[str, Any]) -> None:
        from google.ai import generativelanguage_v1beta
        from google.protobuf.json_format import ParseDict

        ParseDict(body, getattr(generativelanguage_v1beta, message).pb()())

    def usage(self, request: Request) -> dict[str, int]:
        cached = _tokens(self.caches.get(request.body.get("cachedContent", ""), ""))
        return {"promptTokenCount": _tokens(request.text) + cached, "cachedContentTokenCount": cached}

    def error(self, failure: Fail) -> dict[str, Any]:
        status = failure.name or self.STATUSES.get(failure.status, "UNKNOWN")
        error = {"code": failure.status, "message": failure.message, "status": status}
        return {"error": {**error, "details": list(failure.details)} if failure.details else error}

    def start(self, request: Request, usage: dict[str, int]) -> Iterator[bytes]:  # noqa: ARG002  one interface
        yield from ()

    def piece(self, request: Request, text: str) -> bytes:
        return self._event(request, {"content": {"role": "model", "parts": [{"text": text}]}, "index": 0})

    def end(self, request: Request, usage: dict[str, int], reason: str) -> Iterator[bytes]:
        counts = {**usage, "candidatesTokenCount": TOKENS_WRITTEN - 2, "thoughtsTokenCount": 2}
        candidate = {
            "content": {"role": "model", "parts": [{"text": ""}]},
            "finishReason": reason or "STOP",
            "index": 0,
        }
        yield self._event(request, candidate, counts)

    def failure_event(self, status: int) -> bytes:
        return f"data: {json.dumps(self.error(Fail(status)))}\r\n\r\n".encode()

    def _event(self, request: Request, candidate: dict[str, Any], usage: dict[str, int] | None = None) -> bytes:
        model = request.path.partition("/models/")[2].partition(":")[0]
        data: dict[str, Any] = {"candidates": [candidate], "modelVersion": f"{model}-001"}
        if usage:
            data["usageMetadata"] = usage
        return f"data: {json.dumps(data)}\r\n\r\n".encode()


class BedrockApi(ModelApi):
    """`/model/*/converse-stream`, judged by the service's model in botocore."""

    content_type = "application/vnd.amazon.eventstream"
    NAMES: ClassVar[dict[int, str]] = {
        400: "ValidationException",
        401: "UnrecognizedClientException",
        403: "AccessDeniedException",
        404: "ResourceNotFoundException",
        408: "ModelTimeoutException",
        424: "ModelErrorException",
        429: "ThrottlingException",
        500: "InternalServerException",
        503: "ServiceUnavailableException",
    }

    def __init__(self) -> None:
        super().__init__()
        self._cached: set[str] = set()

    def is_question(self, request: Request) -> bool:
        return request.path.endswith("/converse-stream")

    def other(self, request: Request) -> JsonReply | None:
        return None if self.is_question(request) else JsonReply(404, self.error(Fail(404)))

    def judge(self, request: Request) -> None:
        from botocore.session import Session
        from botocore.validate import ParamValidator

        session = Session(session_vars={"profile": (None, [], None, None)})
        shape = session.get_service_model("bedrock-runtime").operation_model("ConverseStream").input_shape
        params = {"modelId": self._model(request), **request.body}
        report = ParamValidator().validate(params, shape)
        assert not report.has_errors(), report.generate_report()
        assert set(params) <= set(shape.members)

    def _model(self, request: Request) -> str:
        return unquote(request.path.split("/")[2])

    def usage(self, request: Request) -> dict[str, int]:
        read = upto = 0
        prefix = ""
        for block in (block for message in request.body["messages"] for block in message["content"]):
            prefix += block.get("text", "")
            if "cachePoint" in block:
                upto = _tokens(prefix)
                read = upto if prefix in self._cached else read
                self._cached.add(prefix)
        return {
            "inputTokens": _tokens(request.text) - upto,
            "cacheReadInputTokens": read,
            "cacheWriteInputTokens": upto - read,
        }

    def error(self, failure: Fail) -> dict[str, Any]:
        return {"message": failure.message}

    def error_headers(self, failure: Fail) -> dict[str, str]:
        return {"x-amzn-ErrorType": failure.name or self.NAMES.get(failure.status, "InternalServerException")}

    def start(self, request: Request, usage: dict[str, int]) -> Iterator[bytes]:  # noqa: ARG002  one interface
        yield _amazon_event("messageStart", {"role": "assistant"})

    def piece(self, request: Request, text: str) -> bytes:  # noqa: ARG002  one interface
        return _amazon_event("contentBlockDelta", {"contentBlockIndex": 0, "delta": {"text": text}})

    def end(self, request: Request, usage: dict[str, int], reason: str) -> Iterator[bytes]:  # noqa: ARG002  one interface
        yield _amazon_event("contentBlockStop", {"contentBlockIndex": 0})
        yield _amazon_event("messageStop", {"stopReason": reason or "end_turn"})
        total = sum(usage.values()) + TOKENS_WRITTEN
        counts = {**usage, "outputTokens": TOKENS_WRITTEN, "totalTokens": total}
        yield _amazon_event("metadata", {"usage": counts, "metrics": {"latencyMs": 5}})

    def failure_event(self, status: int) -> bytes:
        name = self.NAMES.get(status, "internalServerException")
        return _amazon_event(name[0].lower() + name[1:], {"message": "It failed."}, kind="exception")


def _amazon_event(name: str, data: dict[str, Any], *, kind: str = "event") -> bytes:
    """Encode a message of `application/vnd.amazon.eventstream`."""
    headers = b""
    for key, value in {f":{kind}-type": name, ":content-type": "application/json", ":message-type": kind}.items():
        headers += struct.pack("!B", len(key)) + key.encode() + struct.pack("!BH", 7, len(value)) + value.encode()
    payload = json.dumps(data).encode()
    prelude = struct.pack("!II", 16 + len(headers) + len(payload), len(headers))
    message = prelude + struct.pack("!I", crc32(prelude)) + headers + payload
    return message + struct.pack("!I", crc32(message))


class _Server(ThreadingHTTPServer):
    daemon_threads = True

    def __init__(self, api: ModelApi) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.api = api

    def handle_error(self, request: Any, client_address: Any) -> None:  # noqa: ARG002  the base class has them
        """Note a mistake of the stub. A client that stops waiting hangs up, which is none."""
        error = sys.exc_info()[1]
        if not isinstance(error, OSError):
            self.api.problems.append(f"the stub failed: {error!r}")


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: _Server

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002  the base class names it
        pass

    def do_GET(self) -> None:
        self._answer()

    def do_DELETE(self) -> None:
        self._answer()

    def do_POST(self) -> None:
        self._answer()

    def _answer(self) -> None:
        raw = self.rfile.read(int(self.headers.get("content-length", 0)))
        headers = {name.lower(): value for name, value in self.headers.items()}
        path = self.path.partition("?")[0]
        request = Request(self.command, path, headers, json.loads(raw or b"{}"), len(raw))
        reply = self.server.api.reply(request)
        if isinstance(reply, JsonReply):
            self._send(reply)
        else:
            self._stream(reply)

    def _send(self, reply: JsonReply) -> None:
        raw = json.dumps(reply.body).encode()
        self.send_response(reply.status)
        headers = {"content-type": "application/json", "content-length": str(len(raw)), **reply.headers}
        for name, value in headers.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(raw)

    def _stream(self, reply: StreamReply) -> None:
        api, request = reply.api, reply.request
        self.send_response(200)
        self.send_header("content-type", api.content_type)
        self.send_header("transfer-encoding", "chunked")
        self.end_headers()
        reason = ""
        self._write(api.start(request, reply.usage))
        for step in reply.steps:
            match step:
                case Say(text):
                    self._write([api.piece(request, text)])
                case Pause(seconds):
                    time.sleep(seconds)
                case Finish(reason):
                    pass
                case Garbage(text):
                    self._write([text.encode()])
                case FailInStream(status):
                    self._write([api.failure_event(status)])
                    break
                case EndEarly():
                    break
                case Break():
                    self.wfile.flush()
                    self.close_connection = True
                    self.connection.shutdown(socket.SHUT_RDWR)
                    return
        else:
            if not any(isinstance(step, Garbage) for step in reply.steps):
                self._write(api.end(request, reply.usage, reason))
        self.wfile.write(b"0\r\n\r\n")

    def _write(self, pieces: Iterable[bytes]) -> None:
        for piece in pieces:
            if piece:
                self.wfile.write(b"%x\r\n%b\r\n" % (len(piece), piece))
                self.wfile.flush()


def _check_typed(params: Any, body: dict[str, Any]) -> None:
    """Check a request by the library's TypedDict, and refuse members that it does not have."""
    unknown = (
        set(body)
        - set(params.__annotations__)
        - {name for base in params.__orig_bases__ for name in getattr(base, "__annotations__", ())}
    )
    assert not unknown, f"unknown members: {sorted(unknown)}"
    _check(params, body)


def _check(kind: Any, data: Any) -> None:
    _read(_adapter(kind).validate_python(data))


@cache
def _adapter(kind: Any) -> TypeAdapter[Any]:
    # It is kept: Pydantic's iterators refer to it without holding it.
    return TypeAdapter(kind)


def _read(value: Any) -> None:
    """Visit all values: Pydantic checks the items of an `Iterable` only then."""
    if isinstance(value, Mapping):
        for item in value.values():
            _read(item)
    elif isinstance(value, Iterable) and not isinstance(value, str | bytes | BaseModel):
        for item in value:
            _read(item)


def _texts(body: Any) -> Iterator[str]:
    """Yield the texts of the prompt, in order."""
    if isinstance(body, dict):
        for name in ("system", "systemInstruction", "contents", "messages", "content", "parts", "text"):
            if name in body:
                yield from [body[name]] if isinstance(body[name], str) else _texts(body[name])
    elif isinstance(body, list):
        for item in body:
            yield from [item] if isinstance(item, str) else _texts(item)


def _common_length(one: str, other: str) -> int:
    """Return the length of the longest common beginning."""
    low, high = 0, min(len(one), len(other))
    while low < high:
        middle = (low + high + 1) // 2
        low, high = (middle, high) if one[:middle] == other[:middle] else (low, middle - 1)
    return low


def _tokens(text: str) -> int:
    return len(text.encode()) // BYTES_PER_TOKEN
