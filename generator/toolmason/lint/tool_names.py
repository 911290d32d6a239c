"""Lint rule on names of tools in texts: a placeholder is the name that a client can call."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Final

from toolmason_runtime.shared.fetch_chunk import FETCH_CHUNK
from toolmason_runtime.shared.placeholders import TOOL, meta_tool_tasks
from toolmason_runtime.shared.shown_names import meta_name

from toolmason.lint.finding import Finding
from toolmason.model.server import Server
from toolmason.model.texts import Text, texts

_CODE: Final = re.compile(r"(?<!`)`([A-Za-z0-9_.-]+)(?:\([^`\n]*\))?`(?!`)")
"""A name, or a call, in back-quotes."""


def check_tool_names(server: Server) -> Iterator[Finding]:
    """TM533: a name in back-quotes exists in one discovery style only."""
    placeholders = _placeholders(server)
    for text in texts(server.unfilled or server):
        for name in dict.fromkeys(_CODE.findall(text.content)):
            if name in placeholders and not _is_other(name, text):
                message = f"{text.owner} names the tool `{name}`, which some clients see under another name"
                hint = f"write `{{{placeholders[name]}}}`"
                yield Finding(code="TM533", tool=text.tool, message=message, hint=hint, at=text.at, value=True)


def _is_other(name: str, text: Text) -> bool:
    """Return whether a word means an argument or a field beside the text."""
    return name in text.arguments


def _placeholders(server: Server) -> Mapping[str, str]:
    """Return the placeholder of each name of a tool, with the prefix of the server or not, without braces."""
    tools = {name for tool in server.tools for name in (tool.name, *tool.table.aliases)}
    tasks = {meta_name(name, tools, server.prefix): task for name, task in meta_tool_tasks().items()}
    bare = {**tasks, **{name: f"{TOOL}{name}" for name in (*sorted(tools), FETCH_CHUNK)}}
    return {**{server.prefix + name: placeholder for name, placeholder in bare.items()}, **bare}
