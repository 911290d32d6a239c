from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from fake_cli import AGY_HELP, Fake, Step, out
from hypothesis import given
from hypothesis import strategies as st
from toolmason_runtime import ToolError

from workbench_research.model_backends.adapter import Program
from workbench_research.model_backends.agy import AgyAdapter
from workbench_research.model_backends.attempt import run_attempt
from workbench_research.model_backends.detect import parse_features
from workbench_research.model_backends.events import (
    Event,
    RunFinished,
    RunStarted,
    TextDelta,
    ToolFinished,
    ToolStarted,
    WarningEvent,
)
from workbench_research.model_backends.failure_kinds import NOT_READ_ONLY, AttemptError, classify, tool_error
from workbench_research.model_backends.question import Question

MakeFake = Callable[..., Fake]

USAGE = {"input_tokens": 17, "output_tokens": 9, "total_tokens": 26}


def event(kind: str, **part: Any) -> bytes:
    """Give the line of one event."""
    return json.dumps({"event": kind, "conversation_id": "c", kind: part}, ensure_ascii=False).encode() + b"\n"


def step(index: int, kind: str = "agent_response", state: str = "ACTIVE", **more: Any) -> bytes:
    return event("step_update", step_index=index, step_type=kind, state=state, **more)


def tool(index: int, name: str, state: str = "DONE", parameters: dict[str, Any] | None = None, **info: Any) -> bytes:
    info = {"name": name, "parameters": parameters or {}, **info}
    return step(index, "tool", state, tool_name=name, tool_info=info)


BEGUN = event("init", cwd="/p", tools=["view_file", "run_command"], permission_mode="request-review", model="pro")
ENDED = event("result", status="SUCCESS", response="世界\n", usage=USAGE)


def events(*lines: bytes, size: int = 1 << 20) -> list[Event]:
    """Read these lines, cut into pieces of `size` bytes."""
    reader, data = AgyAdapter().reader(), b"".join(lines)
    read = [each for start in range(0, len(data), size) for each in reader.feed(data[start : start + size])]
    return [*read, *reader.finish()]


def program(*without: str) -> Program:
    return Program(path="/x/agy", name="agy", version="1.1.13", features=parse_features(AGY_HELP) - set(without))


def question(tmp_path: Path) -> Question:
    return Question(prompt="why? " * 3, directory=tmp_path, timeout_s=10)


def test_it_is_asked_to_plan_in_a_sandbox_about_one_folder(tmp_path: Path) -> None:
    environ = {"PATH": "/bin", "HOME": "/h", "ANTIGRAVITY_API_KEY": "key", "AWS_SECRET": "no", "TMPDIR": str(tmp_path)}
    command = AgyAdapter().command(program(), question(tmp_path), "pro", environ=environ)

    assert command.argv == (
        *("/x/agy", "--output-format=stream-json", "--mode=plan", f"--add-dir={tmp_path}", "--sandbox", "--model=pro"),
    )
    assert AgyAdapter().name == "agy"
    assert (command.stdin, command.cwd, command.timeout_s) == ("why? " * 3, str(tmp_path), 10)
    assert command.env["ANTIGRAVITY_API_KEY"] == "key"
    assert "AWS_SECRET" not in command.env


def test_no_model_leaves_the_choice_to_it(tmp_path: Path) -> None:
    command = AgyAdapter().command(program("sandbox"), question(tmp_path), "", environ={})

    assert not [each for each in command.argv if each.startswith(("--model", "--sandbox"))]


def test_where_it_takes_turns_the_prompt_is_one(tmp_path: Path) -> None:
    able = Program(
        path="/x/agy", name="agy", version="1.2", features=program().features | {"input-format", "print-timeout"}
    )
    command = AgyAdapter().command(able, question(tmp_path), "", environ={})

    assert "--input-format=stream-json" in command.argv
    assert "--print-timeout=70s" in command.argv
    assert json.loads(command.stdin or "") == {"event": "user", "message": {"content": "why? " * 3}}
    assert str(command.stdin).endswith("}\n")


