"""The subcommand `install`."""

from __future__ import annotations

import argparse
import json
import os
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, Protocol

from toolmason_runtime.install import files, jsonc, start
from toolmason_runtime.install.changes import changes, masked, printable
from toolmason_runtime.install.clients import (
    PROJECT,
    USER,
    Client,
    InstallFacts,
    command_line,
    load_facts,
    own_variables,
    project_directory,
)
from toolmason_runtime.install.errors import FileSyntaxError, InstallError
from toolmason_runtime.install.launch import is_ours, launch_command

DONE: Final = 0
NOT_STARTED: Final = 1
REFUSED: Final = 4
INTERRUPTED: Final = 130
_MAX_SHOWN_TOOLS: Final = 8


def main(argv: Sequence[str], *, package: str) -> int:
    """Run the subcommand. Return 0, 1 if the installed server does not start, 2 for wrong usage, 4 for a refusal."""
    facts = load_facts(package)
    split = list(argv).index("--") if "--" in argv else len(argv)
    options = _parser(facts).parse_args(list(argv)[:split])
    for stream in (sys.stdout, sys.stderr):
        stream.reconfigure(errors="backslashreplace")  # type: ignore[union-attr]  # A path may lack in the encoding.
    try:
        return _run(options, facts, list(argv)[split + 1 :])
    except (InstallError, OSError) as error:
        sys.stderr.write(f"{facts.command} install: {printable(str(error))}\n")
        return REFUSED
    except KeyboardInterrupt:
        return INTERRUPTED


def _parser(facts: InstallFacts) -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog=f"{facts.command} install",
        usage="%(prog)s CLIENT [options] [-- SERVER ARGUMENTS]",
        description=f"Add the server `{facts.server}` to the configuration of an MCP client, and start it as the client"
        " does. Comments and other entries remain; a backup is made.",
        epilog="Exit codes: 0 done, 1 the server does not start, 2 wrong usage, 4 refused, nothing was written.",
        allow_abbrev=False,
    )
    parser.add_argument(
        "client", choices=sorted(facts.clients), metavar="CLIENT", help=", ".join(sorted(facts.clients))
    )
    parser.add_argument(
        "--scope", choices=(USER, PROJECT), default=USER, help="for all projects of this user, or for one project"
    )
    parser.add_argument("--project", metavar="DIR", help="the project (default: the one of the current directory)")
    parser.add_argument(
        "--from",
        dest="requirement",
        default="",
        metavar="REQUIREMENT",
        help="start the server with `uvx` and this requirement instead of this installation",
    )
    parser.add_argument("--dry-run", action="store_true", help="show the changes and write nothing")
    parser.add_argument("--uninstall", action="store_true", help="remove the entry")
    parser.add_argument("--force", action="store_true", help="replace or remove an entry of another server")
    return parser


class _Editor(Protocol):
    """The functions of `jsonc` and `toml_file`."""

    def load(self, text: str) -> dict[str, Any]: ...

    def comments(self, text: str) -> list[str]: ...

    def merge(self, text: str, values: Mapping[str, Any]) -> str: ...

    def replace(self, text: str, path: tuple[str, ...], value: Any) -> str: ...

    def remove(self, text: str, path: tuple[str, ...]) -> str: ...


@dataclass(frozen=True, slots=True)
class _Target:
    """The file of a client, and the functions that edit it."""

    client: Client
    path: Path
    file: files.ConfigFile
    editor: _Editor
    entry: Any
    """The present entry; None if there is none."""


def _run(options: argparse.Namespace, facts: InstallFacts, arguments: list[str]) -> int:
    project = project_directory(options.project)
    client = facts.clients[options.client]
    target = _open(client, client.path(options.scope, project, os.environ), facts.server)
    if options.uninstall and target.entry is None:
        print(f"{facts.server} is not in {target.path}")
        return DONE
    ours = is_ours(command_line(target.entry), facts)
    if target.entry is not None and not ours and not options.force:
        shown = masked(json.dumps(target.entry, indent=2, ensure_ascii=False, default=str), _shown(target, {}))
        raise InstallError(
            f"{target.path} has another `{facts.server}`:\n{shown}\nUse --force to replace or remove it."
        )
    entry: Mapping[str, Any] = {}
    with _located(target.path):
        if ours and options.scope == PROJECT and not options.uninstall:
            ours = _is_trusted(target.entry, facts, is_forced=options.force)
        if options.uninstall:
            text = target.editor.remove(target.file.text, (client.servers, facts.server))
            _check(target, text, facts.server, {})
        else:
            launch = launch_command(facts, options.requirement, is_shared=options.scope == PROJECT)
            _check_encodable([*launch, *arguments])
            entry = client.entry_of([*launch, *arguments], target.entry if ours else {})
            text = _installed(target, facts.server, entry, merges=ours)
            lost = Counter(target.editor.comments(target.file.text)) - Counter(target.editor.comments(text))
            if lost and not options.force:
                raise InstallError(f"the edit would remove the comment `{min(lost)}`; use --force to remove it")
    _write(target, text, _shown(target, entry), dry_run=options.dry_run)
    if options.uninstall or options.dry_run:
        return DONE
    return _start(target, facts, options.scope, project)


def _check_encodable(command: Sequence[str]) -> None:
    """Raise an `InstallError` for bytes that are not UTF-8: the configuration cannot contain them."""
    for part in command:
        try:
            part.encode()
        except UnicodeEncodeError as error:
            raise InstallError(f"the argument {part!a} is not UTF-8") from error


