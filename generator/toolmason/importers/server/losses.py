"""Notes about everything of a server that a manifest does not contain."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from toolmason_runtime.shared.toml.positions import Position

from toolmason.importers.notes import Notes

MAX_NAMES: Final = 8
"""Maximum names in one note."""
_MESSAGES: Final = {
    "renamed": "renamed, since names consist of a-z, 0-9 and single _",
    "named": "renamed, since names are unique, not reserved, and have at most 40 characters and no repeated words",
    "task_only": "left out, since these tools can be called only as tasks",
    "arguments": "arguments renamed to words; the server's own names stay callable",
    "rare": "optional arguments hidden to save tokens; --all-params shows them",
    "texts": "descriptions of arguments shortened to save tokens; --all-params keeps them whole",
    "large": "tools whose arguments still have more tokens than --max-tokens",
    "long": "descriptions shortened to 1,000 characters; --all-params keeps up to 4,096",
    "too_long": "descriptions shortened to 4,096 characters",
    "no_hints": "tools that declare no hints: a person approves each call",
    "outputSchema": "output schemas are not advertised; structured results still pass",
    "icons": "icons of tools are not imported",
    "_meta": "`_meta` of tools is not imported",
    "prompts": "prompts are not imported",
    "resources": "resources are not imported",
}
"""Message for each kind of loss."""


class Losses:
    """The losses of one server, collected as notes: one for each kind, with the names that it concerns."""

    def __init__(self, server: str, notes: Notes) -> None:
        self._server = server
        self._notes = notes
        self._names: dict[str, list[str]] = {}

    def note(self, about: str, message: str) -> None:
        """Add a note about one part."""
        self._notes.add(self._server, Position(0, 0), about, message)

    def add(self, kind: str, *names: str) -> None:
        """Record a loss; `kind` is a key of the messages."""
        self._names.setdefault(kind, []).extend(names)

    def finish(self) -> None:
        """Add the notes about the recorded losses."""
        for kind, names in self._names.items():
            if names:
                self.note("", f"{_MESSAGES[kind]}: {some(names)}")


def some(names: Sequence[str]) -> str:
    """Return the first names and the number of the others."""
    more = f" and {len(names) - MAX_NAMES} more" if len(names) > MAX_NAMES else ""
    return f"{', '.join(names[:MAX_NAMES])}{more}"
