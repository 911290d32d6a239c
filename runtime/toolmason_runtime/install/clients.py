"""The facts of `install.json`: the file, the entry and the environment of a server in each client."""

from __future__ import annotations

import json
import os
import re
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from importlib.resources import files
from pathlib import Path
from typing import Any, Final

from toolmason_runtime.install.errors import InstallError

USER: Final = "user"
PROJECT: Final = "project"
_VARIABLE: Final = re.compile(r"\$(\w+)")
_DEFAULT: Final = re.compile(r"\$\{(\w{1,200}+)(?::-([^}]{0,1000}+))?\}")
"""A variable in the `env` of an entry, with an optional default: `${TOKEN}`, `${TOKEN:-}`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Client:
    """One client, as `clients.toml` of the toolkit describes it. `user` lists paths by platform, `""` for all."""

    title: str
    servers: str
    entry: Mapping[str, Any]
    top: Mapping[str, Any] = field(default_factory=dict)
    project: str = ""
    user: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    is_list: bool = False
    """Whether the servers are a list of entries with a `name`, not a mapping."""
    other_file: str = ""
    found: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """Paths of which one exists if the client is installed, as `user`; by default the user's file and its directory."""
    aliases: tuple[str, ...] = ()
    rejects: tuple[str, ...] = ()
    project_note: str = ""
    withheld: Mapping[str, Any] = field(default_factory=dict)
    passed: tuple[str, ...] = ()
    commands: Mapping[str, Any] = field(default_factory=dict)
    """Slash commands of the server: `file` is the path in a project with `{name}`, `user` as that of the client."""
    skills: Mapping[str, Any] = field(default_factory=dict)
    """Directories of skills, if the client shows no prompts: `project` and `user`, as those of the client."""

    def path(self, scope: str, project: Path, environ: Mapping[str, str], platform: str = sys.platform) -> Path:
        """Return the path of the configuration file.

        Raises:
            InstallError: the client has no file of this scope, or has never been started, or the project's file is a
                link out of the project: a repository may contain any link.
        """
        if scope == PROJECT:
            if not self.project:
                raise InstallError(f"{self.title} has no configuration of a project; use --scope {USER}")
            return _inside(self._existing(project / self.project), project)
        path = self._user_path("configuration", self.user, environ, platform)
        if not path.parent.is_dir() and not self.is_found(environ, platform):
            raise InstallError(f"{path.parent} does not exist: start {self.title} once, or create that directory")
        return self._existing(path)

    def is_found(self, environ: Mapping[str, str], platform: str = sys.platform) -> bool:
        """Return whether the client seems to be installed for this user."""
        if self.found:
            return any(path.exists() for path in _paths(self.found, environ, platform))
        path = next(_paths(self.user, environ, platform), None)
        return path is not None and (self._existing(path).exists() or path.parent.is_dir())

    def command_path(self, scope: str, project: Path, environ: Mapping[str, str], platform: str = sys.platform) -> Path:
        """Return the directory of the client's command files, which need not exist.

        Raises:
            InstallError: the client has none of this scope, or it is a link out of the project.
        """
        if scope == PROJECT:
            return _inside(project / self.commands["file"].rpartition("/")[0], project)
        return self._user_path("commands", self.commands["user"], environ, platform)

    def skill_path(self, scope: str, project: Path, environ: Mapping[str, str], platform: str = sys.platform) -> Path:
        """Return the directory of the client's skills, which need not exist.

        Raises:
            InstallError: the client has none of this scope, or it is a link out of the project.
        """
        if scope == PROJECT:
            return _inside(project / self.skills["project"], project)
        return self._user_path("skills", self.skills["user"], environ, platform)

    def _user_path(
        self, kind: str, paths: Mapping[str, Sequence[str]], environ: Mapping[str, str], platform: str
    ) -> Path:
        path = next(_paths(paths, environ, platform), None)
        if path is None:
            raise InstallError(f"the path of the user's {kind} of {self.title} on {platform} is not known")
        return path

    def _existing(self, path: Path) -> Path:
        other = path.with_name(self.other_file or path.name)
        return other if other.exists() else path

    def entry_of(self, launch: list[str], present: Mapping[str, Any] = {}) -> dict[str, Any]:
        """Return the entry of a server that `launch` starts.

        Values of a `present` entry remain, except for those that start the server: a person may have changed them.
        """
        values = {"$launch": launch, "$command": launch[0], "$args": launch[1:]}
        entry: dict[str, Any] = {}
        for key, value in self.entry.items():
            old = present.get(key)
            if isinstance(value, str):
                entry[key] = values.get(value, value)
            elif isinstance(value, Mapping) and isinstance(old, Mapping):
                entry[key] = {**value, **old}
            elif isinstance(value, list) and isinstance(old, list):
                entry[key] = [*old, *(item for item in value if item not in old)]
            else:
                entry[key] = value if old is None else old
        return entry

    def environment(self, entry: Mapping[str, Any], environ: Mapping[str, str]) -> dict[str, str]:
        """Return the environment that this client passes to the server of `entry`."""
        named = {str(name) for name in _list(entry.get("env_vars"))}
        own = {
            name: _DEFAULT.sub(lambda match: environ.get(match[1], match[2] or ""), value)
            for name, value in own_variables(entry).items()
            if isinstance(value, str)
        }
        return {name: value for name, value in environ.items() if name in named or self._passes(name.upper())} | own

    def _passes(self, name: str) -> bool:
        if self.passed:
            return name in self.passed
        if not self.withheld or name.startswith(tuple(self.withheld["passed_prefixes"])):
            return True
        return name not in self.withheld["names"] and not re.search(self.withheld["pattern"], name)


