"""The kind of a tool, and the table that it shares with other tools of its kind."""

from __future__ import annotations

from collections.abc import Mapping

from toolmason_runtime.shared.toml.tables import Table

from toolmason.kinds import kinds
from toolmason.kinds.kind import Kind
from toolmason.manifest.tables import ManifestTables, ToolTable


def kind_of(tool: ToolTable) -> Kind | None:
    """Return the kind of a tool, also if the value of its key is invalid; None without one."""
    for kind in kinds().values():
        if kind.key in tool.unread or getattr(tool.own(kind.tool_keys), kind.key):
            return kind
    return None


def groups_of(tables: ManifestTables, kind: Kind) -> Mapping[str, Table]:
    """Return the tables of the section of a kind by their names; empty without a section."""
    if kind.section is None or kind.manifest_keys is None:
        return {}
    groups: Mapping[str, Table] = getattr(tables.own(kind.manifest_keys), kind.section.name)
    return groups


def needs_groups(tables: ManifestTables, kind: Kind) -> bool:
    """Return whether a kind has tables of its section to resolve; true for a kind without a section."""
    return kind.section is None or bool(groups_of(tables, kind))


def group_of(tables: ManifestTables, tool: ToolTable) -> Table | None:
    """Return the table that a tool shares with others, such as its program; None without one."""
    kind = kind_of(tool)
    if kind is None or kind.section is None:
        return None
    return groups_of(tables, kind).get(getattr(tool.own(kind.tool_keys), kind.section.key))


def category_of(tables: ManifestTables, tool: ToolTable) -> str:
    """Return the category of a tool: its own, else that of its program, API or upstream."""
    return tool.category or str(getattr(group_of(tables, tool), "category", ""))
