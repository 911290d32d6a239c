"""The parts of a request for several tools, in an answer of a search."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from toolmason_runtime.discovery.results import truncate

MAX_PART_LENGTH: Final = 40
"""Maximum characters of a part, by which a model recognizes it."""


def shown_parts(parts: Sequence[str]) -> list[str]:
    """Return the beginning of each part."""
    return [truncate(part, MAX_PART_LENGTH) for part in parts]


def part_number(places: Mapping[str, int], name: str) -> dict[str, Any]:
    """Return `{"part": N}` for a tool that serves a part best, from 1, otherwise an empty dict."""
    return {"part": places[name]} if name in places else {}
