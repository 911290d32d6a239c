"""`toolmason import help`: propose command tools from the --help output of a program."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from toolmason.commands.import_output import FILE, fail_import, force_option, print_lines, refuse_existing, write_all


@click.command("help", context_settings={"ignore_unknown_options": True})
@click.argument("command", metavar="PROGRAM [SUBCOMMAND]...", nargs=-1, required=True)
@click.option("-r", "--recursive", is_flag=True, help="Also run each subcommand with --help.")
@click.option(
    "--depth", type=click.IntRange(1, 8), default=3, show_default=True, help="Levels of subcommands with --recursive."
)
@click.option(
    "--max-runs", type=click.IntRange(1, 2000), default=300, show_default=True, help="Maximum runs of the program."
)
@click.option(
    "--max-seconds", type=click.IntRange(1, 3600), default=300, show_default=True, help="Time limit for all runs."
)
@click.option(
    "--timeout",
    type=click.IntRange(1, 600),
    default=20,
    show_default=True,
    metavar="SECONDS",
    help="Time limit for one run.",
)
@click.option(
    "--max-tokens",
    type=click.IntRange(100, 20_000),
    default=600,
    show_default=True,
    help="Maximum tokens of a tool. Texts are shortened, and the least useful flags left out.",
)
@click.option(
    "--risk",
    type=click.Choice(["read", "write", "destructive"]),
    default="destructive",
    show_default=True,
    help="Risk of all tools.",
)
@click.option(
    "--completion", metavar="FILE", type=FILE, help="Completion script for fish, read for more values and flags."
)
@click.option("--name", default="", help="Write a whole manifest of a server with this name, not a part of one.")
@click.option("-o", "--output", metavar="FILE", type=FILE, help="Write to FILE instead of stdout.")
@force_option
def help_(
    command: tuple[str, ...],
    *,
    recursive: bool,
    depth: int,
    max_runs: int,
    max_seconds: int,
    timeout: int,
    completion: Path | None,
    output: Path | None,
    force: bool,
    **options: Any,
) -> None:
    """Propose tools from the --help output of PROGRAM.

    Examples: `toolmason import help -- git log`, `toolmason import help -r --name docker -- docker`. The program is run
    without a shell, with --help, or with -h if --help prints no help; its manual page is read if it describes more.
    The result is a part of a manifest on stdout, with a comment at each guess and at each flag that is left out.

    Exit codes: 0 success, 1 no help found, 2 wrong command line, 4 refused to overwrite.
    """
    from toolmason.diagnostics.terminal import progress
    from toolmason.importers.command_line.help.completion import read_completions
    from toolmason.importers.command_line.help.fragment import FragmentOptions, fragment
    from toolmason.importers.command_line.help.runner import Runs
    from toolmason.importers.command_line.help.tree import Explorer
    from toolmason.importers.notes import ImporterError, Notes

    if output:
        refuse_existing((output,), force=force)
    runs = Runs(timeout_s=timeout, max_runs=max_runs, max_seconds=max_seconds)
    try:
        completions = read_completions(completion, Path(command[0]).name) if completion else None
        with progress() as show:
            subcommands = Explorer(runs, show, completions).explore(command, depth=depth if recursive else 0)
        proposal = fragment(command, subcommands, FragmentOptions(**options))
    except ImporterError as error:
        fail_import(error, Notes(), is_json=False)
    if output:
        write_all({output: proposal.text}, force=force)
    if recursive or proposal.losses:
        print_lines(proposal.losses)
        click.echo(f"{proposal.tools} tools proposed from {runs.count} runs; review each `risk`.", err=True)
    if not output:
        click.echo(proposal.text, nl=False)
