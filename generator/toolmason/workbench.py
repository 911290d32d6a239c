"""The command `toolmason-workbench`. Without Workbench, it names the missing extra."""

import os
import sys

if __name__ == "__main__" and not sys.flags.safe_path:
    # As in `__main__.py`: no module of the working directory may be imported.
    try:
        if sys.path[0] == os.getcwd():  # noqa: PTH109
            del sys.path[0]
    except OSError:  # The working directory has been deleted.
        pass

import importlib

from toolmason.installation import refuse, refuse_mixed_versions

PROGRAM = "toolmason-workbench"
MODULE = "workbench_server.__main__"
"""Imported by its name, because the toolkit must not depend on a server."""


def main() -> int:
    """Run Workbench and return its exit code."""
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
    sys.exit(main())
