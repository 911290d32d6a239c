"""The help of the commands: `help.txt` has the pages that click writes for 80 columns.

`nox -s goldens` writes them, and a test compares them with the commands. `import --help` is not there: it lists the
importers that other distributions install.
"""

from __future__ import annotations

import os
import sys

HELP_FILE = os.path.join(os.path.dirname(__file__), "help.txt")  # noqa: PTH118, PTH120 - pathlib takes longer than the rest
COLUMNS = 80
"""Width of the pages, and the width that click assumes without a terminal."""
PROMPT = "$ toolmason "


def help_page(command: list[str]) -> str:
    """Return the help of a command such as `["schema", "check"]`; empty if it has no page for this terminal."""
    if _columns() != COLUMNS or any(" " in word for word in command):
        return ""
    try:
        with open(HELP_FILE, encoding="utf-8") as file:  # noqa: PTH123
            pages = f"\n{file.read()}"
    except OSError:
        return ""
    _, found, rest = pages.partition(f"\n{PROMPT}{' '.join([*command, '--help'])}\n")
    page, _, _ = rest.partition(f"\n{PROMPT}")
    return page.rstrip("\n") + "\n" if found else ""


def _columns() -> int:
    """Return the columns that click formats for; 0 if someone has set them."""
    if "COLUMNS" in os.environ:
        return 0
    try:
        return os.get_terminal_size(sys.__stdout__.fileno()).columns or COLUMNS  # type: ignore[union-attr]
    except (AttributeError, ValueError, OSError):
        return COLUMNS
