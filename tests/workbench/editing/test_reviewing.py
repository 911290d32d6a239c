"""A proposal from the client's call to the file: questions in both eras, and reviews that outlive a call."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import time
from pathlib import Path
from typing import Any

import pytest
from edit_server import FORMS, PROPOSE, Client, Person, Place, answer
from oracle import ERAS, LEGACY, MODERN
from toolmason_runtime.shared.client_profiles import client_profile
from toolmason_runtime.shared.engines import ENGINES
from toolmason_runtime.shared.tokens import estimate_tokens

from workbench_handlers.editing import tools
from workbench_handlers.editing.reviews.store import Decision
from workbench_handlers.editing.state import EditingState
from workbench_server.catalogue import CATALOGUE

each_engine = pytest.mark.parametrize("engine", ENGINES)
LOG_ENTRY = "\n### [LOG-003] - [DECISION] - Use one queue - Task: QUEUE\n\n**Date:** 2026-02-17\n"
EDITED = Decision("edit", "a test", edited=b"one\nTWO by the user\nthree\n")
PROGRAM = b"def load(path):\n    pass\n\n\nload(sys.argv[1])\n"
SAMPLES = {
    "src/app.py": PROGRAM,
    "README.md": b"It is not finished.\n",
    "gsd-lite/WORK.md": b"# Log\n",
    "VERSION": b"1.0.0\n",
}
"""The files of the manifest's examples."""


def propose_two(client: Client, **more: Any) -> dict[str, Any]:
    return client.propose("a.txt", "two", "2", **more)


@pytest.fixture(autouse=True)
def file(place: Place) -> Path:
    return place.write("a.txt", b"one\ntwo\nthree\n")


@pytest.mark.parametrize("version", ERAS)
@each_engine
def test_an_approved_change_is_written_at_once(
    version: str, engine: str, place: Place, user: Person, file: Path
) -> None:
    with place.server(version, "--engine", engine, person=user) as client:
        result = propose_two(client)

    assert result["user_action"] == "COMMITTED"
    assert file.read_bytes() == b"one\n2\nthree\n"
    (question,) = user.asked
    assert str(file) in question["message"]
    assert "\n-two\n+2\n" in question["message"]
    assert question["requestedSchema"]["properties"]["decision"]["enum"] == ["approve", "reject", "comment"]


@pytest.mark.parametrize(
    ("reply", "action", "text"),
    [
        (answer("reject"), "REJECTED", "The user rejected the change."),
        (answer("reject", "not now"), "REJECTED", "with the comment: 'not now'"),
        (answer("comment", "why 2?"), "REVIEW", "with the comment: 'why 2?'"),
        ({"action": "decline"}, "PENDING", "send the same call again"),
        ({"action": "cancel"}, "PENDING", "toolmason-workbench review"),
        ({"action": "accept", "content": {}}, "PENDING", "No decision yet"),
    ],
    ids=["reject", "reject with a comment", "comment", "decline", "cancel", "an empty form"],
)
@pytest.mark.parametrize("version", ERAS)
@each_engine
def test_every_other_answer_writes_nothing(
    *, engine: str, version: str, reply: dict[str, Any], action: str, text: str, place: Place
) -> None:
    user = Person(reply)
    with place.server(version, "--engine", engine, person=user) as client:
        result = propose_two(client)

    assert result["user_action"] == action
    assert text in result["message"]
    assert (place.project / "a.txt").read_bytes() == b"one\ntwo\nthree\n"
    assert len(place.store.pending()) == (action == "PENDING")


def test_a_batch_with_every_other_property_empty_is_accepted(place: Place, user: Person, file: Path) -> None:
    edits = [{"match_text": "two", "new_string": "2", "expected_replacements": 1}]
    empty = {"match_text": "", "new_string": "", "expected_replacements": 0}
    with place.server(LEGACY, person=user) as client:
        result = client.raw(PROPOSE, path="a.txt", edits=edits, **empty)

    assert not result.get("isError"), result
    assert file.read_bytes() == b"one\n2\nthree\n"


