"""From any JSON Schema to one that a provider takes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from toolmason.schema.emit import MAX_UNROLLED, OverBudgetError, Writer
from toolmason.schema.findings import Finding, Severity
from toolmason.schema.names import Names
from toolmason.schema.normalize import Reader
from toolmason.schema.providers import providers
from toolmason.schema.target import Target


@dataclass(frozen=True, slots=True, kw_only=True)
class Projection:
    """A schema as a target takes it, and what that cost.

    `renamed` holds, for each property whose name the target refuses, the name that stands for it and its own.
    """

    schema: dict[str, Any]
    findings: tuple[Finding, ...] = ()
    renamed: Mapping[str, str] = field(default_factory=dict)

    @property
    def narrows(self) -> bool:
        """Whether some value that the original takes is refused now."""
        return any(each.severity in {Severity.REFUSED, Severity.NARROWED} for each in self.findings)


def advertise(schema: Any, *, rename: bool = False) -> Projection:
    """Give the JSON Schema that an MCP server should send as `inputSchema`, and what was given up.

    It is valid under JSON Schema 2020-12 and draft-07 and uses only what survives the converters of today's clients.
    The server should go on checking calls against `schema` itself, and take null for an optional argument as absent.
    With `rename`, names that a provider refuses are replaced; `Projection.renamed` leads back.
    """
    return project(schema, Target.MCP, rename=rename)


def project(schema: Any, target: Target | str, *, rename: bool | None = None) -> Projection:
    """Give `schema` as `target` takes it, and what was changed on the way.

    `schema` is any JSON Schema from draft-04 to 2020-12; it is not changed, and nothing outside of it is read. What
    cannot be read at all becomes a stand-in and a finding of severity `refused`. `rename` says whether names that
    the target refuses are replaced; by default they are where the provider would refuse the request.

    Raises:
        ValueError: `target` names none.
    """
    return projected(Reader(schema), Target(target), rename=rename)


def projected(reader: Reader, target: Target, *, rename: bool | None = None) -> Projection:
    """Project what `reader` reads; reading is done once for several targets."""
    dialect = providers().dialects[target]
    for levels in range(MAX_UNROLLED, -1, -1):
        names = Names(dialect, rename=dialect.renames if rename is None else rename, taken=reader.names)
        writer = Writer(reader, target, names, levels)
        try:
            schema = writer.root()
        except OverBudgetError:
            continue
        return Projection(schema=schema, findings=writer.findings, renamed=names.renamed)
    raise AssertionError("without unrolling, what is over budget stands open")
