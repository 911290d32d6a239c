"""Start a server as a client does, and list its tools: over stdio, with a time limit."""

from __future__ import annotations

import json
import os
import queue
import signal
import subprocess
import tempfile
import threading
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import IO, Any, Final

from toolmason_runtime.install.errors import InstallError

TIME_LIMIT_S: Final = 60.0
"""`uvx` installs at the first start."""
_EXIT_S: Final = 5.0
_MAX_PAGES: Final = 100
_MAX_STDERR: Final = 2_000
_INITIALIZE: Final = {
    "protocolVersion": "2025-11-25",
    "capabilities": {},
    "clientInfo": {"name": "toolmason-install", "version": "1"},
}


def list_tools(
    command: Sequence[str], environ: Mapping[str, str], directory: Path, *, time_limit_s: float = TIME_LIMIT_S
) -> list[str]:
    """Start the server, list its tools and end it; return the names of the tools.

    Raises:
        InstallError: the server did not start or did not answer within the time limit.
    """
    with tempfile.TemporaryFile() as errors:
        try:
            process = subprocess.Popen(  # noqa: S603  the command of the entry
                command,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=errors,
                env=dict(environ),
                cwd=directory,
                start_new_session=os.name == "posix",
            )
        except OSError as error:
            raise InstallError(f"cannot start {command[0]}: {error.strerror}") from error
        except ValueError as error:  # Such as a null character in a variable of the entry.
            raise InstallError(f"cannot start {command[0]}: {error}") from error
        try:
            try:
                return _Session(process, time_limit_s).tools()
            finally:
                _end(process)
        except InstallError as error:
            raise InstallError(f"{error}{_stderr(errors)}") from error


class _Session:
    """The messages between this process and a server."""

    def __init__(self, process: subprocess.Popen[bytes], time_limit_s: float) -> None:
        self._process, self._time_limit_s = process, time_limit_s
        self._deadline = time.monotonic() + time_limit_s
        self._lines: queue.SimpleQueue[bytes] = queue.SimpleQueue()
        threading.Thread(target=self._read, args=(process.stdout,), daemon=True).start()

    def tools(self) -> list[str]:
        self._request(1, "initialize", _INITIALIZE)
        self._send({"method": "notifications/initialized"})
        names: list[str] = []
        cursor: dict[str, Any] = {}
        for number in range(2, _MAX_PAGES + 2):
            result = self._request(number, "tools/list", cursor)
            names += [str(tool.get("name")) for tool in result.get("tools", ())]
            if not (next_cursor := result.get("nextCursor")):
                break
            cursor = {"cursor": next_cursor}
        return names

    def _read(self, stream: IO[bytes]) -> None:
        with stream:
            for line in stream:
                self._lines.put(line)
        self._lines.put(b"")

    def _send(self, message: Mapping[str, Any]) -> None:
        assert self._process.stdin is not None  # noqa: S101  Popen got PIPE
        with suppress(OSError):  # The end of its output follows.
            self._process.stdin.write(json.dumps({"jsonrpc": "2.0", **message}).encode() + b"\n")
            self._process.stdin.flush()

    def _request(self, number: int, method: str, params: Mapping[str, Any]) -> dict[str, Any]:
        self._send({"id": number, "method": method, "params": params})
        while True:
            try:
                line = self._lines.get(timeout=max(self._deadline - time.monotonic(), 0))
            except queue.Empty:
                raise InstallError(f"no answer to `{method}` within {self._time_limit_s:g} seconds") from None
            if not line:
                raise InstallError(f"the server ended before it answered `{method}`")
            try:
                message = json.loads(line)
            except ValueError:
                raise InstallError(f"stdout contains text that is not MCP: {line[:80]!r}") from None
            if isinstance(message, dict) and message.get("id") == number and "method" not in message:
                if "error" in message:
                    raise InstallError(f"`{method}` failed: {message['error']}")
                if not isinstance(result := message.get("result"), dict):
                    raise InstallError(f"the answer to `{method}` has no `result`")
                return result


def _stderr(stream: IO[bytes]) -> str:
    stream.seek(0)
    text = stream.read().decode("utf-8", errors="replace").strip()
    return f"; its stderr:\n{text[-_MAX_STDERR:]}" if text else ""


def _end(process: subprocess.Popen[bytes]) -> None:
    """Close stdin, as clients do, and kill a server that does not exit, and all that it leaves behind."""
    if process.stdin is not None:
        with suppress(OSError):
            process.stdin.close()
    try:
        process.wait(_EXIT_S)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
    if os.name == "posix":
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(process.pid, signal.SIGKILL)
