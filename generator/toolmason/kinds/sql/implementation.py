"""The implementation of a tool by a statement."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

from toolmason_runtime.shared.specs.database import Database, SqlTool
from toolmason_runtime.shared.specs.program import Risk
from toolmason_runtime.toolkit import EXTRAS

from toolmason.kinds.sql.tables import DatabaseTable
from toolmason.model.implementation import Group, Implementation
from toolmason.model.types import Identifier


@dataclass(frozen=True, slots=True, kw_only=True)
class SqlImplementation(Implementation):
    """The statement of a tool. `database_constant` is its database in generated code."""

    kind: ClassVar[str] = "sql"
    plural: ClassVar[str] = "databases"
    takes_dict: ClassVar[bool] = True
    tool: SqlTool
    database_constant: Identifier

    @property
    def group(self) -> tuple[Identifier, Database]:
        """The database."""
        return self.database_constant, self.tool.database

    @property
    def extras(self) -> tuple[str, ...]:
        """The extra with the driver of its database."""
        return (EXTRAS[self.tool.database.dialect],)

    @property
    def risks(self) -> frozenset[Risk]:
        """The risk of its calls."""
        return frozenset({self.tool.risk})

    @property
    def timeout_s(self) -> float:
        """Seconds until a call is cancelled."""
        return self.tool.time_limit_s

    @property
    def imports(self) -> Mapping[str, tuple[str, ...]]:
        """The classes of its specification."""
        spec = ("Database", "SqlParam", "SqlTool") if self.tool.params else ("Database", "SqlTool")
        return {
            "toolmason_runtime.programs": ("Risk",),
            "toolmason_runtime.sql.handler": ("sql_tool",),
            "toolmason_runtime.shared.specs.database": spec,
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class SqlDatabase(Group):
    """A database of `[databases]`, for search, docs and operators."""

    kind: ClassVar[str] = "sql"
    table: DatabaseTable
    dialect: str
