"""Where reports of commands go: the terminal, or the file of `--output`."""

from __future__ import annotations

import os
import shutil
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Final

import click

from toolmason.commands.options import CommandLineError
from toolmason.diagnostics.terminal import supports_colour

if TYPE_CHECKING:
    from toolmason.audit.output import Terminal

DEFAULT_WIDTH: Final = 100
"""Characters of a line if the report does not go to a terminal."""


def report_terminal(output: Path | None) -> Terminal:
    """Return the width and the colours of a report that `print_report` writes to `output`."""
    from toolmason.audit.output import Terminal

    has_width = output is None and (sys.stdout.isatty() or "COLUMNS" in os.environ)
    width = shutil.get_terminal_size((DEFAULT_WIDTH, 24)).columns if has_width else DEFAULT_WIDTH
    return Terminal(width=width, colour=output is None and supports_colour(sys.stdout))


def print_report(text: str, output: Path | None) -> None:
    """Write a report to the file `output`, to stdout if it is None.

    Raises:
        CommandLineError: the file cannot be written.
    """
    from toolmason.audit.output import encodable

    if output is None:
        click.echo(encodable(text, sys.stdout.encoding or "utf-8"), nl=False, color=True)
        return
    try:
        output.write_text(encodable(text, "utf-8"), encoding="utf-8", newline="\n")
    except OSError as error:
        raise CommandLineError(f"cannot write {output}: {(error.strerror or str(error)).lower()}") from error
