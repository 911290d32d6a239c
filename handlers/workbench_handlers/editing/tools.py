"""Handlers of the `editing` tools that review changes."""

from __future__ import annotations

import asyncio
import os

from toolmason_runtime import ToolCall, ToolError
from toolmason_runtime.programs import ProgramSettings

from workbench_handlers.editing.reviews.propose import Proposer, auto_approve, find_or_create
from workbench_handlers.editing.reviews.results import pending_reviews, review_result
from workbench_handlers.editing.reviews.settle import commit_edited, quoted
from workbench_handlers.editing.reviews.state_files import check_state
from workbench_handlers.editing.reviews.store import Review, ReviewStore
from workbench_handlers.editing.state import EditingState
from workbench_handlers.editing.text.diff import unified_diff
from workbench_handlers.editing.text.request import Edit, parse_request
from workbench_handlers.state import roots_for
from workbench_handlers.workspace.roots import Root
from workbench_handlers.workspace.write import locate_for_writing
from workbench_server.editing.models import (
    CommitReviewParams,
    ProposeAndReviewParams,
    ReviewOverview,
    ReviewResult,
    ReviewStatusParams,
)


async def propose_and_review(params: ProposeAndReviewParams, call: ToolCall) -> ReviewResult:
    """Propose a change, ask the user, and write it if approved."""
    edits = [Edit(edit.match_text, edit.new_string, edit.expected_replacements or 1) for edit in params.edits or ()]
    request = parse_request(
        match_text=params.match_text,
        new_string=params.new_string,
        edits=edits,
        expected_replacements=params.expected_replacements,
        bypass_match_text_limit=params.bypass_match_text_limit,
        encoding=(params.encoding or "").strip(),
    )
    state, roots = await _reviews(call)
    store, settings = state.store, call.state(ProgramSettings)

    def find() -> tuple[Review, str]:
        located = locate_for_writing(params.path, roots)
        session = (params.session_path or "").strip()
        review = find_or_create(store, located, request, Proposer.of(call), session=session)
        auto_approve(store, review, state.auto_approve, settings)
        diff = "" if store.is_decided(review) else _diff(store, review)
        return review, diff

    review, diff = await asyncio.to_thread(find)
    if not store.is_decided(review):
        await state.surfaces.open(call, review, diff)
        await state.surfaces.wait(call, review, call.max_wait_s)
    return await _deliver(state, review)


async def commit_review(params: CommitReviewParams, call: ToolCall) -> ReviewResult:
    """Write the text that the user saved in a review."""
    state, roots = await _reviews(call)

    def commit() -> Review:
        review = _find_review(state.store, params.session_path, roots)
        located = locate_for_writing(params.original_path, roots)
        if str(located.path) != review.path:
            message = f"{review.id} is a review of {quoted(review)}, not of `{located.shown}`: nothing was written"
            raise ToolError(message, code="WRONG_PATH")
        commit_edited(state.store, review)
        return review

    return await _deliver(state, await asyncio.to_thread(commit))


async def review_status(params: ReviewStatusParams, call: ToolCall) -> ReviewOverview:
    """Return the state of one review, or list the pending ones."""
    state, roots = await _reviews(call)
    session = (params.session_path or "").strip()
    if session:
        review = await asyncio.to_thread(_find_review, state.store, session, roots)
        await state.surfaces.wait(call, review, min(params.wait_s or 0, call.max_wait_s), needs_surface=False)
        return ReviewOverview(review=await _deliver(state, review), pending=[], pending_count=0)
    waiting = [review for review in await asyncio.to_thread(state.store.pending) if _is_allowed(review, roots)]
    return ReviewOverview(pending=pending_reviews(state.store, waiting), pending_count=len(waiting))


async def _reviews(call: ToolCall) -> tuple[EditingState, tuple[Root, ...]]:
    """Return the state and the allowed directories of a call.

    Raises:
        ToolError: no directory is allowed, or one of them could supply decisions of reviews.
    """
    roots = await roots_for(call)
    await asyncio.to_thread(check_state, os.environ, [root.path for root in roots])
    return call.state(EditingState), roots


async def _deliver(state: EditingState, review: Review) -> ReviewResult:
    """Return the result of a review; if it is final, record that a call has returned it."""
    is_open = state.surfaces.is_open(review)
    result = await asyncio.to_thread(review_result, state.store, review, is_open=is_open)
    # After the wait: a call that was cancelled meanwhile delivers nothing.
    if result.user_action != "PENDING":
        state.store.mark_delivered(review)
    return result


def _diff(store: ReviewStore, review: Review) -> str:
    return unified_diff(store.original(review), store.proposed(review), review.shown, codec=review.encoding)


def _find_review(store: ReviewStore, session: str, roots: tuple[Root, ...]) -> Review:
    """Return the review with the id `session`, if its file is in an allowed directory.

    Raises:
        ToolError: there is no such review.
    """
    review = store.get(session)
    if review is None or not _is_allowed(review, roots):
        message = f"there is no review `{session[:60]}`: review_status without arguments lists the pending ones"
        raise ToolError(message, code="NO_SUCH_REVIEW")
    return review


def _is_allowed(review: Review, roots: tuple[Root, ...]) -> bool:
    return any(root.path in (review.located.path, *review.located.path.parents) for root in roots)
