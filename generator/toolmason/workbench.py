"""The command `toolmason-workbench`. Without Workbench, it names the missing extra."""

import importlib
import sys

MODULE = "workbench_server.__main__"
"""Imported by its name, because the toolkit must not depend on a server."""


def main() -> int:
    """Run Workbench and return its exit code."""
    try:
        server = importlib.import_module(MODULE)
    except ModuleNotFoundError as error:
        if error.name != MODULE.partition(".")[0]:
            raise
        sys.exit('toolmason-workbench: Workbench is not installed: python3 -m pip install "toolmason[workbench]"')
    code: int = server.main()
    return code
