"""A process that decides reviews at the same time as others. A spawned process can import it from here."""

from __future__ import annotations

from multiprocessing.synchronize import Barrier
from pathlib import Path
from typing import Any

from workbench_handlers.editing.reviews.store import Decision, ReviewStore

PATIENCE_S = 30.0


def decide_all(directory: Path, ids: list[str], number: int, start: Barrier, results: Any) -> None:
    store = ReviewStore(directory)
    won = []
    for review_id in ids:
        review = store.get(review_id)
        assert review is not None
        start.wait(PATIENCE_S)
        if store.decide(review, Decision("edit", f"process {number}", edited=b"%d" % number)):
            won.append(review_id)
    results.put((number, won))
