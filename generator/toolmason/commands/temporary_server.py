"""Serve a manifest, or YAML files of CLImax, without `generated/`: the package is rendered to a temporary directory.

Another process removes the directory when this one ends, in whatever way: a server may end without clean-up, and a
client may kill it.
"""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from secrets import token_hex
from typing import TYPE_CHECKING, Any, Final, NoReturn

import click

from toolmason.commands.options import CommandLineError, ExitCode, exit_with, print_findings
from toolmason.project import Project

if TYPE_CHECKING:
    from toolmason.model.rendered_file import RenderedFile

_REMOVER: Final = """\
import shutil, signal, sys
for name in ("SIGINT", "SIGTERM", "SIGHUP"):
    if hasattr(signal, name):
        signal.signal(getattr(signal, name), signal.SIG_IGN)
sys.stdin.buffer.read()
shutil.rmtree(sys.argv[1], ignore_errors=True)
"""
"""Remove the directory `sys.argv[1]` when the process at the other end of stdin has ended."""
_INSTALL: Final = "install.json"


@contextmanager
def temporary_directory() -> Iterator[Path]:
    """Yield a directory that only this user can read, and that is removed with this process at the latest."""
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(128 + signal.SIGTERM))
    directory = Path(tempfile.gettempdir()).resolve() / f"toolmason-run-{token_hex(8)}"
    _remove_at_exit(directory)
    try:
        # The remover is started first, so that a kill at any moment leaves no directory.
        with subprocess.Popen(  # noqa: S603  this interpreter, with our own code
            [sys.executable, "-I", "-S", "-c", _REMOVER, str(directory)],
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            cwd=os.path.abspath(os.sep),  # noqa: PTH100  the root of the drive
            start_new_session=True,
        ):
            directory.mkdir(mode=0o700)
            yield directory
    finally:
        shutil.rmtree(directory, ignore_errors=True)


def _remove_at_exit(directory: Path) -> None:
    """Remove the directory when this process calls `os._exit`, as servers do; the other process removes it too late."""
    leave, process = os._exit, os.getpid()

    def remove_and_leave(status: int) -> NoReturn:
        # Forked processes leave the same way.
        if os.getpid() == process:
            shutil.rmtree(directory, ignore_errors=True)
        leave(status)

    os._exit = remove_and_leave


def write_server(project: Project, directory: Path, *, manifest: Path, run_arguments: Sequence[str] = ()) -> Path:
    """Render the package of a project to `directory`; return the directory to import it from.

    Errors are printed, and end the process. `manifest` is the file that `install` writes to configurations, with
    the `run_arguments` after it.
    """
    from toolmason.diagnostics import Diagnostics
    from toolmason.pipeline import render_package
    from toolmason.render.environment import TemplateRefusedError
    from toolmason.render.sandbox import TemplateError
    from toolmason.render.self_check import SelfCheckError

    diagnostics = Diagnostics()
    try:
        files = render_package(project, diagnostics=diagnostics)
    except (SelfCheckError, TemplateError, TemplateRefusedError) as error:
        raise CommandLineError(str(error)) from error
    if files is None:
        print_findings(diagnostics, "text", outcome="The server was not started.")
        exit_with(ExitCode.FINDINGS)
    # `install` finds the manifest from here: it is two directories above the package, or absolute.
    target = directory / "generated"
    for file in files:
        _write(target, file, {"manifest": str(manifest), "run_arguments": list(run_arguments)})
    return target


def _write(target: Path, file: RenderedFile, facts: Mapping[str, Any]) -> None:
    path = target / file.path
    path.parent.mkdir(parents=True, exist_ok=True)
    text = file.text
    if file.path.name == _INSTALL:
        text = json.dumps({**json.loads(text), **facts}, ensure_ascii=False)
    path.write_text(text, encoding="utf-8", newline="\n")


def convert_climax(
    files: Sequence[Path], directory: Path, *, policy: Path | None, unstated_risk: str
) -> tuple[Project, Path | None]:
    """Convert YAML files of CLImax to a manifest in `directory`; return its project and the converted policy.

    Errors are printed with their position in the YAML files, and end the process.
    """
    from toolmason.commands.import_output import print_lines
    from toolmason.importers.command_line.climax import import_climax
    from toolmason.importers.command_line.climax.policy import import_policy, replace_descriptions
    from toolmason.importers.manifest_writer import manifest_text, toml_text
    from toolmason.importers.notes import ImporterError, Notes

    notes = Notes()
    try:
        imported = import_climax(files, notes, unstated_risk=unstated_risk)
        if policy:
            replace_descriptions(policy, imported, notes)
        text = manifest_text(imported.data, notes, sources=files)
        rules = toml_text(import_policy(policy, imported, notes)) if policy else ""
    except ImporterError as error:
        print_lines(error.mistakes)
        exit_with(ExitCode.FINDINGS)
    root = directory / "project"
    root.mkdir()
    project = Project(root, root / "manifest.toml")
    project.manifest.write_text(text, encoding="utf-8", newline="\n")
    converted = directory / "policy.toml" if policy else None
    if converted:
        converted.write_text(rules, encoding="utf-8", newline="\n")
    if len(notes):
        shown = " ".join(str(file) for file in files)
        count = f"{len(notes)} {'setting is' if len(notes) == 1 else 'settings are'}"
        click.echo(f"{count} different from CLImax; `toolmason import climax {shown}` lists them", err=True)
    if imported.unstated_risks and unstated_risk != "read":
        advice = "each call of them needs approval; see --unstated-risk"
        click.echo(f"{imported.unstated_risks} of {len(imported.tools)} tools state no risk: {advice}", err=True)
    return project, converted
