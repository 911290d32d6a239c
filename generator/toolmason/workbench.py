"""The command `toolmason-workbench`. Without Workbench, it names the missing extra."""

import sys

from toolmason.installation import refuse, refuse_mixed_versions, remove_working_directory

PROGRAM = "toolmason-workbench"
MODULE = "workbench_server.__main__"
"""Imported by its name, because the toolkit must not depend on a server."""


def main() -> int:
    """Run Workbench and return its exit code."""
    import importlib

    refuse_mixed_versions(PROGRAM)
    try:
        server = importlib.import_module(MODULE)
    except ModuleNotFoundError as error:
        if error.name != MODULE.partition(".")[0]:
            raise
        refuse(PROGRAM, 'Workbench is not installed: python3 -m pip install "toolmason[workbench]"')
    code: int = server.main()
    return code


if __name__ == "__main__":
    remove_working_directory()
    sys.exit(main())
