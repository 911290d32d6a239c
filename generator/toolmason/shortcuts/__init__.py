"""Command lines that are answered without click and the stages, whose imports take longer than the answer.

`__main__` tries this first. Any other command line, and any error, is left to the commands.
"""

from __future__ import annotations

import sys

REPEATABLE_COMMANDS = (["check"], ["generate"], ["generate", "--check"])
"""Command lines with the same output if nothing has changed since the last run."""
HELP_OPTIONS = (["--help"], ["-h"])


def print_without_click(arguments: list[str]) -> bool:
    """Print the output of a command line without click; return False if only the command can print it."""
    text = _output(arguments)
    if not text or sys.stdout is None:
        return False
    try:
        sys.stdout.write(text)
        sys.stdout.flush()
    except OSError:  # The command has the same error, and reports it.
        return False
    return True


def _output(arguments: list[str]) -> str:
    if arguments in REPEATABLE_COMMANDS:
        from toolmason.shortcuts.clean_run import load_clean_run

        return load_clean_run()
    if arguments[-1:] in HELP_OPTIONS:
        from toolmason.shortcuts.help_pages import help_page

        return help_page(arguments[:-1])
    if arguments == ["--version"]:
        from toolmason.installation import installed_versions

        number = installed_versions().get("toolmason")
        return f"toolmason {number}\n" if number else ""
    return ""
