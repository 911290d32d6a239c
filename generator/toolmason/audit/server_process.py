"""The process of an audited server. It inherits the user's environment; error reports quote its stderr."""

from __future__ import annotations

import os
import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final

from mcp.shared.message import SessionMessage
from toolmason_runtime.shared.specs.upstream import Upstream
from toolmason_runtime.toolkit import (
    Command,
    Confinement,
    Limits,
    MalformedError,
    RunningProcess,
    UpstreamProcess,
    error_message,
    receive_limited,
)

_STDERR_BYTES: Final = 80 * 1024


class AuditedProcess(UpstreamProcess):
    """A server process. At its end, all descendants are killed, including those that left its process group.

    Unlike the program of an upstream, its program may be in a directory of the project that is on PATH. The last bytes
    of its stderr are in `stderr`.
    """

    def __init__(
        self,
        command: Sequence[str],
        environ: Mapping[str, str],
        cwd: str,
        stderr: bytearray,
        confinement: Confinement | None = None,
    ) -> None:
        super().__init__(Upstream(name=command[0], command=tuple(command)), confinement)
        self._argv, self._environ, self._cwd = tuple(command), environ, cwd
        self._errors_tail = stderr

    async def _start(self, process: RunningProcess, temp_dir: str) -> None:
        unlimited = Limits(memory_mb=0, file_bytes=0)
        command = Command(argv=self._argv, env=self._environ, cwd=self._cwd, limits=unlimited)
        command = await self._confined(command, temp_dir)
        await process.start(command.execution(self._executable(), command.env), None)

    def _executable(self) -> str:
        name = self._argv[0]
        if Path(name).name != name:
            return str(Path(self._cwd, name).absolute())
        executable = shutil.which(name, path=self._environ.get("PATH", os.defpath))
        if executable is None:
            raise FileNotFoundError(name)
        return str(Path(executable).absolute())

    def _message(self, line: bytes) -> SessionMessage | Exception:
        """Return the message of a line, or an exception if the line is invalid. The client counts these exceptions."""
        try:
            return SessionMessage(receive_limited(line))
        except MalformedError as malformed:
            error = malformed.response_error
            return malformed if error is None else SessionMessage(error_message(error))

    def _log_errors(self, data: bytes) -> None:
        self._errors_tail += data
        del self._errors_tail[:-_STDERR_BYTES]
