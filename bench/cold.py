"""Cold start with `uvx`: install packages from wheels on the disk into an empty cache, then call a tool."""

from __future__ import annotations

import shutil
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from itertools import count
from pathlib import Path
from time import perf_counter
from typing import Final

from bench.clock import process_cpu
from bench.installing import find_uv, installed_size
from bench.rounds import Cost, Ratio, alternate, ratio
from bench.session import Program, SessionError, Workspace, run, session

ROOT: Final = Path(__file__).parents[1]
NAME: Final = "notes"
"""The project of `toolmason init`, with its command and its tool."""
TOOL: Final = "count_words"
OURS: Final = "toolmason"
FASTMCP: Final = "FastMCP"
_FASTMCP_PROJECT: Final = """\
[build-system]
requires = ["hatchling>=1.27"]
build-backend = "hatchling.build"

[project]
name = "notes-fastmcp"
version = "0.1.0"
dependencies = ["fastmcp=={version}"]

[project.scripts]
notes-fastmcp = "notes_fastmcp:mcp.run"
"""
_FASTMCP_SERVER: Final = '''\
from fastmcp import FastMCP

mcp = FastMCP("notes")


@mcp.tool
def count_words(text: str) -> dict[str, int]:
    """Count words, lines and characters of a text."""
    return {"words": len(text.split()), "lines": len(text.splitlines()), "characters": len(text)}
'''


@dataclass(frozen=True, slots=True, kw_only=True)
class ColdStart:
    """One server: the costs up to the answer of its first call, the packages, and their megabytes on the disk."""

    label: str
    costs: tuple[Cost, ...]
    packages: int
    megabytes: float

    def to(self, other: ColdStart) -> Ratio:
        """Compare with another server."""
        return ratio(self.costs, other.costs)


def measure_cold(workspace: Workspace, rounds: int) -> tuple[ColdStart, ...]:
    """Build two servers with the same tool; in every round, start each with an empty cache."""
    wheels = _wheels(workspace)
    numbers = count()
    results = alternate(
        rounds,
        {label: partial(_start, workspace, wheels, label, command, numbers) for label, command in _COMMANDS.items()},
    )
    return tuple(
        ColdStart(label=label, costs=tuple(costs), packages=packages, megabytes=megabytes)
        for label, costs in results.items()
        for packages, megabytes in [_installed(workspace, wheels, _COMMANDS[label])]
    )


_COMMANDS: Final[Mapping[str, str]] = {OURS: NAME, FASTMCP: f"{NAME}-fastmcp"}
"""Label -> the command, which is also the name of the distribution."""


def _start(workspace: Workspace, wheels: Path, label: str, command: str, numbers: count[int]) -> Cost:
    # Another directory each time, so that no byte code of an earlier one fits.
    cache = workspace.directory / "uv" / str(next(numbers))
    arguments = ("tool", "run", *_offline(wheels), "--cache-dir", str(cache), "--from", command, command)
    program = Program(label, "", command=(_uv(), *arguments))
    started = perf_counter()
    with session(workspace, program) as running:
        tools = running.request("tools/list")["tools"]
        (name,) = (tool["name"] for tool in tools if tool["name"].endswith(TOOL))
        answer = running.request("tools/call", {"name": name, "arguments": {"text": "to be or not to be"}})
        cost = Cost(perf_counter() - started, process_cpu(running.pid))
    if answer.get("isError") or answer["structuredContent"]["words"] != 6:
        raise SessionError(f"{label}: {answer}")
    shutil.rmtree(cache)
    return cost


def _installed(workspace: Workspace, wheels: Path, command: str) -> tuple[int, float]:
    """Return the number of packages of a server, itself included, and their size as `du` reports it."""
    target = workspace.directory / "installed" / command
    _run(_uv(), "pip", "install", *_offline(wheels), "--link-mode", "copy", "--target", str(target), command)
    return installed_size(target)


def _offline(wheels: Path) -> tuple[str, ...]:
    return ("--no-config", "--no-index", "--find-links", str(wheels), "--python", sys.executable)


def _wheels(workspace: Workspace) -> Path:
    """Return a directory with the wheels of both servers and of all that they need."""
    from importlib.metadata import version

    wheels, projects = workspace.directory / "wheels", workspace.directory / "cold"
    projects.mkdir()
    run(workspace, ["toolmason", "init", NAME], cwd=projects)
    rival = projects / "fastmcp"
    rival.mkdir()
    rival.joinpath("pyproject.toml").write_text(
        _FASTMCP_PROJECT.replace("{version}", version("fastmcp")), encoding="utf-8"
    )
    rival.joinpath("notes_fastmcp.py").write_text(_FASTMCP_SERVER, encoding="utf-8")
    for project in (ROOT, projects / NAME, rival):
        # Through the sdist: only from it, this repository builds the published wheel.
        _run(_uv(), "build", "--quiet", "--out-dir", str(wheels), str(project))
    for sdist in wheels.glob("*.tar.gz"):
        sdist.unlink()
    wanted = [str(next(wheels.glob(f"{command.replace('-', '_')}-0*.whl"))) for command in _COMMANDS.values()]
    options = ("--quiet", "--only-binary", ":all:", "--find-links", str(wheels), "--dest", str(wheels))
    _run(sys.executable, "-m", "pip", "download", *options, *wanted)
    return wheels


def _uv() -> str:
    found = find_uv()
    if found is None:
        raise SessionError("the part `cold` needs uv: https://docs.astral.sh/uv/")
    return found


def _run(*command: str) -> None:
    ran = subprocess.run(command, capture_output=True, encoding="utf-8", check=False)  # noqa: S603  uv and pip
    if ran.returncode:
        raise SessionError(f"{' '.join(command)}: exit code {ran.returncode}\n{ran.stderr[-2000:]}")