@pytest.mark.parametrize(
    "example", CATALOGUE["tools"][PROPOSE]["examples"], ids=lambda e: e["description"].split(":")[0]
)
def test_each_example_of_the_manifest_is_a_valid_proposal(example: Any, place: Place, user: Person) -> None:
    for name, data in SAMPLES.items():
        place.write(name, data)
    mode = example["description"].partition(":")[0].lower()
    with place.server(LEGACY, person=user) as client:
        result = client.call(PROPOSE, **example["arguments"])

    assert result["user_action"] == "COMMITTED"
    (review,) = place.store.recent()
    assert review.mode == mode
    assert (place.project / result["path"]).read_bytes() == place.store.proposed(review)


SENTINELS = {
    "create": ("", b"", b"new\n"),
    "overwrite": ("OVERWRITE_FILE", b"old\n", b"new\n"),
    "append": ("APPEND_TO_FILE", b"old\n", b"old\nnew\n"),
}


@pytest.mark.parametrize("mode", SENTINELS)
@pytest.mark.parametrize("situation", ["single", "batch", "auto-approved", "continued"])
def test_special_values_work_in_every_situation(situation: str, mode: str, place: Place, user: Person) -> None:
    match_text, before, after = SENTINELS[mode]
    file = place.write("a.txt", b"on the disk\n" if situation == "continued" else before)
    arguments: dict[str, Any] = {"match_text": match_text, "new_string": "new\n"}
    if situation == "batch":
        arguments = {"edits": [arguments], "match_text": "", "new_string": ""}
    flags = ("--auto-approve", "*.txt") if situation == "auto-approved" else ()
    with place.server(LEGACY, *flags, person=user) as client:
        if situation == "continued":
            user.reply = {"action": "decline"}
            session = client.propose("a.txt", "disk", "table")["session_path"]
            place.decide(session, Decision("edit", "a test", edited=before))
            arguments["session_path"] = session
            user.reply = answer("approve")
        result = client.call(PROPOSE, path="a.txt", **arguments)

    assert result["user_action"] == ("AUTO_APPROVED" if situation == "auto-approved" else "COMMITTED")
    assert file.read_bytes() == after


@pytest.mark.parametrize("version", ERAS)
def test_without_a_surface_the_review_is_stored_and_the_same_call_returns_its_decision_once(
    version: str, place: Place, file: Path
) -> None:
    with place.server(version) as client:
        first, second = propose_two(client), propose_two(client)
        place.decide(first["session_path"], Decision("approve", "a test"))
        inode = file.stat().st_ino
        third = propose_two(client)
        fourth = propose_two(client)
        fifth = client.error(PROPOSE, path="a.txt", match_text="two", new_string="2", again=True)

    assert first["user_action"] == second["user_action"] == "PENDING"
    assert "toolmason-workbench review --web" in first["message"]
    assert third["user_action"] == "COMMITTED"
    assert first["session_path"] == second["session_path"] == third["session_path"]
    assert file.read_bytes() == b"one\n2\nthree\n"
    assert file.stat().st_ino == inode, "the call that returned the decision wrote nothing"
    assert ("already_written" in third, fourth["already_written"]) == (False, True)
    assert (fourth["session_path"], fourth["user_action"]) == (first["session_path"], "COMMITTED")
    assert "match_text does not occur" in fifth


def test_an_append_that_is_sent_again_after_a_time_out_is_written_once(place: Place) -> None:
    log = place.write("log.md", b"# Log\n")
    with place.server(LEGACY) as client:
        pending = client.propose("log.md", "APPEND_TO_FILE", "entry\n")
        place.decide(pending["session_path"], Decision("approve", "a test"))
        again = client.propose("log.md", "APPEND_TO_FILE", "entry\n")
        lost = client.propose("log.md", "APPEND_TO_FILE", "entry\n")
        deliberate = client.propose("log.md", "APPEND_TO_FILE", "entry\n", again=True)

    assert (lost["already_written"], lost["session_path"]) == (True, again["session_path"])
    assert "send again=true" in lost["message"]
    assert again["user_action"] == "COMMITTED"
    assert log.read_bytes() == b"# Log\nentry\n"
    assert deliberate["user_action"] == "PENDING"
    assert deliberate["session_path"] != again["session_path"]
    assert f"before this proposal ({again['session_path']})" in deliberate["notes"][0]


