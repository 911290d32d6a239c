"""Approval of what a handler does: the same policy, texts and escaping as for command tools."""

# ruff: noqa: ARG002  a client is given what it may not need

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest
from toolmason_runtime import ToolCall, ToolError
from toolmason_runtime.calls.call import InputRequired, Level
from toolmason_runtime.programs import ProgramSettings, Risk, approve_handler, escape_invisible
from toolmason_runtime.programs.approval import MAX_INPUT_LENGTH, shorten_middle
from toolmason_runtime.programs.policy import Approval, HeadlessMode, Policy, ToolRule

pytestmark = pytest.mark.anyio


class Client:
    """One request: a client that answers questions with `answer`, or cannot be asked (None)."""

    operation_id = "1"
    is_local = True
    principal = None
    client_name = "toolmason"
    is_modern = False
    answered = ()
    has_progress_token = False

    def __init__(self, answer: str | None) -> None:
        self.capabilities: Mapping[str, Any] = {} if answer is None else {"elicitation": {}}
        self.asked: list[tuple[str, str]] = []
        self._answer = answer

    async def progress(self, progress: float, total: float | None, message: str | None) -> None:
        raise AssertionError("an approval has no progress")

    async def log(self, level: Level, data: Any, logger: str | None) -> None:
        raise AssertionError("an approval logs nothing")

    async def request(self, key: str, method: str, params: Mapping[str, Any]) -> dict[str, Any]:
        self.asked.append((key, params["message"]))
        if self._answer == "later":
            raise InputRequired({key: {"method": method, "params": dict(params)}})
        return {"action": self._answer}


async def ask(client: Client, *settings: ProgramSettings, risk: Risk = Risk.WRITE, question: str = "Write?") -> None:
    call = ToolCall("note", client, settings)
    await approve_handler(call, tool="note", risk=risk, question=question, key="note-1")


async def test_a_person_sees_the_question_with_invisible_characters_escaped() -> None:
    client = Client("accept")
    await ask(client, ProgramSettings(), question="Write `a\u202etxt`?\n\tline\r\u200b\x1b[2J")
    assert client.asked == [("note-1", "Write `a\\u202etxt`?\n\tline\\r\\u200b\\x1b[2J")]


async def test_a_server_without_programs_asks_as_well() -> None:
    client = Client("accept")
    await ask(client)
    assert len(client.asked) == 1


@pytest.mark.parametrize(
    ("answer", "reason"),
    [("decline", "Not run: the user declined (note)"), ("cancel", "Not run: the user dismissed the prompt (note)")],
)
async def test_without_approval_the_model_learns_the_reason(answer: str, reason: str) -> None:
    with pytest.raises(ToolError) as error:
        await ask(Client(answer), ProgramSettings())
    assert error.value.message.startswith(reason)
    assert error.value.code == "NOT_APPROVED"


async def test_a_client_that_cannot_ask_is_refused_with_the_ways_out() -> None:
    with pytest.raises(ToolError, match=r"Not run: note \(write\) needs user approval.*--headless-approve") as error:
        await ask(Client(None), ProgramSettings())
    assert error.value.code == "APPROVAL_UNAVAILABLE"


@pytest.mark.parametrize(
    "settings",
    [
        pytest.param(ProgramSettings(headless_approve=True), id="flag"),
        pytest.param(ProgramSettings(Policy(headless=HeadlessMode.APPROVE)), id="policy"),
        pytest.param(ProgramSettings(Policy(approval=Approval.DESTRUCTIVE)), id="risk below the policy"),
        pytest.param(ProgramSettings(Policy(tools={"note": ToolRule(require_approval=False)})), id="tool"),
    ],
)
async def test_an_owner_can_waive_the_approval(settings: ProgramSettings) -> None:
    await ask(Client(None), settings)


async def test_a_reading_effect_needs_approval_only_if_the_policy_requires_it() -> None:
    client = Client("accept")
    await ask(client, ProgramSettings(), risk=Risk.READ)
    assert client.asked == []
    await ask(client, ProgramSettings(Policy(tools={"note": ToolRule(require_approval=True)})), risk=Risk.READ)
    assert len(client.asked) == 1


async def test_in_the_era_without_waiting_the_question_ends_the_call() -> None:
    with pytest.raises(InputRequired) as pending:
        await ask(Client("later"), ProgramSettings())
    assert list(pending.value.requests) == ["note-1"]


@pytest.mark.parametrize("text", ["x" * 20_001, "\u200b" * 4_000])
async def test_a_question_that_is_too_long_to_show_is_asked_of_nobody(text: str) -> None:
    client = Client("accept")
    with pytest.raises(ToolError, match=r"note needs user approval.*shows at most 20,000. Send less text") as error:
        await ask(client, ProgramSettings(), question=text)
    assert (error.value.code, client.asked) == ("NOT_APPROVED", [])


def test_a_long_text_keeps_its_beginning_and_its_end() -> None:
    text = shorten_middle("a" * MAX_INPUT_LENGTH + "end")
    assert text.startswith("aaa")
    assert "\n[... 3 characters more ...]\n" in text
    assert text.endswith("aaend")
    assert escape_invisible("a\tb\u2066", keep="\t") == "a\tb\\u2066"
