"""A kind of tools of another distribution: tools that look terms up in a glossary of the manifest."""

from __future__ import annotations

import json

from toolmason_glossary_runtime import Glossary, GlossaryTool
from toolmason_runtime.shared.toml.problems import table_name
from toolmason_runtime.shared.toml.reader import TableContext

from toolmason.kinds.kind import Kind, KindTool, Section
from toolmason.manifest.input_files import read_input
from toolmason.model.identifiers import group_constant_name
from toolmason.model.implementation import Hints
from toolmason.resolve.context import ResolveContext
from toolmason_glossary.implementation import GlossaryGroup, GlossaryImplementation
from toolmason_glossary.tables import GlossaryKeys, GlossaryTable, GlossaryTables


class GlossaryKind(Kind):
    """Tools that look terms up."""

    name = "glossary"
    key = "glossary"
    tool_keys = GlossaryKeys
    hint = "`glossary` with that of a glossary"
    section = Section(name="glossaries", key="glossary", noun="glossary", suffix="GLOSSARY", defaults=("tier", "tags"))
    manifest_keys = GlossaryTables
    foreign_keys = {"hints": "remove them: a lookup changes nothing"}
    decisive_keys = ("glossary",)
    input_keys = ("more_terms",)
    templates = "toolmason_glossary"

    def check_tool(self, context: TableContext) -> None:
        """Report a tool without the parameter `term`."""
        if "term" not in context.data.get("params", ()):
            message = f"{table_name(context.at)} has no parameter `term`"
            context.error("TM202", message, hint='add `params.term = { type = "string" }`')

    def prepare(self, context: ResolveContext) -> None:
        """Resolve the glossaries."""
        tables = context.tables.own(GlossaryTables).glossaries
        context.kinds[self.name] = {
            name: Glossary(name, {**table.terms, **_more_terms(context, table)}) for name, table in tables.items()
        }

    def resolve(self, context: ResolveContext, tool: KindTool) -> GlossaryImplementation | None:
        """Return the glossary of a tool."""
        name, known = tool.table.own(GlossaryKeys).glossary, context.kinds[self.name]
        if name not in known:
            at = (*tool.table.at, "glossary")
            context.report_unknown("TM323", "glossary", name, known, at)
            return None
        return GlossaryImplementation(
            hints=Hints(read_only=True, destructive=False, idempotent=True, open_world=False),
            group_name=name,
            tool=GlossaryTool(tool.name, known[name]),
            glossary_constant=group_constant_name(name, "GLOSSARY"),
        )

    def groups(self, context: ResolveContext) -> tuple[GlossaryGroup, ...]:
        """Return the glossaries of tools."""
        used = {tool.own(GlossaryKeys).glossary for tool in context.tables.tools.values()}
        tables = context.tables.own(GlossaryTables).glossaries
        return tuple(GlossaryGroup(name=name, table=table) for name, table in tables.items() if name in used)


def _more_terms(context: ResolveContext, table: GlossaryTable) -> dict[str, str]:
    if not table.more_terms:
        return {}
    terms: dict[str, str] = json.loads(read_input(context.root / table.more_terms, context.root))
    return terms


KIND = GlossaryKind()
