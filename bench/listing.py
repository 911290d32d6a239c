"""What a listing, a description and the surface with split calls cost a model, in estimated tokens."""

from __future__ import annotations

from dataclasses import dataclass
from statistics import median
from typing import Any

from toolmason_runtime.protocol.tokens import estimate_tokens

from bench.session import Room, session, start
from bench.workshop import OURS_DEFAULT, Workshop

LISTED = 12
"""Tools of the listing that the target is about."""


@dataclass(frozen=True, slots=True)
class Listing:
    """Tokens of a listing of `LISTED` tools, of the description of one, and of the default surface with `call_read`."""

    listing: int
    description: int
    largest_description: int
    split_surface: int


def measure_listing(room: Room, small: Workshop) -> Listing:
    """Ask a server of `LISTED` tools with `split_calls` for its list and for each description, as a model would."""
    surface = start(room, small.programs[OURS_DEFAULT]).listed_tokens
    with session(room, small.ours("--discovery", "list-describe")) as running:

        def tokens(name: str, **arguments: Any) -> int:
            answer = running.request("tools/call", {"name": name, "arguments": arguments})
            return estimate_tokens("\n".join(part["text"] for part in answer["content"] if part["type"] == "text"))

        described = [tokens("get_tool_description", tool_name=tool.name) for tool in small.project.tools]
        return Listing(tokens("list_available_tools"), round(median(described)), max(described), surface)
