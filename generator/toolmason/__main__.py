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
from importlib.util import find_spec

from toolmason.garbage_collection import reduce_garbage_collection, skip_last_collection
from toolmason.installation import refuse, refuse_mixed_versions

EXTRA = frozenset(
    {
        *("click", "datamodel_code_generator", "filelock", "jinja2", "jsonref", "jsonschema", "referencing", "ruff"),
        *("tomli_w", "toolmason.commands", "watchfiles"),
    }
)
"""The modules that `toolmason[toolkit]` adds."""


def main() -> None:
    """Run the command line and exit with its code."""
    # During the imports an interrupt ends the process at once: Python's own handler would print a traceback.
    handler = signal.getsignal(signal.SIGINT)
    if handler is signal.default_int_handler:
        signal.signal(signal.SIGINT, signal.SIG_DFL)
    refuse_mixed_versions("toolmason")
    if missing := [module for module in sorted(EXTRA) if find_spec(module) is None]:
        refuse(
            "toolmason",
            f"the module `{missing[0]}` is not installed; authors of servers need the toolkit: "
            'python3 -m pip install "toolmason[toolkit]"',
        )
    if sys.argv[1:2] != ["run"]:  # A server runs for long.
        reduce_garbage_collection()
    from toolmason.commands import toolmason

    try:
        signal.signal(signal.SIGINT, handler)
        toolmason(prog_name="toolmason")
    except KeyboardInterrupt:
        sys.exit(128 + signal.SIGINT)
    finally:
        skip_last_collection()


if __name__ == "__main__":
    main()
