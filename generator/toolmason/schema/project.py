"""`advertise` and `project`: convert any JSON Schema to the dialect of a target."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Final

from toolmason.schema.check import check
from toolmason.schema.emit import (
    MAX_BYTES,
    MAX_BYTES_IF_RECURSIVE,
    MAX_DEPTH,
    MAX_RECURSION_UNROLLS,
    Emitter,
    SizeLimitError,
)
from toolmason.schema.findings import Finding, Severity
from toolmason.schema.hosts import destination, dialect_of
from toolmason.schema.keywords import is_small, json_size
from toolmason.schema.names import PropertyNames
from toolmason.schema.normalize import Normalizer
from toolmason.targets import Target


@dataclass(frozen=True, slots=True, kw_only=True)
class Projection:
    """A schema in the dialect of a target, with a finding for every change.

    `renamed` maps the replacement of each rejected property name to the original name.
    """

    schema: dict[str, Any]
    findings: tuple[Finding, ...] = ()
    renamed: Mapping[str, str] = field(default_factory=dict)

    @property
    def narrows(self) -> bool:
        """Whether some value that the original accepts is now rejected."""
        return any(finding.severity in {Severity.REFUSED, Severity.NARROWED} for finding in self.findings)


def advertise(schema: Any, *, rename: bool = False) -> Projection:
    """Return the JSON Schema that an MCP server should send as `inputSchema`, with a finding for every change.

    It is valid under JSON Schema 2020-12 and draft-07 and uses only keywords that the converters of today's clients
    keep. The server should still validate calls against `schema`, and treat null for an optional argument as absent.
    With `rename`, property names that a provider rejects are replaced; `Projection.renamed` maps them back.
    """
    return project(schema, Target.MCP, rename=rename)


def project(schema: Any, target: Target | str, *, rename: bool | None = None) -> Projection:
    """Convert `schema` to the dialect of `target`, or of a provider of `hosts.toml`, with a finding for every change.

    `schema` is any JSON Schema from draft-04 to 2020-12. It is not changed, and no other document is read. An invalid
    part becomes a fallback schema and a finding of severity `refused`. `rename` replaces property names that the
    target rejects; by default only if the provider would reject the request.

    Raises:
        ValueError: unknown target.
    """
    return projected(Normalizer(schema), destination(target), rename=rename)


def projected(normalizer: Normalizer, target: str, *, rename: bool | None = None) -> Projection:
    """Convert the schema of `normalizer`, which can be shared between targets."""
    return _Attempts(normalizer, target, rename).best()


_SMALL_NODES: Final = 20
_SMALL_TEXT: Final = 4_000
"""Schemas and characters of text below which a result is surely small."""


class _Attempts:
    """Attempts to project one schema within the size limits."""

    def __init__(self, normalizer: Normalizer, target: str, rename: bool | None) -> None:
        self._normalizer = normalizer
        self._target = target
        self._dialect = dialect_of(target)
        self._keeps_references = self._dialect.references
        self._renames = self._dialect.renames_properties if rename is None else rename

    def best(self) -> Projection:
        """Return the first projection that fits, with `$defs` if the target has no rule against its references.

        For example, Gemini rejects references by which a required value contains itself.
        """
        projection = self._fit()
        if "$defs" in projection.schema and any(
            "$ref" in finding.pattern for finding in check(projection.schema, self._target)
        ):
            self._keeps_references = False
            projection = self._fit()
        return projection

    def _fit(self) -> Projection:
        """Unroll recursion less often, then keep fewer levels of objects, until the result is small enough."""
        for unrolls in range(MAX_RECURSION_UNROLLS, -1, -1):
            projection, emitter = self._emit(unrolls)
            max_bytes = self._max_bytes_if_recursive if unrolls and emitter.is_recursive else MAX_BYTES
            may_be_large = emitter.is_recursive or emitter.node_count > _SMALL_NODES or emitter.char_count > _SMALL_TEXT
            if projection is not None and (not may_be_large or json_size(projection.schema) <= max_bytes):
                return projection
            if not emitter.is_recursive:
                break
        return self._cut()

    def _cut(self) -> Projection:
        """Return the projection with as many levels of objects as fit, at least one."""
        fitting, _ = self._emit(0, 1)
        assert fitting is not None  # noqa: S101  one level has no limit
        for max_object_level in range(2, MAX_DEPTH):
            if json_size(fitting.schema) > MAX_BYTES:
                break
            larger, _ = self._emit(0, max_object_level)
            if larger is None or json_size(larger.schema) > MAX_BYTES:
                break
            fitting = larger
        return fitting

    def _emit(self, unrolls: int, max_object_level: int = MAX_DEPTH) -> tuple[Projection | None, Emitter]:
        """Return the projection, None if it is surely too large, and its emitter."""
        names = PropertyNames(self._dialect, rename=self._renames, reserved=self._normalizer.references.property_names)
        emitter = Emitter(
            self._normalizer, self._target, names, unrolls, max_object_level, keeps_references=self._keeps_references
        )
        try:
            schema = emitter.root()
        except SizeLimitError:
            return None, emitter
        return Projection(schema=schema, findings=emitter.findings, renamed=names.renamed), emitter

    @cached_property
    def _max_bytes_if_recursive(self) -> int:
        original = self._normalizer.root[0].schema
        size = json_size(original) if is_small(original) else MAX_BYTES
        return min(MAX_BYTES, max(MAX_BYTES_IF_RECURSIVE, size * 3 // 2))
