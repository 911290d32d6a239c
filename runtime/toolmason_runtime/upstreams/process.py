"""The stdio transport to an upstream that this server starts: its process, its messages and its end."""

from __future__ import annotations

import asyncio
import logging
import os
from collections import deque
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager, suppress
from typing import Final

import anyio
import anyio.lowlevel
import anyio.to_thread
from anyio.streams.memory import MemoryObjectReceiveStream, MemoryObjectSendStream
from mcp.shared.message import SessionMessage
from mcp.types import JSONRPCMessage
from toolmason_runtime.programs.access import temporary_directory
from toolmason_runtime.programs.argv import expand_variables
from toolmason_runtime.programs.execute import Command, base_environment, start
from toolmason_runtime.programs.process_group import Process
from toolmason_runtime.programs.running_process import RunningProcess
from toolmason_runtime.shared.budget import LARGE_BYTES, MESSAGE
from toolmason_runtime.shared.errors import PARSE_ERROR
from toolmason_runtime.shared.specs.upstream import Upstream
from toolmason_runtime.transports.framing import encode_message, error_message, receive
from toolmason_runtime.transports.messages import LineBuffer, MalformedError, unread
from toolmason_runtime.upstreams.confinement import Confinement, sandbox_advice
from toolmason_runtime.upstreams.limits import find_excess

MAX_MESSAGE_BYTES: Final = MESSAGE.bytes
"""Maximum size of a message of an upstream."""
CLOSE_S: Final = 0.5
"""Seconds that an upstream has to end after its input was closed, before it gets SIGTERM."""
_LINES_AT_ONCE: Final = 64
_READ_BYTES: Final = 65_536
_MAX_INVALID_LINES: Final = 20
"""Invalid lines in the log: some programs print their own log to stdout."""
_MAX_USELESS_LINES: Final = 10_000
_MAX_USELESS_BYTES: Final = 4 * MAX_MESSAGE_BYTES
"""Invalid lines, and bytes, between two messages: a program that writes more ends, because reading costs time."""
_MAX_STDERR_LINES: Final = 20
_MAX_STDERR_CHARS: Final = 500

_log = logging.getLogger(__name__)
Streams = tuple[MemoryObjectReceiveStream[SessionMessage | Exception], MemoryObjectSendStream[SessionMessage]]


def receive_limited(line: bytes) -> JSONRPCMessage:
    """Return the message in a line.

    Raises:
        MalformedError: it is invalid, or exceeds a limit.
    """
    if excess := find_excess(line):
        raise unread(line, excess)
    try:
        return receive(line, max_bytes=MAX_MESSAGE_BYTES).message
    except MalformedError as error:
        # A line that is not JSON may still have the id of a waiting call at its start or its end.
        raise (unread(line, str(error)) if error.code == PARSE_ERROR else error) from None


