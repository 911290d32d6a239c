"""What the author of a manifest is told: a place, a stable code, a sentence and a hint.

A diagnostic knows nothing of its printing; `report` has the printers.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import PurePosixPath


class Severity(StrEnum):
    """How much a finding matters. Only `ERROR` stops a run."""

    ERROR = "error"
    WARNING = "warning"
    NOTE = "note"


@dataclass(frozen=True, slots=True, order=True)
class Location:
    """A place in a manifest: POSIX path relative to the project, then 1-based line and column in characters."""

    path: PurePosixPath
    line: int = 1
    column: int = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class Diagnostic:
    """One thing the author of a manifest can act on.

    `code` is stable and documented in `codes`; `message` says what is wrong in the manifest's
    own words; `hint` says what to write instead; `source` is the line it is about, without its newline.
    """

    code: str
    message: str
    location: Location
    hint: str = ""
    severity: Severity = Severity.ERROR
    source: str = ""

    def __str__(self) -> str:
        where = f"{self.location.path}:{self.location.line}:{self.location.column}"
        return f"{where}: {self.severity}[{self.code}]: {self.message}"


@dataclass(slots=True)
class Diagnostics:
    """All that one run has found so far. Stages add to it; the command prints it once, in file order."""

    found: dict[Diagnostic, None] = field(default_factory=dict)

    def add(self, diagnostic: Diagnostic) -> None:
        """Note `diagnostic` unless the same one stands already."""
        self.found[diagnostic] = None

    @property
    def has_errors(self) -> bool:
        """Whether the run must stop before the next stage."""
        return any(each.severity is Severity.ERROR for each in self.found)

    def __iter__(self) -> Iterator[Diagnostic]:
        return iter(sorted(self.found, key=lambda each: (each.location, each.code, each.message)))

    def __len__(self) -> int:
        return len(self.found)
