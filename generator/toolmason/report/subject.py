"""The server of a report: that of a manifest, or any other MCP server."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from toolmason_runtime.shared.catalogue import Catalogue, WireTool
from toolmason_runtime.shared.search.postings import SemanticPostings

from toolmason.audit.sources import Source, load_manifest
from toolmason.catalogue.effects import Effect, declared_effects, effects_of
from toolmason.catalogue.stats import listed_tools
from toolmason.catalogue.table import catalogue
from toolmason.evaluation.measure import UNCATEGORIZED, SearchIn, search_with
from toolmason.evaluation.other_server import catalogue_of
from toolmason.model.server import Server

if TYPE_CHECKING:
    from toolmason_runtime.toolkit import Policy

    from toolmason.audit.server_lists import ServerDescription
    from toolmason.pipeline import LoadedManifest
    from toolmason.project import Project


@dataclass(frozen=True, slots=True, kw_only=True)
class Subject:
    """A server, in the form that the sections of a report measure."""

    title: str
    name: str
    version: str
    source: str
    instructions: str
    style: str
    """Discovery style; empty for another server, whose list clients get unchanged."""
    table: Catalogue
    """The tools for searches."""
    categories: Mapping[str, str]
    """The category of each enabled tool."""
    tools: Sequence[WireTool]
    """The enabled tools, as on the wire."""
    listed: Sequence[WireTool]
    """The tools in `tools/list`."""
    audited: Source
    effects: Mapping[str, Effect]
    search_in: SearchIn
    server: Server | None = None
    """The model of the manifest; None for another server."""


def manifest_subject(reading: LoadedManifest, project: Project, policy: Policy | None = None) -> Subject:
    """Return the server of a manifest."""
    server = reading.server
    table = catalogue(server)
    entries = {name: entry for name, entry in table["tools"].items() if entry.get("enabled", True)}
    effects = effects_of(server, policy)
    return Subject(
        title=server.table.title or server.table.name,
        name=server.table.name,
        version=server.table.version,
        source=project.shown_manifest,
        instructions=server.instructions,
        style=server.discovery.style,
        table=table,
        categories={name: entries[name]["category"] for name in entries if name in effects},
        tools=[entries[name]["tool"] for name in entries if name in effects],
        listed=listed_tools(table),
        audited=load_manifest(reading, project.root),
        effects=effects,
        search_in=search_with(SemanticPostings(server.postings.encode()) if server.postings else None),
        server=server,
    )


def server_subject(about: ServerDescription, source: Source) -> Subject:
    """Return another MCP server. Of several tools with one name, the last one counts."""
    declared: list[Any] = [{**tool.declaration, "name": tool.name} for tool in source.tools]
    tools = list({tool["name"]: tool for tool in declared}.values())
    return Subject(
        title=about.title or about.name or source.name,
        name=about.name,
        version=about.version,
        source=source.name,
        instructions=about.instructions,
        style="",
        table=catalogue_of(tools),
        categories=dict.fromkeys((tool["name"] for tool in tools), UNCATEGORIZED),
        tools=tools,
        listed=tools,
        audited=source,
        effects=declared_effects(tools),
        search_in=search_with(),
    )
