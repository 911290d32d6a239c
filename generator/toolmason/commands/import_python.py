"""`toolmason import python`: create a manifest and handlers from a Python module."""

from __future__ import annotations

from pathlib import Path

import click

from toolmason.commands.import_output import (
    FILE,
    design_options,
    fail_import,
    force_option,
    print_lines,
    project_root,
    refuse_existing,
    token_limit,
    write_all,
)
from toolmason.commands.options import working_directory
from toolmason.project import MANIFESTS


@click.command("python")
@click.argument("module", metavar="MODULE[:SERVER]")
@click.argument("functions", metavar="[FUNCTION]...", nargs=-1)
@click.option("--name", default="", help="Name of the new server. Default: the name of the module.")
@click.option(
    "-o", "--output", metavar="FILE", type=FILE, help="Write the manifest to FILE. Default: manifest/NAME.toml."
)
@design_options
@click.option(
    "--timeout",
    type=click.IntRange(1, 600),
    default=60,
    show_default=True,
    metavar="SECONDS",
    help="Time limit for importing the module.",
)
@force_option
def python(
    module: str,
    functions: tuple[str, ...],
    *,
    name: str,
    output: Path | None,
    max_tokens: int | None,
    all_params: bool,
    timeout: int,
    force: bool,
) -> None:
    """Create a manifest and handlers from typed functions or a FastMCP server.

    Example: `toolmason import python notes`. This imports MODULE, which executes its code: use it only for modules you
    trust. MODULE is installed, or is in the working directory or its `handlers`. Without FUNCTION, the tools of its
    FastMCP server are imported, or else its public functions. Docstrings are in the style of Google, NumPy or Sphinx.

    The manifest is written to manifest/, and handlers that call the original functions to handlers/. Functions that
    cannot be tools are listed on stderr with a reason.

    Exit codes: 0 success, 1 the module cannot be imported, 2 wrong command line, 4 refused to overwrite.
    """
    from toolmason.importers.notes import ImporterError, Notes
    from toolmason.importers.python_module.manifest import import_module
    from toolmason.importers.python_module.source import check_target, describe_module
    from toolmason.scaffold import InitError

    notes = Notes()
    directory = working_directory()
    try:
        check_target(module)
        click.echo(f"Importing `{module.partition(':')[0]}` executes its code.", err=True)
        described = describe_module(module, functions, directory, timeout_s=timeout)
        imported = import_module(
            module, described, notes, name=name, max_tokens=token_limit(max_tokens, all_params=all_params)
        )
    except (ImporterError, InitError) as error:
        fail_import(error if isinstance(error, ImporterError) else ImporterError(str(error)), notes, is_json=False)
    manifest = output or Path(MANIFESTS, f"{imported.name}.toml")
    root = project_root(manifest)
    files = {manifest: imported.text, **{root / path: text for path, text in imported.handlers.items()}}
    refuse_existing(files, force=force)
    write_all(files, force=force)
    print_lines(str(note) for note in notes)
    if not described["is_installed"]:
        name = module.partition(":")[0]
        click.echo(f"The server cannot import `{name}`: install it, or move it to handlers/.", err=True)
    noun = "function" if imported.tools == 1 else "functions"
    click.echo(f"{imported.tools} {noun} imported; review the `hints` before you serve.", err=True)
