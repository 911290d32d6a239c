"""The short form of tools in `tools/list`, and the decisions of clients from it."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import product
from typing import Any

import pytest
from toolmason_runtime.discovery.listing import listed_tool

HINTS = ("readOnlyHint", "destructiveHint", "idempotentHint", "openWorldHint")
Hints = Mapping[str, bool]


def tool(hints: Hints, **more: Any) -> dict[str, Any]:
    return {"name": "git_log", "inputSchema": {"type": "object"}, "annotations": dict(hints), **more}


def claude_code(hints: Hints) -> tuple[bool, ...]:
    """Claude Code 2.1: an absent hint is false."""
    return tuple(hints.get(name, False) for name in ("readOnlyHint", "destructiveHint", "openWorldHint"))


def codex(hints: Hints) -> bool:
    """Codex 0.169: whether a call needs approval, with the defaults of MCP."""
    if hints.get("destructiveHint") is True:
        return True
    reaches_out = hints.get("openWorldHint", True)
    return not hints.get("readOnlyHint", False) and (hints.get("destructiveHint", True) or reaches_out)


def gemini_cli(hints: Hints) -> bool:
    """Gemini CLI 0.61: whether the tool is read-only."""
    return hints.get("readOnlyHint", False)


def specification(hints: Hints) -> tuple[bool, ...]:
    """MCP: two hints have a meaning only in tools that write."""
    if hints.get("readOnlyHint", False):
        return True, hints.get("openWorldHint", True)
    defaults = {"readOnlyHint": False, "destructiveHint": True, "idempotentHint": False, "openWorldHint": True}
    return tuple(hints.get(name, default) for name, default in defaults.items())


@pytest.mark.parametrize("client", [claude_code, codex, gemini_cli, specification], ids=lambda client: client.__name__)
@pytest.mark.parametrize("values", [*product([False, True], repeat=4)], ids=str)
def test_every_client_decides_from_the_listed_hints_as_from_all_four(client: Any, values: tuple[bool, ...]) -> None:
    hints = dict(zip(HINTS, values, strict=True))

    assert client(listed_tool(tool(hints))["annotations"]) == client(hints)


@pytest.mark.parametrize(
    ("values", "listed"),
    [
        ((True, False, True, False), {"readOnlyHint": True, "openWorldHint": False}),
        ((True, False, False, True), {"readOnlyHint": True, "openWorldHint": True}),
        ((False, True, False, True), {"destructiveHint": True, "openWorldHint": True}),
        ((False, False, True, False), {"destructiveHint": False, "idempotentHint": True, "openWorldHint": False}),
    ],
)
def test_hints_that_follow_from_the_others_are_not_listed(values: tuple[bool, ...], listed: dict[str, bool]) -> None:
    assert listed_tool(tool(dict(zip(HINTS, values, strict=True))))["annotations"] == listed


@pytest.mark.parametrize(
    ("title", "is_listed"),
    [
        ("Git log", False),
        ("Git log++", True),
        ("git-log", False),
        ("GIT LOG", False),
        ("Git log of a file", True),
        ("Commits", True),
    ],
)
def test_a_title_that_repeats_the_name_is_not_listed(title: str, is_listed: bool) -> None:
    assert ("title" in listed_tool(tool({}, title=title))) is is_listed


def test_the_catalogue_keeps_all_hints_and_the_title() -> None:
    whole = tool(dict.fromkeys(HINTS, False), title="Git log")
    before = {**whole, "annotations": dict(whole["annotations"])}

    listed_tool(whole)

    assert whole == before
