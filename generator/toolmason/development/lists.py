"""The lists of a server as text for people and as JSON for programs."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from toolmason.audit.server_lists import ServerDescription

_HINTS = (("readOnlyHint", "read-only"), ("destructiveHint", "destructive"), ("openWorldHint", "open world"))


def lists_as_json(lists: ServerDescription) -> str:
    """Return the lists as one JSON object."""
    content = {
        "name": lists.name,
        "title": lists.title,
        "version": lists.version,
        "instructions": lists.instructions,
        "tools": lists.tools,
        "prompts": lists.prompts,
        "resources": lists.resources,
    }
    return json.dumps(content, indent=2, ensure_ascii=False, default=dict)


def lists_as_text(lists: ServerDescription) -> str:
    """Return the lists as sections of aligned lines."""
    head = [" ".join(filter(None, (lists.title or lists.name, lists.version))), lists.instructions.strip()]
    sections = (
        ("Tools", [(str(tool["name"]), _tool_line(tool)) for tool in lists.tools]),
        ("Prompts", [(name, "") for name in lists.prompts]),
        ("Resources", [(uri, "") for uri in lists.resources]),
    )
    blocks = [*filter(None, head), *("\n".join(_section(title, rows)) for title, rows in sections if rows)]
    return "\n\n".join(blocks)


def _section(title: str, rows: Iterable[tuple[str, str]]) -> Iterator[str]:
    listed = list(rows)
    width = max(len(name) for name, _ in listed)
    yield f"{title} ({len(listed)})"
    for name, text in listed:
        yield f"  {name:{width}}  {text}".rstrip()


def _tool_line(tool: Mapping[str, Any]) -> str:
    hints = tool.get("annotations") or {}
    shown = ", ".join(text for key, text in _HINTS if hints.get(key))
    line = str(tool.get("description", "")).strip().partition("\n")[0]
    return f"{line} [{shown}]" if shown else line
