"""The generated files that accompany a server's package: commands, skills, client configurations, documentation."""

from __future__ import annotations

from importlib.resources import files
from pathlib import Path

CHECKSUMS = "SHA256SUMS"
"""A file that is next to the package in a generated directory, and nowhere else."""


def server_files(package: str) -> Path:
    """Return the directory that contains `clients`, `commands`, `docs` and `skills` of a server.

    In an installed wheel they are data of the package. In a checkout or an editable installation they are next to the
    package, as they were generated. A directory without files, for example `commands` of a server without commands,
    does not exist.

    Args:
        package: Import name of the generated package, for example `workbench_server`.
    """
    directory = Path(str(files(package)))
    return directory.parent if (directory.parent / CHECKSUMS).is_file() else directory
