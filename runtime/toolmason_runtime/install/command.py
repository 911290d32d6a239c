"""The subcommand `install`."""

from __future__ import annotations

import argparse
import json
import os
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from contextlib import nullcontext, suppress
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

from toolmason_runtime.install import files, start
from toolmason_runtime.install.changes import changes, masked, printable
from toolmason_runtime.install.clients import (
    PROJECT,
    USER,
    InstallFacts,
    command_line,
    load_facts,
    own_variables,
    project_directory,
)
from toolmason_runtime.install.command_styles import in_style, load_catalogue_of, style_of
from toolmason_runtime.install.commands import NO_COMMAND_PROMPTS, OURS, CommandDirectory, State, command_directory
from toolmason_runtime.install.configuration import Target, check_entry, installed, located, lost_comments, open_target
from toolmason_runtime.install.errors import InstallError
from toolmason_runtime.install.launch import is_ours, launch_command

DONE: Final = 0
NOT_STARTED: Final = 1
REFUSED: Final = 4
INTERRUPTED: Final = 130
_MAX_SHOWN_TOOLS: Final = 8


def main(argv: Sequence[str], *, package: str, server_files: Path | None = None) -> int:
    """Run the subcommand. Return 0, 1 if the installed server does not start, 2 for wrong usage, 4 for a refusal.

    Args:
        argv: the arguments after `install`.
        package: import name of the generated package.
        server_files: the directory that contains `commands` of the server; None for a server without commands.
    """
    facts = load_facts(package)
    split = list(argv).index("--") if "--" in argv else len(argv)
    options = _parser(facts).parse_args(list(argv)[:split])
    for stream in (sys.stdout, sys.stderr):
        stream.reconfigure(errors="backslashreplace")  # type: ignore[union-attr]  # The encoding may lack characters of a path.
    try:
        return _run(options, facts, list(argv)[split + 1 :], server_files)
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
    parser.add_argument(
        "--commands",
        action="store_true",
        help=f"also write the files of the server's slash commands, and start it with {NO_COMMAND_PROMPTS}",
    )
    parser.add_argument("--dry-run", action="store_true", help="show the changes and write nothing")
    parser.add_argument("--uninstall", action="store_true", help="remove the entry, and unedited command files")
    parser.add_argument("--force", action="store_true", help="replace or remove an entry of another server")
    return parser


def _run(options: argparse.Namespace, facts: InstallFacts, arguments: list[str], server_files: Path | None) -> int:
    project = project_directory(options.project)
    client = facts.clients[options.client]
    target = open_target(client, client.path(options.scope, project, os.environ), facts.server)
    commands = _commands(options, facts, arguments, server_files, project)
    if commands and NO_COMMAND_PROMPTS not in arguments:
        arguments = [*arguments, NO_COMMAND_PROMPTS]
    if options.uninstall and target.entry is None:
        print(f"{facts.server} is not in {target.path}")
        _change_commands(commands, options)
        return DONE
    ours = is_ours(command_line(target.entry), facts)
    if target.entry is not None and not ours and not options.force:
        shown = masked(json.dumps(target.entry, indent=2, ensure_ascii=False, default=str), _shown(target, {}))
        raise InstallError(
            f"{target.path} has another `{facts.server}`:\n{shown}\nUse --force to replace or remove it."
        )
    entry: Mapping[str, Any] = {}
    lost: Counter[str] = Counter()
    with located(target.path):
        if ours and options.scope == PROJECT and not options.uninstall:
            ours = _is_trusted(target.entry, facts, is_forced=options.force)
        if options.uninstall:
            text = target.editor.remove(target.file.text, (client.servers, facts.server))
            check_entry(target, text, facts.server, {})
            lost = lost_comments(target, text)
        else:
            launch = launch_command(facts, options.requirement, is_shared=options.scope == PROJECT)
            _check_encodable([*launch, *arguments])
            entry = client.entry_of([*launch, *arguments], target.entry if ours else {})
            text = installed(target, facts.server, entry, merges=ours)
            lost = lost_comments(target, text)
            if lost and not options.force:
                raise InstallError(f"the edit would remove the comment `{min(lost)}`; use --force to remove it")
    if not options.uninstall:
        _change_commands(commands, options)
    for comment in lost:
        print(f"The edit removes the comment {printable(comment)}")
    _write(target, text, _shown(target, entry), dry_run=options.dry_run)
    if options.uninstall:
        _change_commands(commands, options)
    if options.dry_run:
        print("Nothing was written.")
    if options.uninstall or options.dry_run:
        return DONE
    return _start(target, facts, options.scope, project)


def _commands(
    options: argparse.Namespace,
    facts: InstallFacts,
    arguments: Sequence[str],
    server_files: Path | None,
    project: Path,
) -> CommandDirectory | None:
    """Return the directory for the command files; None to leave it alone.

    Commands that are already installed are updated and removed without `--commands`, too. Their texts are those for the
    discovery style in the server's `arguments`.

    Raises:
        InstallError: the files cannot be written for the style; commands are wanted that the client or the server does
            not have, or other files have their names.
    """
    client = facts.clients[options.client]
    is_wanted = options.commands and not options.uninstall
    directory = None
    if server_files:
        source = server_files / "commands" / options.client
        with nullcontext() if is_wanted else suppress(InstallError):
            directory = command_directory(client, source, options.scope, project, os.environ)
    style = style_of(arguments)
    if directory is not None and style and not options.uninstall:
        directory = replace(directory, commands=in_style(directory.commands, load_catalogue_of(facts.package), style))
    if directory is None:
        if is_wanted:
            raise InstallError(f"`{facts.server}` has no command files for {client.title}; leave --commands out")
        return None
    states = set(directory.states().values())
    if is_wanted and states == {State.FOREIGN}:
        raise InstallError(f"other files in {directory.path} have the names of all commands; rename them")
    return directory if options.commands or states & {*OURS, State.EDITED} else None


def _change_commands(directory: CommandDirectory | None, options: argparse.Namespace) -> None:
    """Write or remove the command files, and print the result."""
    if directory is not None:
        for line in directory.change(removes=options.uninstall, dry_run=options.dry_run):
            print(printable(line))


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


def _shown(target: Target, entry: Mapping[str, Any]) -> set[str]:
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


def _write(target: Target, text: str, shown: Collection[str], *, dry_run: bool) -> None:
    """Show the changes, and write them."""
    if text == target.file.text and target.file.data is not None:
        print(f"{target.path} needs no change.")
        return
    print(*changes(masked(target.file.text, shown), masked(text, shown), str(target.path)), sep="\n")
    if dry_run:
        return
    backup = files.write(target.file, target.file.encode(text))
    print(f"Wrote {target.path}" + (f"; the old version is {backup}" if backup else ""))


def _start(target: Target, facts: InstallFacts, scope: str, project: Path) -> int:
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
