"""Estimated tokens of a listing, a description and the default style with split calls."""

from __future__ import annotations

from dataclasses import dataclass
from statistics import median
from typing import Any

from toolmason_runtime.shared.tokens import estimate_tokens

from bench.contestants import OURS_DEFAULT, Contestants
from bench.session import Workspace, session, start

LISTED = 12
"""Number of tools of the target."""


@dataclass(frozen=True, slots=True)
class Listing:
    """Tokens of a listing of `LISTED` tools, of the description of one, and of the default surface with `call_read`."""

    listing: int
    description: int
    largest_description: int
    split_surface: int


def measure_listing(workspace: Workspace, small: Contestants) -> Listing:
    """Measure the list and each description of a server with `LISTED` tools and `split_calls`."""
    surface = start(workspace, small.programs[OURS_DEFAULT]).listed_tokens
    with session(workspace, small.ours("--discovery", "list-describe")) as running:

        def tokens(name: str, **arguments: Any) -> int:
            answer = running.request("tools/call", {"name": name, "arguments": arguments})
            return estimate_tokens("\n".join(part["text"] for part in answer["content"] if part["type"] == "text"))

        descriptions = [tokens("get_tool_description", tool_name=tool.name) for tool in small.project.tools]
        return Listing(tokens("list_available_tools"), round(median(descriptions)), max(descriptions), surface)
