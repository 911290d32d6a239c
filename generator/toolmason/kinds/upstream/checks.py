"""Checks of `[upstreams]`, and of tools that are served from one."""

from __future__ import annotations

from typing import Final

from toolmason_runtime.shared.toml.problems import either, table_name, unprintable
from toolmason_runtime.shared.toml.reader import TableContext

from toolmason.manifest.checks import (
    check_access,
    check_environment,
    check_headers,
    check_hints,
    check_words,
)

_PROCESS_KEYS: Final = ("env", "pass_env", "working_dir", "memory_mb", "reads", "writes", "executes", "network")
"""Keys that only an upstream with a `command` has."""
_CHANGES: Final = ("rename", "value", "hidden")


def check_upstream(context: TableContext) -> None:
    """Report an upstream without an address or with two, and keys that need the other address."""
    has_command, has_url = "command" in context.data, "url" in context.data
    if not (context.has("command") or context.has("url")):
        hint = 'add `command = ["npx", "-y", "PACKAGE"]` or `url = "https://..."`'
        context.error("TM235", f"{table_name(context.at)} has no address", hint=hint)
    elif has_command and has_url:
        message = f"`url` cannot be combined with `command` in {table_name(context.at)}"
        context.error("TM235", message, "url", hint="keep one of them", value=False)
    else:
        absent, keys = ("command", _PROCESS_KEYS) if has_url else ("url", ("headers",))
        for key in keys:
            if key in context.data:
                message = f"`{key}` in {table_name(context.at)} requires `{absent}`"
                context.error("TM235", message, key, hint="remove it", value=False)
    check_words(context, "command")
    check_environment(context)
    check_access(context)
    check_headers(context)


def check_upstream_tool(context: TableContext) -> None:
    """Report missing keys of a tool with `upstream`."""
    original = context.data.get("upstream_tool")
    if isinstance(original, str) and (characters := unprintable(original)):
        message = f"`upstream_tool` in {table_name(context.at)} contains {characters}"
        context.error("TM210", message, "upstream_tool", hint="remove the tool: people approve calls by name")
    if "hints_source" in context.data:
        check_hints(context)
    context.missing("input_schema", '{ type = "object", ... }')


def check_upstream_argument(context: TableContext) -> None:
    """Report an argument without a change or another name, or with two changes."""
    changes = [key for key in _CHANGES if key in context.data]
    if not changes and not context.has("aliases"):
        context.error(
            "TM236", f"{table_name(context.at)} changes nothing", hint=f"add {either(_CHANGES)}, or remove it"
        )
    if "aliases" in context.data and changes and changes[0] != "rename":
        message = f"`aliases` cannot be combined with `{changes[0]}` in {table_name(context.at)}"
        context.error("TM236", message, "aliases", hint="remove it: models do not send the argument", value=False)
    for extra in changes[1:]:
        message = f"`{extra}` cannot be combined with `{changes[0]}` in {table_name(context.at)}"
        context.error("TM236", message, extra, hint="keep one of them", value=False)
    if context.data.get("hidden") is False or context.data.get("rename") == "":
        message = f"`{changes[0]}` in {table_name(context.at)} changes nothing"
        context.error("TM236", message, changes[0], hint="remove it", value=False)
