"""The subcommand `install`."""

from __future__ import annotations

import argparse
import json
import os
import shutil
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from contextlib import nullcontext, suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final

from toolmason_runtime.install import files, start
from toolmason_runtime.install.changes import changes, masked, masked_yaml, printable
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
from toolmason_runtime.install.command_styles import in_style, load_catalogue_of, prefix_of, skills_with_names, style_of
from toolmason_runtime.install.commands import (
    NO_COMMAND_PROMPTS,
    OURS,
    CommandDirectory,
    State,
    command_directory,
    skill_directory,
)
from toolmason_runtime.install.configuration import (
    Target,
    entries,
    has_entry,
    installed,
    located,
    lost_comments,
    new_configuration,
    open_target,
    removed,
)
from toolmason_runtime.install.errors import CannotEditError, InstallError
from toolmason_runtime.install.launch import is_ours, launch_command, shared_arguments
from toolmason_runtime.shared.client_profiles import makes_names_different
from toolmason_runtime.shared.suggestions import closest_match

DONE: Final = 0
NOT_STARTED: Final = 1
REFUSED: Final = 4
INTERRUPTED: Final = 130
_MAX_SHOWN_TOOLS: Final = 8
_ANY_CLIENT: Final = Client(
    title="", servers="mcpServers", entry={"command": "$command", "args": "$args"}, project="mcp.json"
)


def main(argv: Sequence[str], *, package: str, server_files: Path | None = None) -> int:
    """Run the subcommand. Return 0, 1 if the installed server does not start, 2 for wrong usage, 4 for a refusal.

    Args:
        argv: the arguments after `install`.
        package: import name of the generated package.
        server_files: the directory that contains `commands` of the server; None for a server without commands.
    """
    facts = load_facts(package)
    split = list(argv).index("--") if "--" in argv else len(argv)
    options, arguments = _options(facts, list(argv)[:split]), list(argv)[split + 1 :]
    for stream in (sys.stdout, sys.stderr):
        stream.reconfigure(errors="backslashreplace")  # type: ignore[union-attr]  # The encoding may lack characters of a path.
    try:
        if options.print:
            return _print(options, facts, arguments)
        if options.all:
            return _run_all(options, facts, arguments, server_files)
        return _run(options, facts, arguments, server_files)
    except (InstallError, OSError) as error:
        _report(error, facts)
        return REFUSED
    except KeyboardInterrupt:
        return INTERRUPTED


def _report(error: Exception, facts: InstallFacts) -> None:
    sys.stderr.write(f"{facts.command} install: {printable(str(error))}\n")


def _options(facts: InstallFacts, argv: Sequence[str]) -> argparse.Namespace:
    """Parse the command line; `client` is a key of the clients, or None for none that is known.

    Exits with status 2 for wrong usage.
    """
    parser = _parser(facts)
    options = parser.parse_args(argv)
    name, aliases = options.client, {key: key for key in facts.clients}
    aliases |= {alias: key for key, client in facts.clients.items() for alias in client.aliases}
    options.client = aliases.get(name)
    if options.print and not options.all:
        return options
    if options.print or (options.all and name):
        parser.error("use CLIENT, --all, or --print with or without CLIENT")
    if not options.all and options.client is None:
        guess = closest_match(name or "", aliases)
        problem = f"unknown client `{name}`" if name else "name a client"
        hint = f" (did you mean `{guess}`?)" if guess else ""
        parser.error(f"{problem}{hint}: {', '.join(facts.clients)}; --print shows an entry for any other")
    return options