@pytest.mark.parametrize("feature", ["plan", "stream-json", "add-dir"])
def test_without_a_mode_for_planning_it_is_not_asked(tmp_path: Path, feature: str) -> None:
    with pytest.raises(ToolError, match=f"lacks {feature}"):
        AgyAdapter().command(program(feature), question(tmp_path), "", environ={})


@given(st.integers(1, 200))
def test_events_are_the_same_wherever_bytes_are_cut(size: int) -> None:
    lines = (
        b"some noise\n",
        BEGUN,
        step(0, "user_input", "DONE", text_delta="why?"),
        step(1, text_delta="I will look."),
        step(1, state="DONE"),
        tool(2, "view_file", "ACTIVE", {"AbsolutePath": "/p/世界.py"}),
        tool(2, "view_file", "DONE", {"AbsolutePath": "/p/世界.py"}, output="..."),
        tool(3, "grep_search", "DONE", {"SearchPath": "/p", "Query": "x"}),
        step(4, text_delta="世"),
        step(4, state="DONE", text_delta="界", usage=USAGE),
        ENDED,
    )
    view = {"AbsolutePath": "/p/世界.py", "file_path": "/p/世界.py"}
    grep = {"SearchPath": "/p", "Query": "x", "dir_path": "/p", "pattern": "x"}

    assert events(*lines, size=size) == [
        RunStarted("pro"),
        ToolStarted("2", "read_file", view),
        ToolFinished("2", True),
        ToolStarted("3", "grep_search", grep),
        ToolFinished("3", True),
        TextDelta("世界\n"),
        RunFinished(True, tokens=26, tool_calls=2),
    ]


@pytest.mark.parametrize(
    "last",
    [
        step(4, state="DONE", text_delta="lo"),
        event("step_update", step_index=4, state="DONE", text_delta="lo"),
        step(4, text_delta="lo") + step(4, state="DONE", text_delta="Hello"),
        step(4, text_delta="lo") + step(4, state="DONE"),
    ],
    ids=["last piece", "without its type", "all again", "nothing"],
)
def test_an_empty_response_stands_for_what_the_last_step_said(last: bytes) -> None:
    lines = (BEGUN, step(1, text_delta="Let me see."), step(4, text_delta="Hel"), last)

    assert TextDelta("Hello") in events(*lines, event("result", status="SUCCESS", response="", usage=USAGE))


@pytest.mark.parametrize(
    "name", ["run_command", "write_to_file", "search_web", "invoke_subagent", "mcp_x_y", "new_tool"]
)
def test_a_tool_that_does_more_than_read_ends_the_run(name: str) -> None:
    read = events(BEGUN, tool(1, name, "ACTIVE"), tool(1, name, "DONE"), ENDED)

    [_, ended] = read
    assert ended == RunFinished(False, f"agy was stopped: it used {name}, which can write", NOT_READ_ONLY)


def test_a_subagent_without_a_name_ends_the_run() -> None:
    [ended] = events(step(1, "subagent"))

    assert isinstance(ended, RunFinished)
    assert ended.error_type == NOT_READ_ONLY


@pytest.mark.parametrize("mode", ["always-proceed", "accept-edits", "proceed-in-sandbox", "something-new"])
def test_a_permission_mode_that_asks_nobody_ends_the_run(mode: str) -> None:
    [ended] = events(event("init", permission_mode=mode))

    assert isinstance(ended, RunFinished)
    assert not ended.ok
    assert mode in ended.error


def test_a_run_that_was_stopped_is_an_error_that_says_so() -> None:
    error = AttemptError("agy was stopped: it used run_command after a timeout", error_type=NOT_READ_ONLY)
    told = tool_error(classify(error), program="agy", environ={})

    assert told.message.startswith("Antigravity CLI failed: it was stopped because it used a tool that can write")
    assert not classify(error).is_retryable


