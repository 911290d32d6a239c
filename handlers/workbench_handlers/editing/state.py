"""The state of the editing tools of one server, created in its lifespan."""

from __future__ import annotations

import logging
import os
import re
from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Final

from workbench_handlers.editing.reviews.state_files import TTL_S, reviews_directory, state_problem
from workbench_server.options import Options

if TYPE_CHECKING:
    from workbench_handlers.editing.reviews.store import ReviewStore
    from workbench_handlers.editing.surfaces.open_surfaces import Surfaces

MAX_TTL_S: Final = 30 * 86_400.0
_UNITS: Final = {"s": 1, "m": 60, "h": 3_600, "d": 86_400}
_DURATION: Final = re.compile(r"([0-9]{1,7})([smhd])")

_log = logging.getLogger(__name__)


class EditingState:
    """The store of reviews, their open surfaces, and the globs of files that need no review.

    The lifespan creates it for the calls of all tools, so it imports the store at its first use.
    """

    def __init__(self, open_store: Callable[[], ReviewStore], auto_approve: tuple[str, ...] = ()) -> None:
        self._open_store = open_store
        self.auto_approve = auto_approve

    @cached_property
    def store(self) -> ReviewStore:
        """The reviews on disk."""
        return self._open_store()

    def finish_interrupted(self, environ: Mapping[str, str], roots: Sequence[Path]) -> None:
        """Finish the writes of several files that killed processes began, if the state directory can be trusted."""
        if not state_problem(environ, roots):
            from workbench_handlers.editing.reviews.settle import recover

            recover(self.store)

    @cached_property
    def surfaces(self) -> Surfaces:
        """The surfaces of this server. They are imported at the first proposal."""
        from workbench_handlers.editing.surfaces.open_surfaces import Surfaces

        return Surfaces(self.store)

    async def aclose(self) -> None:
        """Close all surfaces; pending reviews stay in the store."""
        if "surfaces" in self.__dict__:
            await self.surfaces.aclose()


def editing_state(options: Options) -> EditingState:
    """Return the state for the options of the server."""
    directory, ttl_s = reviews_directory(os.environ), ttl_seconds(options.review_ttl)

    def open_store() -> ReviewStore:
        from workbench_handlers.editing.reviews.store import ReviewStore

        return ReviewStore(directory, ttl_s=ttl_s)

    return EditingState(open_store, options.auto_approve)


def ttl_seconds(text: str) -> float:
    """Return the seconds of a duration such as `90m`; an invalid one is logged, and replaced by the default."""
    match = _DURATION.fullmatch(text.strip())
    seconds = float(int(match[1]) * _UNITS[match[2]]) if match else 0.0
    if 0 < seconds <= MAX_TTL_S:
        return seconds
    if text.strip():
        _log.warning("--review-ttl must be a duration of at most 30 days, such as 90m, 24h or 7d; using 24h")
    return TTL_S