class UpstreamProcess:
    """The program of an upstream, with all of its descendants, in the sandbox of `confinement`; None: in none."""

    def __init__(self, upstream: Upstream, confinement: Confinement | None) -> None:
        self._upstream = upstream
        self._confinement = confinement
        self._output = asyncio.StreamReader()
        self._errors = LineBuffer(_MAX_STDERR_CHARS)
        self._stderr: deque[str] = deque(maxlen=_MAX_STDERR_LINES)
        self._process = Process(self._output, self._log_errors)
        self._lines = 0
        self._invalid_lines = 0
        self.ended = asyncio.Event()
        """Set when it has ended, or has closed its output."""

    @asynccontextmanager
    async def streams(self) -> AsyncIterator[Streams]:
        """Start the program, yield its messages and a stream for ours, and end it with all of its descendants.

        Raises:
            ToolError: it did not start.
        """
        received, incoming = anyio.create_memory_object_stream[SessionMessage | Exception](0)
        outgoing, to_send = anyio.create_memory_object_stream[SessionMessage](0)
        tasks: list[asyncio.Task[None]] = []
        async with temporary_directory() as temp_dir:
            try:
                await self._start(self._process, temp_dir)
                tasks = [
                    asyncio.create_task(work)
                    for work in (self._read(received), self._write(to_send), self._watch(received))
                ]
                yield incoming, outgoing
            finally:
                with anyio.CancelScope(shield=True):
                    await self._end()
                for task in tasks:
                    task.cancel()
                for stream in (received, incoming, outgoing, to_send):
                    stream.close()

    def why_it_ended(self) -> str:
        """Return the exit code, the last line of standard error and the key that may help, for an error message."""
        code = self._process.exit_code
        status = "" if code is None else f" with exit code {code}" if code >= 0 else f" by signal {-code}"
        last = next((line for line in reversed(self._stderr) if line), "")
        advice = sandbox_advice(self._upstream, "\n".join(self._stderr)) if self._confinement else ""
        return f"{status}{f'; its last line on stderr: {last}' if last else ''}{f'. {advice[:-1]}' if advice else ''}"

    async def _start(self, process: RunningProcess, temp_dir: str) -> None:
        await start(process, await self._confined(self._command(os.environ), temp_dir), None)

    async def _confined(self, command: Command, temp_dir: str) -> Command:
        if self._confinement is None:
            return command
        # In a thread: it looks at files, which may be on a file system that does not respond.
        return await anyio.to_thread.run_sync(self._apply, self._confinement, command, temp_dir, abandon_on_cancel=True)

    @staticmethod
    def _apply(confinement: Confinement, command: Command, temp_dir: str) -> Command:
        return confinement.apply(command, temp_dir=temp_dir, environ=os.environ)

    def _command(self, environ: Mapping[str, str]) -> Command:
        upstream, name = self._upstream, self._upstream.name
        passed = {variable: value for variable in upstream.pass_env if (value := environ.get(variable))}
        own = {
            variable: expand_variables(text, environ, where=f"env.{variable} of the upstream {name}")
            for variable, text in upstream.env.items()
        }
        words = [
            expand_variables(word, environ, where=f"the command of the upstream {name}") for word in upstream.command
        ]
        return Command(
            argv=tuple(words),
            env={**base_environment(environ), **passed, **own},
            cwd=expand_variables(upstream.working_dir, environ, where=f"working_dir of the upstream {name}"),
        )

    async def _watch(self, received: MemoryObjectSendStream[SessionMessage | Exception]) -> None:
        """Note the end of the program itself: its descendants may keep its output open."""
        await self._process.finished()
        self.ended.set()
        received.close()

    async def _read(self, received: MemoryObjectSendStream[SessionMessage | Exception]) -> None:
        lines = LineBuffer(MAX_MESSAGE_BYTES)
        useless_bytes = useless_lines = 0
        try:
            with suppress(anyio.BrokenResourceError, anyio.ClosedResourceError):
                while data := await self._output.read(_READ_BYTES):
                    useless_bytes += len(data)
                    for line in lines.feed(data):
                        if (message := await self._parsed(line)) is not None:
                            await received.send(message)
                            useless_bytes = useless_lines = 0
                        else:
                            useless_lines += 1
                    if useless_lines > _MAX_USELESS_LINES or useless_bytes > _MAX_USELESS_BYTES:
                        _log.warning("upstream %s: ended, because it writes no messages", self._upstream.name)
                        break
        finally:
            self.ended.set()
            received.close()

    async def _parsed(self, line: bytes) -> SessionMessage | Exception | None:
        """Return the message of a line; a large one is parsed in a thread."""
        if len(line) > LARGE_BYTES:
            return await anyio.to_thread.run_sync(self._message, line)
        self._lines += 1
        if self._lines % _LINES_AT_ONCE == 0:  # a program can write thousands of lines at once
            await anyio.lowlevel.checkpoint()
        return self._message(line)

    def _message(self, line: bytes) -> SessionMessage | Exception | None:
        """Return the message of a line. A malformed line is logged; a call that waits for it fails."""
        try:
            return SessionMessage(receive_limited(line))
        except MalformedError as malformed:
            self._invalid_lines += 1
            if self._invalid_lines <= _MAX_INVALID_LINES:
                _log.warning("upstream %s: ignored an invalid line: %s", self._upstream.name, malformed)
            error = malformed.response_error
            return None if error is None else SessionMessage(error_message(error))

    async def _write(self, to_send: MemoryObjectReceiveStream[SessionMessage]) -> None:
        stdin = self._process.stdin
        with suppress(OSError):
            async for item in to_send:
                if stdin is not None:
                    stdin.write(encode_message(item.message) + b"\n")
                    await stdin.drain()

    def _log_errors(self, data: bytes) -> None:
        for line in self._errors.feed(data):
            text = line.decode("utf-8", "replace").strip()[:_MAX_STDERR_CHARS]
            self._stderr.append(text)
            _log.info("upstream %s: %s", self._upstream.name, text)

    async def _end(self) -> None:
        """Close its input, as MCP specifies, then end the process group."""
        if self._process.stdin is not None:
            self._process.stdin.close()
            with anyio.move_on_after(CLOSE_S):
                await self._process.finished()
        await self._process.end()
