"""`toolmason publish`."""

from __future__ import annotations

import io
import json
import zipfile
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from toolmason.commands.options import (
    CommandLineError,
    ExitCode,
    OverwriteRefusedError,
    exit_with,
    find_current_project,
    format_option,
    manifest_option,
    print_findings,
)
from toolmason.commands.profile_findings import add_profile_findings, print_manual_rules
from toolmason.publishing.names import PACKAGES, PLACES, PROFILES

if TYPE_CHECKING:
    from toolmason.diagnostics import Diagnostics
    from toolmason.diagnostics.terminal import Layout
    from toolmason.publishing.artefacts import Release
    from toolmason.publishing.places import Prepared


@click.command()
@click.option("--dry-run", is_flag=True, help="Required: this command uploads nothing.")
@click.option("--to", "names", type=click.Choice(PLACES), multiple=True, help="Default: all places.")
@click.option(
    "-o",
    "--output",
    metavar="DIR",
    type=click.Path(file_okay=False, path_type=Path),
    help="Write the files to DIR/PLACE instead of stdout.",
)
@click.option(
    "--package",
    "packages",
    type=click.Choice(PACKAGES),
    multiple=True,
    help="Packages that server.json lists. Repeatable; default: pypi.",
)
@click.option("--npm-name", metavar="NAME", default="", help="Name on npm, such as @ada/notes. Default: that on PyPI.")
@click.option("--force", is_flag=True, help="Overwrite existing files.")
@format_option
@manifest_option
def publish(
    *,
    dry_run: bool,
    names: tuple[str, ...],
    output: Path | None,
    packages: tuple[str, ...],
    npm_name: str,
    force: bool,
    layout: Layout,
    manifest: Path | None,
) -> None:
    """Prepare and check the files for registries and directories.

    A place is a registry or a directory. Each file is validated against the schema of its place, and the rules of the
    place are checked. The command uploads nothing: it prints the commands that upload the files.

    Example: `toolmason publish --dry-run --to npm -o dist/publish`

    Exit codes: 0 all places are ready, 1 a place is not ready, 2 wrong command line, 4 refused to overwrite.
    """
    from toolmason.diagnostics import Diagnostics
    from toolmason.pipeline import read, render_plugins
    from toolmason.publishing.artefacts import Release
    from toolmason.publishing.places import places, prepare
    from toolmason.publishing.project_files import ProjectFiles
    from toolmason.render.environment import TemplateRefusedError
    from toolmason.render.sandbox import TemplateError
    from toolmason.render.self_check import SelfCheckError

    chosen = tuple(place for place in PLACES if place in (names or PLACES))
    if not dry_run:
        raise CommandLineError(_refusal(chosen))
    project = find_current_project(manifest)
    diagnostics = Diagnostics()
    reading = read(project, diagnostics=diagnostics)
    if reading is None:
        print_findings(diagnostics, layout)
        exit_with(ExitCode.FINDINGS)
    try:
        plugins = render_plugins(project, reading)
    except (SelfCheckError, TemplateError, TemplateRefusedError) as error:
        raise CommandLineError(str(error)) from error
    files = ProjectFiles(project.root)
    distribution = reading.server.table.distribution.partition("[")[0]
    release = Release(
        server=reading.server,
        files=files,
        plugins=plugins,
        npm_name=npm_name or distribution.lower().replace("_", "-"),
        packages=packages or ("pypi",),
    )
    profiles = [name for name in chosen if name in PROFILES]
    checked = add_profile_findings(project, reading, profiles, layout, diagnostics)
    print_findings(diagnostics, layout, outcome="These must be fixed first.", rules=checked.sarif_rules)
    prepared = [prepare(places()[name], release) for name in chosen]
    if output:
        _write(prepared, output, force=force)
    states = [_state(each, release, output, diagnostics) for each in prepared]
    if layout == "text":
        if not output:
            _print_files(prepared)
        print_manual_rules(checked)
        click.echo()
        _print_states(states)
    elif layout == "json":
        for state in states:
            click.echo(json.dumps(state, ensure_ascii=False))
    if not all(state["ready"] for state in states):
        exit_with(ExitCode.FINDINGS)


def _refusal(chosen: tuple[str, ...]) -> str:
    """Return the error of a call without `--dry-run`, with the steps that upload."""
    from toolmason.publishing.places import places, upload_steps

    lines = ["this command uploads nothing: add --dry-run to write the files. These steps upload them:"]
    for name in chosen:
        lines += [f"{name}:", *(f"  {step}" for step in upload_steps(places()[name], f"DIR/{name}", file="NAME"))]
    return "\n".join(lines)


