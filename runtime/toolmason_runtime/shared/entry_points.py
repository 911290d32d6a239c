"""Extensions of toolmason in installed distributions, which declare them as entry points."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint


def installed(group: str) -> list[EntryPoint]:
    """Return the entry points of a group, sorted by name; none is loaded."""
    from importlib.metadata import entry_points

    return sorted(entry_points(group=group), key=lambda entry_point: (entry_point.name, entry_point.value))


def described(noun: str, entry_point: EntryPoint) -> str:
    """Return the subject of an error: "the `noun` `sql` (`acme_sql:KIND`) of the distribution `acme-sql` 1.0"."""
    distribution = entry_point.dist
    owner = f" of the distribution `{distribution.name}` {distribution.version}" if distribution else ""
    return f"the {noun} `{entry_point.name}` (`{entry_point.value}`){owner}"