def test_the_text_of_the_user_is_committed_exactly(place: Place, file: Path) -> None:
    with place.server(LEGACY) as client:
        session = propose_two(client)["session_path"]
        place.decide(session, EDITED)
        review = propose_two(client)
        assert review["user_action"] == "REVIEW"
        assert "\n-2\n+TWO by the user\n" in review["user_feedback_diff"]
        assert f'commit_review(session_path="{session}", original_path="a.txt")' in review["message"]
        assert file.read_bytes() == b"one\ntwo\nthree\n"

        committed = client.call("commit_review", session_path=session, original_path=str(file))
        again = client.call("commit_review", session_path=session, original_path="a.txt")

    assert committed["user_action"] == again["user_action"] == "COMMITTED"
    assert file.read_bytes() == EDITED.edited


def test_a_continued_proposal_matches_the_text_of_the_user_and_supersedes_the_review(place: Place, file: Path) -> None:
    with place.server(LEGACY) as client:
        session = propose_two(client)["session_path"]
        place.decide(session, EDITED)
        no_match = client.error(PROPOSE, path="a.txt", match_text="\ntwo\n", new_string="2", session_path=session)
        continued = client.propose("a.txt", "TWO by the user", "TWO", session_path=session)
        refused = client.error("commit_review", session_path=session, original_path="a.txt")
        joined = client.propose("a.txt", "TWO by the user", "TWO", session_path=session)
        other = client.error(PROPOSE, path="a.txt", match_text="three", new_string="3", session_path=session)
        place.decide(continued["session_path"], Decision("approve", "a test"))
        status = client.call("review_status", session_path=continued["session_path"])

    assert "match_text does not occur" in no_match
    assert joined["session_path"] == continued["session_path"]
    assert f"superseded by {continued['session_path']}" in refused
    assert f"superseded by {continued['session_path']}" in other
    assert status["review"]["user_action"] == "COMMITTED"
    assert file.read_bytes() == b"one\nTWO\nthree\n"


def test_after_a_comment_the_continued_proposal_matches_the_proposed_text(place: Place, file: Path) -> None:
    with place.server(LEGACY) as client:
        session = propose_two(client)["session_path"]
        place.decide(session, Decision("comment", "a test", "write it out"))
        continued = client.propose("a.txt", "2", "TWO", session_path=session)
        place.decide(continued["session_path"], Decision("approve", "a test"))

    assert file.read_bytes() == b"one\nTWO\nthree\n"


@pytest.mark.parametrize(
    ("decision", "problem"),
    [
        (None, "is still waiting for the user"),
        (Decision("reject", "a test"), "was rejected by the user"),
        (Decision("comment", "a test", "no"), "has a comment of the user and no edited text"),
    ],
    ids=["pending", "rejected", "commented"],
)
def test_only_a_text_that_the_user_saved_can_be_committed(
    decision: Decision | None, problem: str, place: Place, file: Path
) -> None:
    with place.server(LEGACY) as client:
        session = propose_two(client)["session_path"]
        if decision:
            place.decide(session, decision)
        error = client.error("commit_review", session_path=session, original_path="a.txt")

    assert problem in error
    assert file.read_bytes() == b"one\ntwo\nthree\n"


