"""Ask the user about a review during a call: by a question in the client, the server's page, or a graphical editor.

The surfaces of a review run beside the call that opened them, and the first decision on any of them is final. A call
may end earlier: the question and the editor stay open, and an answer still decides.
"""

from __future__ import annotations

import asyncio
import logging
import os
import time
from collections.abc import Coroutine
from typing import TYPE_CHECKING, Any, Final

from toolmason_runtime import ToolCall, ToolError

from workbench_handlers.editing.reviews.settle import decide_and_settle, quoted
from workbench_handlers.editing.reviews.store import Action, Decision, Review, ReviewStore
from workbench_handlers.editing.surfaces.editor import EDITOR_VARIABLE, find_editor, review_in_editor
from workbench_handlers.editing.surfaces.shown import Shown
from workbench_handlers.editing.text.diff import reveal
from workbench_handlers.state import project_paths

if TYPE_CHECKING:
    from workbench_handlers.editing.surfaces.pages import ReviewPages

QUESTION: Final = "question"
EDITOR: Final = "editor"
MAX_QUESTION_DIFF: Final = 20_000
"""Maximum characters of a diff in a question to the user. A longer one is shown on another surface, never cut."""
POLL_S: Final = 0.25
"""Seconds between checks for a decision, which another process may record."""
PROGRESS_S: Final = 5.0
"""Seconds between progress notifications."""

_FORM: Final[dict[str, Any]] = {
    "type": "object",
    "properties": {
        "decision": {
            "type": "string",
            "title": "Decision",
            "description": "approve writes all of it; reject and comment write nothing",
            "enum": ["approve", "reject", "comment"],
        },
        "comment": {"type": "string", "title": "Comment", "description": "Optional: a text for the model"},
    },
    "required": ["decision"],
}
_ACTIONS: Final[dict[str, Action]] = {"approve": "approve", "reject": "reject", "comment": "comment"}

_VERBS: Final = {"create": "create", "overwrite": "overwrite", "append": "append to"}

_log = logging.getLogger(__name__)


