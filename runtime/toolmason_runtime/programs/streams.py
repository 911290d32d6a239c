"""Programs with asyncio streams, for handlers that read and write while the program runs."""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
from typing import IO, Final, Protocol

import anyio
from toolmason_runtime.programs.launcher_client import Execution, launch
from toolmason_runtime.programs.process_group import apart

_KILL_S: Final = 1.0
"""Seconds to wait for the end after SIGKILL."""


class StreamedProcess(Protocol):
    """A running program. A stream is None if it is the null device."""

    @property
    def stdin(self) -> asyncio.StreamWriter | None:
        """Its input."""
        ...

    @property
    def stdout(self) -> asyncio.StreamReader | None:
        """Its output."""
        ...

    @property
    def stderr(self) -> asyncio.StreamReader | None:
        """Its messages."""
        ...

    async def wait(self) -> int:
        """Wait until the program and its descendants have ended; return its exit code."""
        ...

    def kill(self) -> None:
        """Kill the program and its descendants.

        Raises:
            ProcessLookupError: it has ended.
        """
        ...


async def start_streamed(
    execution: Execution, *, has_stdin: bool = False, has_stderr: bool = False, max_line_bytes: int = 2**16
) -> StreamedProcess:
    """Start a program. Streams that are not requested are the null device.

    Raises:
        OSError: it could not be started.
    """
    if sys.platform != "linux":
        return await asyncio.create_subprocess_exec(
            *execution.argv,
            executable=execution.executable,
            cwd=execution.cwd or None,
            env=execution.env,
            stdin=subprocess.PIPE if has_stdin else subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE if has_stderr else subprocess.DEVNULL,
            limit=max_line_bytes,
            **apart(),
        )
    process = _Launched(max_line_bytes)
    await process.start(execution, (has_stdin, True, has_stderr))
    return process


class _Launched:
    """A program that the launcher started."""

    stdin: asyncio.StreamWriter | None = None
    stdout: asyncio.StreamReader | None = None
    stderr: asyncio.StreamReader | None = None

    def __init__(self, max_line_bytes: int) -> None:
        self._max_line_bytes = max_line_bytes
        self._transports: list[asyncio.BaseTransport] = []

    async def start(self, execution: Execution, piped: tuple[bool, bool, bool]) -> None:
        theirs: list[int] = []
        ours: list[IO[bytes]] = []
        null = os.open(os.devnull, os.O_RDWR)
        try:
            for stream, is_piped in enumerate(piped):
                reader, writer = os.pipe() if is_piped else (os.dup(null), os.dup(null))
                theirs.append(reader if stream == 0 else writer)
                ours.append(os.fdopen(writer, "wb", 0) if stream == 0 else os.fdopen(reader, "rb", 0))
            self._child = launch(execution, theirs)
        except BaseException:
            for file in ours:
                file.close()
            raise
        finally:
            for descriptor in (null, *theirs):
                os.close(descriptor)
        try:
            self.stdin = await self._writer(ours[0]) if piped[0] else None
            self.stdout = await self._reader(ours[1]) if piped[1] else None
            self.stderr = await self._reader(ours[2]) if piped[2] else None
            await self._child.started()
        except BaseException:
            self._close()
            self._child.kill()
            with anyio.CancelScope(shield=True), anyio.move_on_after(_KILL_S):
                await self._child.gone.wait()
            self._child.close()
            raise
        finally:
            for file, connected in zip(ours, (self.stdin, self.stdout, self.stderr), strict=True):
                if connected is None:
                    file.close()

    async def wait(self) -> int:
        await self._child.gone.wait()
        return self._child.exit_code or 0

    def kill(self) -> None:
        # A reader that paused at its limit would never see the end of its pipe.
        self._close()
        if self._child.gone.is_set():
            raise ProcessLookupError
        self._child.kill()

    def _close(self) -> None:
        for transport in self._transports:
            transport.close()

    async def _reader(self, pipe: IO[bytes]) -> asyncio.StreamReader:
        reader = asyncio.StreamReader(limit=self._max_line_bytes)
        loop = asyncio.get_running_loop()
        transport, _ = await loop.connect_read_pipe(lambda: asyncio.StreamReaderProtocol(reader), pipe)
        self._transports.append(transport)
        return reader

    async def _writer(self, pipe: IO[bytes]) -> asyncio.StreamWriter:
        loop = asyncio.get_running_loop()
        transport, protocol = await loop.connect_write_pipe(
            lambda: asyncio.StreamReaderProtocol(asyncio.StreamReader()), pipe
        )
        self._transports.append(transport)
        return asyncio.StreamWriter(transport, protocol, None, loop)
