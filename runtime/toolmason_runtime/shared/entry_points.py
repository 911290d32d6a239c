"""Extensions of toolmason in installed distributions, which declare them as entry points."""

from __future__ import annotations

import sys
from contextlib import suppress
from importlib.machinery import PathFinder
from pathlib import Path
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterator
    from importlib.metadata import EntryPoint

_METADATA: Final = (".dist-info", "egg-info")
"""Ends of the names of directories with the metadata of a distribution, in lower case: also `EGG-INFO` in an egg."""


def installed(group: str) -> list[EntryPoint]:
    """Return the entry points of a group, sorted by name; none is loaded."""
    if not may_be_declared(group):
        return []
    from importlib.metadata import entry_points

    return sorted(entry_points(group=group), key=lambda entry_point: (entry_point.name, entry_point.value))


def may_be_declared(group: str) -> bool:
    """Return False if no distribution declares the group: this check is faster than `importlib.metadata`.

    Return True if distributions may be outside directories of the import path, such as in a ZIP file.
    """
    if any(hasattr(finder, "find_distributions") for finder in sys.meta_path if finder is not PathFinder):
        return True
    if any(Path(place).is_file() for place in sys.path):
        return True
    heading = f"[{group}]".encode()
    return any(heading in _declarations(directory) for directory in metadata_directories())


def metadata_directories() -> Iterator[Path]:
    """Yield the directory with the metadata of each distribution in directories of the import path."""
    for place in dict.fromkeys(map(Path, sys.path)):
        with suppress(OSError):  # Not all entries of the path are directories.
            yield from (entry for entry in place.iterdir() if entry.name.lower().endswith(_METADATA))


def _declarations(metadata: Path) -> bytes:
    try:
        return (metadata / "entry_points.txt").read_bytes()
    except OSError:  # Most distributions have none.
        return b""


def described(noun: str, entry_point: EntryPoint) -> str:
    """Return the subject of an error: "the `noun` `sql` (`acme_sql:KIND`) of the distribution `acme-sql` 1.0"."""
    distribution = entry_point.dist
    owner = f" of the distribution `{distribution.name}` {distribution.version}" if distribution else ""
    return f"the {noun} `{entry_point.name}` (`{entry_point.value}`){owner}"
