"""Incidents with reviews: who changed a file, and where was that allowed? The audit log alone answers."""

from __future__ import annotations

import getpass
import http.client
import json
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from hashlib import sha256
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest
from edit_server import PROPOSE, Person, Place
from ledger_process import Fields, Trail
from oracle import LEGACY
from stdio_peer import PATIENCE_S

from workbench_handlers.editing.reviews.settle import undo
from workbench_handlers.editing.reviews.store import Decision

if sys.platform == "win32":
    pytest.skip("one process writes a log on Windows", allow_module_level=True)

DECLINED: dict[str, Any] = {"action": "decline"}
OLD, NEW = b"one\ntwo\n", b"one\n2\n"


@pytest.fixture
def trail(tmp_path: Path) -> Trail:
    return Trail(tmp_path / "log" / "audit.jsonl")


def audited(trail: Trail) -> dict[str, str]:
    return {"TOOLMASON_WORKBENCH_AUDIT": str(trail.path)}


def steps(lines: list[Fields], *names: str) -> list[tuple[Any, ...]]:
    return [tuple(line.get(name) for name in names) for line in lines]


@contextmanager
def review_page(place: Place) -> Iterator[str]:
    """Run `review --web` in a process that knows nothing of the log; its address."""
    command = [sys.executable, "-m", "workbench_server", "review", "--web"]
    env = {**os.environ, "WORKBENCH_STATE": str(place.state), "PYTHONUNBUFFERED": "1"}
    process = subprocess.Popen(command, stdout=subprocess.PIPE, env=env, encoding="utf-8", cwd=place.project)
    try:
        assert process.stdout is not None
        yield re.sub("^Review at ", "", process.stdout.readline().strip())
    finally:
        process.kill()
        process.communicate(timeout=PATIENCE_S)


def decide_on_page(address: str, review_id: str, decision: dict[str, str]) -> int:
    """Open the address and decide, as a browser does; return the status."""
    parts = urlsplit(address)
    connection = http.client.HTTPConnection(parts.netloc, timeout=PATIENCE_S)
    connection.request("GET", f"{parts.path}?{parts.query}")
    opened = connection.getresponse()
    opened.read()
    cookie = (opened.headers["set-cookie"] or "").partition(";")[0]
    headers = {"cookie": cookie, "origin": f"http://{parts.netloc}", "content-type": "application/json"}
    connection.request("POST", f"{parts.path}r/{review_id}", json.dumps(decision), headers)
    response = connection.getresponse()
    response.read()
    connection.close()
    return response.status


def test_an_edit_that_was_declined_in_the_client_was_approved_on_the_page(
    place: Place, trail: Trail, capsys: pytest.CaptureFixture[str]
) -> None:
    file = place.write("docs/a.txt", OLD)
    person = Person(DECLINED)
    with place.server(LEGACY, person=person, env=audited(trail)) as client:
        review = client.propose("docs/a.txt", "two", "2")["session_path"]
        with review_page(place) as address:
            status = decide_on_page(address, review, {"action": "approve"})

    assert (status, file.read_bytes()) == (200, NEW)
    lines = trail.read(capsys, "--event", "review", "--id", review)
    assert steps(lines, "step", "decision", "surface", "outcome", "file") == [
        ("proposed", None, None, None, "docs/a.txt"),
        ("decided", "approved", "page", None, "docs/a.txt"),
        ("settled", None, None, "written", "docs/a.txt"),
    ]
    assert lines[1]["os_user"] == getpass.getuser()
    assert (lines[2]["sha256_before"], lines[2]["sha256_after"]) == (sha256(OLD).hexdigest(), sha256(NEW).hexdigest())
    call = trail.read(capsys, "--event", "call", "--id", lines[0]["call"])
    assert steps(call, "tool", "outcome") == [(PROPOSE, "ok")]
    assert lines[0]["instance"] != lines[1]["instance"]


def test_a_file_that_was_changed_meanwhile_is_a_conflict(
    place: Place, trail: Trail, capsys: pytest.CaptureFixture[str]
) -> None:
    file = place.write("a.txt", OLD)
    with place.server(LEGACY, env=audited(trail)) as client:
        review = client.propose("a.txt", "two", "2")["session_path"]
        file.write_bytes(b"by hand\n")
        place.decide(review, Decision("approve", "terminal"))

    lines = trail.read(capsys, "--event", "review", "--id", review)
    assert steps(lines, "step", "outcome", "surface") == [
        ("proposed", None, None),
        ("decided", None, "terminal"),
        ("settled", "conflict", None),
    ]
    assert "sha256_after" not in lines[2]


def test_a_call_that_was_cancelled_still_changed_a_file(
    place: Place, trail: Trail, capsys: pytest.CaptureFixture[str]
) -> None:
    file = place.write("a.txt", OLD)
    with place.server(LEGACY, person=Person(), env=audited(trail)) as client:
        arguments = {"path": "a.txt", "match_text": "two", "new_string": "2"}
        number = client.peer.send("tools/call", name=PROPOSE, arguments=arguments)
        assert client.peer.next_message()["method"] == "elicitation/create"
        client.peer.notify("notifications/cancelled", requestId=number)
        [pending] = place.store.pending()
        place.decide(pending.id, Decision("approve", "terminal"))
        client.peer.end_of_input()
        client.peer.rest()

    assert file.read_bytes() == NEW
    proposed, _, settled = trail.read(capsys, "--event", "review", "--id", pending.id)
    [cancelled] = trail.read(capsys, "--outcome", "cancelled")
    assert (cancelled["call"], cancelled["outcome"]) == (proposed["call"], "cancelled")
    assert (settled["step"], settled["outcome"]) == ("settled", "written")


def test_an_edit_was_written_without_a_person_and_undone(
    place: Place, trail: Trail, capsys: pytest.CaptureFixture[str]
) -> None:
    place.write("a.txt", OLD)
    with place.server(LEGACY, "--auto-approve", "*.txt", env=audited(trail)) as client:
        review = client.propose("a.txt", "two", "2")["session_path"]
    undo(place.store, review)

    lines = trail.read(capsys, "--event", "review", "--id", review)
    assert steps(lines, "step", "surface", "sha256_after") == [
        ("proposed", None, None),
        ("decided", "auto-approve", None),
        ("settled", None, sha256(NEW).hexdigest()),
        ("undone", None, sha256(OLD).hexdigest()),
    ]


def test_a_log_in_an_allowed_directory_stops_every_tool_that_reads_or_writes(place: Place) -> None:
    trail = Trail(place.project / "logs" / "audit.jsonl")
    place.write("a.txt", OLD)
    with place.server(LEGACY, person=Person(), env=audited(trail)) as client:
        texts = [
            client.error("read_files", files=[{"path": "a.txt"}]),
            client.error(PROPOSE, path="a.txt", match_text="two", new_string="2"),
            client.error("git_status"),
        ]

    assert all("the audit log" in text and "move the log elsewhere" in text for text in texts), texts


def test_a_review_has_no_text_of_the_file_or_of_a_comment_in_the_log(
    place: Place, trail: Trail, capsys: pytest.CaptureFixture[str]
) -> None:
    place.write("a.txt", OLD)
    with place.server(LEGACY, env=audited(trail), capabilities={}) as client:
        review = client.propose("a.txt", "two", "a-secret-text")["session_path"]
        place.decide(review, Decision("comment", "terminal", comment="a-secret-comment"))

    assert steps(trail.read(capsys, "--event", "review"), "step", "decision")[-1] == ("decided", "commented")
    assert "a-secret" not in trail.text()
