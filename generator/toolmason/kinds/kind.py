"""The interface of kinds of tools: how a tool is carried out, such as by a handler, a program or a request.

The stages ask a kind, and never which kind it is. A distribution adds a kind with an entry point of the group
`toolmason.kinds` that names an object with this interface.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    # For type checkers alone: the stages import this module.
    from toolmason_runtime.shared.toml.reader import TableCheck, TableContext
    from toolmason_runtime.shared.toml.tables import Table

    from toolmason.manifest.tables import ParamTable, ToolTable
    from toolmason.model.implementation import Group, Implementation
    from toolmason.model.types import JsonSchema, Property
    from toolmason.resolve.context import ResolveContext
    from toolmason.resolve.examples import SchemaChecker


@dataclass(frozen=True, slots=True, kw_only=True)
class Section:
    """A top-level table with named tables, such as `[databases.NAME]`. A tool of the kind names one of them."""

    name: str
    """Name of the top-level table: `databases`."""
    key: str
    """Key of a tool with the name of a table: `database`."""
    noun: str
    """Word for one table in messages: `database`."""
    suffix: str
    """End of the name of its constant in generated code: `DATABASE`."""
    defaults: tuple[str, ...] = ()
    """Keys of its table `defaults`, which are values for its tools."""
    derived: frozenset[str] = frozenset()
    """Keys that its tools do not take from the `defaults` of their category."""


@dataclass(frozen=True, slots=True, kw_only=True)
class KindTool:
    """A tool that a kind resolves: its table, and what is already resolved."""

    name: str
    table: ToolTable
    params: tuple[Property, ...]
    """Its parameters; a type of `[types]` with `enum` is a string with `enum`."""
    schema: JsonSchema | None
    """Its `input_schema`; None for a tool with `params`."""
    checker: SchemaChecker


class Kind(Protocol):
    """One way to implement tools. Subclass it: everything with a value here is optional.

    Keys of the manifest are declared as tables (`toolmason_runtime.shared.toml.tables`) with defaults and docstrings.
    """

    name: str
    """Name in the catalogue and in the audit log: `sql`."""
    key: str
    """Key of a tool that selects the kind: `sql`."""
    tool_keys: type[Table]
    """The keys that tools get, `key` included. `table.own(tool_keys)` returns them."""
    hint: str
    """The key and its value for the hint of a tool without implementation: `` `sql` with a statement``."""
    section: Section | None = None
    manifest_keys: type[Table] | None = None
    """The top-level keys that manifests get: a mapping of tables with the name of `section`."""
    foreign_keys: Mapping[str, str] = {}
    """Keys of tools that this kind excludes, with a hint: `{"hints": "remove them: they follow from `risk`"}`.

    Keys of other kinds are excluded without an entry.
    """
    key_hints: Mapping[str, str] = {}
    """Hint for each key of `tool_keys` in a tool of another kind; by default, that only this kind has it."""
    param_keys: tuple[str, ...] = ()
    """Keys of parameters that only this kind has."""
    param_hint: str = ""
    """Hint for one of them in a tool of another kind."""
    takes_all_param_keys: bool = False
    """Whether keys of parameters that belong to other kinds are not reported."""
    decisive_keys: tuple[str, ...] = ()
    """Keys without which a tool of this kind cannot be resolved: one with an invalid value is skipped.

    `params` and `input_schema` always are.
    """
    has_list_results: bool = False
    """Whether `returns` may be an array such as `Book[]`: the result has the field `items`."""
    input_keys: tuple[str, ...] = ()
    """Keys of its tools, and of the tables of its section, whose values are paths of input files in the project.

    A value may be a list of paths. A change of such a file starts a run of `generate --watch`, and ends the validity of
    the record of the last run.
    """
    takes_schema: bool = True
    """Whether tools may have `input_schema`."""
    templates: str = ""
    """Import name of the package with the file `NAME.jinja`, for a kind of another distribution.

    The template has the macros `constants(groups, tools)`, `binding(server, category, tool)`, `docs(tool)` and
    `index(groups)`.
    """

    conditional_keys: frozenset[str] = frozenset()
    """Those of `foreign_keys` that `excludes` may accept."""
    editor_rules: Mapping[type[Table], Mapping[str, Any]] = {}
    """JSON Schema of tables for editors: rules that dataclasses cannot express.

    Those of `ToolTable` are for its tools.
    """
    editor_key_rules: Mapping[tuple[type[Table], str], Mapping[str, Any]] = {}
    """The same for single keys."""

    @property
    def checks(self) -> Mapping[type[Table], TableCheck]:
        """Checks of its tables that a dataclass cannot express."""
        return {}

    def check_tool(self, context: TableContext) -> None:
        """Report missing and contradicting keys of a tool of this kind as TM2xx."""
        return

    def excludes(self, key: str, data: Mapping[str, Any]) -> bool:
        """Return whether a tool with the keys `data` cannot have `key`, one of `foreign_keys`."""
        return True

    def has_result(self, table: ToolTable) -> bool:
        """Return whether a tool can have a structured result."""
        return True

    def has_pages(self, table: ToolTable) -> bool:
        """Return whether a result with `items` also has the field `has_more`."""
        return False

    def params(self, table: ToolTable) -> Mapping[str, ParamTable]:
        """Return the parameters of a tool, with the defaults of this kind."""
        return table.params

    def fixed_keys(self, table: ToolTable, name: str) -> Mapping[str, str]:
        """Return the keys, with texts, that a tool needs to stay as it is if its name changes from `name`."""
        return {}

    def fixed_param_keys(self, table: ToolTable, name: str) -> Mapping[str, str]:
        """Return the keys, with texts, that a parameter needs to stay as it is if its name changes from `name`."""
        return {}

    def prepare(self, context: ResolveContext) -> None:
        """Resolve the tables of `section` before any tool; `context.kinds[self.name]` is for the result.

        A manifest without such tables does not need it: the result is then an empty dictionary.
        """
        return

    def resolve(self, context: ResolveContext, tool: KindTool) -> Implementation | None:
        """Return the implementation of a tool, or None with its errors reported as TM3xx."""
        raise NotImplementedError  # the only method that every kind has

    def groups(self, context: ResolveContext) -> tuple[Group, ...]:
        """Return the tables of `section` that tools use, in the order of the manifest. Not called if it has none."""
        return ()
