"""What is told of an import: what did not carry over, and why there is none."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from toolmason_runtime.toml.positions import Position


@dataclass(frozen=True, slots=True, order=True, kw_only=True)
class Note:
    """One thing that is not as it was, or could not be taken at all; `about` names it, such as `git_log.paths`."""

    path: str
    line: int
    column: int
    about: str
    message: str

    def __str__(self) -> str:
        about = f"{self.about}: " if self.about else ""
        return f"{self.path}:{self.line}:{self.column}: {about}{self.message}"

    def as_data(self) -> dict[str, Any]:
        """Give it as it stands in JSON."""
        return {
            "path": self.path,
            "line": self.line,
            "column": self.column,
            "about": self.about,
            "message": self.message,
        }


@dataclass(slots=True)
class Notes:
    """All notes of one import: files as they were named, and what is in them from top to bottom."""

    _found: dict[Note, int] = field(default_factory=dict)
    _files: dict[str, int] = field(default_factory=dict)
    _stops: dict[Note, int] = field(default_factory=dict)

    def add(self, path: str, place: Position, about: str, message: str) -> None:
        """Note something about what stands at a place of a file."""
        self._found.setdefault(*self._ordered(path, place, about, message))

    def stop(self, path: str, place: Position, about: str, message: str) -> None:
        """Note a reason why nothing can be imported; `check` raises all of them."""
        self._stops.setdefault(*self._ordered(path, place, about, message))

    def check(self) -> None:
        """Raise `ImportFailed` if there is a reason to stop.

        Raises:
            ImportFailed: with every reason, in the order of the files.
        """
        if self._stops:
            stops = sorted(self._stops, key=lambda note: (self._stops[note], note))
            raise ImportFailed(*map(str, stops))

    def _ordered(self, path: str, place: Position, about: str, message: str) -> tuple[Note, int]:
        order = self._files.setdefault(path, len(self._files))
        return Note(path=path, line=place.line, column=place.column, about=about, message=message), order

    def __iter__(self) -> Iterator[Note]:
        return iter(sorted(self._found, key=lambda note: (self._found[note], note)))

    def __len__(self) -> int:
        return len(self._found)


class ImportFailed(Exception):  # noqa: N818 - says what is the case
    """Nothing can be made of what was given. `mistakes` are lines, each with file, line and column where known."""

    def __init__(self, *mistakes: str) -> None:
        super().__init__("\n".join(mistakes))
        self.mistakes = mistakes
