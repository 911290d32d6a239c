"""The commands of `toolmason import`: manifests and parts of them, made of what others say of programs."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from toolmason.commands.options import Command, CommandLineError, Exit, Refused, end_with
from toolmason.project import MANIFESTS

if TYPE_CHECKING:
    from toolmason.importers.notes import ImportFailed, Notes

_FILE = click.Path(dir_okay=False, path_type=Path)


@click.group("import")
def importing() -> None:
    """Make a manifest of what others say of programs.

    What comes out is yours: read it, above all what each tool may do, before you serve it.
    """


def _force_option(command: Command) -> Command:
    return click.option("--force", is_flag=True, help="Overwrite what is there.")(command)


def _output_option(what: str) -> Callable[[Command], Command]:
    return click.option("-o", "--output", metavar="FILE", type=_FILE, help=f"Write {what} to FILE instead of stdout.")


@importing.command()
@click.argument("files", metavar="FILE...", nargs=-1, required=True, type=_FILE)
@_output_option("the manifest")
@click.option("--name", help="Name of the server; that of the file if there is one, else `climax`.")
@click.option("--policy", metavar="FILE", type=_FILE, help="A policy file, imported too.")
@click.option(
    "--policy-output",
    metavar="FILE",
    type=_FILE,
    help="Write the policy there, not to policy.toml beside the manifest or its folder `manifest`.",
)
@click.option(
    "--unstated-risk",
    type=click.Choice(["read", "destructive"]),
    default="destructive",
    show_default=True,
    help="The risk of tools that state none. CLImax takes them for `read`.",
)
@_force_option
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
    """Turn the YAML files of CLImax into one manifest.

    What does not carry over is listed on stderr. Tools that do not state their risk become destructive, so that each
    call needs the approval of a person; --unstated-risk read takes them for `read`, as CLImax does.

    Exit codes: 0 fine, 1 a file cannot be imported or a default would be lost, 2 wrong command line, 4 refused to
    overwrite.
    """
    if policy_output and not policy:
        raise click.UsageError("--policy-output goes with --policy")
    if policy and not (policy_output or output or is_json):
        raise click.UsageError("two files come out: name them with --output or --policy-output, or use --json")
    from toolmason.importers.climax import import_climax
    from toolmason.importers.climax.policy import import_policy
    from toolmason.importers.manifest_writer import manifest_text, toml_text
    from toolmason.importers.notes import ImportFailed, Notes

    notes = Notes()
    try:
        imported = import_climax(files, notes, name=name or "", unstated_risk=unstated_risk)
        text = manifest_text(imported.data, notes, sources=files)
        rules = (
            toml_text(import_policy(policy, imported, notes), f"Imported from {policy.as_posix()}.") if policy else ""
        )
    except ImportFailed as error:
        _fail(error, notes, is_json=is_json)
    targets = {output: text} if output else {}
    if rules and (output or policy_output):
        targets[policy_output or _beside(output)] = rules
    _write(targets, force=force)
    if is_json:
        document = {"manifest": text, "policy": rules or None, "notes": [each.as_data() for each in notes]}
        click.echo(json.dumps(document, ensure_ascii=False, indent=2))
        return
    _tell(notes)
    if imported.unstated_risks:
        click.echo(_unstated(imported.unstated_risks, len(imported.tools), unstated_risk), err=True)
    if not output:
        click.echo(text, nl=False)


def _unstated(count: int, total: int, risk: str) -> str:
    """Return the line on the tools that state no risk."""
    verb = "states" if count == 1 else "state"
    was, them = ("was", "it") if count == 1 else ("were", "them")
    default = "the default of CLImax"
    advice = f", {default}" if risk == "read" else f"; `--unstated-risk read` imports {them} as `read`, {default}"
    return f"{count} of {total} tools {verb} no risk and {was} imported as `{risk}`{advice}."


def _beside(output: Path | None) -> Path:
    """Give the place of a policy: in the project, but not in the folder where each file would count as a manifest."""
    folder = (output or Path()).parent
    if folder.resolve().name == MANIFESTS:
        folder = Path(os.path.normpath(folder / ".."))
    return folder / "policy.toml"


def _fail(error: ImportFailed, notes: Notes, *, is_json: bool) -> Any:
    """Tell why nothing came out: what was noted before may be the reason."""
    if is_json:
        document = {"errors": list(error.mistakes), "notes": [each.as_data() for each in notes]}
        click.echo(json.dumps(document, ensure_ascii=False, indent=2))
    else:
        _say(str(each) for each in notes)
    _say(error.mistakes)
    end_with(Exit.FINDINGS)


def _tell(notes: Notes) -> None:
    _say(str(each) for each in notes)
    click.echo(f"\n{len(notes)} {'note' if len(notes) == 1 else 'notes'} on what did not carry over.", err=True)


def _say(lines: Iterable[str]) -> None:
    """Write lines to stderr; what a file holds cannot move a terminal's cursor."""
    from toolmason.audit.output import visible

    for line in lines:
        click.echo(visible(line), err=True)


def _write(targets: dict[Path, str], *, force: bool) -> None:
    """Write all files, or none if one of them is there already."""
    from toolmason.importers.manifest_writer import write_text

    taken = [path for path in targets if path.exists() or path.is_symlink()]
    if taken and not force:
        raise Refused(f"{taken[0]} is there already; nothing was written (--force overwrites it)")
    for path, text in targets.items():
        try:
            write_text(path, text, force=force)
        except OSError as error:
            raise CommandLineError(f"cannot write {path}: {(error.strerror or str(error)).lower()}") from error
        click.echo(f"{path}: written", err=True)


@importing.command("help", context_settings={"ignore_unknown_options": True})
@click.argument("command", metavar="PROGRAM [SUBCOMMAND]...", nargs=-1, required=True)
@click.option(
    "--timeout",
    type=click.IntRange(1, 600),
    default=20,
    show_default=True,
    metavar="SECONDS",
    help="How long the program may take to answer.",
)
def help_(command: tuple[str, ...], timeout: int) -> None:
    """Propose tools from what PROGRAM prints for --help.

    The program is run with --help, or -h if that tells nothing, and without a shell. Put -- before it:
    `toolmason import help -- git log`. What comes out is a part of a manifest, on stdout, with a remark at each guess.

    Exit codes: 0 fine, 1 the program tells nothing, 2 wrong command line.
    """
    from toolmason.importers.help.fragment import fragment
    from toolmason.importers.help.runner import program_help
    from toolmason.importers.notes import ImportFailed, Notes

    try:
        text = fragment(command, program_help(command, timeout_s=timeout))
    except ImportFailed as error:
        _fail(error, Notes(), is_json=False)
    click.echo(text, nl=False)