def test_a_commit_needs_the_path_of_its_review(place: Place, file: Path) -> None:
    place.write("b.txt", b"b")
    with place.server(LEGACY) as client:
        session = propose_two(client)["session_path"]
        place.decide(session, EDITED)
        wrong_path = client.error("commit_review", session_path=session, original_path="b.txt")
        wrong_id = client.error("commit_review", session_path="../../etc", original_path="a.txt")
        elsewhere = client.error(PROPOSE, path="b.txt", match_text="b", new_string="c", session_path=session)

    assert "is a review of `a.txt`, not of `b.txt`" in wrong_path
    assert "there is no review `../../etc`" in wrong_id
    assert "it is a review of `a.txt`" in elsewhere
    assert file.read_bytes() == b"one\ntwo\nthree\n"


def test_an_expired_review_is_reported_and_noted_in_the_next_one(place: Place) -> None:
    with place.server(LEGACY, "--review-ttl", "1s") as client:
        session = propose_two(client)["session_path"]
        status = client.call("review_status", session_path=session, wait_s=30)["review"]
        refused = client.error("commit_review", session_path=session, original_path="a.txt")
        again = propose_two(client)

    assert status["user_action"] == "EXPIRED"
    assert "expired before the user decided" in refused
    assert again["session_path"] != session
    assert again["notes"] == [f"an earlier review of this proposal ({session}) expired"]


def test_a_file_that_changed_is_a_conflict_with_a_diff(place: Place, file: Path) -> None:
    with place.server(LEGACY) as client:
        session = propose_two(client)["session_path"]
        file.write_bytes(b"one\ntwo\nthree\nfour by someone else\n")
        place.decide(session, Decision("approve", "a test"))
        result = client.call("review_status", session_path=session)["review"]

    assert result["user_action"] == "CONFLICT"
    assert "+four by someone else" in result["user_feedback_diff"]
    assert file.read_bytes() == b"one\ntwo\nthree\nfour by someone else\n"


def test_a_text_of_the_user_is_not_written_over_a_changed_file(place: Place, file: Path) -> None:
    with place.server(LEGACY) as client:
        session = propose_two(client)["session_path"]
        place.decide(session, EDITED)
        file.unlink()
        continued = client.error(PROPOSE, path="a.txt", match_text="three", new_string="3", session_path=session)
        result = client.call("commit_review", session_path=session, original_path="a.txt")

    assert "CONFLICT" in continued
    assert result["user_action"] == "CONFLICT"
    assert not file.exists()


@pytest.mark.parametrize("version", ERAS)
def test_a_long_diff_is_never_cut_in_a_question(version: str, place: Place, user: Person) -> None:
    with place.server(version, person=user) as client:
        short = client.propose("new.txt", "", "x" * 19_000)
        result = client.propose("b.txt", "", "x" * 20_001)

    assert short["user_action"] == "COMMITTED"
    assert len(user.asked) == 1
    assert result["user_action"] == "PENDING"


@pytest.mark.parametrize("version", ERAS)
def test_a_long_diff_is_shown_on_a_page_where_the_client_can_open_one(version: str, place: Place, user: Person) -> None:
    def visit(question: dict[str, Any]) -> dict[str, Any]:
        (review,) = place.store.pending()
        place.decide(review.id, Decision("approve", "page"))
        return user(question)

    user.reply = {"action": "accept"}
    with place.server(version, capabilities={"elicitation": {"form": {}, "url": {}}}) as client:
        client.peer.answers["elicitation/create"] = visit
        result = client.propose("new.txt", "", "x" * 20_001)

    assert result["user_action"] == "COMMITTED"
    assert user.asked[0]["mode"] == "url"
    assert user.asked[0]["url"].startswith("http://127.0.0.1:")


def test_hidden_characters_are_visible_in_the_question(place: Place, user: Person) -> None:
    place.write("a.txt", b"if ok:\n")
    with place.server(LEGACY, person=user) as client:
        client.propose("a.txt", "if ok:", "if ok:\u202e \x1b[2K\u200b")

    message = user.asked[0]["message"]
    assert "\\u202e" in message
    assert message.replace("\n", "").replace("\t", "").isprintable()


