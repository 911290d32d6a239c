"""From a call to the program and back: what of a server's settings reaches it, and what a policy takes away."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections.abc import Awaitable, Callable
from datetime import date, datetime
from enum import Enum
from functools import partial
from pathlib import Path
from typing import Any

import anyio
import pytest
from command_sample import DECLARED, Client, Sample, text_of
from pydantic import BaseModel, Field
from toolmason_runtime import MethodError, ToolError
from toolmason_runtime.programs.argv import build_invocation
from toolmason_runtime.programs.handler import check_positionals_contiguous, sent_arguments
from toolmason_runtime.programs.policy import DefaultAccess, Policy, ToolRule
from toolmason_runtime.programs.settings import POLICY, ProgramSettings, command_tools, load_program_settings
from toolmason_runtime.server.command import Command
from toolmason_runtime.shared.answer_size import max_answer_size, size_of, text_budget
from toolmason_runtime.shared.specs.program import ArgumentPlacement, CommandTool, PlacementKind, Program

pytestmark = pytest.mark.anyio

Run = Callable[..., int]
Write = Callable[[str], str]
Until = Callable[[Callable[[], bool]], Awaitable[None]]


@pytest.fixture
def policy(tmp_path: Path) -> Write:
    """Write a policy file and give its path."""

    def write(text: str) -> str:
        path = tmp_path / "policy.toml"
        path.write_text(text, encoding="utf-8")
        return str(path)

    return write


@pytest.fixture
def command(sample: Sample) -> Run:
    """Run the command of the sample server as far as it goes without a client."""

    def run(*argv: str) -> int:
        command = Command(catalogue=sample.catalogue, load_index=sample.load_index, prog="climax", version="1")
        return command.run(argv)

    return run


async def test_a_program_gets_only_its_declared_environment(sample: Sample, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SAMPLE_PASSED", "handed on")
    monkeypatch.setenv("SECRET_TOKEN", "hush")

    told = json.loads(text_of(await sample.run("say", {"text": "a"})))

    assert told["env"]["GREETING"] == "good day"
    assert told["env"]["SAMPLE_PASSED"] == "handed on"
    assert told["env"]["PATH"] == os.environ["PATH"]
    assert not told["env"].keys() & {"SECRET_TOKEN", "SAMPLE_REPOSITORY", "PYTHONPATH"}


async def test_a_missing_directory_is_reported(sample: Sample, tmp_path: Path) -> None:
    result = await sample.run("say", {"text": "a", "folder": str(tmp_path / "nowhere")})

    assert result["isError"] is True
    assert "nowhere" in text_of(result)
    assert "does not exist" in text_of(result)


async def test_a_missing_program_is_reported(sample: Sample, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SAMPLE_PYTHON", "no-such-program")

    result = await sample.run("echo_hello", {})

    assert result["isError"] is True
    assert "no-such-program" in text_of(result)


async def test_a_call_that_is_cancelled_ends_its_program(
    sample: Sample, tmp_path: Path, until: Until, is_running: Callable[[int], bool]
) -> None:
    record = tmp_path / "process"
    async with anyio.create_task_group() as tasks:
        dispatcher = sample.dispatcher("classic")
        tasks.start_soon(partial(sample.call, dispatcher, "linger", record=str(record)))
        await until(lambda: record.exists() and record.read_text(encoding="ascii") != "")
        assert is_running(int(record.read_text(encoding="ascii")))
        tasks.cancel_scope.cancel()

    assert not is_running(int(record.read_text(encoding="ascii")))


async def test_a_policy_can_have_every_program_run_in_a_container(
    sample: Sample, policy: Write, docker: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(docker.parent), prepend=os.pathsep)
    text = 'default = "enabled"\nexecutor = "docker"\n[docker]\nimage = "alpine:3"\nvolumes = ["/a:/b:ro"]\n'
    commands = load_program_settings(sample.catalogue, policy(text))

    result = await sample.run("say", {"text": "a", "note": "in"}, commands)

    told = json.loads(text_of(result))
    assert (told["argv"][0], told["stdin"], told["env"]["GREETING"]) == ("a", "in", "good day")
    argv = json.loads((docker.parent / "calls.jsonl").read_text(encoding="utf-8").splitlines()[0])["argv"]
    assert argv[:3] == ["run", "--rm", "-i"]
    assert argv[argv.index("--network") + 1] == "none"
    assert argv[argv.index("-v") + 1] == "/a:/b:ro"
    assert argv[argv.index("alpine:3") + 1] == sys.executable


class Level(Enum):
    """How much to tell."""

    LOW = "low"
    HIGH = "high"


class Sent(BaseModel):
    """Arguments of types that no command line knows, and one by another name than in Python."""

    level: Level = Level.LOW
    levels: list[Level] = []
    since: date | None = None
    at: datetime | None = None
    class_: str = Field("", alias="class")
    share: float = 0.5
    count: int = 0
    left_out: str = "default"


def test_arguments_reach_the_command_line_as_the_text_that_was_sent() -> None:
    sent = Sent.model_validate(
        {
            "level": "high",
            "levels": ["low", "high"],
            "since": "2026-01-31",
            "at": "2026-01-31T04:05:06Z",
            "class": "a\nb",
            "share": 1e-7,
            "count": 10**30,
        }
    )
    shown = ("level", "levels", "since", "at", "class", "share", "count")
    tool = CommandTool(
        name="tell",
        program=Program(name="tell", command=("tell",)),
        placements=tuple(ArgumentPlacement(name=name, place=PlacementKind.FLAG, flag=f"--{name}=") for name in shown),
    )

    assert build_invocation(tool, sent_arguments(sent), environ={}).argv[1:] == (
        *("--level=high", "--levels=low", "--levels=high", "--since=2026-01-31", "--at=2026-01-31T04:05:06Z"),
        *("--class=a\nb", "--share=0.0000001", f"--count={10**30}"),
    )


def test_null_counts_as_absent_and_nan_does_not() -> None:
    assert sent_arguments(Sent.model_validate({"since": None, "share": "nan"})).keys() == {"share"}


def pushing() -> CommandTool:
    """A tool with three positionals that may each be missing."""
    places = [ArgumentPlacement(name=name, place=PlacementKind.POSITIONAL) for name in ("remote", "branch", "paths")]
    flag = ArgumentPlacement(name="force", place=PlacementKind.FLAG, flag="--force", switch=True)
    return CommandTool(name="push", program=Program(name="git", command=("git",)), placements=(flag, *places))


@pytest.mark.parametrize("sent_arguments", [0, 1, 2, 3])
def test_positionals_may_be_left_out_from_the_end(sent_arguments: int) -> None:
    values = {"remote": "origin", "branch": "main", "paths": ["a"]}

    check_positionals_contiguous(pushing(), dict(list(values.items())[:sent_arguments]))


@pytest.mark.parametrize(
    ("values", "told"),
    [
        pytest.param({"branch": "main"}, "Argument 'branch' requires 'remote'", id="the second alone"),
        pytest.param({"remote": "origin", "paths": ["a"]}, "Argument 'paths' requires 'branch'", id="a gap"),
        pytest.param({"paths": ["a"]}, "Argument 'paths' requires 'remote'", id="the last alone"),
    ],
)
def test_a_positional_never_takes_the_place_of_the_one_before_it(values: dict[str, Any], told: str) -> None:
    with pytest.raises(ToolError, match=told):
        check_positionals_contiguous(pushing(), values)


async def test_a_call_with_such_a_gap_runs_nothing(sample: Sample) -> None:
    refused = await sample.run("repeat", {"second": "two"})
    both = await sample.run("repeat", {"first": "one", "second": "two"})

    assert refused["isError"] is True
    assert text_of(refused).startswith("Argument 'second' requires 'first'")
    assert json.loads(text_of(both))["argv"][:2] == ["one", "two"]


async def test_annotations_follow_the_risk(sample: Sample) -> None:
    keys = ("readOnlyHint", "destructiveHint", "idempotentHint", "openWorldHint")
    hints = {
        name: [entry["tool"]["annotations"][key] for key in keys] for name, entry in sample.catalogue["tools"].items()
    }

    assert hints["git_log"] == [True, False, True, False]
    assert hints["git_commit"] == [False, False, False, False]
    assert hints["git_reset"] == [False, True, False, False]
    assert hints["send"] == [False, True, False, True]


# Outputs of several parts


@pytest.mark.parametrize("toolsets", [(), ("words",)], ids=["all tools", "one category"])
async def test_a_long_output_is_fetched_part_by_part(sample: Sample, toolsets: tuple[str, ...]) -> None:
    dispatcher = sample.dispatcher("classic", toolsets=toolsets)

    async def call(name: str, **arguments: Any) -> dict[str, Any]:
        params = {"name": name, "arguments": arguments}
        result = await dispatcher.dispatch("tools/call", params, Client())
        assert "isError" not in result, result
        return result

    first, _, text = (await call("pour", lines=5000))["content"][0]["text"].partition("\n")
    found = re.search(r'fetch_chunk\(cacheKey="(\w+)", chunkIndex=2\) gives the next of (\d+) parts', first)
    assert found, first
    parts = [text]
    for index in range(2, int(found[2]) + 1):
        result = await call("fetch_chunk", cacheKey=found[1], chunkIndex=index)
        assert json.loads(text_of(result)) == result["structuredContent"]
        assert size_of(text_of(result)) <= max_answer_size()
        parts.append(result["structuredContent"]["chunk"]["content"])
    await dispatcher.aclose()

    assert all(size_of(part) <= text_budget() for part in parts)
    assert len(parts) > 2
    assert "".join(parts) == "\n".join(f"line {number} é" for number in range(5000))


async def test_an_exit_code_allowed_by_the_manifest_is_not_an_error(sample: Sample) -> None:
    fine = await sample.run("fail", {"code": 1})
    failed = await sample.run("fail", {"code": 2})

    assert "isError" not in fine
    assert text_of(fine).endswith("[exit code: 1]")
    assert failed["isError"] is True


async def test_a_switch_need_not_be_sent(sample: Sample) -> None:
    dispatcher = sample.dispatcher("classic")
    result = await dispatcher.dispatch("tools/list", {}, Client())

    schema = next(each["inputSchema"] for each in result["tools"] if each["name"] == "linger")
    assert schema["required"] == ["record"]


async def test_an_unknown_chunk_is_reported_as_expired(sample: Sample) -> None:
    result = await sample.run("fetch_chunk", {"cacheKey": "made-up", "chunkIndex": 2})

    assert result["isError"] is True
    error = json.loads(text_of(result))["error"]
    assert error["code"] == "CACHE_EXPIRED"
    assert 'nothing is stored as "made-up"' in error["message"]


# The policy


@pytest.mark.parametrize(
    ("sent_arguments", "left"),
    [
        pytest.param(Policy(), {*DECLARED}, id="none is all"),
        pytest.param(Policy(tools={"pour": ToolRule(enabled=False)}), {*DECLARED} - {"pour"}, id="one is off"),
        pytest.param(
            Policy(default=DefaultAccess.DISABLED, tools={"git_log": ToolRule()}), {"git_log"}, id="only what is listed"
        ),
    ],
)
async def test_a_tool_disabled_by_policy_is_not_listed_found_counted_or_callable(
    sample: Sample, sent_arguments: Policy, left: set[str]
) -> None:
    commands = ProgramSettings(sent_arguments)
    listed = await sample.listed(sample.dispatcher("classic", commands))
    assert {*listed} == left

    summary = await sample.search(sample.dispatcher(commands=commands))
    assert sum(group["tool_count"] for group in summary["summary"]) == len(left)
    assert summary["total_tools"] == len(left)

    for gone in {*DECLARED} - left:
        found = await sample.search(sample.dispatcher(commands=commands), query=gone, limit=50)
        assert gone not in {each["tool_name"] for each in found["results"]}
        called = await sample.call(sample.dispatcher(commands=commands), "call", tool_name=gone)
        assert text_of(called).startswith(f"Unknown tool `{gone}`")
        with pytest.raises(MethodError, match="Unknown tool"):
            await sample.call(sample.dispatcher("classic", commands), gone)


@pytest.mark.parametrize(
    ("rule", "args", "told"),
    [
        pytest.param("commit = { pattern = '[0-9a-f]{7,40}' }", {}, "must match", id="a default that does not match"),
        pytest.param("commit = { pattern = 'HEAD' }", {"commit": "HEAD~1"}, "must match", id="the whole must match"),
        pytest.param("commit = { enum = ['main'] }", {"commit": "HEAD"}, "must be one of: main", id="no choice of it"),
    ],
)
async def test_a_policy_checks_the_effective_arguments(
    sample: Sample, policy: Write, rule: str, args: dict[str, Any], told: str
) -> None:
    commands = load_program_settings(sample.catalogue, policy(f"[tools.git_show.args]\n{rule}\n"))

    result = await sample.run("git_show", args, commands)

    assert result["isError"] is True
    assert told in text_of(result)


@pytest.fixture
def contained(docker: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The client of Docker, where programs are looked for."""
    monkeypatch.setenv("PATH", str(docker.parent), prepend=os.pathsep)
    return docker


