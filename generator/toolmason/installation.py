"""Check the installation, for `toolmason` and `toolmason-workbench`, which import this module before all others."""

import os
import sys

TYPE_CHECKING = False  # without an import of `typing`, so that a server starts faster
if TYPE_CHECKING:
    from typing import NoReturn

_EXIT_CODE = 2
_METADATA = ".dist-info"


def remove_working_directory() -> None:
    """Remove the working directory from the import path, where `python -m` puts it first.

    Otherwise a module in a stranger's project could replace one that is imported here, even `__future__`: this module
    must not import that.
    """
    if sys.flags.safe_path:
        return
    try:
        if sys.path[0] == os.getcwd():  # noqa: PTH109 - nothing else may be imported yet
            del sys.path[0]
    except OSError:  # The working directory has been deleted.
        pass


def refuse(program: str, reason: str) -> "NoReturn":
    """Print why a program cannot run with this installation, and exit."""
    if sys.stderr is not None:
        sys.stderr.write(f"{program}: {reason}\n")
    sys.exit(_EXIT_CODE)


def refuse_mixed_versions(program: str) -> None:
    """Exit if `toolmason-toolkit` has another version than `toolmason`: pip updates one without the other."""
    versions = installed_versions()
    ours, toolkit = versions.get("toolmason"), versions.get("toolmason_toolkit")
    if ours and toolkit and ours != toolkit:
        refuse(
            program,
            f"toolmason {ours} is installed with toolmason-toolkit {toolkit}; both need the same version: "
            f'python3 -m pip install "toolmason-toolkit=={ours}"',
        )


def installed_versions() -> dict[str, str]:
    """Return the version of each distribution beside this one. `importlib.metadata` would take 20 ms."""
    # Not `entry_points.metadata_directories`: this module imports nothing that may be missing or of another version.
    directory = os.path.dirname(os.path.dirname(__file__))  # noqa: PTH120 - pathlib takes time too
    try:
        entries = os.listdir(directory)  # noqa: PTH208
    except OSError:  # imported from an archive
        return {}
    split = (entry.removesuffix(_METADATA).partition("-") for entry in entries if entry.endswith(_METADATA))
    return {name: version for name, _, version in split}
