"""`toolmason import`: create manifests from OpenAPI, CLImax YAML, MCP servers, Python modules or `--help` output."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from toolmason.commands.options import (
    Command,
    CommandLineError,
    ExitCode,
    OverwriteRefusedError,
    exit_with,
)
from toolmason.project import MANIFESTS

if TYPE_CHECKING:
    from toolmason.importers.notes import ImporterError, Notes

FILE = click.Path(dir_okay=False, path_type=Path)


@click.group("import")
def importing() -> None:
    """Create a manifest from OpenAPI, CLImax YAML, an MCP server, a Python module or --help output.

    Review the result before you serve it, above all the risk of each tool.
    """


def force_option(command: Command) -> Command:
    """Add `--force`."""
    return click.option("--force", is_flag=True, help="Overwrite existing files.")(command)


@importing.command()
@click.argument("files", metavar="FILE...", nargs=-1, required=True, type=FILE)
@click.option("-o", "--output", metavar="FILE", type=FILE, help="Write the manifest to FILE instead of stdout.")
@click.option("--name", help="Name of the server. Default: the name of a single file, else `climax`.")
@click.option("--policy", metavar="FILE", type=FILE, help="Policy file to import.")
@click.option(
    "--policy-output",
    metavar="FILE",
    type=FILE,
    help="Write the policy to FILE. Default: policy.toml next to manifest/, or next to the manifest file.",
)
@click.option(
    "--unstated-risk",
    type=click.Choice(["read", "destructive"]),
    default="destructive",
    show_default=True,
    help="Risk of tools without one. CLImax uses `read`.",
)
@force_option
@click.option("--json", "is_json", is_flag=True, help="Print manifest, policy and notes as one JSON document.")
def climax(
    files: tuple[Path, ...],
    *,
    output: Path | None,
    name: str | None,
    policy: Path | None,
    policy_output: Path | None,
    unstated_risk: str,
    force: bool,
    is_json: bool,
) -> None:
    """Convert CLImax YAML files to one manifest.

    Settings that cannot be converted are listed on stderr. Tools without a risk become destructive, so that each call
    needs a person's approval; --unstated-risk read makes them `read`, as in CLImax.

    Exit codes: 0 success, 1 a file cannot be imported or a default would be lost, 2 wrong command line, 4 refused to
    overwrite.
    """
    if policy_output and not policy:
        raise click.UsageError("--policy-output requires --policy")
    if policy and not (policy_output or output or is_json):
        raise click.UsageError(
            "the import produces a manifest and a policy; set --output or --policy-output, or use --json"
        )
    from toolmason.importers.climax import import_climax
    from toolmason.importers.climax.policy import import_policy
    from toolmason.importers.manifest_writer import manifest_text, toml_text
    from toolmason.importers.notes import ImporterError, Notes

    notes = Notes()
    try:
        imported = import_climax(files, notes, name=name or "", unstated_risk=unstated_risk)
        text = manifest_text(imported.data, notes, sources=files)
        rules = (
            toml_text(import_policy(policy, imported, notes), f"Imported from {policy.as_posix()}.") if policy else ""
        )
    except ImporterError as error:
        fail_import(error, notes, is_json=is_json)
    targets = {output: text} if output else {}
    if rules and (output or policy_output):
        targets[policy_output or _default_policy_path(output)] = rules
    write_all(targets, force=force)
    if is_json:
        document = {"manifest": text, "policy": rules or None, "notes": [note.as_data() for note in notes]}
        click.echo(json.dumps(document, ensure_ascii=False, indent=2))
        return
    _print_notes(notes)
    if imported.unstated_risks:
        click.echo(_unstated_risk_message(imported.unstated_risks, len(imported.tools), unstated_risk), err=True)
    if not output:
        click.echo(text, nl=False)


def _unstated_risk_message(count: int, total: int, risk: str) -> str:
    verb = "states" if count == 1 else "state"
    was, them = ("was", "it") if count == 1 else ("were", "them")
    default = "the default of CLImax"
    advice = f", {default}" if risk == "read" else f"; `--unstated-risk read` imports {them} as `read`, {default}"
    return f"{count} of {total} tools {verb} no risk and {was} imported as `{risk}`{advice}."


def _default_policy_path(output: Path | None) -> Path:
    """Return the path of the policy, outside the directory `manifest`, where every TOML file is a manifest."""
    directory = (output or Path()).parent
    if directory.resolve().name == MANIFESTS:
        directory = Path(os.path.normpath(directory / ".."))
    return directory / "policy.toml"


def fail_import(error: ImporterError, notes: Notes, *, is_json: bool) -> Any:
    """Print the notes so far and the errors, and exit."""
    if is_json:
        document = {"errors": list(error.mistakes), "notes": [note.as_data() for note in notes]}
        click.echo(json.dumps(document, ensure_ascii=False, indent=2))
    else:
        print_lines(str(note) for note in notes)
    print_lines(error.mistakes)
    exit_with(ExitCode.FINDINGS)


def _print_notes(notes: Notes) -> None:
    print_lines(str(note) for note in notes)
    count = f"{len(notes)} {'note' if len(notes) == 1 else 'notes'}"
    click.echo(f"\n{count} on settings that were not converted.", err=True)


def print_lines(lines: Iterable[str]) -> None:
    """Print lines to stderr with control characters escaped, since text of a file could move the cursor."""
    from toolmason.audit.output import visible

    for line in lines:
        click.echo(visible(line), err=True)


def require_extra(manifest: Path, extra: str) -> None:
    """Require toolmason with `extra` in the pyproject.toml of the manifest's project, and print the change."""
    from toolmason.scaffold.requirement import add_extra

    if line := add_extra(project_root(manifest), extra):
        click.echo(line, err=True)


def project_root(manifest: Path) -> Path:
    """Return the directory of the project that a manifest, which may not exist yet, belongs to."""
    return manifest.parent.parent if manifest.absolute().parent.name == MANIFESTS else manifest.parent


def refuse_existing(paths: Iterable[Path], *, force: bool) -> None:
    """Exit if one of the files exists and `force` is not set."""
    existing = [path for path in paths if path.exists() or path.is_symlink()]
    if existing and not force:
        raise OverwriteRefusedError(f"{existing[0]} exists; nothing was written; use --force to overwrite it")


def write_all(targets: dict[Path, str], *, force: bool) -> None:
    """Write all files, or none if one of them exists."""
    from toolmason.importers.manifest_writer import write_text

    refuse_existing(targets, force=force)
    for path, text in targets.items():
        try:
            write_text(path, text, force=force)
        except OSError as error:
            raise CommandLineError(f"cannot write {path}: {(error.strerror or str(error)).lower()}") from error
        click.echo(f"{path}: written", err=True)


@importing.command("help", context_settings={"ignore_unknown_options": True})
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
    from toolmason.importers.help.completion import read_completions
    from toolmason.importers.help.fragment import FragmentOptions, fragment
    from toolmason.importers.help.runner import Runs
    from toolmason.importers.help.tree import Explorer
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
