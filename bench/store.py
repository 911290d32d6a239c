"""Stored results of parts, so that a run can be split, or continued after an error."""

from __future__ import annotations

import pickle
from collections.abc import Mapping
from pathlib import Path
from typing import Any


class StoreError(Exception):
    """Stored results cannot be used."""


class Store:
    """A directory with a file for each measured part.

    Args:
        directory: made if it is missing.
        conditions: sizes, rounds and the machine; results of others are not mixed with these.
    """

    def __init__(self, directory: Path, conditions: Mapping[str, object]) -> None:
        self._directory = directory
        self._conditions = dict(conditions)
        directory.mkdir(parents=True, exist_ok=True)

    def read(self, part: str) -> dict[str, Any] | None:
        """Return the fields of a part; None if it is not stored.

        Raises:
            StoreError: the part was measured under other conditions.
        """
        path = self._path(part)
        if not path.exists():
            return None
        stored: dict[str, Any] = pickle.loads(path.read_bytes())  # noqa: S301  written by this module
        if stored["conditions"] != self._conditions:
            raise StoreError(f"{path}: measured with {stored['conditions']}, not {self._conditions}; remove the file")
        fields: dict[str, Any] = stored["fields"]
        return fields

    def write(self, part: str, fields: Mapping[str, Any]) -> None:
        """Store the fields of a part."""
        self._path(part).write_bytes(pickle.dumps({"conditions": self._conditions, "fields": dict(fields)}))

    def _path(self, part: str) -> Path:
        return self._directory / f"{part}.pickle"
