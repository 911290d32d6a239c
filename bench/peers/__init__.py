"""The same tools in other languages: servers of the TypeScript SDK and of the Go SDK, if this machine can run them."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

TYPESCRIPT: Final = "TypeScript SDK 2"
TYPESCRIPT_1: Final = "TypeScript SDK 1"
GO: Final = "Go SDK"
_DIRECTORY: Final = Path(__file__).parent
_TYPESCRIPT: Final = {TYPESCRIPT_1: ("sdk1.mjs", "sdk"), TYPESCRIPT: ("sdk2.mjs", "server")}
"""File and package by label."""
_BUILD_S: Final = 900.0


@dataclass(frozen=True, slots=True)
class Peers:
    """Command lines by label, to which the path of a table of tools is appended, and over HTTP a token and a port.

    `missing` has the reason of each peer that cannot run here; `versions` are those of the others.
    """

    commands: Mapping[str, tuple[str, ...]]
    missing: Mapping[str, str]
    versions: tuple[str, ...]


def find_peers(directory: Path) -> Peers:
    """Find the SDKs, and build the Go server in `directory`."""
    commands: dict[str, tuple[str, ...]] = {}
    missing: dict[str, str] = {}
    versions = []
    node = shutil.which("node")
    for label, (file, package) in _TYPESCRIPT.items():
        about = _DIRECTORY / "node_modules" / "@modelcontextprotocol" / package / "package.json"
        if node is None:
            missing[label] = "`node` is not installed"
        elif not about.is_file():
            missing[label] = "its packages are not installed: run `npm ci` in bench/peers/"
        else:
            commands[label] = (node, str(_DIRECTORY / file))
            versions.append(f"{label} ({json.loads(about.read_text(encoding='utf-8'))['version']})")
    if node is not None:
        versions.append(f"Node {_output(node, '--version').removeprefix('v')}")
    try:
        commands[GO], version = _build_go(directory / "go-peer")
        versions.append(version)
    except _MissingError as error:
        missing[GO] = str(error)
    return Peers(commands, missing, tuple(versions))


def typescript_package() -> str:
    """Return the exact package of the TypeScript SDK 2, as npm names it."""
    package = "@modelcontextprotocol/server"
    about = json.loads(_DIRECTORY.joinpath("package.json").read_text(encoding="utf-8"))
    return f"{package}@{about['dependencies'][package]}"


class _MissingError(Exception):
    """The reason why a peer cannot run here."""


def _build_go(directory: Path) -> tuple[tuple[str, ...], str]:
    """Return the command of the built server, and the versions of its SDK and of Go."""
    beside = Path(sys.executable).with_name("go")
    go = str(beside) if beside.is_file() else shutil.which("go")
    if go is None:
        raise _MissingError("`go` is not installed")
    directory.mkdir()
    for name in ("go.mod", "server.go"):
        shutil.copyfile(_DIRECTORY / name, directory / name)
    program = directory / "server"
    command = [go, "build", "-mod=mod", "-o", str(program), "."]
    try:
        built = subprocess.run(  # noqa: S603  our own server
            command, cwd=directory, capture_output=True, check=False, text=True, timeout=_BUILD_S
        )
    except subprocess.TimeoutExpired:
        raise _MissingError("its server was not built in time") from None
    if built.returncode:
        lines = built.stderr.strip().splitlines() or [f"exit code {built.returncode}"]
        is_unreachable = any(word in lines[-1] for word in ("dial tcp", "no such host", "i/o timeout"))
        reason = "a Go module proxy cannot be reached" if is_unreachable else lines[-1][:200]
        raise _MissingError(f"its server cannot be built: {reason}")
    sdk = _output(go, "list", "-m", "github.com/modelcontextprotocol/go-sdk", cwd=directory).split()[-1]
    version = _output(go, "env", "GOVERSION", cwd=directory).removeprefix("go")
    return (str(program),), f"{GO} ({sdk.removeprefix('v')}), Go {version}"


def _output(*command: str, cwd: Path | None = None) -> str:
    ran = subprocess.run(command, cwd=cwd, capture_output=True, check=True, text=True)  # noqa: S603  as found
    return ran.stdout.strip()
