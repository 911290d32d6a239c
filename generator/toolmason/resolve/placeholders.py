"""The placeholders in the texts of a manifest: each names a tool that exists."""

from __future__ import annotations

from toolmason_runtime.shared.placeholders import CALLING, TOOL, placeholders_in

from toolmason.model.server import Server
from toolmason.model.texts import texts
from toolmason.resolve.context import ResolveContext


def check_placeholders(context: ResolveContext, server: Server) -> None:
    """Report placeholders that name an unknown tool."""
    aliases = {alias for table in context.tables.tools.values() for alias in table.aliases}
    for text in texts(server):
        for placeholder, _ in placeholders_in(text.content):
            for name in _tools(placeholder):
                if not context.is_known("tools", name) and name not in aliases:
                    context.report_unknown("TM328", "tool", name, context.tables.tools, text.at)


def _tools(placeholder: str) -> list[str]:
    if placeholder.startswith(TOOL):
        return [placeholder.removeprefix(TOOL)]
    return placeholder.removeprefix(CALLING).split(",") if placeholder.startswith(CALLING) else []
