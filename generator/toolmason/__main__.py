"""The command `toolmason`. Without the toolkit, it names the missing extra."""

import sys

from toolmason.installation import refuse, refuse_mixed_versions, remove_working_directory

EXTRA = frozenset(
    {
        *("click", "datamodel_code_generator", "filelock", "jinja2", "jsonref", "jsonschema", "referencing", "ruff"),
        *("tomli_w", "toolmason.commands", "watchfiles"),
    }
)
"""The modules that `toolmason[toolkit]` adds."""


def main() -> None:
    """Run the command line and exit with its code."""
    refuse_mixed_versions("toolmason")
    try:
        if _print_without_click():
            return
        import signal
    except KeyboardInterrupt:
        # End by the signal: Python's own handler would print a traceback.
        import signal

        signal.signal(signal.SIGINT, signal.SIG_DFL)
        signal.raise_signal(signal.SIGINT)
    _run()


def _print_without_click() -> bool:
    """Print the output of a command line that needs no library; return False for any other one."""
    try:
        from toolmason.shortcuts import print_without_click
    except ModuleNotFoundError:  # The toolkit is not installed.
        return False
    return print_without_click(sys.argv[1:])


def _run() -> None:
    """Run a command, or name the missing extra."""
    import signal

    # During the imports an interrupt ends the process at once: Python's own handler would print a traceback.
    handler = signal.getsignal(signal.SIGINT)
    if handler is signal.default_int_handler:
        signal.signal(signal.SIGINT, signal.SIG_DFL)
    from importlib.util import find_spec

    from toolmason.garbage_collection import reduce_garbage_collection, skip_last_collection

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
    remove_working_directory()
    main()