@each_engine
def test_a_call_that_is_cancelled_and_sent_again_joins_its_review(engine: str, place: Place, user: Person) -> None:
    with place.server(LEGACY, "--engine", engine, person=user) as client:
        arguments = {"path": "a.txt", "match_text": "two", "new_string": "2"}
        number = client.peer.send("tools/call", name=PROPOSE, arguments=arguments)
        question = client.peer.next_message()
        assert question["method"] == "elicitation/create"
        client.peer.notify("notifications/cancelled", requestId=number)
        withdrawn = client.peer.next_message()
        result = propose_two(client)

    assert withdrawn["params"]["requestId"] == question["id"]
    assert result["user_action"] == "COMMITTED"
    assert len(place.store.recent()) == 1


def test_a_call_that_is_cancelled_while_its_text_is_written_has_delivered_nothing(place: Place, file: Path) -> None:
    arguments = {"path": "a.txt", "match_text": "APPEND_TO_FILE", "new_string": "four\n"}
    with place.server(LEGACY, capabilities=FORMS) as client:
        number = client.peer.send("tools/call", name=PROPOSE, arguments=arguments)
        question = client.peer.next_message()
        with place.store.lock(file):
            reply = {"jsonrpc": "2.0", "id": question["id"], "result": answer("approve")}
            client.peer.write(json.dumps(reply).encode())
            (review,) = place.store.recent()
            deadline = time.monotonic() + 30
            while not place.store.is_decided(review):
                assert time.monotonic() < deadline
            time.sleep(1)  # the call ends its wait, and delivers
            client.peer.notify("notifications/cancelled", requestId=number)
            client.call("review_status")  # the server has read it
        result = client.call(PROPOSE, **arguments)

    assert (result["session_path"], result["user_action"]) == (review.id, "COMMITTED")
    assert file.read_bytes() == b"one\ntwo\nthree\nfour\n"


@each_engine
def test_the_first_answer_of_any_surface_ends_the_call(engine: str, place: Place, user: Person, file: Path) -> None:
    with place.server(LEGACY, "--engine", engine, person=user) as client:
        arguments = {"path": "a.txt", "match_text": "two", "new_string": "2"}
        number = client.peer.send("tools/call", name=PROPOSE, arguments=arguments)
        question = client.peer.next_message()
        (review,) = place.store.pending()
        place.decide(review.id, Decision("reject", "a test"))
        messages = [client.peer.next_message(), client.peer.next_message()]

    by_id = {message.get("id"): message for message in messages}
    assert by_id[number]["result"]["structuredContent"]["user_action"] == "REJECTED"
    assert by_id[None]["params"]["requestId"] == question["id"], "the question is withdrawn"
    assert file.read_bytes() == b"one\ntwo\nthree\n"


@pytest.mark.parametrize("version", ERAS)
def test_a_restarted_server_returns_the_decision_on_a_review_of_the_one_before(
    version: str, place: Place, file: Path
) -> None:
    with place.server(version, name="claude-code") as client:
        pending = propose_two(client)
        os.kill(client.peer.process.pid, signal.SIGKILL)
    with place.server(version, name="claude-code") as client:
        joined = propose_two(client)
        listed = client.call("review_status")
        place.decide(pending["session_path"], Decision("approve", "a test"))
        result = propose_two(client)

    assert joined["session_path"] == pending["session_path"] == listed["pending"][0]["session_path"]
    assert result["user_action"] == "COMMITTED"
    assert file.read_bytes() == b"one\n2\nthree\n"


def test_a_decision_without_an_outcome_is_completed_by_the_next_server(place: Place, file: Path) -> None:
    with place.server(LEGACY) as client:
        session = propose_two(client)["session_path"]
    review = place.store.get(session)
    assert review is not None
    assert place.store.decide(review, Decision("approve", "a process that was killed then"))
    with place.server(LEGACY) as client:
        result = client.call("review_status", session_path=session)["review"]

    assert result["user_action"] == "COMMITTED"
    assert file.read_bytes() == b"one\n2\nthree\n"