@dataclass(frozen=True, slots=True, kw_only=True)
class InstallFacts:
    """The content of `install.json`.

    `variables` are the environment variables that the server reads. `manifest` is the path in the project of a server
    that `toolmason run` starts, since the project has no command for it; else empty. `run_arguments` follow it: further
    files and options of `run`, with absolute paths.
    """

    server: str
    package: str
    command: str
    manifest: str
    variables: tuple[str, ...]
    clients: Mapping[str, Client]
    run_arguments: tuple[str, ...] = ()


def load_facts(package: str) -> InstallFacts:
    """Read the facts of a generated package."""
    data = json.loads(files(package).joinpath("install.json").read_text(encoding="utf-8"))
    clients = {name: Client(**client) for name, client in data["clients"].items()}
    lists = {name: tuple(data.get(name, ())) for name in ("variables", "run_arguments")}
    return InstallFacts(**{**data, **lists, "clients": clients})


def _paths(patterns: Mapping[str, Sequence[str]], environ: Mapping[str, str], platform: str) -> Iterator[Path]:
    """Yield the paths of a platform whose variables are set."""
    for pattern in patterns.get(platform, patterns.get("", ())):
        if all(environ.get(name) for name in _VARIABLE.findall(pattern)):
            yield Path(_VARIABLE.sub(lambda match: environ[match[1]], pattern)).expanduser()


def _inside(path: Path, project: Path) -> Path:
    """Return a path in a project, which may contain any link if it is a repository of others.

    Raises:
        InstallError: it is a link out of the project.
    """
    target = Path(os.path.realpath(path))
    if not target.is_relative_to(os.path.realpath(project)):
        raise InstallError(f"{path} is a link to {target}, outside of the project; edit that file by hand")
    return path


def command_line(entry: Any) -> list[str]:
    """Return the command line in an entry of any client; empty if it has none, for example that of a URL."""
    if not isinstance(entry, Mapping):
        return []
    command = entry.get("command", entry.get("cmd"))
    parts = command if isinstance(command, list) else [command, *_list(entry.get("args"))]
    return parts if all(isinstance(part, str) for part in parts) else []


def own_variables(entry: Any) -> dict[str, Any]:
    """Return the environment variables that an entry of any client sets."""
    table = _table(entry)
    return {**_table(table.get("env")), **_table(table.get("environment")), **_table(table.get("envs"))}


def _list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []


def _table(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}


def project_directory(path: str | None) -> Path:
    """Return the directory of the project: by default the one around the current directory that has `.git`."""
    if path is not None:
        directory = Path(path)
        if not directory.is_dir():
            raise InstallError(f"{path} is not a directory")
        return directory.absolute()
    current = Path.cwd()
    return next((parent for parent in (current, *current.parents) if (parent / ".git").exists()), current)
