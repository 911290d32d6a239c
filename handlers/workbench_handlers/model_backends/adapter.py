"""What one kind of program must offer to be asked: how it is started, and how what it writes is read."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Protocol

from toolmason_runtime.programs import Command, Limits

from workbench_handlers.model_backends.events import EventReader
from workbench_handlers.model_backends.question import Question

MEMORY_MB: Final = 8192
"""Memory of a model's command line. Node uses up to half of the machine's before it gives up by itself."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Program:
    """A program that was found. `features` are what its version and its help say it can do."""

    path: str
    name: str
    version: str
    features: frozenset[str] = frozenset()


class Adapter(Protocol):
    """One kind of program."""

    @property
    def name(self) -> str:
        """What it is called: `gemini` or `agy`."""
        ...

    def command(self, program: Program, question: Question, model: str, *, environ: Mapping[str, str]) -> Command:
        """Give what to start; an empty `model` leaves the choice to the program.

        `environ` is the server's environment, but its TMPDIR is a folder of this run alone, which is removed with all
        that is in it when the run has ended: what the program must find in files can be written there.

        Raises:
            ToolError: the program cannot be held to reading, or cannot do what is needed.
        """
        ...

    def reader(self) -> EventReader:
        """Give what understands one run's output."""
        ...


def model_limits(timeout_s: float) -> Limits:
    """Return the limits of a model's command line, which holds the files of a project in memory."""
    return Limits.above(timeout_s, memory_mb=MEMORY_MB)


def launched(path: str) -> tuple[str, ...]:
    """Give the beginning of the command line that starts a program.

    npm puts a batch file for cmd.exe in front of a script on Windows. A shell would take the arguments apart, so the
    script is run without it, by the node beside it or on PATH.
    """
    if sys.platform == "win32" and path.lower().endswith((".cmd", ".bat")):
        return _unwrapped(Path(path))
    return (path,)


def _unwrapped(path: Path) -> tuple[str, ...]:
    scripts = sorted(path.parent.glob(f"node_modules/@google/*/bundle/{path.stem}.js"))
    node = path.with_name("node.exe")
    return (str(node) if node.is_file() else "node", str(scripts[0])) if scripts else (str(path),)
