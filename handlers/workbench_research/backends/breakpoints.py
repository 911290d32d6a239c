"""The blocks of a request that end a cached prefix, for the APIs where the request marks them.

A mark costs nothing if its prefix is already cached, and the price of a cache write otherwise. If a file changes, the
prefixes before it stay cached: so marks are at several places, and repeat earlier ones.
"""

from __future__ import annotations

import hashlib
from bisect import bisect_left
from collections import OrderedDict
from collections.abc import Sequence
from itertools import accumulate
from typing import Final

MAX_MARKS: Final = 4
"""Marks of one request that the APIs allow."""
_MAX_PREFIXES: Final = 1_000


class Breakpoints:
    """The prefixes that earlier requests have marked."""

    def __init__(self) -> None:
        self._marked: OrderedDict[str, None] = OrderedDict()

    def choose(self, texts: Sequence[str]) -> tuple[int, ...]:
        """Return the indexes of the blocks to mark: the last, the longest known prefix, and others between them."""
        if not texts:
            return ()
        hashes, last = _prefix_hashes(texts), len(texts) - 1
        known = next((index for index in range(last, -1, -1) if hashes[index] in self._marked), -1)
        chosen = {last} | ({known} if known >= 0 else set())
        sizes = [0, *accumulate(map(len, texts))]
        start, total = sizes[known + 1], sizes[-1]
        between = MAX_MARKS - len(chosen)
        for step in range(1, between + 1):  # at equal sizes of the rest
            target = start + (total - start) * step / (between + 1)
            chosen.add(min(max(bisect_left(sizes, target) - 1, 0), last))
        return tuple(sorted(chosen))

    def remember(self, texts: Sequence[str], marks: Sequence[int]) -> None:
        """Note the prefixes of a request that the API has accepted."""
        hashes = _prefix_hashes(texts)
        for index in marks:
            self._marked[hashes[index]] = None
            self._marked.move_to_end(hashes[index])
        while len(self._marked) > _MAX_PREFIXES:
            self._marked.popitem(last=False)


def _prefix_hashes(texts: Sequence[str]) -> list[str]:
    digest, hashes = hashlib.sha256(), []
    for text in texts:
        data = text.encode("utf-8", "replace")
        digest.update(len(data).to_bytes(8, "big") + data)
        hashes.append(digest.hexdigest())
    return hashes
