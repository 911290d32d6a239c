"""The interface of rankings that replace the ranking by words."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Protocol


class Ranker(Protocol):
    """Another ranking, such as embeddings. It replaces the ranking by words; the other tiers stay."""

    def rank(self, query: str) -> Mapping[str, float]:
        """Return scores by tool name, higher is better. A missing tool, or a score of 0 or less, is no match."""
        ...
