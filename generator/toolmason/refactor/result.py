"""The result of a refactoring."""

from __future__ import annotations

from dataclasses import dataclass

from toolmason.diagnostics import Diagnostics
from toolmason.edits import Edits

Place = tuple[str, int, str]
"""A file, a line and the reason why a person must check it."""


@dataclass(frozen=True, slots=True)
class Refactoring:
    """The changes of files, unchanged places that a person must check, new findings, and next steps."""

    edits: Edits
    uncertain: tuple[Place, ...]
    findings: Diagnostics
    notes: tuple[str, ...] = ()
