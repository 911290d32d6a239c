"""JSON Schema validation (2020-12) without network access and in bounded time.

The keywords are in `schema_keywords`, references in `schema_references`. Tests compare both with the package
`jsonschema`, which the toolkit uses: with its dependencies, it would add five packages to a server.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from toolmason_runtime.shared.values.schema_keywords import Violation, violations
from toolmason_runtime.shared.values.schema_references import References


@dataclass(frozen=True, slots=True)
class Validator:
    """A schema with its references. Formats are not checked.

    The schema must be valid. Otherwise, the methods raise ValueError, TypeError, LookupError or AttributeError for an
    invalid keyword, and RecursionError for a schema that refers to itself endlessly.
    """

    _schema: Any
    _references: References

    def iter_errors(self, value: Any) -> Iterator[Violation]:
        """Yield each violation of the schema, in the order of its keywords.

        Raises:
            PatternTimeoutError: a pattern cannot be matched in time.
        """
        return violations(self._schema, value, (), self._references)

    def is_valid(self, value: Any) -> bool:
        """Return whether `value` is valid. Raises the errors of `iter_errors`."""
        return next(self.iter_errors(value), None) is None


def validator(schema: Mapping[str, Any]) -> Validator:
    """Return the validator of `schema`. `$schema` has no effect: every schema is read as 2020-12."""
    return Validator(schema, References(schema))


def nearest_alternative(error: Violation) -> Sequence[Violation]:
    """Return the errors of the most likely branch of a union: of the right type and tag, with the fewest errors."""

    def distance(branch: Sequence[Violation]) -> tuple[bool, bool, int]:
        has_wrong_type = any(inner.keyword == "type" and inner.path == error.path for inner in branch)
        has_wrong_tag = any(inner.keyword in {"const", "enum"} for inner in branch)
        return has_wrong_type, has_wrong_tag, len(branch)

    return min(error.branches, key=distance)
