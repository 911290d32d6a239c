"""`toolmason import climax`: create a manifest and a policy from the YAML files of CLImax."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import TYPE_CHECKING

import click

from toolmason.commands.import_output import FILE, fail_import, force_option, print_lines, write_all
from toolmason.project import MANIFESTS

if TYPE_CHECKING:
    from toolmason.importers.notes import Notes


@click.command()
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
    from toolmason.importers.command_line.climax import import_climax
    from toolmason.importers.command_line.climax.policy import import_policy, replace_descriptions
    from toolmason.importers.manifest_writer import manifest_text, toml_text
    from toolmason.importers.notes import ImporterError, Notes

    notes = Notes()
    try:
        imported = import_climax(files, notes, name=name or "", unstated_risk=unstated_risk)
        if policy:
            replace_descriptions(policy, imported, notes)
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


def _print_notes(notes: Notes) -> None:
    print_lines(str(note) for note in notes)
    count = f"{len(notes)} {'note' if len(notes) == 1 else 'notes'}"
    click.echo(f"\n{count} on settings that were not converted.", err=True)
