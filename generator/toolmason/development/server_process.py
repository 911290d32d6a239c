"""The server of `toolmason dev`: a process that serves HTTP on loopback and is replaced after each change."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Sequence
from typing import Final

from toolmason.project import Project

_END_S: Final = 8.0
"""Seconds until a server that does not end is killed. A right one ends within five."""


class ServerProcess:
    """At most one running server of a project, on one port."""

    def __init__(self, project: Project, port: int, arguments: Sequence[str]) -> None:
        """Args: `arguments` are further arguments of the server, such as `--classic`."""
        self.url = f"http://127.0.0.1:{port}/mcp"
        self._command = (
            *(sys.executable, "-m", "toolmason", "run", str(project.manifest)),
            *("--http", "--port", str(port), "--log-format", "text"),
            *arguments,
        )
        self._process: subprocess.Popen[bytes] | None = None

    def restart(self) -> None:
        """Stop the server if it runs, and start it with the files as they are now."""
        self.stop()
        # Not our stdin: Ctrl-C reaches the server from the terminal as well, which ends it in the right way.
        self._process = subprocess.Popen(self._command, stdin=subprocess.DEVNULL)  # noqa: S603

    def exit_code(self) -> int | None:
        """Return the exit code of a server that has ended by itself, once; otherwise None."""
        code = self._process.poll() if self._process else None
        if code is not None:
            self._process = None
        return code

    def stop(self) -> None:
        """Stop the server and wait for its end."""
        process, self._process = self._process, None
        if process is None:
            return
        process.terminate()
        try:
            process.wait(_END_S)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
