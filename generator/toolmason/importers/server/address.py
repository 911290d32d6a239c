"""The address of a server as a manifest contains it: variables by name, and no secrets."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final
from urllib.parse import parse_qsl, urlsplit

from toolmason_runtime.programs.argv import expand_variables
from toolmason_runtime.programs.execute import base_environment
from toolmason_runtime.protocol.errors import ToolError
from toolmason_runtime.toml.problems import quoted

from toolmason.audit.mcp_client import Launch, describe_server
from toolmason.audit.server_address import is_secret_name, is_url, secret_words
from toolmason.audit.server_lists import ServerDescription, ServerError
from toolmason.importers.notes import ImporterError

_VARIABLE: Final = re.compile(r"\$(?:[A-Za-z_]\w*|\{[A-Za-z_]\w*\})", re.ASCII)
_HINT: Final = "a manifest is committed, so put it into an environment variable and write '$NAME' in single quotes"


@dataclass(frozen=True, slots=True, kw_only=True)
class Address:
    """A command line or a URL, with `$VAR` in place of secrets."""

    command: tuple[str, ...] = ()
    url: str = ""
    headers: Mapping[str, str] = field(default_factory=dict)
    env: Mapping[str, str] = field(default_factory=dict)
    pass_env: tuple[str, ...] = ()
    working_dir: str = ""

    @property
    def table(self) -> dict[str, object]:
        """The keys of `[upstreams.NAME]`."""
        keys = {
            "command": list(self.command),
            "url": self.url,
            "headers": dict(self.headers),
            "pass_env": list(self.pass_env),
        }
        return {key: value for key, value in keys.items() if value}

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

    @property
    def launch(self) -> Launch:
        """The environment and directory that the generated server will give to the server.

        Raises:
            ImporterError: a variable is not set.
        """
        passed = {name: value for name in self.pass_env if (value := os.environ.get(name))}
        own = {name: _expanded(value, f"the variable {name}") for name, value in self.env.items()}
        cwd = _expanded(self.working_dir, "the working directory") or None
        return Launch(environ=base_environment(os.environ) | passed | own, cwd=cwd)


def parse_address(words: Sequence[str], *, headers: Mapping[str, str], pass_env: Sequence[str]) -> Address:
    """Return the address of a command line or a URL.

    Raises:
        ImporterError: it contains a secret, or an option that belongs to the other kind of address.
    """
    if is_url(words[0]):
        if len(words) > 1:
            raise ImporterError(f"write one URL or one command line, not {quoted(words[1])} after a URL")
        if pass_env:
            raise ImporterError("--pass-env requires a command line: a server at a URL has its own environment")
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
    return Address(command=tuple(words), pass_env=tuple(pass_env))


def ask_server(address: Address, *, timeout_s: float) -> ServerDescription:
    """Start or ask a server and return its description.

    Raises:
        ImporterError: it returns none, or a variable of its address is not set.
    """
    shown = address.url or address.command[0]
    try:
        return describe_server(address.server, headers=address.sent_headers, timeout_s=timeout_s, launch=address.launch)
    except ServerError as error:
        output = "".join(f"\n  | {line}" for line in error.stderr_tail.splitlines())
        stderr = f"; its stderr:{output}" if output else ""
        lines = f"server {quoted(shown)}: {' '.join(str(error).split())}{stderr}".split("\n")
        raise ImporterError(*lines) from error


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
