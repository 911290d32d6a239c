"""The end of a review: idempotent after every kill, and undone only while nobody else changed the file."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest
from edit_server import Place
from toolmason_runtime import ToolError

from workbench_handlers.editing.reviews.propose import Proposer, find_or_create
from workbench_handlers.editing.reviews.results import review_result
from workbench_handlers.editing.reviews.settle import commit_edited, settle, undo
from workbench_handlers.editing.reviews.state_files import TTL_S
from workbench_handlers.editing.reviews.store import Decision, Outcome, Review, ReviewStore
from workbench_handlers.editing.text.request import Edit, EditRequest
from workbench_handlers.workspace import atomic
from workbench_handlers.workspace.roots import Root
from workbench_handlers.workspace.write import locate_for_writing

SCRIPT = Path(__file__).parent / "support" / "kill_settle.py"


@pytest.mark.parametrize("work", ["settle", "commit", "undo"])
@pytest.mark.skipif(sys.platform == "win32", reason="the script forks")
def test_a_kill_at_any_line_is_repaired_by_ending_the_review_again(work: str, tmp_path: Path) -> None:
    result = subprocess.run(
        [sys.executable, SCRIPT, tmp_path, work], capture_output=True, encoding="utf-8", check=True, timeout=300
    )
    states = [json.loads(line) for line in result.stdout.splitlines()]

    before, after = ("new", "old") if work == "undo" else ("old", "new")
    first = [content for _, content, _, _ in states].index(after)
    assert first > 20, "the kills hit the steps of the work"
    assert [content for _, content, _, _ in states] == [before] * first + [after] * (len(states) - first)
    assert {(content, status) for _, _, content, status in states} == {(after, "COMMITTED")}
    assert [is_finished for is_finished, *_ in states] == [False] * (len(states) - 1) + [True]


def proposed(place: Place, name: str, match_text: str, new_string: str) -> Review:
    """Return the review of a change."""
    located = locate_for_writing(name, (Root.of(str(place.project), "a test"),))
    request = EditRequest("single" if match_text else "create", (Edit(match_text, new_string),))
    return find_or_create(place.store, located, request, Proposer(name="a test", transport="stdio"))


def committed(place: Place, name: str, match_text: str, new_string: str) -> Review:
    """Return the review of a change that was approved and written."""
    review = proposed(place, name, match_text, new_string)
    assert place.store.decide(review, Decision("approve", "a test"))
    outcome = settle(place.store, review)
    assert outcome is not None
    assert outcome.status == "COMMITTED"
    return review


@pytest.mark.parametrize(
    "before", [b"one\r\ntwo\r\n", b"\xef\xbb\xbftwo", "für two".encode("latin-1")], ids=["CRLF", "BOM", "no UTF-8"]
)
def test_undo_restores_every_byte(before: bytes, place: Place) -> None:
    file = place.write("a.txt", before)
    file.chmod(0o640)
    review = committed(place, "a.txt", "two", "2")
    assert file.read_bytes() == before.replace(b"two", b"2")

    undo(place.store, review.id)

    assert file.read_bytes() == before
    assert file.stat().st_mode & 0o777 == 0o640


def test_undo_removes_a_created_file(place: Place) -> None:
    review = committed(place, "docs/new.txt", "", "text\n")

    undo(place.store, review.id)

    assert list((place.project / "docs").iterdir()) == []


def test_undo_of_a_file_that_changed_again_is_refused(place: Place) -> None:
    file = place.write("a.txt", b"two\n")
    review = committed(place, "a.txt", "two", "2")
    file.write_bytes(b"2 and more\n")

    with pytest.raises(ToolError, match="no longer has the bytes"):
        undo(place.store, review.id)

    assert file.read_bytes() == b"2 and more\n"


def test_undo_needs_a_review_that_was_written(place: Place) -> None:
    file = place.write("a.txt", b"two\n")
    review = committed(place, "a.txt", "two", "2")
    undo(place.store, review.id)

    with pytest.raises(ToolError, match="changed since, or undone"):
        undo(place.store, review.id)
    with pytest.raises(ToolError, match="there is no review"):
        undo(place.store, "rv_../../..")
    assert file.read_bytes() == b"two\n"


def test_a_directory_that_became_a_repository_is_not_written_to(place: Place) -> None:
    located = locate_for_writing("store/refs/head", (Root.of(str(place.project), "a test"),))
    request = EditRequest("create", (Edit("", "text"),))
    review = find_or_create(place.store, located, request, Proposer(name="a test", transport="stdio"))
    for name in ("HEAD", "objects/a", "refs/a"):
        place.write(f"store/{name}", b"")
    assert place.store.decide(review, Decision("approve", "a test"))

    with pytest.raises(ToolError, match="belongs to the internal files of a git repository"):
        settle(place.store, review)
    assert not located.path.exists()


def test_an_approval_that_cannot_be_written_is_written_when_the_cause_is_gone(place: Place) -> None:
    file = place.write("a.txt", b"two\n")
    located = locate_for_writing("a.txt", (Root.of(str(place.project), "a test"),))
    request = EditRequest("single", (Edit("two", "2"),))
    store = place.store
    review = find_or_create(store, located, request, Proposer(name="a test", transport="stdio"))
    (place.project / "b.txt").hardlink_to(file)
    assert store.decide(review, Decision("approve", "a test"))

    with pytest.raises(ToolError, match=r"is approved, but `a.txt` was not written: .* hard links"):
        settle(store, review)
    assert store.status(review) == "PENDING"
    (place.project / "b.txt").unlink()
    outcome = settle(store, review)

    assert outcome is not None
    assert outcome.status == "COMMITTED"
    assert file.read_bytes() == b"2\n"


class EndingStore(ReviewStore):
    """A store whose process ends before it records an outcome."""

    def record_outcome(self, review: Review, outcome: Outcome) -> Outcome:  # noqa: ARG002  the signature of the store
        raise SystemExit


@pytest.mark.parametrize("now", [b"two\n", b"2 of mine\n", None], ids=["reverted", "changed", "removed"])
@pytest.mark.parametrize("before", [b"two\n", None], ids=["a change", "a new file"])
def test_after_a_kill_behind_the_write_the_file_of_the_user_is_not_written_again(
    before: bytes | None, now: bytes | None, place: Place
) -> None:
    file = place.project / "a.txt"
    if before is not None:
        file.write_bytes(before)
    review = proposed(place, "a.txt", "two" if before else "", "2")
    assert place.store.decide(review, Decision("approve", "a test"))
    with pytest.raises(SystemExit):
        settle(EndingStore(place.store.directory), review)
    assert file.read_bytes().startswith(b"2")
    file.unlink()
    if now is not None:
        file.write_bytes(now)

    result = review_result(place.store, review)

    assert (file.read_bytes() if file.exists() else None) == now
    assert result.user_action == "CONFLICT"
    assert "was interrupted; it may have been written" in result.message
    assert "nothing was written" not in result.message


def test_after_a_kill_behind_the_write_the_change_is_committed_and_can_be_undone(place: Place) -> None:
    file = place.write("a.txt", b"two\n")
    review = proposed(place, "a.txt", "two", "2")
    assert place.store.decide(review, Decision("approve", "a test"))
    with pytest.raises(SystemExit):
        settle(EndingStore(place.store.directory), review)

    outcome = settle(place.store, review)
    undo(place.store, review.id)

    assert outcome is not None
    assert outcome.status == "COMMITTED"
    assert file.read_bytes() == b"two\n"


def test_a_file_that_another_process_created_with_the_same_bytes_is_not_removed_by_undo(place: Place) -> None:
    review = proposed(place, "a.txt", "", "text\n")
    file = place.write("a.txt", b"text\n")
    assert place.store.decide(review, Decision("approve", "a test"))

    result = review_result(place.store, review)
    with pytest.raises(ToolError, match="wrote nothing"):
        undo(place.store, review.id)

    assert result.user_action == "COMMITTED"
    assert "had the text already" in result.message
    assert file.read_bytes() == b"text\n"


def test_an_undone_change_is_not_reported_to_the_same_call(place: Place) -> None:
    file = place.write("a.txt", b"two\n")
    review = committed(place, "a.txt", "two", "2")
    undo(place.store, review.id)

    again = proposed(place, "a.txt", "two", "2")

    assert again.id != review.id
    assert review_result(place.store, again).user_action == "PENDING"
    assert "has undone the change" in review_result(place.store, review).message
    assert file.read_bytes() == b"two\n"


@pytest.mark.parametrize(
    "decision", [Decision("approve", "a test"), Decision("edit", "a test", edited=b"mine\n")], ids=["approve", "edit"]
)
def test_a_text_that_could_not_be_written_in_time_is_not_written_later(decision: Decision, place: Place) -> None:
    file = place.write("a.txt", b"two\n")
    review = proposed(place, "a.txt", "two", "2")
    assert place.store.decide(review, decision)
    later = ReviewStore(place.store.directory, now=lambda: review.created_at + TTL_S)

    outcome = settle(later, review) or commit_edited(later, review)

    assert outcome.status == "EXPIRED"
    assert "send the proposal again" in review_result(later, review).message
    assert file.read_bytes() == b"two\n"


def test_a_lock_that_another_process_holds_is_reported(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(atomic, "LOCK_TIMEOUT_S", 0.1)
    place.write("a.txt", b"two\n")
    review = proposed(place, "a.txt", "two", "2")
    assert place.store.decide(review, Decision("approve", "a test"))

    with place.store.lock(review.path), pytest.raises(ToolError, match="retry later") as caught:
        settle(place.store, review)

    assert caught.value.code == "LOCKED"
    assert settle(place.store, review) is not None


@pytest.mark.skipif(sys.platform == "win32", reason="the name is not valid there")
def test_messages_show_the_hidden_characters_of_a_name(place: Place) -> None:
    name = "a\nSYSTEM \u202e.txt"
    messages = []
    for decision in (
        None,
        Decision("approve", "a test"),
        Decision("edit", "a test", edited=b"mine"),
        Decision("reject", "a test"),
    ):
        review = proposed(place, name, "", "text\n")
        if decision:
            assert place.store.decide(review, decision)
        messages.append(review_result(place.store, review).message)
        place.store.mark_delivered(review)
        (place.project / name).unlink(missing_ok=True)

    assert not any("\n" in message or "\u202e" in message for message in messages)
    assert "a\\nSYSTEM \\u202e.txt" in messages[0]
