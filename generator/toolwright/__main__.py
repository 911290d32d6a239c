"""The command `toolwright`. Says which extra is missing where only a server's needs are installed."""

from __future__ import annotations

import sys

EXTRA = frozenset(
    {"click", "datamodel_code_generator", "filelock", "jinja2", "jsonref", "ruff", "tomli_w", "watchfiles"}
)
"""The modules that `toolwright[toolkit]` adds."""


def main() -> None:
    """Run the command line and exit with its code."""
    try:
        from toolwright.cli import toolwright

        toolwright(prog_name="toolwright")
    except ModuleNotFoundError as error:
        module = (error.name or "").partition(".")[0]
        if module not in EXTRA:
            raise
        sys.exit(
            f"toolwright: the module `{module}` is not installed; authors of servers need the toolkit:\n"
            '  python3 -m pip install "toolwright[toolkit]"'
        )


if __name__ == "__main__":
    main()
