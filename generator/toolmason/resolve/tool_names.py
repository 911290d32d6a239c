"""Checks of tool names that every client accepts. The names that each client shows are in `client_names`."""

from __future__ import annotations

import re

from toolmason_runtime.shared.built_in import BUILT_IN
from toolmason_runtime.shared.styles import CODE, STYLES

from toolmason.clients import CLAUDE_CODE
from toolmason.manifest.tables import DiscoveryTable
from toolmason.resolve.client_names import names_of, shown_name
from toolmason.schema.providers import providers


def client_name(tool: str, server: str) -> str:
    """Return the name of `tool` in Claude Code, and in Codex if it has no dash."""
    return shown_name(names_of(CLAUDE_CODE), server, tool)


def tool_name_problem(tool: str, server: str) -> str:
    """Return the reason why clients reject the name `tool`, empty if they accept it."""
    if not re.fullmatch(r"[a-zA-Z0-9_-]+", tool):
        return f"tool name `{tool}` contains characters that clients reject"
    if tool[0] in "0123456789-":
        return f"tool name `{tool}` starts with `{tool[0]}`, which Gemini rejects"
    shown = client_name(tool, server)
    max_length = providers().providers["openai"].max_name
    if len(shown) > max_length:
        return f"tool name `{tool}` is too long: `{shown}` has {len(shown)} characters, clients accept {max_length}"
    return ""


def meta_tool_names(discovery: DiscoveryTable) -> tuple[str, ...]:
    """Return the reserved names: the built-in tools, and the meta-tools of every style that a flag can set."""
    prefix = discovery.prefix or ""
    # `run` is a common name of a tool: it is reserved only in a server of that style.
    served = (facts for style, facts in STYLES.items() if style != CODE or discovery.style == CODE)
    names = dict.fromkeys(name for facts in served for name in facts.metas)
    # A tool may have these names: the meta-tool then has the prefix.
    prefixed = {*STYLES["search-call"].metas, *STYLES[CODE].metas}
    return (*(f"{prefix}{name}" if name in prefixed else name for name in names), *BUILT_IN)
