"""Findings of one schema object during normalization."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from toolmason.schema.findings import Finding, Severity, finding, json_pointer
from toolmason.schema.keywords import is_small, json_text

_MAX_QUOTE_LENGTH: Final = 60


class FindingCollector:
    """Collects the findings about the keywords of one schema object.

    For a synthetic schema, which the normalizer creates, all findings point to the schema that it was created from,
    and notes are dropped.
    """

    __slots__ = ("_is_synthetic", "findings", "pointer")

    def __init__(self, pointer: str, *, is_synthetic: bool = False) -> None:
        self.findings: list[Finding] = []
        self.pointer = pointer
        self._is_synthetic = is_synthetic

    def pointer_to(self, *parts: str | int) -> str:
        """Return the JSON Pointer of a subschema or keyword."""
        return self.pointer if self._is_synthetic else self.pointer + json_pointer(parts)

    def add(self, keyword: str, pattern: str, severity: Severity, message: str) -> None:
        """Add a finding about `keyword`."""
        if not (self._is_synthetic and severity is Severity.NOTE):
            self.add_at(self.pointer_to(keyword), pattern, severity, message)

    def note(self, keyword: str, message: str, *, pattern: str = "") -> None:
        """Add a note about `keyword`; `pattern` defaults to the keyword."""
        self.add(keyword, pattern or keyword, Severity.NOTE, message)

    def add_at(self, pointer: str, pattern: str, severity: Severity, message: str) -> None:
        """Add a finding at any pointer, for synthetic schemas as well."""
        self.findings.append(finding(pointer, pattern, severity, message))

    def extend(self, findings: Sequence[Finding]) -> None:
        """Add findings of subschemas."""
        self.findings += findings


def quote(value: Any) -> str:
    """Quote a value in a message: its JSON if short, otherwise the beginning or its Python type."""
    text = (json_text(value) if is_small(value) else "") or type(value).__name__
    return text if len(text) <= _MAX_QUOTE_LENGTH else text[:_MAX_QUOTE_LENGTH] + "..."
