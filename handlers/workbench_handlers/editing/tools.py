"""Handlers of the `editing` tools that review changes."""

from __future__ import annotations

import asyncio
import os
from pathlib import Path

from toolmason_runtime import ToolCall, ToolError
from toolmason_runtime.programs import ProgramSettings

from workbench_handlers.editing.reviews.propose import (
    FileChange,
    Proposer,
    auto_approve,
    find_or_create_all,
    is_repeated,
)
from workbench_handlers.editing.reviews.results import pending_reviews, review_result
from workbench_handlers.editing.reviews.settle import commit_edited, proposed_diff, quoted, recover
from workbench_handlers.editing.reviews.state_files import check_state
from workbench_handlers.editing.reviews.store import Review, ReviewStore
from workbench_handlers.editing.state import EditingState
from workbench_handlers.editing.surfaces.client_page import show_review
from workbench_handlers.editing.surfaces.shown import Shown
from workbench_handlers.editing.text.request import Edit, EditRequest, parse_request
from workbench_handlers.state import roots_for
from workbench_handlers.workspace.roots import Root
from workbench_handlers.workspace.write import locate_for_writing
from workbench_server.editing.models import (
    CommitReviewParams,
    FileEdits,
    ProposeAndReviewParams,
    ReviewOverview,
    ReviewResult,
    ReviewStatusParams,
)


async def propose_and_review(params: ProposeAndReviewParams, call: ToolCall) -> ReviewResult:
    """Propose a change, ask the user, and write it if approved."""
    requests = _requests(params)
    state, roots = await _reviews(call)
    store, settings = state.store, call.state(ProgramSettings)

    def find() -> tuple[Review, bool, Shown]:
        changes = _changes(requests, roots)
        session = (params.session_path or "").strip()
        review = find_or_create_all(store, changes, Proposer.of(call), session=session, again=bool(params.again))
        if is_repeated(store, review):
            return review, True, Shown()
        auto_approve(store, review, state.auto_approve, settings)
        return review, False, Shown() if store.is_decided(review) else _shown(store, review, roots)

    review, was_delivered, shown = await asyncio.to_thread(find)
    in_client = not store.is_decided(review) and show_review(review)
    if not in_client and not store.is_decided(review):
        await state.surfaces.open(call, review, shown)
        await state.surfaces.wait(call, review, call.max_wait_s)
    result = await _deliver(state, review, is_repeated=was_delivered, in_client=in_client)
    if result.user_action == "PENDING":
        call.person_needed(result.message)
    return result


def _requests(params: ProposeAndReviewParams) -> list[tuple[str, EditRequest]]:
    """Return the path and the edits of each file.

    Raises:
        ToolError: the parameters select no mode, or more than one; each entry of `files` with a mistake is reported.
    """
    if not params.files:
        if not (params.path or "").strip():
            raise ToolError("path is missing: send path, or files for several files", code="INVALID_ARGUMENT")
        return [(params.path or "", _request(params, bypass=params.bypass_match_text_limit))]
    single = ("path", "edits", "match_text", "new_string", "encoding")
    filled = [name for name in single if getattr(params, name)]
    if filled:
        message = f"{' and '.join(filled)} cannot be combined with files: put each into the entry of its file in files"
        raise ToolError(message, code="INVALID_ARGUMENT")
    requests, problems = [], []
    for number, file in enumerate(params.files, 1):
        try:
            requests.append((file.path, _request(file, bypass=params.bypass_match_text_limit)))
        except ToolError as error:
            problems.append(f"file {number} of {len(params.files)}, `{file.path}`: {error.message}")
    if problems:
        raise ToolError("\n".join(problems), code="INVALID_ARGUMENT")
    return requests


def _request(given: ProposeAndReviewParams | FileEdits, *, bypass: bool) -> EditRequest:
    return parse_request(
        match_text=given.match_text,
        new_string=given.new_string,
        edits=[Edit(edit.match_text, edit.new_string, edit.expected_replacements or 1) for edit in given.edits or ()],
        expected_replacements=given.expected_replacements,
        bypass_match_text_limit=bypass,
        encoding=(given.encoding or "").strip(),
    )


