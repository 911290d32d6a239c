"""Checks of tools with a handler."""

from __future__ import annotations

from toolmason_runtime.toml.reader import TableContext

from toolmason.manifest.checks import check_hints


def check_handler_tool(context: TableContext) -> None:
    """Report missing keys of a tool with `handler`."""
    context.missing("category", '"..."')
    check_hints(context)
