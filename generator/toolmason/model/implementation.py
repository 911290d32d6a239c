"""The implementation of a tool: what the later stages need to know of its kind."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar

from toolmason_runtime.shared.specs.program import Risk
from toolmason_runtime.shared.toml.tables import Table

from toolmason.manifest.tables import HintsTable, ToolTable
from toolmason.model.from_table import FromTable
from toolmason.model.types import Identifier, JsonSchema


@dataclass(frozen=True, slots=True, kw_only=True)
class Hints:
    """Effects of a tool: the hints that MCP calls annotations."""

    read_only: bool
    destructive: bool
    idempotent: bool
    open_world: bool

    @property
    def risk(self) -> Risk:
        """The greatest risk that they permit."""
        return Risk.DESTRUCTIVE if self.destructive else Risk.READ if self.read_only else Risk.WRITE


def hints_of(table: ToolTable) -> Hints:
    """Return the hints of a table; those that it does not state are the worst case."""
    stated = table.hints or HintsTable()
    read_only = bool(stated.read_only)
    return Hints(
        read_only=read_only,
        destructive=not read_only if stated.destructive is None else stated.destructive,
        idempotent=read_only if stated.idempotent is None else stated.idempotent,
        open_world=stated.open_world is not False,
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Handler:
    """A hand-written function; `module` is absolute."""

    module: str
    function: Identifier


@dataclass(frozen=True, slots=True, kw_only=True)
class Implementation:
    """How a tool is carried out. Each kind has its own subclass."""

    kind: ClassVar[str]
    """Name of the kind."""
    plural: ClassVar[str] = ""
    """Word for the objects that carry out its tools, such as `APIs`; empty for programs and handlers."""
    takes_dict: ClassVar[bool] = False
    """Whether it takes arguments as a dict that was checked without the parameter model."""
    hints: Hints
    handler: Handler | None = None
    """The hand-written function that carries it out."""
    group_name: str = ""
    """Name of the table that it shares with other tools, in the catalogue; empty without one."""
    modules: tuple[str, ...] = ()
    """Hand-written modules that its bindings import."""
    schema: JsonSchema | None = None
    """The schema of its arguments for callers, if it differs from `input_schema`."""
    argument_aliases: Mapping[str, str] = field(default_factory=dict)
    """Another name of an argument -> its name in `schema`; parameters of the manifest have their own key."""

    @property
    def group(self) -> tuple[Identifier, Any] | None:
        """The object that it shares with other tools, such as a program, and its constant in generated code."""
        return None

    @property
    def extras(self) -> tuple[str, ...]:
        """Extras of toolmason with the packages that it needs at run time."""
        return ()

    @property
    def timeout_s(self) -> float | None:
        """Seconds until a call is cancelled; None without a limit."""
        return None

    @property
    def risks(self) -> frozenset[Risk]:
        """The risks of its calls, by which the policy decides on approval; empty if its code decides."""
        return frozenset()

    @property
    def imports(self) -> Mapping[str, tuple[str, ...]]:
        """Modules of the runtime -> names that its bindings import from them."""
        return {}

    @property
    def entry(self) -> Mapping[str, Any]:
        """Keys of the tool in the catalogue."""
        return {"kind": self.kind, **({"group": self.group_name} if self.group_name else {})}


@dataclass(frozen=True, slots=True, kw_only=True)
class Group(FromTable):
    """A table that tools share, such as a program of `[clis]`, for search, docs and operators."""

    kind: ClassVar[str]
    """Name of the kind."""
    catalogue_section: ClassVar[str] = ""
    """Top-level key of the catalogue for its entry; empty for the one that all further kinds share."""
    name: str
    table: Table
    variables: tuple[str, ...] = ()
    """Environment variables of the server that it uses."""

    @property
    def entry(self) -> Mapping[str, Any]:
        """Its entry in the catalogue: summary and tags for searches."""
        return {"summary": getattr(self.table, "summary", ""), "tags": list(getattr(self.table, "tags", ()))}