def test_a_tool_that_was_refused_is_no_breach() -> None:
    read = events(BEGUN, tool(1, "run_command", "ERROR", error={"message": "user denied permission"}), ENDED)

    assert ToolFinished("1", False, "user denied permission") in read
    assert RunFinished(True, tokens=26, tool_calls=1) in read


def test_a_refusal_that_leaves_no_answer_is_an_error() -> None:
    denied = [{"display_name": "Run command"}, "write"]
    read = events(BEGUN, event("result", status="SUCCESS", response="", usage=USAGE, denied_actions=denied))

    assert [each for each in read if isinstance(each, WarningEvent)] == [
        WarningEvent("agy was denied: Run command"),
        WarningEvent("agy was denied: write"),
    ]
    assert isinstance(read[-1], RunFinished)
    assert not read[-1].ok
    assert "denied Run command, write" in read[-1].error


@pytest.mark.parametrize(
    "part",
    [
        {"status": "ERROR", "error": "Individual quota reached."},
        {"status": "ERROR", "error": {"message": "Individual quota reached.", "status": "RESOURCE_EXHAUSTED"}},
        {"status": "SUCCESS", "response": "half", "error": "Individual quota reached."},
    ],
)
def test_an_error_is_no_answer(part: dict[str, Any]) -> None:
    read = events(BEGUN, event("result", **part))

    assert not [each for each in read if isinstance(each, TextDelta)]
    assert isinstance(read[-1], RunFinished)
    assert (read[-1].ok, read[-1].error) == (False, "Individual quota reached.")


def test_the_error_of_a_step_is_a_warning() -> None:
    assert WarningEvent("oh") in events(step(1, state="ERROR", error={"message": "oh"}))


def test_fields_beside_the_name_of_an_event_are_read_as_well() -> None:
    flat = json.dumps({"event": "result", "status": "SUCCESS", "response": "Hi", "usage": USAGE}).encode()

    assert events(flat) == [TextDelta("Hi"), RunFinished(True, tokens=26)]


def test_events_of_the_gemini_shape_are_read_as_well() -> None:
    said = b'{"type":"message","role":"assistant","content":"Hi"}\n'

    assert events(b'{"type":"init","model":"m"}\n', said) == [RunStarted("m"), TextDelta("Hi")]


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=8,
)
names = ["step_index", "step_type", "state", "tool_name", "tool_info", "text_delta", "error", "status", "response"]
parts = st.dictionaries(st.sampled_from([*names, "usage", "denied_actions", "permission_mode"]), json_values)


@given(st.lists(st.tuples(st.sampled_from(["init", "step_update", "result", "other"]), parts), max_size=6))
def test_no_event_is_too_odd_to_be_read(given_events: list[tuple[str, dict[str, Any]]]) -> None:
    events(*(json.dumps({"event": kind, kind: part}).encode() + b"\n" for kind, part in given_events))


def steps(*lines: bytes) -> list[Step]:
    return [out(line) for line in lines]


@pytest.mark.anyio
async def test_a_run_gives_the_answer_and_the_files(fake: MakeFake, project: Path) -> None:
    path = str(project / "a.py")
    cli = fake("agy", steps(BEGUN, tool(1, "view_file", "DONE", {"AbsolutePath": path}), ENDED))
    asked = Program(path=str(cli.path), name="agy", version="1.1.22", features=parse_features(AGY_HELP))

    async def report(_: str) -> None:
        pass

    how: dict[str, Any] = {"report": report, "environ": {"PATH": "/usr/bin:/bin"}}
    answer = await run_attempt(AgyAdapter(), asked, Question(prompt="why?", directory=project), "pro", **how)

    assert (answer.text, answer.model, answer.files, answer.tokens) == ("世界\n", "pro", ("a.py",), 26)
    assert cli.runs[0].stdin == "why?"
    assert "--mode=plan" in cli.runs[0].argv
