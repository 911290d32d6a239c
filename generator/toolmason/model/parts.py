"""The parts of `generated/` that `--only` selects, by their directories."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import PurePosixPath
from typing import Final

_PART_OF_DIRECTORY: Final[Mapping[str, str]] = {
    "schemas": "schemas",
    "commands": "commands",
    "skills": "commands",
    "clients": "clients",
    "typed-clients": "clients",
    "plugins": "clients",
    "docs": "docs",
}
_PACKAGE: Final = "python"

PARTS: Final = (_PACKAGE, *dict.fromkeys(_PART_OF_DIRECTORY.values()))

STAGING: Final = ".toolmason-staging"
"""The directory in `generated/` where a run prepares its files."""

SKIPPED_NAMES: Final = frozenset({"__pycache__", ".git", STAGING})
"""Directories in `generated/` whose content is neither compared nor written."""


def part_of(path: PurePosixPath) -> str:
    """Return the part of a path under `generated/`: `python`, unless it is in the directory of another part."""
    return _PART_OF_DIRECTORY.get(path.parts[0], _PACKAGE)
