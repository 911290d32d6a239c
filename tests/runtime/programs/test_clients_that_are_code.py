"""A client that calls unlisted tools gets past no policy, approval or selection: any client can say that it is one."""

from __future__ import annotations

import pytest
from command_sample import Client, Sample, text_of
from toolmason_runtime.programs.policy import Approval, HeadlessMode, Policy, ToolRule
from toolmason_runtime.programs.settings import ProgramSettings
from toolmason_runtime.shared.errors import MethodError

pytestmark = pytest.mark.anyio
STYLES = ["search-call", "code"]


class Code(Client):
    """A typed client."""

    client_name = "toolmason-client"


@pytest.mark.parametrize("style", STYLES)
async def test_an_unlisted_tool_runs_for_code_only(sample: Sample, style: str) -> None:
    result = await sample.call(sample.dispatcher(style), "echo_hello", Code())

    assert "hello" in text_of(result)
    with pytest.raises(MethodError, match="it is not listed"):
        await sample.call(sample.dispatcher(style), "echo_hello", Client())


@pytest.mark.parametrize("style", STYLES)
@pytest.mark.parametrize("answer", ["decline", "cancel", None])
async def test_an_unlisted_tool_that_writes_needs_the_approval(sample: Sample, style: str, answer: str | None) -> None:
    client = Code(answer)

    result = await sample.call(sample.dispatcher(style), "git_commit", client, message="Mend")

    assert result["isError"]
    assert result["_meta"]["toolmason.dev/error"]["code"] == (
        "APPROVAL_UNAVAILABLE" if answer is None else "NOT_APPROVED"
    )
    assert len(client.asked) == (answer is not None)


@pytest.mark.parametrize("style", STYLES)
async def test_the_policy_applies_to_unlisted_tools(sample: Sample, style: str) -> None:
    policy = Policy(approval=Approval.ALL, headless=HeadlessMode.DENY, tools={"echo_hello": ToolRule(enabled=False)})
    settings = ProgramSettings(policy)

    refused = await sample.call(sample.dispatcher(style, settings), "git_status", Code())

    assert refused["_meta"]["toolmason.dev/error"]["code"] == "APPROVAL_UNAVAILABLE"
    with pytest.raises(MethodError, match="Unknown tool"):
        await sample.call(sample.dispatcher(style, settings), "echo_hello", Code())


@pytest.mark.parametrize("style", STYLES)
async def test_a_tool_that_was_not_selected_does_not_exist(sample: Sample, style: str) -> None:
    dispatcher = sample.dispatcher(style, toolsets=("words",))

    with pytest.raises(MethodError, match="Unknown tool"):
        await sample.call(dispatcher, "git_status", Code())