def _state(prepared: Prepared, release: Release, output: Path | None, diagnostics: Diagnostics) -> dict[str, Any]:
    """Return the state of a server for a place: whether it is ready, its missing keys, and the upload steps."""
    from toolmason.publishing.places import upload_steps
    from toolmason.publishing.profiles import load_profile

    place = prepared.place
    directory = (output / place.name).as_posix() if output else f"DIR/{place.name}"
    errors = [found for found in diagnostics if found.code.startswith(f"{place.name}/") and found.severity == "error"]
    return {
        "place": place.name,
        "title": place.title,
        "ready": not (errors or prepared.invalid or prepared.missing),
        "missing": list(prepared.missing),
        "errors": [str(error) for error in errors],
        "invalid": list(prepared.invalid),
        "manual": len(load_profile(place.name).manual_rules) if place.name in PROFILES else 0,
        "files": [
            {"path": artefact.path, "bytes": len(artefact.content), "schema": artefact.schema}
            for artefact in prepared.artefacts
        ],
        "upload": list(upload_steps(place, directory, file=release.server.skill)),
    }


def _print_states(states: list[dict[str, Any]]) -> None:
    from toolmason.audit.output import visible

    for state in states:
        click.echo(visible(f"{state['place']}: {_summary(state)}"))
        if state["files"]:
            click.echo(f"  files: {', '.join(file['path'] for file in state['files'])}")
        for step in state["upload"] if state["ready"] else ():
            click.echo(f"  next: {visible(step)}")


def _summary(state: Mapping[str, Any]) -> str:
    """Return one line on the state of a place."""
    needed = ", ".join(f"`{key}`" for key in state["missing"])
    failing, manual = len(state["errors"]), state["manual"]
    problems = [f"add {needed} to [server]"] if needed else []
    problems += [f"{failing} rule{' fails' if failing == 1 else 's fail'}"] if failing else []
    problems += [f"invalid {error}" for error in state["invalid"]]
    if problems:
        return f"not ready: {'; '.join(problems)}"
    return f"ready, after {manual} point{'' if manual == 1 else 's'} to check yourself" if manual else "ready"


def _print_files(prepared: list[Prepared]) -> None:
    """Print the content of all files; of an archive, its list."""
    from toolmason.audit.output import visible

    for each in prepared:
        for artefact in each.artefacts:
            click.echo(f"==> {each.place.name}/{artefact.path}")
            if artefact.path.endswith(".mcpb"):
                text = "".join(f"{entry.file_size:>9,}  {entry.filename}\n" for entry in _entries(artefact.content))
            else:
                text = artefact.content.decode("utf-8", "replace")
            click.echo("\n".join(visible(line) for line in text.splitlines()) + "\n")


def _entries(archive: bytes) -> list[zipfile.ZipInfo]:
    with zipfile.ZipFile(io.BytesIO(archive)) as opened:
        return opened.infolist()


def _write(prepared: list[Prepared], output: Path, *, force: bool) -> None:
    """Write all files, or none if one of them exists with another content and `force` is not set.

    No directory below `output` may be a link: it can lead out of it.
    """
    from toolmason.write.replace_file import replace_file

    targets = {
        output / each.place.name / artefact.path: artefact.content for each in prepared for artefact in each.artefacts
    }
    try:
        if link := next((path for path in _directories(targets, output) if path.is_symlink()), None):
            raise OverwriteRefusedError(f"{link} is a link; nothing was written; remove it, or use another directory")
        changed = {path: content for path, content in targets.items() if _content(path) != content}
        existing = [path for path in changed if path.exists() or path.is_symlink()]
        if existing and not force:
            raise OverwriteRefusedError(f"{existing[0]} exists; nothing was written; use --force to overwrite it")
        for path, content in changed.items():
            path.parent.mkdir(parents=True, exist_ok=True)
            replace_file(path, content)
    except OSError as error:
        raise CommandLineError(f"cannot write {output}: {(error.strerror or str(error)).lower()}") from error


def _directories(paths: Iterable[Path], root: Path) -> set[Path]:
    """Return the directories of files below `root`."""
    return {directory for path in paths for directory in path.parents if root in directory.parents}


def _content(path: Path) -> bytes | None:
    return path.read_bytes() if path.is_file() else None
