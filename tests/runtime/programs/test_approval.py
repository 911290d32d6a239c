"""Who is asked before a command runs, what they see, and what a model is told when nobody approves."""

# ruff: noqa: ARG001  callbacks are given what they may not need

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from command_sample import Client, Sample, git, text_of
from mcp import Client as SdkClient
from mcp import types
from mcp.client.context import ClientRequestContext
from oracle import LEGACY, MODERN, Oracle, watched
from toolmason_runtime import ToolError
from toolmason_runtime.programs.approval import MAX_COMMAND_LENGTH, MAX_INPUT_LENGTH, command_text, question
from toolmason_runtime.programs.invocation import Invocation
from toolmason_runtime.programs.policy import Approval, Docker, HeadlessMode, Policy, ToolRule
from toolmason_runtime.programs.settings import ProgramSettings
from toolmason_runtime.server.sdk import sdk_server
from toolmason_runtime.shared.specs.program import ArgumentPlacement, CommandTool, PlacementKind, Program, Risk

pytestmark = pytest.mark.anyio
both_eras = pytest.mark.parametrize("mode", ["legacy", MODERN])

TOOL = CommandTool(name="push", program=Program(name="git", command=("git",)), argv=("push",), risk=Risk.WRITE)
Record = Callable[[], list[str]]


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "record.txt"


@pytest.fixture
def record(file: Path) -> Record:
    """What the desk was really asked for, in order."""

    def lines() -> list[str]:
        return file.read_text(encoding="utf-8").splitlines() if file.exists() else []

    return lines


async def send(
    sample: Sample, file: Path, method: str, client: Client, commands: ProgramSettings | None = None
) -> dict[str, Any]:
    return await sample.call(sample.dispatcher("classic", commands), "send", client, record=str(file), method=method)


async def test_a_read_call_runs_without_a_question(sample: Sample, file: Path, record: Record) -> None:
    client = Client("accept")

    result = await send(sample, file, "GET", client)

    assert text_of(result) == "GET done"
    assert record() == ["GET"]
    assert client.asked == []


@pytest.mark.parametrize("method", ["PUT", "DELETE"])
async def test_a_write_call_runs_after_approval(sample: Sample, file: Path, record: Record, method: str) -> None:
    client = Client("accept")

    result = await send(sample, file, method, client)

    assert text_of(result) == f"{method} done"
    assert record() == [method]
    assert len(client.asked) == 1


async def test_the_question_shows_command_line_and_working_directory(
    sample: Sample, file: Path, repository: Path
) -> None:
    client = Client("accept")

    await send(sample, file, "DELETE", client)
    await sample.call(sample.dispatcher("classic"), "git_commit", client, message="Say\nwhy")

    asked, committed = client.asked
    assert asked.startswith("Run this command? Its risk is: destructive.\n\n$ ")
    assert f"talk.py send {file} --method DELETE --tempo=3\nin {Path.cwd()}" in asked
    assert committed == (
        f"Commit with this message?\n\n$ git --no-pager commit --quiet --all --file=-\nin {repository}\n"
        "with 7 characters of standard input:\nSay\nwhy"
    )


