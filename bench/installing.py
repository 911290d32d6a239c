"""The size of an installation: packages and megabytes of the files that a server needs over stdio."""

from __future__ import annotations

import shutil
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Final

from bench.peers import GO, TYPESCRIPT, Peers, typescript_package
from bench.session import Workspace

OURS: Final = "toolmason"
_NO_UV: Final = "`uv` is not installed"
_TIMEOUT_S: Final = 600.0


@dataclass(frozen=True, slots=True)
class Installation:
    """Packages and megabytes; or the reason why they are not known."""

    label: str
    packages: int = 0
    megabytes: float = 0.0
    missing: str = ""


def measure_installations(workspace: Workspace, peers: Peers) -> tuple[Installation, ...]:
    """Install each package with its dependencies into its own directory, without compiled files."""
    directory = workspace.directory / "installed"
    return (
        _ours(directory),
        *(_python(directory / name, name, f"{name}=={version(name)}") for name in ("mcp", "fastmcp")),
        _npm(directory / "npm"),
        _go(peers),
    )


def _ours(directory: Path) -> Installation:
    """Install the wheel of a release. It is built from the sdist: a checkout also has the toolkit and Workbench."""
    uv, wheels = find_uv(), directory / "wheels"
    if uv is None:
        return Installation(OURS, missing=_NO_UV)
    if reason := _failure([uv, "build", "--quiet", "--out-dir", str(wheels), str(Path(__file__).parents[1])]):
        return Installation(OURS, missing=reason)
    (wheel,) = wheels.glob("*.whl")
    return _python(directory / OURS, OURS, str(wheel))


def _python(directory: Path, label: str, requirement: str) -> Installation:
    uv = find_uv()
    if uv is None:
        return Installation(label, missing=_NO_UV)
    command = [uv, "pip", "install", "--quiet", "--python", sys.executable, "--target", str(directory), requirement]
    if reason := _failure(command):
        return Installation(label, missing=reason)
    return Installation(label, *installed_size(directory))


def _npm(directory: Path) -> Installation:
    npm = shutil.which("npm")
    if npm is None:
        return Installation(TYPESCRIPT, missing="`npm` is not installed")
    directory.mkdir(parents=True)
    command = [npm, "install", "--no-audit", "--no-fund", "--ignore-scripts", "--prefix", str(directory)]
    if reason := _failure([*command, typescript_package()]):
        return Installation(TYPESCRIPT, missing=reason)
    modules = directory / "node_modules"
    packages = {path.parent for pattern in ("*/package.json", "@*/*/package.json") for path in modules.glob(pattern)}
    return Installation(TYPESCRIPT, len(packages), _megabytes(modules))


def _go(peers: Peers) -> Installation:
    """A Go server is one program."""
    if GO not in peers.commands:
        return Installation(GO, missing=peers.missing[GO])
    (program,) = peers.commands[GO]
    return Installation(GO, 1, Path(program).stat().st_size / 1024**2)


def find_uv() -> str | None:
    """Return the uv beside this interpreter, else that of PATH; None if there is none."""
    beside = Path(sys.executable).with_name("uv")
    return str(beside) if beside.is_file() else shutil.which("uv")


def installed_size(directory: Path) -> tuple[int, float]:
    """Return the number of Python packages in a directory, and their megabytes."""
    return sum(1 for _ in directory.glob("*.dist-info")), _megabytes(directory)


def _failure(command: Sequence[str]) -> str:
    """Run an installer; return the reason of a failure, or nothing."""
    try:
        ran = subprocess.run(  # noqa: S603  a package manager
            command, capture_output=True, check=False, text=True, timeout=_TIMEOUT_S
        )
    except subprocess.TimeoutExpired:
        return "its installation took too long"
    if ran.returncode == 0:
        return ""
    lines = ran.stderr.strip().splitlines() or [f"exit code {ran.returncode}"]
    return f"it cannot be installed: {lines[-1][:200]}"


def _megabytes(directory: Path) -> float:
    """Return the size of all files but compiled ones, as `du -m` reports it."""
    paths = (path for path in directory.rglob("*") if path.suffix != ".pyc")
    return sum(path.stat().st_blocks * 512 for path in paths) / 1024**2
