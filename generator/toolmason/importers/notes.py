"""Notes about an import: parts that were changed or left out, and reasons to stop."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict, dataclass, field
from typing import Any

from toolmason_runtime.shared.toml.positions import Position


@dataclass(frozen=True, slots=True, order=True, kw_only=True)
class Note:
    """A part that was changed or left out; `about` names it, such as `git_log.paths`.

    `path` is a file, or the name of a server, which has no lines: then `line` and `column` are 0.
    """

    path: str
    line: int
    column: int
    about: str
    message: str

    def __str__(self) -> str:
        about = f"{self.about}: " if self.about else ""
        position = f":{self.line}:{self.column}" if self.line else ""
        return f"{self.path}{position}: {about}{self.message}"

    def as_data(self) -> dict[str, Any]:
        """Return the note as a JSON object."""
        return asdict(self)


@dataclass(slots=True)
class Notes:
    """All notes of one import, by file in the order of the command line, then by position."""

    _notes: dict[Note, int] = field(default_factory=dict)
    _files: dict[str, int] = field(default_factory=dict)
    _stops: dict[Note, int] = field(default_factory=dict)

    def add(self, path: str, position: Position, about: str, message: str) -> None:
        """Add a note about a position of a file."""
        self._notes.setdefault(*self._order(path, position, about, message))

    def stop(self, path: str, position: Position, about: str, message: str) -> None:
        """Add a reason to stop the import; `check` raises all of them."""
        self._stops.setdefault(*self._order(path, position, about, message))

    def check(self) -> None:
        """Raise `ImporterError` with all reasons to stop."""
        if self._stops:
            stops = sorted(self._stops, key=lambda note: (self._stops[note], note))
            raise ImporterError(*map(str, stops))

    def _order(self, path: str, position: Position, about: str, message: str) -> tuple[Note, int]:
        order = self._files.setdefault(path, len(self._files))
        return Note(path=path, line=position.line, column=position.column, about=about, message=message), order

    def __iter__(self) -> Iterator[Note]:
        return iter(sorted(self._notes, key=lambda note: (self._notes[note], note)))

    def __len__(self) -> int:
        return len(self._notes)


class ImporterError(Exception):
    """The import failed. `mistakes` are lines, each with file, line and column if known."""

    def __init__(self, *mistakes: str) -> None:
        super().__init__("\n".join(mistakes))
        self.mistakes = mistakes
