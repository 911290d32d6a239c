"""Keys of manifests that have another name since a version of toolmason: data for hints and for `toolmason upgrade`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, NamedTuple

from toolmason_runtime.shared.toml.tables import Idiom


class RenamedKey(NamedTuple):
    """A key of the table at a path, in which `*` is any name: `("tools", "*")`. The values have not changed."""

    table: tuple[str, ...]
    old: str
    new: str
    since: str


RENAMED_KEYS: Final = (RenamedKey(("server",), "website", "website_url", "0.1"),)
"""All of them; a row is never removed."""


def renamed_in(*table: str) -> Mapping[str, Idiom]:
    """Return the hints for the former names of a table's keys."""
    return {
        row.old: Idiom(f"it is `{row.new}` since version {row.since}: run `toolmason upgrade`", row.new)
        for row in RENAMED_KEYS
        if row.table == table
    }