@each_engine
def test_twenty_reviews_at_once_are_asked_and_written(engine: str, place: Place, user: Person) -> None:
    with place.server(LEGACY, "--engine", engine, person=user) as client:
        peer = client.peer
        numbers = {
            peer.send(
                "tools/call", name=PROPOSE, arguments={"path": f"{n}.txt", "match_text": "", "new_string": f"{n}\n"}
            )
            for n in range(20)
        }
        questions: list[Any] = []
        while len(questions) < 20:
            message = peer.next_message()
            if message.get("method") == "elicitation/create":
                questions.append(message)
        listed = len(place.store.pending())
        for question in reversed(questions):
            reply = {"jsonrpc": "2.0", "id": question["id"], "result": answer("approve")}
            peer.write(json.dumps(reply).encode())
        results: dict[int, str] = {}
        while len(results) < 20:
            message = peer.next_message()
            if "result" in message:
                results[message["id"]] = message["result"]["structuredContent"]["user_action"]

    assert listed == 20
    assert results == dict.fromkeys(numbers, "COMMITTED")
    texts = {f"{n}.txt": (place.project / f"{n}.txt").read_text(encoding="utf-8") for n in range(20)}
    assert texts == {f"{n}.txt": f"{n}\n" for n in range(20)}


def test_of_two_servers_with_one_file_the_second_review_is_a_conflict_and_never_rebased(
    place: Place, file: Path
) -> None:
    with place.server(LEGACY, name="one") as one, place.server(MODERN, name="two") as two:
        first = one.propose("a.txt", "one", "1")
        second = two.propose("a.txt", "three", "3")
        listed = [review["session_path"] for review in one.call("review_status")["pending"]]
        place.decide(first["session_path"], Decision("approve", "a test"))
        place.decide(second["session_path"], Decision("approve", "a test"))
        results = [one.propose("a.txt", "one", "1"), two.propose("a.txt", "three", "3")]

    assert listed == [first["session_path"], second["session_path"]]
    assert [result["user_action"] for result in results] == ["COMMITTED", "CONFLICT"]
    assert "+1" in results[1]["user_feedback_diff"]
    assert file.read_bytes() == b"1\ntwo\nthree\n"


def test_reviews_of_other_projects_are_not_listed_or_found(place: Place, tmp_path: Path) -> None:
    other = tmp_path / "other"
    other.mkdir()
    with place.server(LEGACY) as client:
        session = propose_two(client)["session_path"]
    with Place(other, place.state).server(LEGACY) as client:
        listed = client.call("review_status")
        error = client.error("review_status", session_path=session)

    assert listed == {"pending": [], "pending_count": 0}
    assert "there is no review" in error


def test_an_append_without_a_person_is_written_once_when_its_result_was_lost(place: Place, file: Path) -> None:
    with place.server(LEGACY, "--auto-approve") as client:
        results = [client.propose("a.txt", "APPEND_TO_FILE", "four\n", again=again) for again in (False, False, True)]

    assert [result["user_action"] for result in results] == ["AUTO_APPROVED"] * 3
    assert [result.get("already_written") for result in results] == [None, True, None]
    assert file.read_bytes() == b"one\ntwo\nthree\nfour\nfour\n"


def test_the_question_names_the_earlier_review_of_the_same_change(place: Place, user: Person) -> None:
    with place.server(LEGACY, person=user) as client:
        first = client.propose("a.txt", "APPEND_TO_FILE", "four\n")
        client.propose("a.txt", "APPEND_TO_FILE", "four\n")
        user.reply = answer("reject")
        rejected = client.propose("a.txt", "APPEND_TO_FILE", "four\n", again=True)
        client.propose("a.txt", "APPEND_TO_FILE", "four\n", again=True)

    _, second, third = [question["message"] for question in user.asked]
    assert "\nNote: the same change was written, 0 s before" in second.replace("1 s", "0 s")
    assert first["session_path"] in second
    assert f"before this proposal ({rejected['session_path']})" in third
    assert "was rejected" in third


