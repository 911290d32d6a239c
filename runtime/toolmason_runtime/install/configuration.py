"""The configuration file of a client: read it, and edit the entry of one server without any other change."""

from __future__ import annotations

import os
import sys
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

from toolmason_runtime.install import files, jsonc
from toolmason_runtime.install.clients import PROJECT, Client
from toolmason_runtime.install.errors import CannotEditError, FileSyntaxError, InstallError


class _Editor(Protocol):
    """The functions of `jsonc` and `toml_file`, or a `YamlEditor`."""

    def load(self, text: str) -> dict[str, Any]: ...

    def comments(self, text: str) -> list[str]: ...

    def merge(self, text: str, values: Mapping[str, Any]) -> str: ...

    def replace(self, text: str, path: tuple[str, ...], value: Any) -> str: ...

    def remove(self, text: str, path: tuple[str, ...]) -> str: ...


@dataclass(frozen=True, slots=True)
class Target:
    """The file of a client, and the functions that edit it."""

    client: Client
    path: Path
    file: files.ConfigFile
    editor: _Editor
    entry: Any
    """The present entry; None if there is none."""


def new_configuration(client: Client, server: str, launch: list[str], scope: str = PROJECT) -> tuple[str, str]:
    """Return the path and the content of a new file with one server.

    The path is that in a project, or the user's one with `~`; it is a name alone if the client has no file of that
    scope on this platform.
    """
    paths = client.user.get(sys.platform, client.user.get("", ()))
    name = client.project if scope == PROJECT else next(reversed(paths), "")
    name = name or client.project or next(iter(client.user.values()))[-1].rpartition("/")[2]
    return name, _editor(client, name).merge("", {**client.top, client.servers: {server: client.entry_of(launch)}})


def _editor(client: Client, name: str) -> _Editor:
    if name.endswith(".toml"):
        from toolmason_runtime.install import toml_file

        return toml_file
    if name.endswith((".yaml", ".yml")):
        from toolmason_runtime.install.yaml_file import YamlEditor

        return YamlEditor(is_list=client.is_list)
    return jsonc


def entries(client: Client, data: Mapping[str, Any]) -> Any:
    """Return the entries of a configuration by the name of the server; another value as it is."""
    servers = data.get(client.servers, {})
    if not client.is_list:
        return servers
    from toolmason_runtime.install.yaml_file import by_name

    return dict(by_name(servers)) if isinstance(servers, list) else servers or {}


@contextmanager
def located(path: Path) -> Iterator[None]:
    """Put the path before the message of an error: `settings.json:3:1: ...`."""
    try:
        yield
    except FileSyntaxError as error:
        raise CannotEditError(f"{path}:{error}") from error
    except CannotEditError as error:
        raise CannotEditError(f"{path}: {error}") from error
    except InstallError as error:
        raise InstallError(f"{path}: {error}") from error


def open_target(client: Client, path: Path, server: str) -> Target:
    """Read the configuration file of a client.

    Raises:
        InstallError: it cannot be edited, or the client rejects it; the message has the position.
    """
    editor = _editor(client, path.name)
    with located(path):
        file = files.read(path)
        servers = entries(client, editor.load(file.text))
        if servers is None and editor is not jsonc:  # `servers:` without a value in YAML
            servers = {}
        if editor is jsonc:
            jsonc.check_accepted(file.text, client.rejects)
            if file.has_mark and "byte order marks" in client.rejects:
                raise FileSyntaxError(1, 1, "the client does not accept a byte order mark, so it rejects this file")
        if not isinstance(servers, dict):
            raise CannotEditError(f"`{client.servers}` must be a {'list' if client.is_list else 'table'} of servers")
    return Target(client, path, file, editor, servers.get(server))


def installed(target: Target, server: str, entry: Mapping[str, Any], *, merges: bool) -> str:
    """Return the text with the entry. `merges` retains keys of the present entry that the new one does not have."""
    client, editor, text = target.client, target.editor, target.file.text
    if target.entry is not None and not merges:
        new = editor.replace(text, (client.servers, server), entry)
    else:
        top = client.top if target.file.data is None else {}
        new = editor.merge(text, {**top, client.servers: {server: entry}})
    check_entry(target, new, server, entry)
    return new


def removed(target: Target, server: str) -> str:
    """Return the text without the entry, which exists."""
    text = target.editor.remove(target.file.text, (target.client.servers, server))
    check_entry(target, text, server, {})
    return text


def has_entry(client: Client, scope: str, project: Path, server: str) -> bool:
    """Return whether the configuration of a client has an entry of `server`.

    Raises:
        InstallError: it cannot be read.
    """
    return open_target(client, client.path(scope, project, os.environ), server).entry is not None


def check_entry(target: Target, text: str, server: str, entry: Mapping[str, Any]) -> None:
    """Compare the data of the edited text with that of the file: only the entry may differ.

    Raises:
        InstallError: the edit has lost something; nothing is written.
    """
    key = target.client.servers
    before, after = target.editor.load(target.file.text), target.editor.load(text)
    new = entries(target.client, after).get(server, {})
    for data in (before, after):
        data[key] = _without(data.get(key), server)
        if not data[key]:
            del data[key]
    if target.file.data is None:
        before = {**target.client.top, **before}
    if before != after or any(new.get(key) != value for key, value in entry.items()):
        raise CannotEditError("this file cannot be edited without changing other entries; edit it by hand")


def _without(servers: Any, server: str) -> Any:
    """Return the servers, a mapping or a list of entries with names, without one of them."""
    if isinstance(servers, Mapping):
        return {name: entry for name, entry in servers.items() if name != server}
    if isinstance(servers, list):
        return [entry for entry in servers if not isinstance(entry, Mapping) or entry.get("name") != server]
    return servers


def lost_comments(target: Target, text: str) -> Counter[str]:
    """Return the comments that the new text does not have."""
    return Counter(target.editor.comments(target.file.text)) - Counter(target.editor.comments(text))
