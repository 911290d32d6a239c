"""The other end of a stdio server, without any SDK: lines of JSON, a clock that only bounds, and an oracle."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from queue import Empty, SimpleQueue
from typing import Any

from oracle import MODERN, Oracle
from toolmason_runtime.shared.engines import DEFAULT_ENGINE

PATIENCE_S = 30.0
"""How long anything may take before a test gives up; the machine may be slow."""
Message = dict[str, Any]


class Peer:
    """A client of `command` in the era of `version`. `capabilities` are what it says it can do.

    `name` is the name in its `clientInfo`, by default one that sees bare names; empty sends none in 2026-07-28, which
    does not require it.
    `env` is added to the environment of this process, or is all of it without `inherit`.
    """

    def __init__(
        self,
        command: Sequence[str],
        version: str,
        *,
        capabilities: Mapping[str, Any] | None = None,
        name: str = "toolmason",
        env: Mapping[str, str] | None = None,
        inherit: bool = True,
        cwd: str | None = None,
    ) -> None:
        self.oracle = Oracle(version)
        self.version = version
        self.capabilities = dict(capabilities or {})
        self.about = {"name": name, "version": "0"}
        self.answers: dict[str, Callable[[Message], Message]] = {}
        """What this client answers to the server's requests, by method."""
        self.notifications: list[Message] = []
        self.process = subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env={**(os.environ if inherit else {}), **(env or {})},
            cwd=cwd,
        )
        self._lines: SimpleQueue[bytes | None] = SimpleQueue()
        self._errors: list[bytes] = []
        self._said = threading.Condition()
        self.reads = threading.Event()
        """Whether this client reads; while it does not, the server can write no more than a pipe holds."""
        self.reads.set()
        self._threads = [threading.Thread(target=each) for each in (self._read, self._read_errors)]
        for each in self._threads:
            each.start()
        self._last_id = 0

    def open(self) -> Message:
        """Shake hands, or ask what there is; give the result."""
        if self.version == MODERN:
            return self.result("server/discover")
        opened = self.result(
            "initialize", protocolVersion=self.version, capabilities=self.capabilities, clientInfo=self.about
        )
        self.notify("notifications/initialized")
        return opened

    def send(self, method: str, /, *, meta: Mapping[str, Any] | None = None, **params: Any) -> int:
        """Send a request and give its id."""
        message = self.message(method, meta=meta, **params)
        self.oracle.from_client(message)
        self.write(json.dumps(message).encode())
        return self._last_id

    def message(self, method: str, /, *, meta: Mapping[str, Any] | None = None, **params: Any) -> Message:
        """Make a request with the next id."""
        self._last_id += 1
        about = dict(meta or {})
        if self.version == MODERN:
            about["io.modelcontextprotocol/protocolVersion"] = MODERN
            about["io.modelcontextprotocol/clientCapabilities"] = self.capabilities
            if self.about["name"]:
                about["io.modelcontextprotocol/clientInfo"] = self.about
        message: Message = {"jsonrpc": "2.0", "id": self._last_id, "method": method, "params": params}
        if about:
            params["_meta"] = about
        return message

    def notify(self, method: str, **params: Any) -> None:
        self.write(json.dumps({"jsonrpc": "2.0", "method": method, "params": params}).encode())

    def write(self, line: bytes) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write(line + b"\n")
        self.process.stdin.flush()

    def response(self, number: int) -> Message:
        """Give the response to request `number`; answer the server's requests until it comes."""
        for message in self._messages():
            if "method" not in message:
                assert message["id"] == number, message
                return message
            if "id" in message:
                answer = self.answers[message["method"]](message.get("params", {}))
                self.write(json.dumps({"jsonrpc": "2.0", "id": message["id"], "result": answer}).encode())
            else:
                self.notifications.append(message)
        raise AssertionError(f"the server ended: {self.stderr()}")

    def next_message(self) -> Message:
        """Give the next message, of whatever kind."""
        return next(self._messages())

    def notification(self) -> Message:
        """Give the next message, which must be a notification."""
        message = next(self._messages())
        assert "method" in message, message
        assert "id" not in message, message
        return message

    def result(self, method: str, /, **params: Any) -> Message:
        """Send a request and give its result."""
        response = self.response(self.send(method, **params))
        assert "result" in response, response
        result: Message = response["result"]
        return result

    def call(self, tool: str, arguments: Mapping[str, Any] | None = None, **more: Any) -> Message:
        return self.result("tools/call", name=tool, arguments=dict(arguments or {}), **more)

    def rest(self) -> list[Message]:
        """Give what the server still says until it closes its output."""
        return list(self._messages())

    def end_of_input(self) -> None:
        assert self.process.stdin is not None
        self.process.stdin.close()

    def exit_status(self) -> int:
        """Wait for the server to end, with its input as it is."""
        return self.process.wait(PATIENCE_S)

    def wait_for_stderr(self, line: bytes) -> None:
        with self._said:
            assert self._said.wait_for(lambda: line in self._errors, PATIENCE_S), self._errors

    def wait_for_stderr_containing(self, text: bytes) -> None:
        with self._said:
            assert self._said.wait_for(lambda: any(text in line for line in self._errors), PATIENCE_S), self._errors

    def stderr(self) -> str:
        """Give all the server has said there; it must have ended."""
        self.process.wait(PATIENCE_S)
        for each in self._threads:
            each.join(PATIENCE_S)
        return b"".join(self._errors).decode()

    def close(self) -> None:
        if self.process.poll() is None:
            self.process.kill()
        self.reads.set()
        self.process.wait(PATIENCE_S)
        for each in self._threads:
            each.join(PATIENCE_S)
        for stream in (self.process.stdin, self.process.stdout, self.process.stderr):
            assert stream is not None
            with suppress(BrokenPipeError):
                stream.close()

    def _messages(self) -> Iterator[Message]:
        while True:
            try:
                line = self._lines.get(timeout=PATIENCE_S)
            except Empty:
                raise AssertionError(f"nothing for {PATIENCE_S} s: {b''.join(self._errors).decode()}") from None
            if line is None:
                return
            message: Message = json.loads(line)
            self.oracle.from_server(message)
            yield message

    def _read(self) -> None:
        assert self.process.stdout is not None
        for line in self.process.stdout:
            self.reads.wait()
            self._lines.put(line)
        self._lines.put(None)

    def _read_errors(self) -> None:
        assert self.process.stderr is not None
        for line in self.process.stderr:
            with self._said:
                self._errors.append(line)
                self._said.notify_all()


SAMPLE = (sys.executable, "-m", "sample_server", "--classic", "--all")
engine: ContextVar[str] = ContextVar("engine", default=DEFAULT_ENGINE)
"""The engine of the sample server."""


def sample() -> tuple[str, ...]:
    """Return the command of the sample server."""
    return (*SAMPLE, "--engine", engine.get())


@contextmanager
def talking(version: str, *more: str, command: Sequence[str] = (), **options: Any) -> Iterator[Peer]:
    """Start a server, by default the sample, and open the connection; the process always ends with the context."""
    peer = Peer([*(command or sample()), *more], version, **options)
    try:
        peer.open()
        yield peer
    finally:
        peer.close()
