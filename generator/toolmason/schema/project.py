"""`advertise` and `project`: convert any JSON Schema to the dialect of a target."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Final

from toolmason.schema.check import check
from toolmason.schema.emit import (
    MAX_BYTES,
    MAX_RECURSION_UNROLLS,
    TOO_MANY_BYTES,
    Emitter,
    Form,
    SizeLimitError,
    select_objects,
)
from toolmason.schema.findings import Finding, Severity
from toolmason.schema.hosts import destination, dialect_of
from toolmason.schema.keywords import json_size
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


_MIN_SELECTED_BYTES: Final = MAX_BYTES // 3
"""Bytes of a selection of objects below which the descriptions of arguments are shortened."""
_MAX_LENGTHENINGS: Final = 2
"""Attempts to add objects to a result that has room."""
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
        """Unroll recursion less often until the result is small enough, then omit the least important parts."""
        unrolls = MAX_RECURSION_UNROLLS
        while True:
            projection, emitter = self._emit(Form(unrolls=unrolls))
            may_be_large = emitter.is_recursive or emitter.node_count > _SMALL_NODES or emitter.char_count > _SMALL_TEXT
            if projection is not None and (not may_be_large or json_size(projection.schema) <= emitter.max_bytes):
                return projection
            if not (emitter.is_recursive and unrolls and emitter.max_bytes):
                return self._shorten()
            unrolls -= 1

    def _shorten(self) -> Projection:
        """Return the result without the least important parts; never without the arguments."""
        self._keeps_references = False
        max_bytes = MAX_BYTES
        while True:
            form = select_objects(self._normalizer, max_bytes, self._dialect)
            projection = self._emit_selection(form)
            if (too_many := json_size(projection.schema) - MAX_BYTES) <= 0:
                return self._lengthen(projection, max_bytes)
            if max_bytes < _MIN_SELECTED_BYTES or not form.has_inner_objects:
                break
            max_bytes -= too_many + max_bytes // 50
        if any("description" in value for value in projection.schema["properties"].values()):
            return self._emit_selection(replace(form, description_levels=0, is_lean=True))
        return projection

    def _lengthen(self, projection: Projection, max_bytes: int) -> Projection:
        """Return a projection with more objects if there is room for them: the selection estimates their bytes."""
        for _ in range(_MAX_LENGTHENINGS):
            room = MAX_BYTES - json_size(projection.schema)
            if room < MAX_BYTES // 20 or not any(item.message == TOO_MANY_BYTES for item in projection.findings):
                break
            max_bytes += room
            longer = self._emit_selection(select_objects(self._normalizer, max_bytes, self._dialect))
            if json_size(longer.schema) > MAX_BYTES:
                break
            projection = longer
        return projection

    def _emit_selection(self, form: Form) -> Projection:
        projection, _ = self._emit(form)
        assert projection is not None  # noqa: S101  a selection has no limit
        return projection

    def _emit(self, form: Form) -> tuple[Projection | None, Emitter]:
        """Return the projection, None if it is surely too large, and its emitter."""
        names = PropertyNames(self._dialect, rename=self._renames, reserved=self._normalizer.references.property_names)
        emitter = Emitter(self._normalizer, self._target, names, form, keeps_references=self._keeps_references)
        try:
            schema = emitter.root()
        except SizeLimitError:
            return None, emitter
        return Projection(schema=schema, findings=emitter.findings, renamed=names.renamed), emitter
