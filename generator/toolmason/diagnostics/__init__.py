"""Diagnostics for authors of manifests: location, stable code, message and hint. `printers` formats them."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import PurePosixPath


class Severity(StrEnum):
    """The severity of a finding. Only `ERROR` stops a run."""

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
    """A finding that the author of a manifest can fix.

    `code` is stable and has a rule in `rules`; `message` describes the problem; `hint` proposes the fix; `source` is
    the line at `location` without its newline.
    """

    code: str
    message: str
    location: Location
    hint: str = ""
    severity: Severity = Severity.ERROR
    source: str = ""

    def __str__(self) -> str:
        position = f"{self.location.path}:{self.location.line}:{self.location.column}"
        return f"{position}: {self.severity}[{self.code}]: {self.message}"


@dataclass(slots=True)
class Diagnostics:
    """The findings of one run without duplicates. Stages add to them; iteration is in file order."""

    found: dict[Diagnostic, None] = field(default_factory=dict)

    def add(self, diagnostic: Diagnostic) -> None:
        """Add `diagnostic` unless an equal one was added before."""
        self.found[diagnostic] = None

    @property
    def has_errors(self) -> bool:
        """Whether a finding is an error."""
        return any(diagnostic.severity is Severity.ERROR for diagnostic in self.found)

    def has_errors_besides(self, codes: Collection[str]) -> bool:
        """Whether a finding with another code is an error."""
        return any(finding.severity is Severity.ERROR and finding.code not in codes for finding in self.found)

    def __iter__(self) -> Iterator[Diagnostic]:
        return iter(sorted(self.found, key=lambda finding: (finding.location, finding.code, finding.message)))

    def __len__(self) -> int:
        return len(self.found)
