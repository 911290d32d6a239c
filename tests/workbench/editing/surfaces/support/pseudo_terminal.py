"""A program in a terminal, as a person sees and types it."""

from __future__ import annotations

import os
import pty
import select
import subprocess
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from types import TracebackType
from typing import Self

TIMEOUT_S = 60.0


class TerminalProgram:
    """A program with a terminal of its own, so that Ctrl-C reaches it as a signal."""

    def __init__(self, argv: Sequence[str], env: Mapping[str, str], cwd: Path) -> None:
        self._master, terminal = pty.openpty()
        self._process = subprocess.Popen(
            argv,
            env=dict(env),
            cwd=cwd,
            stdin=terminal,
            stdout=terminal,
            stderr=terminal,
            preexec_fn=lambda: os.login_tty(terminal),  # noqa: PLW1509  tests start no threads before it
        )
        os.close(terminal)
        self.screen = ""
        """All output."""
        self._seen = 0

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self._process.kill()
        self._process.wait()
        os.close(self._master)

    def expect(self, text: str) -> str:
        """Read until `text` appears after the last expected text, and return the output up to it."""
        deadline = time.monotonic() + TIMEOUT_S
        while (end := self.screen.find(text, self._seen)) < 0:
            assert self._read(deadline), f"{text!r} did not appear:\n{self.screen[self._seen :]}"
        start, self._seen = self._seen, end + len(text)
        return self.screen[start:end]

    def type(self, text: str) -> None:
        """Type a line."""
        self.press(f"{text}\n")

    def press(self, keys: str) -> None:
        """Type keys, such as Ctrl-C as `\\x03`. Surrogates are bytes that are not UTF-8."""
        os.write(self._master, keys.encode(errors="surrogateescape"))

    def interrupt(self) -> int:
        """Press Ctrl-C until the program ends, and return its exit code.

        Python does not notice a first one that comes between its prompt and its read.
        """
        for _ in range(int(TIMEOUT_S)):
            self.press("\x03")
            with suppress(subprocess.TimeoutExpired):
                return self._process.wait(1)
        raise AssertionError(f"it did not end:\n{self.screen}")

    def end(self) -> int:
        """Read until the program ends, and return its exit code."""
        deadline = time.monotonic() + TIMEOUT_S
        while self._read(deadline):
            pass
        return self._process.wait(TIMEOUT_S)

    def _read(self, deadline: float) -> bool:
        """Read more output; False at its end."""
        ready, _, _ = select.select([self._master], [], [], max(0.0, deadline - time.monotonic()))
        assert ready, f"no output in time:\n{self.screen}"
        try:
            data = os.read(self._master, 65_536)
        except OSError:  # the program has ended
            return False
        self.screen += data.decode(errors="replace").replace("\r\n", "\n")
        return bool(data)
