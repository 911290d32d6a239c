"""Extensions of toolmason in installed distributions, which declare them as entry points."""

from __future__ import annotations

import sys
from contextlib import suppress
from importlib.machinery import PathFinder
from pathlib import Path
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint

_METADATA: Final = (".dist-info", ".egg-info", "egg-info")
"""Ends of the names of directories with the metadata of a distribution, in lower case."""


def installed(group: str) -> list[EntryPoint]:
    """Return the entry points of a group, sorted by name; none is loaded."""
    if not _may_be_declared(group):
        return []
    from importlib.metadata import entry_points

    return sorted(entry_points(group=group), key=lambda entry_point: (entry_point.name, entry_point.value))


def _may_be_declared(group: str) -> bool:
    """Return False if no distribution declares the group: this check is faster than `importlib.metadata`.

    Return True if distributions may be outside directories of the import path, such as in a ZIP file.
    """
    if any(hasattr(finder, "find_distributions") for finder in sys.meta_path if finder is not PathFinder):
        return True
    heading = f"[{group}]".encode()
    for place in map(Path, sys.path):
        if place.is_file():
            return True
        with suppress(OSError):  # Not all entries of the path exist.
            for entry in place.iterdir():
                if entry.name.lower().endswith(_METADATA) and heading in _declarations(entry):
                    return True
    return False


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