async def test_the_question_reports_a_removed_working_directory(
    sample: Sample, file: Path, record: Record, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    gone = tmp_path / "gone"
    gone.mkdir()
    monkeypatch.chdir(gone)
    gone.rmdir()
    client = Client("accept")

    result = await send(sample, file, "DELETE", client)

    assert client.asked[0].endswith("\nin the server's directory, which was removed")
    assert text_of(result) == "DELETE done"
    assert record() == ["DELETE"]


@pytest.mark.parametrize(("answer", "said"), [("decline", "the user declined"), ("cancel", "dismissed")])
async def test_a_command_without_approval_does_not_run(
    sample: Sample, file: Path, record: Record, answer: str, said: str
) -> None:
    result = await send(sample, file, "PUT", Client(answer))

    assert result["isError"] is True
    assert text_of(result).startswith("Not run: ")
    assert said in text_of(result)
    assert record() == []


@pytest.mark.parametrize(
    "capabilities",
    [
        pytest.param({}, id="no elicitation"),
        pytest.param({"elicitation": {"url": {}}}, id="only by opening a page"),
    ],
)
async def test_missing_elicitation_is_reported_and_not_as_a_denial(
    sample: Sample, file: Path, record: Record, capabilities: dict[str, Any]
) -> None:
    result = await send(sample, file, "PUT", Client(capabilities=capabilities))

    assert result["isError"] is True
    text = text_of(result)
    assert text.startswith("Not run: send (write) needs user approval, and this client does not support")
    assert "--headless-approve" in text
    assert "denied" not in text
    assert "declined" not in text
    assert record() == []


@pytest.mark.parametrize(
    "commands",
    [
        pytest.param(ProgramSettings(headless_approve=True), id="by flag"),
        pytest.param(ProgramSettings(Policy(headless=HeadlessMode.APPROVE)), id="by policy"),
    ],
)
async def test_an_owner_can_let_commands_run_where_nobody_can_be_asked(
    sample: Sample, file: Path, record: Record, commands: ProgramSettings
) -> None:
    result = await send(sample, file, "DELETE", Client(), commands)

    assert text_of(result) == "DELETE done"
    assert record() == ["DELETE"]


async def test_who_can_be_asked_is_asked_even_if_headless_is_approved(
    sample: Sample, file: Path, record: Record
) -> None:
    result = await send(sample, file, "PUT", Client("decline"), ProgramSettings(headless_approve=True))

    assert result["isError"] is True
    assert record() == []


@pytest.mark.parametrize(
    ("policy", "asked"),
    [
        pytest.param(Policy(approval=Approval.NONE), [], id="none"),
        pytest.param(Policy(approval=Approval.DESTRUCTIVE), ["DELETE"], id="destructive"),
        pytest.param(Policy(), ["PUT", "DELETE"], id="write, unless said otherwise"),
        pytest.param(Policy(approval=Approval.ALL), ["GET", "PUT", "DELETE"], id="all"),
        pytest.param(Policy(tools={"send": ToolRule(require_approval=False)}), [], id="not for this tool"),
        pytest.param(
            Policy(approval=Approval.NONE, tools={"send": ToolRule(require_approval=True)}),
            ["GET", "PUT", "DELETE"],
            id="always for this tool",
        ),
    ],
)
async def test_the_policy_decides_which_risks_need_approval(
    sample: Sample, file: Path, policy: Policy, asked: list[str]
) -> None:
    found = []
    for method in ("GET", "PUT", "DELETE"):
        client = Client("accept")
        await send(sample, file, method, client, ProgramSettings(policy))
        found += [method] * len(client.asked)

    assert found == asked


@both_eras
@pytest.mark.parametrize("through", [False, True], ids=["directly", "through the meta-tool"])
async def test_a_command_runs_exactly_once_in_both_eras(
    sample: Sample, file: Path, record: Record, mode: str, through: bool
) -> None:
    asked: list[str] = []

    async def accept(context: ClientRequestContext, params: types.ElicitRequestParams) -> types.ElicitResult:
        asked.append(params.message)
        return types.ElicitResult(action="accept", content={})

    dispatcher = sample.dispatcher("search-call" if through else "classic")
    oracle = Oracle(LEGACY if mode == "legacy" else MODERN)
    args = {"record": str(file), "method": "PUT"}
    name, arguments = ("call", {"tool_name": "send", "args": args}) if through else ("send", args)
    async with SdkClient(watched(sdk_server(dispatcher), oracle), mode=mode, elicitation_callback=accept) as client:
        result = await client.call_tool(name, arguments)

    assert isinstance(result.content[0], types.TextContent)
    assert result.content[0].text == "PUT done"
    assert record() == ["PUT"]
    assert len(asked) == 1


@both_eras
async def test_a_client_without_elicitation_is_refused_in_both_eras(
    sample: Sample, file: Path, record: Record, mode: str
) -> None:
    oracle = Oracle(LEGACY if mode == "legacy" else MODERN)
    server = sdk_server(sample.dispatcher("classic"))
    async with SdkClient(watched(server, oracle), mode=mode) as client:
        result = await client.call_tool("send", {"record": str(file), "method": "PUT"})

    assert result.is_error
    assert "does not support MCP elicitation" in str(result.content)
    assert record() == []


async def test_a_client_that_fails_to_ask_runs_nothing(sample: Sample, file: Path, record: Record) -> None:
    async def fail(context: ClientRequestContext, params: types.ElicitRequestParams) -> types.ErrorData:
        return types.ErrorData(code=-32000, message="not now")

    server = sdk_server(sample.dispatcher("classic"))
    async with SdkClient(watched(server, Oracle(LEGACY)), mode="legacy", elicitation_callback=fail) as client:
        result = await client.call_tool("send", {"record": str(file), "method": "PUT"})

    assert result.is_error
    assert "Not run: send needs approval. The client did not answer elicitation/create: not now" in str(result.content)
    assert record() == []


@pytest.mark.parametrize(
    ("tool", "one", "another"),
    [
        pytest.param("send", {"method": "PUT"}, {"method": "DELETE"}, id="another command line"),
        pytest.param("git_commit", {"message": "Mend it"}, {"message": "Break it"}, id="another input"),
        pytest.param("say", {"text": "a", "folder": "/"}, {"text": "a", "folder": "/tmp"}, id="another folder"),
        pytest.param("say", {"text": "a"}, {"text": "a", "note": ""}, id="an empty input"),
    ],
)
async def test_approval_of_one_command_does_not_apply_to_another(
    sample: Sample, file: Path, tool: str, one: dict[str, str], another: dict[str, str]
) -> None:
    keys: list[str] = []

    class Listening(Client):
        async def request(self, key: str, method: str, params: Any) -> dict[str, Any]:
            keys.append(key)
            return await super().request(key, method, params)

    place = {"record": str(file)} if tool == "send" else {}
    for arguments in (one, another, one):
        server = sample.dispatcher("classic", ProgramSettings(Policy(approval=Approval.ALL)))
        await sample.call(server, tool, Listening("decline"), **place, **arguments)

    assert len(keys) == 3
    assert keys[0] == keys[2] != keys[1]


async def test_a_commit_that_was_approved_is_made(sample: Sample, repository: Path) -> None:
    repository.joinpath("one.txt").write_text("changed\n", encoding="utf-8")

    result = await sample.call(sample.dispatcher("classic"), "git_commit", Client("accept"), message="Approve\n\nit")

    assert text_of(result) == "(no output)"
    assert git(repository, "log", "-1", "--format=%B").strip() == "Approve\n\nit"


@pytest.mark.parametrize(
    ("argv", "text"),
    [
        pytest.param(("git", "log"), "git log", id="plain words"),
        pytest.param(("echo", "a b", "it's", ""), """echo 'a b' 'it'"'"'s' ''""", id="quoted as a shell would"),
        pytest.param(("echo", "a\nb"), r"echo $'a\nb'", id="a line break"),
        pytest.param(("echo", "\x1b[2J'\\"), r"echo $'\x1b[2J\'\\'", id="what moves the cursor"),
        pytest.param(("echo", "x\u202etxt.exe"), r"echo $'x\u202etxt.exe'", id="what turns the direction of writing"),
        pytest.param(("echo", "Grüße", "探す"), "echo 'Grüße' '探す'", id="letters of any script"),
    ],
)
def test_every_character_of_a_command_is_visible(argv: tuple[str, ...], text: str) -> None:
    assert command_text(argv) == text


@pytest.mark.parametrize(
    "character",
    [
        *("\u034f", "\u115f", "\u1160", "\u17b4", "\u180b", "\u2800", "\u3164", "\ufe0f", "\uffa0"),
        *("\U0001d159", "\U000e0100", "\u00a0", "\u00ad", "\u200b", "\u2028", "\u3000", "\ufeff", "\U000e0001"),
    ],
    ids=ascii,
)
def test_invisible_characters_of_a_question_are_escaped(character: str) -> None:
    prepared = Invocation(argv=("rm", f"notes{character}.txt"), cwd=f"/a{character}", stdin=f"b{character}\nc")

    asked = question(TOOL, prepared, Risk.WRITE, ProgramSettings())

    escaped = character.encode("unicode_escape").decode()
    assert character not in asked
    assert f"$ rm $'notes{escaped}.txt'\nin $'/a{escaped}'\n" in asked
    assert asked.endswith(f"\nb{escaped}\nc")


def asked(confirm: str, **values: Any) -> str:
    """Return the first line of a question about a call of a tool with that `confirm`."""
    places = tuple(
        ArgumentPlacement(name=each, place=PlacementKind.FLAG, flag=f"--{each}", switch=each == "force")
        for each in ("path", "force")
    )
    tool = CommandTool(name="remove", program=TOOL.program, placements=places, confirm=confirm)
    lines = question(tool, Invocation(argv=("rm", "x")), Risk.WRITE, ProgramSettings(), values).split("\n")
    assert lines[1:3] == ["", "$ rm x"]
    return lines[0]


@pytest.mark.parametrize(
    ("confirm", "values", "shown"),
    [
        ("Delete {path}?", {"path": "notes.md"}, 'Delete "notes.md"?'),
        ("Delete {path}, force {force}?", {"path": "a", "force": True}, 'Delete "a", force true?'),
        ("Force {force}?", {}, "Force false?"),
        ("Delete {path}?", {}, "Delete (none)?"),
        ("Delete {path}?", {"path": []}, "Delete (none)?"),
        ("Stop {path}?", {"path": 3}, "Stop 3?"),
        ("Stop {path}?", {"path": ["a", "b"]}, 'Stop "a", "b"?'),
        ("Stop {path}?", {"path": [*range(12)]}, "Stop 0, 1, 2, 3, 4 and 7 more?"),
        ("Write {{path}}?", {"path": "a"}, "Write {path}?"),
        ("Delete {path}?", {"path": "{force}"}, 'Delete "{force}"?'),
        ("Delete {path}?", {"path": 'a"? $ ls "'}, r'Delete "a\"? $ ls \""?'),
        ("Delete {path}?", {"path": "a\n\n$ ls"}, r'Delete "a\n\n$ ls"?'),
        ("Delete {path}?", {"path": "a\u202etxt.exe\x1b[2J\u200b"}, r'Delete "a\u202etxt.exe\x1b[2J\u200b"?'),
        ("Delete {path}?", {"path": "a" * 300}, f'Delete "{"a" * 200}[... 100 characters more]"?'),
    ],
)
def test_a_question_shows_the_values_of_the_call_and_nothing_that_could_deceive(
    confirm: str, values: dict[str, Any], shown: str
) -> None:
    assert asked(confirm, **values) == shown


async def test_a_question_contains_the_effective_arguments(sample: Sample) -> None:
    client = Client("decline")

    await sample.call(sample.dispatcher("classic"), "git_reset", client, commit="HEAD~1")

    question = client.asked[0].splitlines()
    assert question[0] == 'Throw away what differs from "HEAD~1"?'
    assert question[2] == "$ git --no-pager reset --quiet --hard 'HEAD~1'"


def test_control_characters_of_standard_input_are_escaped_in_the_question() -> None:
    prepared = Invocation(argv=("sh",), stdin="\x1b[1Aecho harmless\r\u202e")

    assert question(TOOL, prepared, Risk.WRITE, ProgramSettings()).endswith(r"\x1b[1Aecho harmless\r\u202e")


def test_a_long_command_is_shown_whole() -> None:
    prepared = Invocation(argv=("git", "a" * 3000, "--exec=evil", "b" * 3000))

    assert f"$ git {'a' * 3000} --exec=evil {'b' * 3000}\nin " in question(
        TOOL, prepared, Risk.WRITE, ProgramSettings()
    )


def test_a_command_that_nobody_would_look_through_is_not_asked_about() -> None:
    longest = Invocation(argv=("git", "a" * (MAX_COMMAND_LENGTH - len("git "))))
    longer = Invocation(argv=("git", "a" * (MAX_COMMAND_LENGTH - len("git ") + 1)))

    assert f"$ {' '.join(longest.argv)}\n" in question(TOOL, longest, Risk.WRITE, ProgramSettings())
    with pytest.raises(ToolError, match="Not run: push needs user approval, and its command line"):
        question(TOOL, longer, Risk.WRITE, ProgramSettings())


async def test_a_command_that_is_too_long_to_be_shown_does_not_run(
    sample: Sample, tmp_path: Path, record: Record
) -> None:
    client = Client("accept")
    longer = tmp_path / "/".join(["x" * 200] * 150)

    refused = await send(sample, longer, "PUT", client)
    unasked = await send(sample, longer, "PUT", client, ProgramSettings(Policy(approval=Approval.NONE)))

    assert "Send shorter arguments" in text_of(refused)
    assert client.asked == []
    assert "Not run" not in text_of(unasked)


def test_long_input_is_shown_from_both_ends() -> None:
    prepared = Invocation(argv=("git", "apply"), stdin="b" * MAX_INPUT_LENGTH + "end")

    asked = question(TOOL, prepared, Risk.WRITE, ProgramSettings())

    assert "with 4,003 characters of standard input:\nbbb" in asked
    assert "b\n[... 3 characters more ...]\nb" in asked
    assert asked.endswith("bbbend")


@pytest.mark.parametrize(
    ("docker", "cwd", "place"),
    [
        (Docker(image="alpine:3"), "", "in a container of alpine:3"),
        (Docker(image="alpine:3", working_dir="/work"), "", "in a container of alpine:3, /work"),
        (Docker(image="alpine:3", working_dir="/work"), "/my src", "in a container of alpine:3, '/my src'"),
    ],
)
def test_the_question_names_the_container(docker: Docker, cwd: str, place: str) -> None:
    prepared = Invocation(argv=("ls",), cwd=cwd)

    assert question(TOOL, prepared, Risk.WRITE, ProgramSettings(Policy(docker=docker))).splitlines()[-1] == place
