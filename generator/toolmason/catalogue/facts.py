"""Facts about a server that are expensive to compute: each is computed on first use, once per run."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cached_property
from typing import Any, Protocol

from toolmason_runtime.shared.catalogue import Catalogue, ToolEntry

from toolmason.catalogue.blocks import Blocks, one_block
from toolmason.catalogue.effects import effects_of
from toolmason.catalogue.pictures import cost_chart, effect_chart
from toolmason.catalogue.search_index import build_index
from toolmason.catalogue.stats import Stats, stats
from toolmason.catalogue.table import catalogue
from toolmason.catalogue.tool_commands import CategoryCommands, completion_of, reserved, server_commands
from toolmason.clients import Client, command_hosts, configuration, install_facts, plugin_entry
from toolmason.manifest.editor_schema import manifest_schema
from toolmason.model.json_text import to_json
from toolmason.model.server import Category, Server
from toolmason.model.tool import Tool
from toolmason.pictures.bars import BarChart
from toolmason.schema import Projection, Target
from toolmason.schema.projections import Projections
from toolmason.store import Store


class Entries(Protocol):
    """Entries of tools in the catalogue, and texts of categories, from an earlier run."""

    def known(self) -> Mapping[str, ToolEntry]:
        """Return the entries of tools that have not changed since."""

    def keep_entries(self, entries: Mapping[str, ToolEntry]) -> None:
        """Store the entries of all tools."""

    @property
    def entry_texts(self) -> Mapping[str, str]:
        """The entries that were stored or read, each as JSON on one line, by the name of the tool."""

    @property
    def blocks(self) -> Blocks:
        """The stored values of blocks of tools."""

    def category_text(self, category: Category, kind: str, make: Callable[[], str]) -> str:
        """Return the stored text of an unchanged category, else that of `make`. It must depend only on the category."""


class Facts:
    """The computed facts of one server. `store` has results of earlier runs, and `entries` those of the catalogue."""

    def __init__(
        self,
        server: Server,
        projections: Projections | None = None,
        store: Store | None = None,
        entries: Entries | None = None,
    ) -> None:
        self._server = server
        self._store = store
        self._entries = entries
        self._tools = {tool.name: tool for tool in server.tools}
        self._projections = projections or Projections()

    @cached_property
    def catalogue(self) -> Catalogue:
        """The tools as clients see them in the style of the manifest."""
        if self._entries is None:
            return catalogue(self._server)
        table = catalogue(self._server, self._entries.known())
        self._entries.keep_entries(table["tools"])
        return table

    def entry_text(self, name: str, entry: ToolEntry) -> str:
        """Return an entry of the catalogue as JSON on one line."""
        # A prompt or a resource may have the same name, and the served catalogue may have another entry.
        is_stored = self._entries is not None and self.catalogue["tools"].get(name) is entry
        text = self._entries.entry_texts.get(name) if self._entries and is_stored else None
        return to_json(entry) if text is None else text

    @property
    def _blocks(self) -> Blocks:
        return self._entries.blocks if self._entries else one_block

    @cached_property
    def served_catalogue(self) -> Catalogue:
        """The catalogue of running servers, which fill the placeholders in its texts."""
        unfilled = self._server.unfilled
        if unfilled is None:
            return self.catalogue
        # Most tools have no placeholders, so both servers have the same object.
        entries = self.catalogue["tools"]
        same = {tool.name: entries[tool.name] for tool in unfilled.tools if self._is_own(tool)}
        return catalogue(unfilled, same)

    @cached_property
    def search_index(self) -> Any:
        """The search index of the tools."""
        return build_index(self.catalogue, self._blocks)

    @cached_property
    def commands(self) -> Mapping[str, CategoryCommands]:
        """The commands of the tools, by category."""
        return {each.name: each for each in server_commands(self._server, self.catalogue["tools"])}

    @property
    def reserved_commands(self) -> tuple[str, ...]:
        """Subcommands that are no commands of tools."""
        return reserved(self._server)

    def completion(self, shell: str) -> str:
        """Return the script that completes the commands in a shell."""

        def keep(category: Category, make: Callable[[], str]) -> str:
            return self._entries.category_text(category, f"completion.{shell}", make) if self._entries else make()

        return completion_of(self._server, tuple(self.commands.values()), shell, keep)

    @cached_property
    def manifest_schema(self) -> dict[str, Any]:
        """The JSON Schema of the manifest."""
        return manifest_schema()

    @cached_property
    def stats(self) -> Stats:
        """The cost of each tool and style."""
        return stats(self.catalogue, self._store, self._blocks)

    @cached_property
    def cost_chart(self) -> BarChart:
        """The tokens of the tools by category, rounded: most edits of a text leave them as they are."""
        costs = (cost for cost in self.stats.tools if cost.name in self._tools)
        return cost_chart(costs, self._categories, digits=2)

    @cached_property
    def effect_chart(self) -> BarChart:
        """The number of tools by category and effect."""
        return effect_chart(effects_of(self._server), self._categories)

    @property
    def _categories(self) -> Mapping[str, str]:
        return {name: tool.category for name, tool in self._tools.items()}

    def projected(self, tool: Tool, target: str) -> Projection:
        """Return the parameters of `tool` in the dialect of a provider, a `toolmason.schema.Target`.

        Raises:
            TypeError: `tool` is not one of the server. A template can create objects that look like it.
        """
        if not self._is_own(tool):
            raise TypeError("`facts.projected` takes a tool of `server`")
        return self._projections.project(tool.schema, Target(target), store=False)

    def _is_own(self, tool: Tool) -> bool:
        return self._tools.get(tool.name) is tool

    def configuration(self, client: Client) -> dict[str, Any]:
        """Return the content of the file that configures the server in `client`."""
        return configuration(client, self._server)

    def plugin_entry(self, client: Client) -> dict[str, Any]:
        """Return the entry of the server in a plugin of `client`."""
        return plugin_entry(client, self._server)

    @cached_property
    def install(self) -> dict[str, Any]:
        """The content of `install.json`."""
        return install_facts(self._server)

    @cached_property
    def command_hosts(self) -> dict[str, Any]:
        """The clients with command files."""
        return command_hosts()
