"""Interface of an adapter: the command line of one program and the parser of its output."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Protocol

from toolmason_runtime.programs import Command, Limits

from workbench_research.backends.question import Question
from workbench_research.model_backends.events import EventReader

MEMORY_MB: Final = 8192
"""Memory limit of a model's command line. Node's own limit is half of the machine's memory."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Program:
    """An installed program. `features` are the options and modes that its `--help` lists."""

    path: str
    name: str
    version: str
    features: frozenset[str] = frozenset()


class Adapter(Protocol):
    """The command line and output format of one program."""

    @property
    def name(self) -> str:
        """The name of the program, such as `gemini`."""
        ...

    def command(self, program: Program, question: Question, model: str, *, environ: Mapping[str, str]) -> Command:
        """Return the command that asks `question`; with an empty `model` the program chooses one.

        `environ` is the server's environment; its TMPDIR is a directory for this run only, where the adapter may write
        files for the program. It is deleted after the run.

        Raises:
            ToolError: the program cannot be restricted to reading, or lacks a required option.
        """
        ...

    def reader(self, *, searches_web: bool = False) -> EventReader:
        """Return a parser for the output of one run, which ends the run if it uses a tool beyond its question."""
        ...


def model_limits(timeout_s: float) -> Limits:
    """Return the limits of a model's command line, which holds the files of a project in memory."""
    return Limits.above(timeout_s, memory_mb=MEMORY_MB)


def launch_argv(path: str) -> tuple[str, ...]:
    """Return the beginning of the command line that starts a program.

    On Windows, npm installs a batch file for cmd.exe, which would split arguments again. The script is run directly
    instead, by the node beside it or on PATH.
    """
    if sys.platform == "win32" and path.lower().endswith((".cmd", ".bat")):
        return _unwrapped(Path(path))
    return (path,)


def _unwrapped(path: Path) -> tuple[str, ...]:
    scripts = sorted(path.parent.glob(f"node_modules/@google/*/bundle/{path.stem}.js"))
    node = path.with_name("node.exe")
    return (str(node) if node.is_file() else "node", str(scripts[0])) if scripts else (str(path),)