def _parser(facts: InstallFacts) -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog=f"{facts.command} install",
        usage="%(prog)s (CLIENT | --all | --print [CLIENT]) [options] [-- SERVER ARGUMENTS]",
        description=f"Add the server `{facts.server}` to the configuration of an MCP client, and start it as the client"
        " does. Comments and other entries remain; a backup is made.",
        epilog="Exit codes: 0 done, 1 the server does not start, 2 wrong usage, 4 refused, nothing was written.",
        allow_abbrev=False,
    )
    parser.add_argument("client", nargs="?", metavar="CLIENT", help=", ".join(facts.clients))
    parser.add_argument("--all", action="store_true", help="all of these clients that are installed on this machine")
    parser.add_argument(
        "--print", action="store_true", help="print the entry, for CLIENT or any other client, and write nothing"
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
    parser.add_argument(
        "--no-skills",
        action="store_true",
        help="do not write the server's skills, which replace slash commands in a client without prompts",
    )
    parser.add_argument("--dry-run", action="store_true", help="show the changes and write nothing")
    parser.add_argument(
        "--uninstall", action="store_true", help="remove the entry, and unedited command files and skills"
    )
    parser.add_argument("--force", action="store_true", help="replace or remove an entry of another server")
    return parser


def _print(options: argparse.Namespace, facts: InstallFacts, arguments: Sequence[str]) -> int:
    """Print the configuration with the entry: that of the client, or the form that most others read."""
    command = _command(options, facts, arguments, project_directory(options.project))
    client = facts.clients.get(options.client, _ANY_CLIENT)
    name, text = new_configuration(client, facts.server, command, options.scope)
    print(f"{client.title}: {name}" if options.client else "Most clients read this form:", file=sys.stderr)
    print(text, end="")
    return DONE


def _command(options: argparse.Namespace, facts: InstallFacts, arguments: Sequence[str], project: Path) -> list[str]:
    """Return the command line of the entry.

    Raises:
        InstallError: the file of a project cannot contain it, or it is not UTF-8.
    """
    shared = project if options.scope == PROJECT else None
    launch = launch_command(facts, options.requirement, project=shared)
    command = [*launch, *(shared_arguments(arguments, shared) if shared else arguments)]
    _check_encodable(command)
    return command


def _run_all(options: argparse.Namespace, facts: InstallFacts, arguments: list[str], server_files: Path | None) -> int:
    """Run for each client that is found, and return the highest status."""
    is_project = options.scope == PROJECT
    found = {
        key: client
        for key, client in facts.clients.items()
        if client.is_found(os.environ) and (client.project or not is_project)
    }
    if not found:
        raise InstallError("no known client is installed on this machine; name one, or use --print")
    statuses = {}
    for key, client in found.items():
        print(f"{client.title}:")
        try:
            statuses[key] = _run(argparse.Namespace(**{**vars(options), "client": key}), facts, arguments, server_files)
        except (InstallError, OSError) as error:
            sys.stdout.flush()
            _report(error, facts)
            statuses[key] = REFUSED
    done = [found[key].title for key, status in statuses.items() if status == DONE]
    print(f"{len(done)} of {len(found)} clients: {', '.join(done)}")
    return max(statuses.values())


def _run(options: argparse.Namespace, facts: InstallFacts, arguments: list[str], server_files: Path | None) -> int:
    project = project_directory(options.project)
    client = facts.clients[options.client]
    path = client.path(options.scope, project, os.environ)
    commands = _commands(options, facts, arguments, server_files, project)
    if commands and NO_COMMAND_PROMPTS not in arguments:
        arguments = [*arguments, NO_COMMAND_PROMPTS]
    command = [] if options.uninstall else _command(options, facts, arguments, project)
    try:
        edit = _edit(options, facts, open_target(client, path, facts.server), command)
    except CannotEditError as error:
        if options.uninstall:
            raise
        _, text = new_configuration(client, facts.server, command)
        raise InstallError(f"{error}\nThis is the entry:\n{text.rstrip()}") from error
    directories = [
        directory for directory in (commands, _skills(options, facts, arguments, server_files, project)) if directory
    ]
    if edit is None:
        print(f"{facts.server} is not in {path}")
        _change_commands(directories, options)
        return DONE
    if not options.uninstall:
        _change_commands(directories, options)
    for comment in edit.lost:
        print(f"The edit removes the comment {printable(comment)}")
    _write(edit.target, edit.text, {facts.server, *_shown(edit.target, edit.entry)}, dry_run=options.dry_run)
    if options.uninstall:
        _change_commands(directories, options)
    if options.dry_run:
        print("Nothing was written.")
    if options.uninstall or options.dry_run:
        return DONE
    return _start(edit.target, facts, options.scope, project)


@dataclass(frozen=True, slots=True)
class _Edit:
    """The new text of a configuration file, the new entry, and the comments that the text has lost."""

    target: Target
    text: str
    entry: Mapping[str, Any]
    lost: Counter[str]


def _edit(options: argparse.Namespace, facts: InstallFacts, target: Target, command: Sequence[str]) -> _Edit | None:
    """Return the edit of a configuration file; None if there is no entry to remove.

    Raises:
        CannotEditError: the layout of the file does not allow it.
        InstallError: the entry is that of another server, or the edit would lose a comment.
    """
    client = target.client
    if options.uninstall and target.entry is None:
        return None
    ours = is_ours(command_line(target.entry), facts)
    if target.entry is not None and not ours and not options.force:
        shown = masked(json.dumps(target.entry, indent=2, ensure_ascii=False, default=str), _shown(target, {}))
        raise InstallError(
            f"{target.path} has another `{facts.server}`:\n{shown}\nUse --force to replace or remove it."
        )
    entry: Mapping[str, Any] = {}
    with located(target.path):
        if ours and options.scope == PROJECT and not options.uninstall:
            ours = _is_trusted(target.entry, facts, is_forced=options.force)
        if options.uninstall:
            text = removed(target, facts.server)
        else:
            entry = client.entry_of(list(command), target.entry if ours else {})
            text = installed(target, facts.server, entry, merges=ours)
        lost = lost_comments(target, text)
        if lost and not options.force and not options.uninstall:
            raise InstallError(f"the edit would remove the comment `{min(lost)}`; use --force to remove it")
    return _Edit(target, text, entry, lost)


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


def _skills(
    options: argparse.Namespace,
    facts: InstallFacts,
    arguments: Sequence[str],
    server_files: Path | None,
    project: Path,
) -> CommandDirectory | None:
    """Return the directory for the skills, of a client without prompts; None to leave it alone.

    They have the names of tools that the client sees with the server's `arguments`. Skills that another client uses,
    too, are not removed.
    """
    client = facts.clients[options.client]
    if server_files is None or (options.no_skills and not options.uninstall):
        return None
    directory = skill_directory(client, server_files / "skills", options.scope, project, os.environ)
    if directory is None:
        return None
    if not options.uninstall:
        catalogue, style = load_catalogue_of(facts.package), style_of(arguments)
        prefix = "" if makes_names_different(options.client) else prefix_of(arguments, catalogue)
        if not (style or prefix):
            return directory
        return replace(directory, commands=skills_with_names(directory.commands, catalogue, style, prefix))
    others = (other for key, other in facts.clients.items() if key != options.client and other.skills)
    for other in others:
        with suppress(InstallError):
            path = other.skill_path(options.scope, project, os.environ)
            if path == directory.path and has_entry(other, options.scope, project, facts.server):
                print(f"Left the skills in {path}, which {other.title} uses.")
                return None
    return directory


def _change_commands(directories: Sequence[CommandDirectory], options: argparse.Namespace) -> None:
    """Write or remove the command files and skills, and print the result."""
    for directory in directories:
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
    mask = masked_yaml if target.path.suffix in {".yaml", ".yml"} else masked
    print(*changes(mask(target.file.text, shown), mask(text, shown), str(target.path)), sep="\n")
    if dry_run:
        return
    backup = files.write(target.file, target.file.encode(text))
    print(f"Wrote {target.path}" + (f"; the old version is {backup}" if backup else ""))


def _start(target: Target, facts: InstallFacts, scope: str, project: Path) -> int:
    """Start the server from the file as it is now, and report the result."""
    client = target.client
    entry = entries(client, target.editor.load(files.read(target.path).text))[facts.server]
    environ = client.environment(entry, os.environ)
    command = command_line(entry)
    if scope == PROJECT and not shutil.which(command[0], path=environ.get("PATH")):
        print(
            f"{client.title} cannot start the server: `{command[0]}` is not on PATH. Everyone who uses the project"
            " needs it there: install it, for example with `uv tool install`, or use --from REQUIREMENT.",
            file=sys.stderr,
        )
        return NOT_STARTED
    began = time.monotonic()
    try:
        with tempfile.TemporaryDirectory() as empty:
            # A client without projects starts servers outside of them.
            tools = start.list_tools(command, environ, project if client.project else Path(empty))
    except InstallError as error:
        print(f"The server does not start as {client.title} starts it: {error}", file=sys.stderr)
        return NOT_STARTED
    names = ", ".join(tools[:_MAX_SHOWN_TOOLS]) + (", ..." if len(tools) > _MAX_SHOWN_TOOLS else "")
    print(f"Started as {client.title} starts it: {len(tools)} tools in {time.monotonic() - began:.1f} s: {names}")
    if missing := [name for name in facts.variables if name in os.environ and name not in environ]:
        print(f"{client.title} does not pass {', '.join(missing)} to the server; set them in `env` of the entry.")
    print(client.project_note if scope == PROJECT and client.project_note else f"Restart {client.title} to use it.")
    return DONE
