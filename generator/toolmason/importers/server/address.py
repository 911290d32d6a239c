"""The address of a server as a manifest contains it: variables by name, and no secrets."""

from __future__ import annotations

import os
import re
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Final
from urllib.parse import parse_qsl, urlsplit

from toolmason_runtime.shared.errors import ToolError
from toolmason_runtime.shared.specs.program import Permissions
from toolmason_runtime.shared.specs.upstream import DEFAULT_PERMISSIONS, Upstream
from toolmason_runtime.shared.toml.problems import quoted
from toolmason_runtime.toolkit import Confinement, base_environment, expand_variables, is_script

from toolmason.audit.mcp_client import Launch, describe_server
from toolmason.audit.server_address import is_secret_name, is_url, secret_words
from toolmason.audit.server_lists import ServerDescription, ServerError
from toolmason.importers.notes import ImporterError

_VARIABLE: Final = re.compile(r"\$(?:[A-Za-z_]\w*|\{[A-Za-z_]\w*\})", re.ASCII)
_HINT: Final = "a manifest is committed, so put it into an environment variable and write '$NAME' in single quotes"


@dataclass(frozen=True, slots=True, kw_only=True)
class Address:
    """A command line or a URL, with `$VAR` in place of secrets."""

    name: str = "NAME"
    """Name of the upstream, for messages."""
    command: tuple[str, ...] = ()
    url: str = ""
    headers: Mapping[str, str] = field(default_factory=dict)
    env: Mapping[str, str] = field(default_factory=dict)
    pass_env: tuple[str, ...] = ()
    working_dir: str = ""
    memory_mb: int = 1024
    permissions: Permissions = DEFAULT_PERMISSIONS
    home: Path | None = None
    """The own directory of the program; None for a temporary one."""

    @property
    def table(self) -> dict[str, object]:
        """The keys of `[upstreams.NAME]`."""
        keys = {
            "command": list(self.command),
            "url": self.url,
            "headers": dict(self.headers),
            "pass_env": list(self.pass_env),
            "reads": list(self.permissions.reads),
            "writes": list(self.permissions.writes),
        }
        table: dict[str, object] = {key: value for key, value in keys.items() if value}
        return {**table, "network": self.permissions.network} if self.command else table

    @property
    def server(self) -> str | list[str]:
        """The URL, or the words of the command line with the values of variables.

        Raises:
            ImporterError: a variable is not set.
        """
        return self.url or [_expanded(word, "the command") for word in self.command]

    @property
    def sent_headers(self) -> dict[str, str]:
        """The headers with the values of variables.

        Raises:
            ImporterError: a variable is not set.
        """
        return {name: _expanded(value, f"the header {name}") for name, value in self.headers.items()}

    def launch(self, home: Path) -> Launch:
        """Return the environment, directory and sandbox that the generated server will give to the server.

        `home` is the own directory of the program.

        Raises:
            ImporterError: a variable is not set.
        """
        passed = {name: value for name in self.pass_env if (value := os.environ.get(name))}
        own = {name: _expanded(value, f"the variable {name}") for name, value in self.env.items()}
        cwd = _expanded(self.working_dir, "the working directory") or None
        upstream = Upstream(
            name=self.name,
            command=self.command,
            env=self.env,
            pass_env=self.pass_env,
            memory_mb=self.memory_mb,
            permissions=self.permissions,
        )
        confinement = Confinement(upstream=upstream, home=home) if self.command else None
        return Launch(environ=base_environment(os.environ) | passed | own, cwd=cwd, confinement=confinement)


def parse_address(
    words: Sequence[str],
    *,
    headers: Mapping[str, str],
    pass_env: Sequence[str],
    permissions: Permissions = DEFAULT_PERMISSIONS,
) -> Address:
    """Return the address of a command line or a URL. The program may also read the paths of its command line.

    Raises:
        ImporterError: it contains a secret, or an option that belongs to the other kind of address.
    """
    if is_url(words[0]):
        if len(words) > 1:
            raise ImporterError(f"write one URL or one command line, not {quoted(words[1])} after a URL")
        if pass_env:
            raise ImporterError("--pass-env requires a command line: a server at a URL has its own environment")
        if permissions != DEFAULT_PERMISSIONS:
            raise ImporterError("--reads, --writes and --no-network require a command line")
        _refuse_secret_url(words[0])
        for name, value in headers.items():
            if is_secret_name(name) and not _VARIABLE.search(value):
                raise ImporterError(f"the header {quoted(name)} contains a secret; {_HINT}")
        return Address(url=words[0], headers=headers)
    if headers:
        raise ImporterError("--header requires a URL")
    if missing := [name for name in pass_env if not os.environ.get(name)]:
        raise ImporterError(f"the environment variable {missing[0]} is not set; set it, or remove --pass-env")
    for word in secret_words(words):
        if not _VARIABLE.search(word):
            raise ImporterError(f"argument {words.index(word)} of the command contains a secret; {_HINT}")
    for path in (*permissions.reads, *permissions.writes):
        if not re.match(r"/|~(?:/|\Z)|\$\w|\$\{\w+\}|\{roots\}\Z|\{cwd\}\Z", path):
            raise ImporterError(f"write an absolute path for --reads and --writes, not {quoted(path)}")
    named = [word for word in words[1:] if _is_path(word) and word not in permissions.writes]
    reads = tuple(dict.fromkeys([*permissions.reads, *named]))
    return Address(command=tuple(words), pass_env=tuple(pass_env), permissions=replace(permissions, reads=reads))


def _is_path(word: str) -> bool:
    """Return whether a word of a command line is an absolute path that exists, but no script: it may be read anyway."""
    try:
        return word.startswith("/") and Path(word).exists() and not is_script(Path(word))
    except (OSError, ValueError):
        return False


def ask_server(address: Address, *, timeout_s: float) -> ServerDescription:
    """Start or ask a server and return its description.

    Raises:
        ImporterError: it returns none, or a variable of its address is not set.
    """
    shown = address.url or address.command[0]
    try:
        with nullcontext(address.home) if address.home else temporary_home() as home:
            launch = address.launch(home)
            return describe_server(address.server, headers=address.sent_headers, timeout_s=timeout_s, launch=launch)
    except ServerError as error:
        output = "".join(f"\n  | {line}" for line in error.stderr_tail.splitlines())
        stderr = f"; its stderr:{output}" if output else ""
        advice = f"\n{error.advice}" if error.advice else ""
        lines = f"server {quoted(shown)}: {' '.join(str(error).split())}{stderr}{advice}".split("\n")
        raise ImporterError(*lines) from error


@contextmanager
def temporary_home() -> Iterator[Path]:
    """Yield a new directory for the program of a server, which is removed afterwards."""
    # Errors are ignored: caches of package runners have files that cannot be written.
    with tempfile.TemporaryDirectory(prefix="toolmason-", ignore_cleanup_errors=True) as directory:
        yield Path(directory)


def _refuse_secret_url(url: str) -> None:
    try:
        parts = urlsplit(url)
        names = [name for name, _ in parse_qsl(parts.query, keep_blank_values=True)]
    except ValueError as error:
        raise ImporterError(f"invalid URL: {error}") from None
    if "@" in parts.netloc or any(map(is_secret_name, names)):
        hint = "a manifest is committed, so pass the credentials with --header 'Authorization: Bearer $TOKEN'"
        raise ImporterError(f"the URL contains a secret; {hint}")


def _expanded(text: str, where: str) -> str:
    try:
        return expand_variables(text, os.environ, where=where)
    except ToolError as error:
        raise ImporterError(error.message.partition(": ")[2]) from None