def test_a_review_whose_file_changed_leaves_the_queue_when_its_change_is_proposed_again(
    place: Place, file: Path
) -> None:
    with place.server(LEGACY) as client:
        old = propose_two(client)["session_path"]
        other = client.propose("a.txt", "three", "3")["session_path"]
        file.write_bytes(b"zero\none\ntwo\nthree\n")
        new = propose_two(client)["session_path"]
        overview = client.call("review_status", session_path=old)

    assert overview["review"]["user_action"] == "CONFLICT"
    assert f"superseded by {new}" in overview["review"]["message"]
    assert "+zero" in overview["review"]["user_feedback_diff"]
    assert [review["session_path"] for review in overview["pending"]] == [other, new]
    assert overview["pending_count"] == 2


@pytest.mark.usefixtures("file")
@pytest.mark.parametrize("name", ["unknown", "Cline", "codex-mcp-client", "claude-code"])
@pytest.mark.parametrize("comment", ["", "why? " * 3_000])
def test_every_client_sees_what_the_user_changed_within_its_longest_answer(
    place: Place, name: str, comment: str
) -> None:
    with place.server(LEGACY, name=name) as client:
        session = client.propose("a.txt", "one", "1")["session_path"]
        edited = b"edited by the user\n" + b"line\n" * 20_000
        place.decide(session, Decision("edit", "a test", comment, edited=edited))
        result = client.propose("a.txt", "one", "1")

    assert "+edited by the user" in result["user_feedback_diff"]
    assert "[cut: " in result["user_feedback_diff"]
    # The result is in the answer twice, as text and as structure.
    assert 2 * len(json.dumps(result)) <= client_profile(name).answer_size


def test_a_list_of_reviews_fits_the_answer_of_the_client_and_counts_all(place: Place) -> None:
    with place.server(LEGACY, name="unknown") as client:
        for number in range(12):
            session = client.propose(f"{'long' * 50}/{number}.txt", "", "x\n")["session_path"]
        listed, with_one = client.call("review_status"), client.call("review_status", session_path=session)

    for overview in (listed, with_one):
        assert 1 <= len(overview["pending"]) < overview["pending_count"] == 12
        assert 2 * len(json.dumps(overview)) <= client_profile("unknown").answer_size


def test_a_question_and_a_status_count_the_reviews_that_wait(place: Place, user: Person) -> None:
    user.reply = {"action": "decline"}
    with place.server(LEGACY, person=user) as client:
        sessions = [client.propose(f"{name}.txt", "", "x\n")["session_path"] for name in "bcd"]
        status = client.call("review_status", session_path=sessions[0])

    headings = [question["message"].partition(" to create")[0] for question in user.asked]
    assert headings == [f"{place}toolmason proposes" for place in ("", "Review 2 of 2: ", "Review 3 of 3: ")]
    assert (status["pending_count"], status["review"]["user_action"]) == (3, "PENDING")
    assert [review["session_path"] for review in status["pending"]] == sessions


@pytest.mark.parametrize(
    ("flags", "policy", "expected"),
    [
        (("--auto-approve",), "", {"notes/a.md": "AUTO_APPROVED", "b.md": "AUTO_APPROVED"}),
        (("--auto-approve", "notes/**"), "", {"notes/a.md": "AUTO_APPROVED", "b.md": "PENDING"}),
        (("--auto-approve", "notes"), "", {"notes/a.md": "PENDING", "notes": "AUTO_APPROVED"}),
        (("--auto-approve", "*.md"), "", {"notes/a.md": "PENDING", "b.md": "AUTO_APPROVED"}),
        (("--auto-approve", "*.txt", "--auto-approve", "**/*.md"), "", {"x/y/a.md": "AUTO_APPROVED"}),
        (("--auto-approve",), 'approval = "all"', {"b.md": "PENDING"}),
        (("--auto-approve",), "[tools.propose_and_review]\nrequire_approval = true", {"b.md": "PENDING"}),
        ((), "", {"b.md": "PENDING"}),
    ],
)
def test_auto_approval_covers_its_globs_and_never_passes_the_policy(
    flags: tuple[str, ...], policy: str, expected: dict[str, str], place: Place, tmp_path: Path
) -> None:
    if policy:
        (tmp_path / "policy.toml").write_text(f'default = "enabled"\n{policy}\n', encoding="utf-8")
        flags = (*flags, "--policy", str(tmp_path / "policy.toml"))
    with place.server(LEGACY, *flags) as client:
        actions = {path: client.propose(path, "", "text\n")["user_action"] for path in expected}

    assert actions == expected
    assert {path: (place.project / path).is_file() for path in expected} == {
        path: action == "AUTO_APPROVED" for path, action in expected.items()
    }


