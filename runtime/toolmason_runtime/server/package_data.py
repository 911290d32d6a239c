"""Files of the package with the handlers, found without importing it."""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path


async def read_package_file(package: str, path: str) -> bytes:
    """Return the content of a file in `package`, which is not imported; the packages above it are.

    Raises:
        FileNotFoundError: it is missing.
    """
    import anyio

    spec = find_spec(package)
    for directory in (spec and spec.submodule_search_locations) or ():
        if (file := Path(directory, path)).is_file():
            return await anyio.Path(file).read_bytes()
    raise FileNotFoundError(f"{package} contains no file {path}")
