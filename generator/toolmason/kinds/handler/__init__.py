"""Tools with a handler: a hand-written Python function."""

from __future__ import annotations

from typing import TYPE_CHECKING

from toolmason_runtime.toml.reader import TableContext

from toolmason.kinds.handler.checks import check_handler_tool
from toolmason.kinds.handler.tables import HandlerKeys
from toolmason.kinds.kind import Kind, KindTool
from toolmason.manifest.tables import ToolTable

if TYPE_CHECKING:
    from toolmason.kinds.handler.implementation import HandlerImplementation
    from toolmason.resolve.context import ResolveContext


class HandlerKind(Kind):
    """Tools that a function of the package `[server].handlers` carries out."""

    name = "handler"
    key = "handler"
    tool_keys = HandlerKeys
    hint = '`handler = "module:function"`'
    foreign_keys = {
        "risk": "write `hints` instead",
        "confirm": "ask with `call.elicit` in the handler",
        "timeout": "enforce the timeout in the handler",
        "ok_exit_codes": "raise `ToolError` in the handler",
        "output": "only tools with `cli` have it; a handler with `returns` returns the type",
    }

    editor_rules = {ToolTable: {"required": ["category"]}}

    def check_tool(self, context: TableContext) -> None:
        """Report missing keys."""
        check_handler_tool(context)

    def resolve(self, context: ResolveContext, tool: KindTool) -> HandlerImplementation:
        """Return the function, whose module `resolve` reads later."""
        from toolmason.kinds.handler.implementation import HandlerImplementation
        from toolmason.model.implementation import hints_of

        reference = tool.table.own(HandlerKeys).handler
        handler = context.handler(reference) if reference else None
        return HandlerImplementation(
            hints=hints_of(tool.table), handler=handler, modules=(handler.module,) if handler else ()
        )


KIND = HandlerKind()
