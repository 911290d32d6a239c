"""Tools that send an HTTP request to an API of `[apis]`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from toolmason_runtime.shared.toml.reader import TableCheck, TableContext
from toolmason_runtime.shared.toml.tables import Table

from toolmason.kinds.http.checks import PARAM_KEYS, check_api, check_api_tool, check_auth, check_paginate
from toolmason.kinds.http.tables import ApiTable, AuthTable, HttpKeys, HttpTables, PaginateTable
from toolmason.kinds.kind import Kind, KindTool, Section
from toolmason.manifest.editor_rules import none_of, one_of
from toolmason.manifest.tables import ToolTable

if TYPE_CHECKING:
    from toolmason.kinds.http.implementation import HttpApi, HttpImplementation
    from toolmason.resolve.context import ResolveContext


class HttpKind(Kind):
    """Tools whose calls are requests."""

    name = "http"
    key = "api"
    tool_keys = HttpKeys
    hint = "`api` with that of an API"
    section = Section(
        name="apis",
        key="api",
        noun="API",
        suffix="API",
        defaults=("tier", "tags"),
        derived=frozenset({"hints"}),
    )
    decisive_keys = ("api", "http")
    manifest_keys = HttpTables
    foreign_keys = {
        "hints": "remove them: they follow from the method of `http`, or from `risk`",
        "ok_exit_codes": "remove it: a status of 400 or more is an error",
        "output": "remove it: with `returns`, the answer is read as JSON",
    }
    param_keys = PARAM_KEYS
    param_hint = "only tools with `api` send a request"
    has_list_results = True
    editor_rules = {
        ToolTable: {"required": ["http"]},
        AuthTable: {
            **one_of("bearer", "basic", "header", "query"),
            "if": {"anyOf": [{"required": ["header"]}, {"required": ["query"]}]},
            "then": {"required": ["value"]},
            "else": none_of(["value"]),
        },
        PaginateTable: {
            **one_of("next", "cursor", "last", "page", "offset"),
            "if": {"anyOf": [{"required": ["cursor"]}, {"required": ["last"]}]},
            "then": {"required": ["param"]},
            "else": none_of(["param"]),
            "dependentSchemas": {"first": {"anyOf": [{"required": ["page"]}, {"required": ["offset"]}]}},
        },
    }

    @property
    def checks(self) -> Mapping[type[Table], TableCheck]:
        """Checks of APIs."""
        return {ApiTable: check_api, AuthTable: check_auth, PaginateTable: check_paginate}

    def check_tool(self, context: TableContext) -> None:
        """Report missing and contradicting keys."""
        check_api_tool(context)

    def has_pages(self, table: ToolTable) -> bool:
        """Return whether the answer has several pages."""
        return table.own(HttpKeys).paginate is not None

    def fixed_param_keys(self, table: ToolTable, name: str) -> Mapping[str, str]:
        """Return the name in the request."""
        from toolmason.kinds.http.placements import key_of_place

        return key_of_place(table, name)

    def prepare(self, context: ResolveContext) -> None:
        """Resolve the APIs, and compile the jq programs of all tools at once. Without tools of APIs, do nothing."""
        if not any(table.own(HttpKeys).api for table in context.tables.tools.values()):
            return
        from toolmason.kinds.http.resolve import resolve_apis

        context.kinds[self.name] = resolve_apis(context)

    def resolve(self, context: ResolveContext, tool: KindTool) -> HttpImplementation | None:
        """Return the request of a tool."""
        from toolmason.kinds.http.resolve import http_request

        return http_request(context, tool.name, tool.table, tool.params, tool.schema)

    def groups(self, context: ResolveContext) -> tuple[HttpApi, ...]:
        """Return the APIs of tools."""
        from toolmason.kinds.http.resolve import http_apis

        return http_apis(context)


KIND = HttpKind()