def _is_trusted(entry: Any, facts: InstallFacts, *, is_forced: bool) -> bool:
    """Return whether the values of an entry in a project's file may remain; False if they are replaced.

    Raises:
        InstallError: it sets a variable that the server does not read, such as `PYTHONPATH`. In a repository of others
            that can run their code, at the start already.
    """
    foreign = sorted(own_variables(entry).keys() - set(facts.variables))
    if foreign and not is_forced:
        raise InstallError(
            f"`{facts.server}` sets {', '.join(foreign)}, which the server does not read and which can run other code;"
            " remove it, or use --force to replace the entry"
        )
    return not foreign


@contextmanager
def _located(path: Path) -> Iterator[None]:
    """Put the path before the message of an error: `settings.json:3:1: ...`."""
    try:
        yield
    except FileSyntaxError as error:
        raise InstallError(f"{path}:{error}") from error
    except InstallError as error:
        raise InstallError(f"{path}: {error}") from error


def _open(client: Client, path: Path, server: str) -> _Target:
    editor: _Editor = jsonc
    if path.suffix == ".toml":
        from toolmason_runtime.install import toml_file

        editor = toml_file
    with _located(path):
        file = files.read(path)
        servers = editor.load(file.text).get(client.servers, {})
        if editor is jsonc:
            jsonc.check_accepted(file.text, client.rejects)
            if file.has_mark and "byte order marks" in client.rejects:
                raise FileSyntaxError(1, 1, "the client does not accept a byte order mark, so it rejects this file")
        if not isinstance(servers, dict):
            raise InstallError(f"`{client.servers}` must be a table of servers")
    return _Target(client, path, file, editor, servers.get(server))


def _installed(target: _Target, server: str, entry: Mapping[str, Any], *, merges: bool) -> str:
    """Return the text with the entry. `merges` retains keys of the present entry that the new one does not have."""
    client, editor, text = target.client, target.editor, target.file.text
    if target.entry is not None and not merges:
        new = editor.replace(text, (client.servers, server), entry)
    else:
        top = client.top if target.file.data is None else {}
        new = editor.merge(text, {**top, client.servers: {server: entry}})
    _check(target, new, server, entry)
    return new


def _check(target: _Target, text: str, server: str, entry: Mapping[str, Any]) -> None:
    """Compare the data of the edited text with that of the file: only the entry may differ.

    Raises:
        InstallError: the edit has lost something; nothing is written.
    """
    before, after = target.editor.load(target.file.text), target.editor.load(text)
    servers = after.get(target.client.servers, {})
    new = servers.pop(server, {})
    before.get(target.client.servers, {}).pop(server, None)
    for data in (before, after):
        if not data.get(target.client.servers):
            data.pop(target.client.servers, None)
    if target.file.data is None:
        before = {**target.client.top, **before}
    if before != after or any(new.get(key) != value for key, value in entry.items()):
        raise InstallError("this file cannot be edited without changing other entries; edit it by hand")


def _shown(target: _Target, entry: Mapping[str, Any]) -> set[str]:
    """Return the strings that may be printed: those of the client, the new command line and the old program."""
    texts = {*command_line(target.entry)[:1], *command_line(entry)}
    values: list[Any] = [dict(target.client.entry), dict(target.client.top)]
    while values:
        value = values.pop()
        if isinstance(value, str):
            texts.add(value)
        elif isinstance(value, Mapping | list):
            values += value.values() if isinstance(value, Mapping) else value
    return texts


def _write(target: _Target, text: str, shown: Collection[str], *, dry_run: bool) -> None:
    """Show the changes, and write them."""
    if text == target.file.text and target.file.data is not None:
        print(f"{target.path} needs no change.")
        return
    print(*changes(masked(target.file.text, shown), masked(text, shown), str(target.path)), sep="\n")
    if dry_run:
        print("Nothing was written.")
        return
    backup = files.write(target.file, target.file.encode(text))
    print(f"Wrote {target.path}" + (f"; the old version is {backup}" if backup else ""))


def _start(target: _Target, facts: InstallFacts, scope: str, project: Path) -> int:
    """Start the server from the file as it is now, and report the result."""
    client = target.client
    entry = target.editor.load(files.read(target.path).text)[client.servers][facts.server]
    environ = client.environment(entry, os.environ)
    began = time.monotonic()
    try:
        with tempfile.TemporaryDirectory() as empty:
            # A client without projects starts servers outside of them.
            tools = start.list_tools(command_line(entry), environ, project if client.project else Path(empty))
    except InstallError as error:
        print(f"The server does not start as {client.title} starts it: {error}", file=sys.stderr)
        return NOT_STARTED
    names = ", ".join(tools[:_MAX_SHOWN_TOOLS]) + (", ..." if len(tools) > _MAX_SHOWN_TOOLS else "")
    print(f"Started as {client.title} starts it: {len(tools)} tools in {time.monotonic() - began:.1f} s: {names}")
    if missing := [name for name in facts.variables if name in os.environ and name not in environ]:
        print(f"{client.title} does not pass {', '.join(missing)} to the server; set them in `env` of the entry.")
    print(client.project_note if scope == PROJECT and client.project_note else f"Restart {client.title} to use it.")
    return DONE
