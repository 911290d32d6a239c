"""The result of a refactoring."""

from __future__ import annotations

from dataclasses import dataclass

from toolmason.diagnostics import Diagnostics
from toolmason.edits import Edits

Place = tuple[str, int, str]
"""A file, a line and the reason why a person has to look at it."""


@dataclass(frozen=True, slots=True)
class Refactoring:
    """The changes of files, the places that stay and need a person, new findings of the manifest, and further steps."""

    edits: Edits
    uncertain: tuple[Place, ...]
    findings: Diagnostics
    notes: tuple[str, ...] = ()
