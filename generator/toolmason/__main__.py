"""The command `toolmason`. Says which extra is missing where only a server's needs are installed."""

import os
import sys

if __name__ == "__main__" and not sys.flags.safe_path:
    # `python -m` puts the working directory first: a module of a stranger's project would be imported in the place of
    # one that is needed here, even `__future__`.
    try:
        if sys.path[0] == os.getcwd():  # noqa: PTH109 - nothing else may be imported yet
            del sys.path[0]
    except OSError:  # The working directory has been deleted.
        pass

import signal

EXTRA = frozenset(
    {"click", "datamodel_code_generator", "filelock", "jinja2", "jsonref", "ruff", "tomli_w", "watchfiles"}
)
"""The modules that `toolmason[toolkit]` adds."""


def main() -> None:
    """Run the command line and exit with its code."""
    try:
        # An interrupt ends the process at once while there is nothing to tidy up: Python's own handler would print
        # where it was in the imports.
        usual = signal.getsignal(signal.SIGINT)
        if usual is signal.default_int_handler:
            signal.signal(signal.SIGINT, signal.SIG_DFL)
        from toolmason.commands import toolmason

        signal.signal(signal.SIGINT, usual)
        toolmason(prog_name="toolmason")
    except ModuleNotFoundError as error:
        module = (error.name or "").partition(".")[0]
        if module not in EXTRA:
            raise
        sys.exit(
            f"toolmason: the module `{module}` is not installed; authors of servers need the toolkit:\n"
            '  python3 -m pip install "toolmason[toolkit]"'
        )
    except KeyboardInterrupt:
        sys.exit(128 + signal.SIGINT)


if __name__ == "__main__":
    main()
