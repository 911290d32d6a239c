"""`advertise` and `project`: convert any JSON Schema to the dialect of a target."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from toolmason.schema.emit import MAX_RECURSION_UNROLLS, Emitter, SizeLimitError
from toolmason.schema.findings import Finding, Severity
from toolmason.schema.names import PropertyNames
from toolmason.schema.normalize import Normalizer
from toolmason.schema.providers import Target, providers


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
    """Convert `schema` to the dialect of `target`. Return it with a finding for every change.

    `schema` is any JSON Schema from draft-04 to 2020-12. It is not changed, and no other document is read. An invalid
    part becomes a fallback schema and a finding of severity `refused`. `rename` replaces property names that the
    target rejects; by default only if the provider would reject the request.

    Raises:
        ValueError: unknown target.
    """
    return projected(Normalizer(schema), Target(target), rename=rename)


def projected(normalizer: Normalizer, target: Target, *, rename: bool | None = None) -> Projection:
    """Convert the schema of `normalizer`, which can be shared between targets."""
    dialect = providers().dialects[target]
    for unrolls in range(MAX_RECURSION_UNROLLS, -1, -1):
        renames = dialect.renames_properties if rename is None else rename
        names = PropertyNames(dialect, rename=renames, reserved=normalizer.references.property_names)
        emitter = Emitter(normalizer, target, names, unrolls)
        try:
            schema = emitter.root()
        except SizeLimitError:
            continue
        return Projection(schema=schema, findings=emitter.findings, renamed=names.renamed)
    raise AssertionError("without unrolling, every schema has a result")
