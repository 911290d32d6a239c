"""A program that proposes changes: it waits for the review, and goes on in a server that was started later."""

from __future__ import annotations

import re
import sys

import pytest
from edit_server import Client, Person, Place
from oracle import ERAS

from workbench_handlers.editing.reviews.store import Decision

COMMAND = (sys.executable, "-m", "workbench_server", "--discovery", "code", "--all")
PROGRAM = """
print("before")
r = await propose_and_review(path="a.txt", match_text="two", new_string="three")
r["user_action"], (await get_file_info(path="a.txt"))["size"]
"""


def text(client: Client, **arguments: str) -> str:
    return "\n".join(block["text"] for block in client.raw("run", **arguments)["content"])


@pytest.fixture
def env(place: Place) -> dict[str, str]:
    place.write("a.txt", b"one\ntwo\n")
    return {"XDG_STATE_HOME": str(place.state / "programs")}


@pytest.mark.parametrize("version", ERAS)
def test_a_program_waits_for_a_review_and_goes_on_after_a_restart(
    version: str, place: Place, env: dict[str, str]
) -> None:
    with place.server(version, command=COMMAND, env=env) as client:
        pending = text(client, code=PROGRAM)
    assert pending.startswith("before\nPENDING: the program waits for a person at\nline 3: propose_and_review(")
    [review] = place.store.pending()
    place.decide(review.id, Decision("approve", "terminal"))
    found = re.search(r"program_[0-9a-f]{32}", pending)
    assert found is not None

    with place.server(version, command=COMMAND, env=env) as client:
        answer = text(client, resume=found[0])

    assert answer == 'before\n["COMMITTED",10]'
    assert (place.project / "a.txt").read_bytes() == b"one\nthree\n"


@pytest.mark.parametrize("version", ERAS)
def test_a_client_with_forms_reviews_in_the_middle_of_a_program(
    version: str, place: Place, user: Person, env: dict[str, str]
) -> None:
    with place.server(version, person=user, command=COMMAND, env=env) as client:
        answer = text(client, code=PROGRAM)

    assert answer == 'before\n["COMMITTED",10]'
    [question] = user.asked
    assert question["message"].startswith("Line 3 of a program: propose_and_review(")