class Surfaces:
    """The open surfaces of a server, and its review pages."""

    def __init__(self, store: ReviewStore) -> None:
        self._store = store
        self._tasks: dict[tuple[str, str], asyncio.Task[None]] = {}
        self._page_task: asyncio.Task[None] | None = None
        self._pages: asyncio.Future[ReviewPages] | None = None

    async def open(self, call: ToolCall, review: Review, shown: Shown) -> None:
        """Open the surfaces of a review that are not open yet.

        Raises:
            InputRequired: in 2026-07-28, the client must ask the user and call again.
        """
        fits = len(shown.diff) <= MAX_QUESTION_DIFF
        by_form = fits and call.can_elicit("form")
        by_page = not by_form and call.is_local and call.can_elicit("url")
        if call.is_local and (os.environ.get(EDITOR_VARIABLE) or not (by_form or by_page)):
            await self._open_editor(call, review)
        if not (by_form or by_page) or (call.is_local and (review.id, QUESTION) in self._tasks):
            return
        # Over HTTP, the client of an open question may be gone without a word: the newest call asks.
        self._close(review, QUESTION)
        question = self._ask(call, review, shown) if by_form else self._ask_for_page(call, review, shown)
        if call.max_wait_s:
            self._start(review, QUESTION, question)
            return
        try:
            await question
        except ToolError as error:  # the review is stored, and has other surfaces
            _log.warning("the question of %s ended: %s", review.id, error)

    async def wait(self, call: ToolCall, review: Review, seconds: float, *, needs_surface: bool = True) -> None:
        """Wait until a decision or the expiry, at most `seconds`; with `needs_surface`, only while a surface is open.

        A cancelled proposal closes its question, because its client no longer shows it.
        """
        began = reported = time.monotonic()
        while not self._store.is_decided(review):
            tasks = [task for (review_id, _), task in self._tasks.items() if review_id == review.id]
            remaining = began + seconds - time.monotonic()
            is_expired = self._store.now() >= review.expires_at
            if remaining <= 0 or is_expired or (needs_surface and not tasks):
                return
            delay = min(POLL_S, remaining)
            try:
                await (asyncio.wait(tasks, timeout=delay) if tasks else asyncio.sleep(delay))
            except asyncio.CancelledError:
                if needs_surface:
                    self._close(review, QUESTION)
                raise
            if time.monotonic() - reported >= PROGRESS_S:
                reported = time.monotonic()
                await call.progress(round(reported - began, 3), None, f"waiting for the review of {quoted(review)}")
        self._close(review, QUESTION)
        self._close(review, EDITOR)

    async def aclose(self) -> None:
        """Close all surfaces and the page."""
        tasks = [*self._tasks.values(), *([self._page_task] if self._page_task else [])]
        for task in tasks:
            task.cancel()
        if tasks:
            await asyncio.wait(tasks)

    def is_open(self, review: Review) -> bool:
        """Return whether the user can still answer in the client or the editor."""
        return any(review_id == review.id for review_id, _ in self._tasks)

    def _start(self, review: Review, surface: str, work: Coroutine[Any, Any, None]) -> None:
        task = asyncio.create_task(work)
        self._tasks[review.id, surface] = task
        task.add_done_callback(lambda done: self._ended(review, surface, done))

    def _ended(self, review: Review, surface: str, task: asyncio.Task[None]) -> None:
        if self._tasks.get((review.id, surface)) is task:
            del self._tasks[review.id, surface]
        if not task.cancelled() and (error := task.exception()):
            _log.warning("the %s of %s ended: %s", surface, review.id, error)

    def _close(self, review: Review, surface: str) -> None:
        if task := self._tasks.pop((review.id, surface), None):
            task.cancel()

    async def _ask(self, call: ToolCall, review: Review, shown: Shown) -> None:
        """Ask with a form. Clients without a person also send `decline` and `cancel`: they decide nothing."""
        answer = await call.elicit(_question(review, shown), _FORM, key=f"review-{review.id}")
        content = answer.get("content") or {}
        action = _ACTIONS.get(str(content.get("decision")))
        if answer.get("action") == "accept" and action:
            decision = Decision(action, "question", comment=str(content.get("comment") or "").strip())
            await asyncio.to_thread(decide_and_settle, self._store, review, decision)

    async def _ask_for_page(self, call: ToolCall, review: Review, shown: Shown) -> None:
        """Ask to open the page; it stays open for a decision."""
        message = f"{shown.place}Review the change of {quoted(review)} in the browser: its diff is long"
        address = (await self.review_pages()).url(review.id)
        answer = await call.elicit_url(message, address, key=f"review-{review.id}", elicitation_id=review.id)
        if answer.get("action") == "accept" and call.max_wait_s:
            await asyncio.Event().wait()  # `wait` sees the decision and ends this task

    async def _open_editor(self, call: ToolCall, review: Review) -> None:
        if (review.id, EDITOR) in self._tasks:
            return
        command = await asyncio.to_thread(find_editor, os.environ, await project_paths(call))
        if command:
            self._start(review, EDITOR, review_in_editor(self._store, review, command))

    async def review_pages(self) -> ReviewPages:
        """Return the pages of this server, which stay open until it ends."""
        if self._pages is None:
            self._pages = asyncio.get_running_loop().create_future()
            self._page_task = asyncio.create_task(self._serve_pages(self._pages))
        return await asyncio.shield(self._pages)

    async def _serve_pages(self, opened: asyncio.Future[ReviewPages]) -> None:
        """Serve the pages in one task, as cancel scopes require."""
        from workbench_handlers.editing.surfaces.pages import serve_pages

        try:
            async with serve_pages(self._store) as pages:
                opened.set_result(pages)
                await asyncio.Event().wait()
        except Exception as error:
            self._pages = None
            if opened.done():
                raise
            opened.set_exception(ToolError(f"the review page cannot be served: {error}", code="NO_PAGE"))


def _question(review: Review, shown: Shown) -> str:
    proposer = f"{reveal(review.client[:60], keep='')} proposes" if review.client else "The model proposes"
    heading = f"{shown.place}{proposer} to {_VERBS.get(review.mode, 'change')} {reveal(review.path, keep='')}"
    files = []
    if review.more:
        heading = f"{shown.place}{proposer} to change {len(review.files)} files together:"
        files = [
            f"- {'create' if file.base_sha256 is None else 'change'} {reveal(file.path, keep='')}"
            for file in review.files
        ]
    return "\n".join([heading, *files, *(f"Note: {reveal(note, keep='')}" for note in review.notes), "", shown.diff])