def _changes(requests: list[tuple[str, EditRequest]], roots: tuple[Root, ...]) -> list[FileChange]:
    """Return the change of each file; entries for one file become a batch, in their order.

    Raises:
        ToolError: a path is refused, or the entries for one file cannot be one batch.
    """
    by_path: dict[Path, FileChange] = {}
    for path, given in requests:
        located, request = locate_for_writing(path, roots), given
        if earlier := by_path.get(located.path):
            names = list(dict.fromkeys(name for name in (earlier.request.encoding, given.encoding) if name))
            if len(names) > 1:
                message = f"`{located.shown}`: its entries in files name several encodings, {' and '.join(names)}"
                raise ToolError(f"{message}: send one", code="INVALID_ARGUMENT")
            request = parse_request(
                match_text=None,
                new_string=None,
                edits=[*earlier.request.edits, *given.edits],
                expected_replacements=None,
                bypass_match_text_limit=given.bypass_limit,
                encoding="".join(names),
            )
        by_path[located.path] = FileChange(located, request)
    return list(by_path.values())


async def commit_review(params: CommitReviewParams, call: ToolCall) -> ReviewResult:
    """Write the text that the user saved in a review."""
    state, roots = await _reviews(call)

    def commit() -> Review:
        review = _find_review(state.store, params.session_path, roots)
        located = locate_for_writing(params.original_path, roots)
        if str(located.path) not in [file.path for file in review.files]:
            message = f"{review.id} is a review of {quoted(review)}, not of `{located.shown}`: nothing was written"
            raise ToolError(message, code="WRONG_PATH")
        commit_edited(state.store, review)
        return review

    return await _deliver(state, await asyncio.to_thread(commit))


async def review_status(params: ReviewStatusParams, call: ToolCall) -> ReviewOverview:
    """Return the state of one review, or list the pending ones."""
    state, roots = await _reviews(call)
    session = (params.session_path or "").strip()
    result = None
    if session:
        review = await asyncio.to_thread(_find_review, state.store, session, roots)
        await state.surfaces.wait(call, review, min(params.wait_s or 0, call.max_wait_s), needs_surface=False)
        result = await _deliver(state, review)
    waiting = await asyncio.to_thread(_waiting, state.store, roots)
    pending = pending_reviews(state.store, waiting, result)
    return ReviewOverview(review=result, pending=pending, pending_count=len(waiting))


async def _reviews(call: ToolCall) -> tuple[EditingState, tuple[Root, ...]]:
    """Return the state and the allowed directories of a call.

    Raises:
        ToolError: no directory is allowed, or one of them could supply decisions of reviews.
    """
    roots = await roots_for(call)
    await asyncio.to_thread(check_state, os.environ, [root.path for root in roots])
    state = call.state(EditingState)
    if state.store.unfinished():  # a process was killed while it wrote several files
        await asyncio.to_thread(recover, state.store)
    return state, roots


async def _deliver(
    state: EditingState, review: Review, *, is_repeated: bool = False, in_client: bool = False
) -> ReviewResult:
    """Return the result of a review; if it is final, record that a call has returned it."""
    is_open = in_client or state.surfaces.is_open(review)
    result = await asyncio.to_thread(review_result, state.store, review, is_open=is_open, is_repeated=is_repeated)
    # After the wait: a call that was cancelled meanwhile delivers nothing.
    if result.user_action != "PENDING":
        state.store.mark_delivered(review)
    return result


def _shown(store: ReviewStore, review: Review, roots: tuple[Root, ...]) -> Shown:
    """Return what a question about a review shows."""
    diff = proposed_diff(store, review)
    ids = [waiting.id for waiting in _waiting(store, roots)]
    return Shown(diff, ids.index(review.id) + 1 if review.id in ids else 1, len(ids))


def _waiting(store: ReviewStore, roots: tuple[Root, ...]) -> list[Review]:
    """Return the reviews of files in the allowed directories that wait for the user, the oldest first."""
    return [review for review in store.pending() if _is_allowed(review, roots)]


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
    return all(
        any(root.path in (file.located.path, *file.located.path.parents) for root in roots) for file in review.files
    )
