"""Tools that another MCP server of `[upstreams]` implements."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from toolmason_runtime.shared.toml.reader import TableCheck, TableContext
from toolmason_runtime.shared.toml.tables import Table

from toolmason.kinds.kind import Kind, KindTool, Section
from toolmason.kinds.upstream.checks import check_upstream, check_upstream_argument, check_upstream_tool
from toolmason.kinds.upstream.tables import UpstreamArgumentTable, UpstreamKeys, UpstreamTable, UpstreamTables
from toolmason.manifest.editor_rules import VARIABLE, none_of, one_of, whole
from toolmason.manifest.tables import ToolTable

if TYPE_CHECKING:
    from toolmason.kinds.upstream.implementation import UpstreamImplementation, UpstreamServer
    from toolmason.resolve.context import ResolveContext


class UpstreamKind(Kind):
    """Tools whose calls go to another server."""

    name = "upstream"
    key = "upstream"
    tool_keys = UpstreamKeys
    hint = "`upstream` with that of a server"
    section = Section(
        name="upstreams",
        key="upstream",
        noun="upstream",
        suffix="UPSTREAM",
        defaults=("hints", "tier", "tags"),
        derived=frozenset({"hints"}),
    )
    decisive_keys = ("upstream", "arguments")
    manifest_keys = UpstreamTables
    foreign_keys = {
        "risk": "write `hints` instead",
        "confirm": "remove it: the question for approval shows the arguments",
        "ok_exit_codes": "remove it: the upstream reports errors itself",
        "output": "remove it: results of the upstream are passed on",
        "params": "write `input_schema`, the upstream's schema",
        "returns": "remove it: results of the upstream are passed on",
    }
    key_hints = {"arguments": "write `params` for the parameters; only tools with `upstream` change arguments"}
    takes_all_param_keys = True
    editor_rules = {
        ToolTable: {"required": ["input_schema"]},
        UpstreamTable: {
            **one_of("command", "url"),
            "if": {"required": ["url"]},
            "then": none_of(["env", "pass_env", "working_dir"]),
            "else": none_of(["headers"]),
        },
        UpstreamArgumentTable: {
            "if": {"required": ["aliases"]},
            "then": none_of(["value", "hidden"]),
            "else": one_of("rename", "value", "hidden"),
        },
    }
    editor_key_rules = {(UpstreamTable, "env"): {"propertyNames": {"pattern": whole(VARIABLE)}}}

    @property
    def checks(self) -> Mapping[type[Table], TableCheck]:
        """Checks of upstreams and of changed arguments."""
        return {UpstreamTable: check_upstream, UpstreamArgumentTable: check_upstream_argument}

    def check_tool(self, context: TableContext) -> None:
        """Report missing keys."""
        check_upstream_tool(context)

    def has_result(self, table: ToolTable) -> bool:  # noqa: ARG002  the interface
        """Return false: results of the upstream are passed on."""
        return False

    def fixed_keys(self, table: ToolTable, name: str) -> Mapping[str, str]:
        """Return the name of the tool in the upstream."""
        return {} if table.own(UpstreamKeys).upstream_tool else {"upstream_tool": name}

    def prepare(self, context: ResolveContext) -> None:
        """Resolve the upstreams."""
        from toolmason.kinds.upstream.resolve import upstreams

        context.kinds[self.name] = upstreams(context)

    def resolve(self, context: ResolveContext, tool: KindTool) -> UpstreamImplementation | None:
        """Return the tool of the upstream."""
        from toolmason.kinds.upstream.resolve import upstream_tool

        return upstream_tool(context, tool)

    def groups(self, context: ResolveContext) -> tuple[UpstreamServer, ...]:
        """Return the upstreams of tools."""
        from toolmason.kinds.upstream.resolve import upstream_servers

        return upstream_servers(context)


KIND = UpstreamKind()
