"""`programs`: a person decides in a terminal about a program that waits in a client without elicitation."""

from __future__ import annotations

import asyncio
import json
import re
import sys
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest
from program_desk import Desk
from toolmason_runtime.tool_commands import suspended_programs

Stored = Callable[[], list[Path]]
CODE = 'a = await send(FILE, "GET")\nb = await send(FILE, "PUT")\n[a, b]'


@pytest.fixture
def programs(monkeypatch: pytest.MonkeyPatch, desk: Desk) -> Callable[..., int]:
    """Runs `programs` of the sample server."""
    assert desk

    def run(*argv: str, answer: str | None = None) -> int:
        monkeypatch.setattr(sys, "argv", ["climax", "programs", *argv])
        if answer is not None:
            monkeypatch.setattr(suspended_programs, "Person", lambda: Answering(answer))
        code: int = import_module("climax_server.__main__").main()
        return code

    return run


class Answering:
    """A person at a terminal."""

    can_answer = True

    def __init__(self, action: str, meanwhile: Callable[[], Any] = lambda: None) -> None:
        self._action = action
        self._meanwhile = meanwhile

    async def answer_in_thread(self, params: dict[str, Any]) -> dict[str, Any]:
        sys.stderr.write(params["message"])
        await asyncio.to_thread(self._meanwhile)
        return {"action": self._action}


def suspended(desk: Desk) -> str:
    """Run a program until it waits; return its identity."""
    pending = asyncio.run(desk.run(CODE))
    found = re.search(r"program_[0-9a-f]{32}", pending)
    assert found, pending
    assert f"`programs approve {found[0]}`" in pending
    return found[0]


def resumed(desk: Desk, identity: str, *, fails: bool = False) -> str:
    work = desk.failure if fails else desk.run
    return asyncio.run(work("", resume=identity))


def test_an_approved_program_goes_on_when_it_is_resumed(
    desk: Desk, programs: Callable[..., int], capfd: pytest.CaptureFixture[str]
) -> None:
    identity = suspended(desk)

    assert programs("list") == 0
    assert capfd.readouterr().out.startswith(f"{identity}  send  expires in 24.0 h")
    assert programs("approve", identity[:12], answer="accept") == 0
    shown = capfd.readouterr().err
    assert "2. Line 2: send\n" in shown
    assert 'method = "PUT"' in shown
    assert desk.record() == ["GET"]
    assert programs("list", "--json") == 0
    [listed] = json.loads(capfd.readouterr().out)
    assert listed["decisions"] == {"2": "accept"}
    assert resumed(desk, identity) == '["GET done","PUT done"]'
    assert desk.record() == ["GET", "PUT"]
    assert programs("list") == 0
    assert "No program waits." in capfd.readouterr().err


@pytest.mark.parametrize(("argv", "answer"), [(("refuse",), None), (("approve",), "decline")])
def test_a_refused_program_ends(
    desk: Desk, programs: Callable[..., int], argv: tuple[str, ...], answer: str | None
) -> None:
    identity = suspended(desk)

    assert programs(*argv, answer=answer) == (0 if answer is None else 3)

    assert "The program ended at line 2." in resumed(desk, identity, fails=True)
    assert desk.record() == ["GET"]


def test_of_two_terminals_the_first_decides(
    desk: Desk, programs: Callable[..., int], monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    identity = suspended(desk)
    person = Answering("accept", lambda: programs("refuse", identity))
    monkeypatch.setattr(suspended_programs, "Person", lambda: person)

    assert programs("approve", identity) == 1

    assert "decided meanwhile" in capfd.readouterr().err
    resumed(desk, identity, fails=True)
    assert desk.record() == ["GET"]


def test_a_person_who_does_not_decide_changes_nothing(desk: Desk, programs: Callable[..., int]) -> None:
    identity = suspended(desk)

    assert programs("approve", answer="cancel") == 3

    assert resumed(desk, identity).startswith("PENDING")


def test_without_a_terminal_nothing_is_approved(
    desk: Desk, programs: Callable[..., int], capfd: pytest.CaptureFixture[str]
) -> None:
    identity = suspended(desk)

    assert programs("approve") == 3
    assert f"climax programs approve {identity}" in capfd.readouterr().err
    assert programs("approve", "--yes") == 2
    assert resumed(desk, identity).startswith("PENDING")


def test_an_approval_is_for_one_call(desk: Desk, programs: Callable[..., int]) -> None:
    code = 'await send(FILE, "PUT")\nawait send(FILE, "PUT")'
    pending = asyncio.run(desk.run(code))
    (identity,) = re.findall(r"program_[0-9a-f]{32}", pending)[:1]

    assert programs("approve", answer="accept") == 0

    assert resumed(desk, identity).startswith("PENDING")
    assert desk.record() == ["PUT"]


def test_a_changed_file_is_neither_listed_nor_approved(
    desk: Desk, stored: Stored, programs: Callable[..., int], capfd: pytest.CaptureFixture[str]
) -> None:
    suspended(desk)
    (path,) = stored()
    path.write_bytes(path.read_bytes().replace(b'"PUT"', b'"DEL"'))

    assert programs("list") == 0
    assert capfd.readouterr().out == ""
    assert programs("approve", answer="accept") == 1


def test_the_program_is_shown_with_the_calls_that_wait(
    desk: Desk, programs: Callable[..., int], capfd: pytest.CaptureFixture[str]
) -> None:
    suspended(desk)

    assert programs("show") == 0

    assert "b = await send(" in capfd.readouterr().out
    assert programs("show", "program_none") == 1
    assert "no waiting program has the ID" in capfd.readouterr().err
    assert programs() == 2