@pytest.fixture
def desk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder of the server, with one inside of it, and links to this and out of it."""
    desk = (tmp_path / "desk").resolve()
    (desk / "drawer").mkdir(parents=True)
    (desk / "same").symlink_to("drawer")
    (desk / "out").symlink_to(tmp_path)
    monkeypatch.chdir(desk)
    return desk


@pytest.mark.parametrize("folder", ["", ".", "drawer", "same", "nowhere/../drawer", "out/desk", "{desk}/drawer"])
async def test_a_directory_allowed_by_policy_is_accepted_in_every_spelling(
    sample: Sample, policy: Write, desk: Path, folder: str
) -> None:
    commands = load_program_settings(
        sample.catalogue, policy(f"[tools.say.args]\nfolder = {{ pattern = '{desk}(/.*)?' }}\n")
    )

    told = json.loads(text_of(await sample.run("say", {"text": "a", "folder": folder.format(desk=desk)}, commands)))

    assert told["cwd"] == str((desk / folder.format(desk=desk).removeprefix("nowhere/../")).resolve())


@pytest.mark.parametrize("folder", ["..", "out", "drawer/../..", "{desk}/../../..", "/etc"])
async def test_a_directory_outside_the_policy_is_refused_in_every_spelling(
    sample: Sample, policy: Write, desk: Path, folder: str
) -> None:
    commands = load_program_settings(
        sample.catalogue, policy(f"[tools.say.args]\nfolder = {{ pattern = '{desk}(/.*)?' }}\n")
    )

    result = await sample.run("say", {"text": "a", "folder": folder.format(desk=desk)}, commands)

    assert result["isError"] is True
    assert "Argument 'folder' must match" in text_of(result)


@pytest.mark.parametrize(
    ("folder", "used"),
    [
        ("", "/work"),
        ("sub/..", "/work"),
        ("a/./b", "/work/a/b"),
        ("/work/a/../b", "/work/b"),
        ("//work", "/work"),
        ("..", None),
        ("/work/../../etc", None),
    ],
)
async def test_a_folder_in_a_container_is_judged_without_its_steps_back(
    sample: Sample, policy: Write, contained: Path, folder: str, used: str | None
) -> None:
    text = 'executor = "docker"\ndocker = { image = "alpine:3", working_dir = "/work" }\n[tools.say.args]\n'
    commands = load_program_settings(sample.catalogue, policy(f"{text}folder = {{ pattern = '/work(/.*)?' }}\n"))

    result = await sample.run("say", {"text": "a", "folder": folder}, commands)

    if used is None:
        assert "Argument 'folder' must match" in text_of(result)
        assert not (contained.parent / "calls.jsonl").exists()
    else:
        argv = json.loads((contained.parent / "calls.jsonl").read_text(encoding="utf-8").splitlines()[0])["argv"]
        assert argv[argv.index("-w") + 1] == used


async def test_a_program_that_is_named_by_its_place_is_not_one_of_the_folder_that_a_call_names(
    sample: Sample, desk: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SAMPLE_PYTHON", "./run.sh")
    for folder in (desk, desk / "drawer"):
        (folder / "run.sh").write_text(f"#!/bin/sh\necho {folder.name}\n", encoding="ascii")
        (folder / "run.sh").chmod(0o700)

    assert text_of(await sample.run("say", {"text": "a", "folder": "drawer"})) == "desk"


async def test_the_environment_names_the_policy_where_no_flag_does(
    sample: Sample, policy: Write, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(POLICY, policy('default = "disabled"\n[tools.git_log]\n'))

    assert await sample.listed(sample.dispatcher("classic")) == ["git_log"]


def test_a_policy_file_restricts_list_tools(command: Run, policy: Write, capsys: pytest.CaptureFixture[str]) -> None:
    path = policy('default = "disabled"\n[tools.echo_hello]\n')

    assert command("--classic", "--list-tools", "--policy", path) == 0

    assert [line.partition(":")[0] for line in capsys.readouterr().out.splitlines()] == ["echo_hello"]


@pytest.mark.parametrize(
    ("text", "told"),
    [
        pytest.param('default = "enabled"\n\naproval = "all"\n', ":3:1: unknown key `aproval`", id="a key"),
        pytest.param('default = "enabled"\n[tools.git_lgo]\n', ":2:8: there is no tool `git_lgo`", id="a tool"),
        pytest.param("[tools.say.args]\nvoise = { enum = ['Ann'] }\n", "has no argument `voise`", id="an argument"),
        pytest.param("default = \n", ":1:11: ", id="no TOML"),
    ],
)
def test_a_wrong_policy_refuses_to_start_with_its_place(
    command: Run, policy: Write, capsys: pytest.CaptureFixture[str], text: str, told: str
) -> None:
    path = policy(text)

    assert command("--policy", path) == 2

    said = capsys.readouterr().err
    assert said.startswith(f"climax: {path}")
    assert told in said


def test_a_policy_may_have_rules_for_the_arguments_that_the_owner_sets(command: Run, policy: Write) -> None:
    assert command("--list-tools", "--policy", policy("[tools.say.args]\nvoice = { enum = ['Ann'] }\n")) == 0


def test_a_policy_that_is_not_there_refuses_to_start(
    command: Run, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert command("--policy", str(tmp_path / "none.toml")) == 2
    assert "cannot read" in capsys.readouterr().err


def test_help_shows_how_programs_are_set_up(command: Run, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit, match="0"):
        command("--help")

    shown = capsys.readouterr().out
    assert "--policy FILE" in shown
    assert "--headless-approve" in shown


def test_a_server_without_programs_has_no_flags_for_them(capsys: pytest.CaptureFixture[str]) -> None:
    from sample_server.catalogue import CATALOGUE

    with pytest.raises(SystemExit, match="2"):
        Command(catalogue=CATALOGUE, load_index=dict, prog="plain", version="1").run(["--policy=a"])

    assert "unrecognized arguments: --policy" in capsys.readouterr().err


def test_every_command_tool_of_a_server_can_be_known_without_a_call(sample: Sample) -> None:
    assert {tool.name for tool in command_tools(sample.catalogue)} == {*DECLARED}


def test_listing_needs_nothing_of_how_programs_are_run(generated: Path) -> None:
    code = (
        "import asyncio, sys\n"
        "from climax_server.server import build_dispatcher\n"
        "class Client: capabilities, client_name = {}, ''\n"
        "listed = asyncio.run(build_dispatcher().dispatch('tools/list', {}, Client()))\n"
        "assert len(listed['tools']) == 2\n"
        "print(*(name for name in sys.modules if name.startswith('toolmason_runtime.programs')))\n"
        "print('pydantic' in sys.modules)\n"
    )
    environ = {**os.environ, "PYTHONPATH": os.pathsep.join([str(generated), *sys.path])}
    environ.pop(POLICY, None)
    ran = subprocess.run([sys.executable, "-c", code], env=environ, capture_output=True, encoding="utf-8", check=True)

    assert ran.stdout.splitlines() == [
        "toolmason_runtime.programs toolmason_runtime.programs.settings",
        "False",
    ]