def test_nothing_is_proposed_while_the_state_directory_is_in_the_project(place: Place) -> None:
    inside = Place(place.project, place.project / "state")
    with inside.server(LEGACY) as client:
        error = client.error(PROPOSE, path="state/reviews/x/decision.json", match_text="", new_string="{}")

    assert "WORKBENCH_STATE is `" in error
    assert "inside the allowed directory" in error
    assert list(place.project.rglob("decision.json")) == []


def test_a_scripted_editor_approves_by_saving_and_leaves_pending_by_closing(place: Place, tmp_path: Path) -> None:
    editor = tmp_path / "editor"
    editor.write_text('#!/bin/sh\ncat "$2" > "$2.copy"; [ -e "$0.save" ] && cat "$2.copy" > "$2"; exit 0\n', "utf-8")
    editor.chmod(0o755)
    with place.server(LEGACY, env={"WORKBENCH_EDITOR": f"{editor} {{old}} {{new}}"}) as client:
        closed = client.propose("new.txt", "", "text\n")
        Path(f"{editor}.save").touch()
        saved = client.propose("new.txt", "", "text\n")

    assert (closed["user_action"], saved["user_action"]) == ("PENDING", "COMMITTED")
    assert closed["session_path"] == saved["session_path"]
    assert (place.project / "new.txt").read_bytes() == b"text\n"


def test_a_call_that_is_cancelled_while_its_change_is_written_delivers_nothing(place: Place, file: Path) -> None:
    with place.server(LEGACY) as client:
        session = propose_two(client)["session_path"]
    store = place.store
    review = store.get(session)
    assert review is not None
    assert store.decide(review, Decision("approve", "a test"))

    async def cancel_a_call() -> None:
        with store.lock(review.path):
            call = asyncio.create_task(tools._deliver(EditingState(lambda: store), review))
            await asyncio.sleep(0)  # its thread waits for the lock
            call.cancel()
            await asyncio.wait([call])
        await asyncio.get_running_loop().shutdown_default_executor()

    asyncio.run(cancel_a_call())

    assert file.read_bytes() == b"one\n2\nthree\n"
    assert not store.is_delivered(review)


@pytest.mark.parametrize(
    ("arguments", "tokens"),
    [
        # The append of docs/benchmarks.md, where fs-mcp needs 91.
        ({"match_text": "APPEND_TO_FILE", "new_string": LOG_ENTRY}, 95),
        ({"match_text": "two", "new_string": "2"}, 65),
        ({"edits": [{"match_text": "one", "new_string": "1"}, {"match_text": "two", "new_string": "2"}]}, 85),
    ],
    ids=["append", "single", "batch"],
)
def test_a_call_of_a_simple_edit_and_its_result_have_few_tokens(
    arguments: dict[str, Any], tokens: int, place: Place, user: Person
) -> None:
    with place.server(LEGACY, person=user) as client:
        sent = {"path": "a.txt", **arguments}
        text = client.raw(PROPOSE, **sent)["content"][0]["text"]

    call = json.dumps({"name": PROPOSE, "arguments": sent}, separators=(",", ":"))
    assert estimate_tokens(call) + estimate_tokens(text) <= tokens
    assert text.count("a.txt") == 1
