"""A proposal that is sent again: it joins its review, returns what was written, or replaces a review that is void."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from edit_server import Place
from toolmason_runtime import ToolError

from workbench_handlers.editing.reviews.propose import AGAIN_S, Proposer, find_or_create, is_repeated
from workbench_handlers.editing.reviews.results import review_result
from workbench_handlers.editing.reviews.settle import commit_edited, settle, undo
from workbench_handlers.editing.reviews.store import Decision, Review, ReviewStore
from workbench_handlers.editing.text.request import APPEND, CREATE, OVERWRITE, Edit, EditRequest, parse_request
from workbench_handlers.workspace.roots import Root
from workbench_handlers.workspace.write import locate_for_writing

PEER = Proposer(name="a test", transport="stdio")
TEXT = b"one\ntwo\nthree\n"


def request(*edits: Edit) -> EditRequest:
    return parse_request(
        match_text=None, new_string=None, edits=edits, expected_replacements=None, bypass_match_text_limit=False
    )


def propose(place: Place, change: EditRequest, *, store: ReviewStore | None = None, **more: Any) -> Review:
    located = locate_for_writing("a.txt", (Root.of(str(place.project), "a test"),))
    return find_or_create(store or place.store, located, change, more.pop("proposer", PEER), **more)


def delivered(place: Place, change: EditRequest, decision: Decision | None = None, **more: Any) -> Review:
    """Return the review of a change that was decided, carried out, and returned to the client."""
    review = propose(place, change, **more)
    assert place.store.decide(review, decision or Decision("approve", "a test"))
    settle(place.store, review)
    place.store.mark_delivered(review)
    return review


CHANGES = {
    "append": (TEXT, [Edit(APPEND, "four\n")]),
    "an append behind a line without an end": (b"one", [Edit(APPEND, "four")]),
    "an edit that matches again": (TEXT, [Edit("one", "one and a half")]),
    "an edit that does not match again": (TEXT, [Edit("two", "2")]),
    "a batch with an append": (TEXT, [Edit("one", "ones"), Edit(APPEND, "four\n")]),
    "a removal": (b"x\nx\nx\n", [Edit("x\nx\nx\n", "x\nx\n")]),
    "overwrite": (TEXT, [Edit(OVERWRITE, "new\n")]),
    "create": (None, [Edit(CREATE, "new\n")]),
    "an empty file becomes a text": (b"", [Edit(CREATE, "new\n")]),
    "UTF-16": ("one\n".encode("utf-16"), [Edit(APPEND, "four\n")]),
}


@pytest.mark.parametrize("name", CHANGES)
def test_a_change_that_was_written_is_returned_to_the_same_call_and_not_written_again(name: str, place: Place) -> None:
    before, edits = CHANGES[name]
    if before is not None:
        place.write("a.txt", before)
    review = delivered(place, request(*edits))
    written = (place.project / "a.txt").read_bytes()

    again = propose(place, request(*edits))
    result = review_result(place.store, again, is_repeated=is_repeated(place.store, again))

    assert (again.id, result.user_action, result.already_written) == (review.id, "COMMITTED", True)
    assert (place.project / "a.txt").read_bytes() == written
    assert len(place.store.recent()) == 1


LATER = {
    "another append": b"one\ntwo\nthree\nfour\nfive\n",
    "a change above": b"ONE\ntwo\nthree\nfour\n",
    "lines inserted above": b"zero\none\ntwo\nthree\nfour\n",
    "a line before it": b"one\ntwo\nthree\n3.5\nfour\n",
    "other line breaks in an earlier line": b"one\r\ntwo\nthree\nfour\n",
}


@pytest.mark.parametrize("name", LATER)
def test_a_later_change_elsewhere_in_the_file_does_not_write_an_append_twice(name: str, place: Place) -> None:
    file = place.write("a.txt", TEXT)
    append = request(Edit(APPEND, "four\n"))
    review = delivered(place, append)
    file.write_bytes(LATER[name])

    assert propose(place, append).id == review.id


def taken_back(place: Place, review: Review) -> None:
    undo(place.store, review.id)


def written(data: bytes | None) -> Callable[[Place, Review], None]:
    def write(place: Place, review: Review) -> None:  # noqa: ARG001  as `taken_back`
        file = place.project / "a.txt"
        file.unlink()
        if data is not None:
            file.write_bytes(data)

    return write


@pytest.mark.parametrize(
    "change",
    [
        pytest.param(taken_back, id="undone"),
        pytest.param(written(TEXT), id="reverted by hand"),
        pytest.param(written(b"one\ntwo\nthree\nFOUR\n"), id="the appended line was changed"),
        pytest.param(written(b"one\ntwo\nthree\nfour"), id="its line break was removed"),
        pytest.param(written(b""), id="emptied"),
    ],
)
def test_a_change_that_is_no_longer_in_the_file_is_proposed_again(
    change: Callable[[Place, Review], None], place: Place
) -> None:
    place.write("a.txt", TEXT)
    append = request(Edit(APPEND, "four\n"))
    review = delivered(place, append)
    change(place, review)

    again = propose(place, append)

    assert again.id != review.id
    assert review.id in again.notes[-1]


@pytest.mark.parametrize(
    "more",
    [
        pytest.param({"again": True}, id="again"),
        pytest.param({"proposer": Proposer(name="another", transport="stdio")}, id="another client"),
        pytest.param({"proposer": Proposer(name="a test", transport="http")}, id="another transport"),
    ],
)
def test_another_call_makes_the_change_once_more(more: dict[str, Any], place: Place) -> None:
    place.write("a.txt", TEXT)
    append = request(Edit(APPEND, "four\n"))
    review = delivered(place, append)

    again = propose(place, append, **more)

    assert again.id != review.id
    assert place.store.proposed(again) == TEXT + b"four\nfour\n"


def test_after_some_minutes_the_same_call_is_a_new_proposal(place: Place) -> None:
    place.write("a.txt", TEXT)
    append = request(Edit(APPEND, "four\n"))
    review = delivered(place, append)
    store = place.store
    for seconds, is_same in ((AGAIN_S - 5, True), (AGAIN_S + 5, False)):
        later = ReviewStore(store.directory, now=partial(sum, (review.created_at, seconds)))
        assert (propose(place, append, store=later).id == review.id) == is_same


def test_a_call_with_again_that_is_sent_twice_joins_and_its_change_is_known_to_a_call_without(place: Place) -> None:
    file = place.write("a.txt", TEXT)
    append = request(Edit(APPEND, "four\n"))
    delivered(place, append)
    pending = propose(place, append, again=True)
    joined = propose(place, append, again=True)
    assert place.store.decide(pending, Decision("approve", "a test"))
    settle(place.store, pending)
    undelivered = propose(place, append, again=True)
    place.store.mark_delivered(pending)
    plain = propose(place, append)

    assert pending.id == joined.id == undelivered.id == plain.id
    assert file.read_bytes() == TEXT + b"four\nfour\n"


def test_a_text_of_the_user_that_was_committed_is_not_proposed_again(place: Place) -> None:
    place.write("a.txt", TEXT)
    change = request(Edit("two", "2"))
    review = delivered(place, change, Decision("edit", "a test", edited=b"one\nTWO\nthree\n"))
    commit_edited(place.store, review)

    assert propose(place, change).id == review.id


@pytest.mark.parametrize("decision", [Decision("reject", "a test"), Decision("comment", "a test", comment="no")])
def test_a_change_that_was_not_written_is_a_new_proposal(decision: Decision, place: Place) -> None:
    place.write("a.txt", TEXT)
    review = delivered(place, request(Edit("two", "2")), decision)

    assert propose(place, request(Edit("two", "2"))).id != review.id


def test_one_edit_and_a_batch_of_it_are_one_change(place: Place) -> None:
    place.write("a.txt", TEXT)

    assert propose(place, EditRequest("single", (Edit("two", "2"),))).id == propose(place, request(Edit("two", "2"))).id


@pytest.mark.parametrize(
    ("before", "now", "edit", "applies"),
    [
        pytest.param(TEXT, b"0\n" + TEXT, Edit("two", "2"), True, id="an edit of a changed file"),
        pytest.param(TEXT, TEXT + b"4\n", Edit(APPEND, "four\n"), True, id="an append to a longer file"),
        pytest.param(TEXT, b"1\n", Edit("two", "2"), False, id="an edit that does not apply any more"),
        pytest.param(TEXT, b"one\n2\nthree\n", Edit("two", "2"), False, id="made by hand meanwhile"),
        pytest.param(None, b"by hand\n", Edit(CREATE, "new\n"), False, id="a file that somebody created"),
        pytest.param(TEXT, b"1\n", Edit(OVERWRITE, "new\n"), True, id="overwrite"),
        pytest.param(TEXT, None, Edit(OVERWRITE, "new\n"), True, id="a file that was removed"),
    ],
)
def test_a_pending_review_becomes_a_conflict_when_its_change_is_proposed_on_a_changed_file(
    *, before: bytes | None, now: bytes | None, edit: Edit, applies: bool, place: Place
) -> None:
    file = place.project / "a.txt"
    if before is not None:
        file.write_bytes(before)
    old = propose(place, request(edit))
    file.unlink(missing_ok=True)
    if now is not None:
        file.write_bytes(now)

    new = None
    try:
        new = propose(place, request(edit))
    except ToolError:
        assert not applies
    result = review_result(place.store, old)

    assert place.store.pending() == ([new] if new else [])
    assert result.user_action == "CONFLICT"
    assert (f"superseded by {new.id}" if new else "send a new proposal") in result.message
    assert not place.store.decide(old, Decision("approve", "a test"))


def test_a_review_that_a_person_decides_first_is_not_superseded(place: Place) -> None:
    file = place.write("a.txt", TEXT)
    old = propose(place, request(Edit("two", "2")))
    assert place.store.decide(old, Decision("reject", "a test"))
    file.write_bytes(b"0\n" + TEXT)

    propose(place, request(Edit("two", "2")))

    assert place.store.status(old) == "REJECTED"


def test_a_review_that_is_superseded_does_not_answer_a_later_call(place: Place) -> None:
    file = place.write("a.txt", TEXT)
    old = propose(place, request(Edit("two", "2")))
    file.write_bytes(b"0\n" + TEXT)
    new = delivered(place, request(Edit("two", "2")), Decision("reject", "a test"))

    third = propose(place, request(Edit("two", "2")))

    assert third.id not in {old.id, new.id}


def test_a_kill_before_the_outcome_of_a_superseded_review_is_repaired(place: Place) -> None:
    file = place.write("a.txt", TEXT)
    old = propose(place, request(Edit("two", "2")))
    file.write_bytes(b"0\n" + TEXT)
    assert place.store.decide(old, Decision("supersede", "", comment="rv_0123456789abcdef0123"))

    assert place.store.status(old) == "CONFLICT"
    assert "superseded by rv_0123456789abcdef0123" in review_result(place.store, old).message
    assert Path(file).read_bytes() == b"0\n" + TEXT
