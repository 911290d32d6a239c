"""`docs/command-tools.md` is true: its manifest and policy are read, and its examples are what today's code does."""

from __future__ import annotations

import dataclasses
import json
import re
import shlex
import sys
import tomllib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
import tomli_w
from click.testing import CliRunner
from toolmason_runtime.chunks import memory
from toolmason_runtime.chunks.store import ChunkStore
from toolmason_runtime.chunks.text import MAX_BYTES_IN_MEMORY
from toolmason_runtime.programs import approval, output_buffer, process_group, sandbox
from toolmason_runtime.programs.access import SANDBOX
from toolmason_runtime.programs.approval import question
from toolmason_runtime.programs.argv import MAX_ELEMENT_LENGTH, invocation
from toolmason_runtime.programs.docker import in_container
from toolmason_runtime.programs.execute import base_environment, run
from toolmason_runtime.programs.handler import Guard
from toolmason_runtime.programs.policy import (
    Approval,
    ArgumentRule,
    Docker,
    ExecutorName,
    Headless,
    Listing,
    Policy,
    ToolRule,
)
from toolmason_runtime.programs.policy_file import PolicyError, load_policy
from toolmason_runtime.programs.result_text import reply
from toolmason_runtime.programs.risk import risk_of
from toolmason_runtime.programs.settings import POLICY, Commands
from toolmason_runtime.programs.spec import CommandTool, Invocation, Permissions, Risk
from toolmason_runtime.protocol import answer_size
from toolmason_runtime.protocol.errors import ToolError

from toolmason.commands import toolmason
from toolmason.diagnostics import Diagnostics
from toolmason.diagnostics.rules import RULES
from toolmason.manifest.document import load
from toolmason.manifest.tables import CliTable
from toolmason.manifest.validate import validate
from toolmason.resolve import resolve

PAGE = (Path(__file__).parents[1] / "docs" / "command-tools.md").read_text(encoding="utf-8")
HOME = {"HOME": "/home/ada"}
POLICY_MARK = "# policy.toml\n"

_FENCE = re.compile(r"^```(\w+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def blocks(language: str) -> list[str]:
    return [body for found, body in _FENCE.findall(PAGE) if found == language]


def the(language: str) -> str:
    """Give the one block in a language."""
    (found,) = blocks(language)
    return found


def text_with(beginning: str) -> str:
    """Give the one example of text that begins so."""
    (found,) = [each for each in blocks("text") if each.startswith(beginning)]
    return str(found)


def rows(heading: str) -> list[tuple[str, ...]]:
    """Give the rows of the table with these column heads."""
    lines = PAGE.partition(f"{heading}\n| --- | --- |\n")[2].split("\n\n", maxsplit=1)[0].splitlines()
    assert lines
    return [tuple(cell.strip() for cell in line.strip("|").split(" | ")) for line in lines]


def served(folder: Path) -> Mapping[str, CommandTool]:
    """Take the page's manifest through the stages, with its handlers, and give the tools."""
    (folder / "manifest.toml").write_text(
        "\n".join(each for each in blocks("toml") if not each.startswith(POLICY_MARK)), encoding="utf-8"
    )
    (folder / "handlers" / "desk").mkdir(parents=True)
    (folder / "handlers" / "desk" / "__init__.py").write_text("", encoding="utf-8")
    (folder / "handlers" / "desk" / "guarding.py").write_text(the("python"), encoding="utf-8")
    return resolved(folder)


def resolved(folder: Path) -> Mapping[str, CommandTool]:
    """Take a manifest through the stages, which must find nothing wrong with it."""
    diagnostics = Diagnostics()
    document = load(folder / "manifest.toml", root=folder, diagnostics=diagnostics)
    tables = validate(document, diagnostics=diagnostics) if document else None
    server = resolve(tables, document, root=folder, diagnostics=diagnostics) if tables and document else None
    assert server is not None, [str(each) for each in diagnostics]
    tools = [tool for category in server.categories for tool in category.tools]
    return {tool.name: tool.command.tool for tool in tools if tool.command}


@pytest.fixture(scope="module")
def tools(tmp_path_factory: pytest.TempPathFactory) -> Mapping[str, CommandTool]:
    return served(tmp_path_factory.mktemp("desk"))


@pytest.fixture
def policy(tmp_path: Path) -> Policy:
    (text,) = [each for each in blocks("toml") if each.startswith(POLICY_MARK)]
    (tmp_path / "policy.toml").write_text(text, encoding="utf-8")
    return load_policy(tmp_path / "policy.toml")


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


def called(cell: str) -> tuple[str, dict[str, Any]]:
    """Read `git_log {"paths": ["x"]}`."""
    name, arguments = cell.strip("`").split(" ", maxsplit=1)
    return name, json.loads(arguments)


# The manifest


@pytest.mark.parametrize(("call", "line"), rows("| call | what runs |"))
def test_a_call_becomes_the_command_line_of_the_table(tools: Mapping[str, CommandTool], call: str, line: str) -> None:
    name, arguments = called(call)
    assert shlex.join(invocation(tools[name], arguments, environ=HOME).argv) == line.strip("`")


@pytest.mark.parametrize(("call", "answer"), rows("| call | answer |"))
def test_a_call_is_refused_as_the_table_says(tools: Mapping[str, CommandTool], call: str, answer: str) -> None:
    name, arguments = called(call)
    with pytest.raises(ToolError) as refused:
        invocation(tools[name], arguments, environ=HOME)
    assert refused.value.message == answer


@pytest.mark.parametrize(
    ("row", "name", "kind", "value"),
    [
        (0, "max_count", "integer", 20),
        (1, "max_count", "integer", 20),
        (2, "author", "string", "Ada"),
        (4, "color", "boolean", True),
        (5, "replace", "boolean", True),
    ],
)
def test_a_parameter_goes_where_the_table_says(tmp_path: Path, row: int, name: str, kind: str, value: Any) -> None:
    manifest, becomes = rows("| manifest | becomes |")[row]
    param = {"type": kind, "description": "It"} | tomllib.loads("".join(re.findall(r"`(.+)`", manifest)))
    data: dict[str, Any] = {
        "edition": 1,
        "server": {"name": "tried", "package": "tried_server"},
        "categories": {"all": {"summary": "All"}},
        "clis": {"p": {"command": ["p"], "category": "all"}},
        "tools": {"try": {"cli": "p", "summary": "Try it", "risk": "read", "params": {name: param}}},
    }
    (tmp_path / "manifest.toml").write_text(tomli_w.dumps(data), encoding="utf-8")
    (tool,) = resolved(tmp_path).values()
    shown = re.findall(r"`([^`]+)`", becomes)[0]
    assert invocation(tool, {name: value}, environ={}).argv == ("p", *shown.split())


def test_every_key_of_a_program_is_in_its_table() -> None:
    told = {key for cell, _ in rows("| key | meaning |") for key in re.findall(r"`(\w+)`", cell)}
    assert told == {each.name for each in dataclasses.fields(CliTable)} - {"at", "unread"}


def test_the_folder_and_the_environment_of_a_program_are_expanded(tools: Mapping[str, CommandTool]) -> None:
    ran = invocation(tools["git_log"], {"repository": "notes"}, environ=HOME)
    assert (ran.cwd, ran.env) == ("/home/ada/src/notes", {"GIT_TERMINAL_PROMPT": "0"})


@pytest.mark.parametrize(
    ("arguments", "risk"),
    [({}, Risk.READ), ({"method": "PATCH"}, Risk.WRITE), ({"method": "delete"}, Risk.DESTRUCTIVE)],
)
def test_risk_goes_by_the_value_that_is_written(
    tools: Mapping[str, CommandTool], arguments: dict[str, Any], risk: Risk
) -> None:
    assert risk_of(tools["gh_api"], {"endpoint": "user", **arguments}, environ=HOME) is risk


def test_a_person_is_asked_as_the_page_shows(tools: Mapping[str, CommandTool]) -> None:
    arguments = {"endpoint": "repos/ada/notes", "method": "DELETE"}
    ran = dataclasses.replace(invocation(tools["gh_api"], arguments, environ=HOME), cwd="/home/ada/src")
    risk = risk_of(tools["gh_api"], arguments, environ=HOME)
    assert question(tools["gh_api"], ran, risk, Commands()) == text_with("Run this command?").rstrip("\n")


def test_what_a_program_may_use_is_what_the_page_says(tools: Mapping[str, CommandTool]) -> None:
    declared = Permissions(
        reads=("{roots}", "~/.config/make"), writes=("{roots}",), executes=("sh", "cc", "/usr/bin/ld"), network=False
    )
    assert tools["make_target"].program.permissions == declared
    assert tools["gh_api"].program.permissions is None
    keys = [key.strip("`") for key, _ in rows("| key | what it allows |")]
    assert keys == [each.name for each in dataclasses.fields(Permissions)]


@pytest.mark.parametrize("place", ["/usr", "/lib", "/proc", "/dev/null", "/dev/zero", "/dev/urandom"])
def test_what_every_program_may_use_is_what_the_page_says(place: str) -> None:
    assert f"`{place}`" in PAGE
    assert place in {*sandbox.LIBRARIES, *sandbox.FILES, *sandbox.DEVICES}


def test_the_page_names_the_ways_to_isolate_and_the_switch() -> None:
    assert f"`{SANDBOX}=off`" in PAGE
    refused = "plain TCP `connect` and `bind` are refused"
    assert {row.split(" | ")[0].strip("| ") for row in PAGE.splitlines() if row.startswith("|") and refused in row} == {
        "Linux with Landlock (5.13 or later)"
    }
    assert RULES["TM522"].title == "A program is not isolated"


@pytest.mark.anyio
async def test_the_guard_keeps_git_inside_and_lets_the_rest_be(tools: Mapping[str, CommandTool]) -> None:
    module: dict[str, Any] = {}
    exec(compile(the("python"), "guarding.py", "exec"), module)
    guard: Guard = module["guard"]
    call: Any = None
    inside = await guard(tools["git_log"], {"repository": "notes"}, call)
    assert inside == {"repository": str(module["SOURCES"].resolve() / "notes")}
    assert await guard(tools["git_log"], {}, call) == {}
    assert await guard(tools["gh_api"], {"endpoint": "/"}, call) == {}
    with pytest.raises(ToolError, match="is outside of"):
        await guard(tools["git_log"], {"repository": "../../etc"}, call)


# What a program is given, and what comes back


def test_the_page_names_the_environment_that_is_handed_on() -> None:
    section = PAGE.partition("## What a program is given\n")[2].partition("Nothing else")[0]
    told = set(re.findall(r"`([A-Z_*]+)`", section))
    asked = {name.replace("*", "ALL"): "x" for name in told} | {"SECRET": "x", "GH_TOKEN": "x"}
    assert set(base_environment(asked)) == {name.replace("*", "ALL") for name in told} | {"TERM"}
    assert "`TERM=dumb`" in section


@pytest.mark.anyio
async def test_what_a_program_wrote_comes_back_as_the_page_shows() -> None:
    shown = text_with("README.md\n")
    stdout, stderr = re.findall(r"\A(.*)\n\[stderr\]\n(.*)\n\[exit code: 2\]\n\Z", shown)[0]
    code = f"import sys; print({stdout!r}); print({stderr!r}, file=sys.stderr); sys.exit(2)"
    outcome = await run(Invocation(argv=(sys.executable, "-I", "-S", "-c", code)))
    answer = await reply(outcome, ChunkStore())
    assert (answer.content, answer.is_error) == (shown.rstrip("\n"), True)


@pytest.mark.anyio
async def test_a_long_output_begins_with_the_line_of_the_page() -> None:
    code = "print('x' * 50_000)"
    answer = await reply(await run(Invocation(argv=(sys.executable, "-I", "-S", "-c", code))), store := ChunkStore())
    await store.aclose()
    first = re.sub(r"[0-9a-f]{32}", "9f86d081884c7d659a2feaa0c55ad015", str(answer.content).splitlines()[0])
    assert first == text_with("[cut: ").rstrip("\n")


@pytest.mark.parametrize(
    ("said", "limit"),
    [
        ("longer than {:,} bytes", MAX_ELEMENT_LENGTH),
        ("longer than {:,} characters", approval.MAX_COMMAND_LENGTH),
        ("or {:,} of input", approval.MAX_INPUT_LENGTH),
        ("at most {:,} characters", answer_size.DEFAULT_SIZE),
        ("from {:,} to", answer_size.MIN_SIZE),
        ("to {:,}; the bound", answer_size.MAX_SIZE),
        ("{} KiB of each stream", output_buffer.MAX_IN_MEMORY // 1024),
        ("{} MiB in a temporary file", output_buffer.MAX_IN_FILE // 1024**2),
        ("newest {} of up to", memory.MAX_TEXTS),
        ("of up to {} KiB in memory", MAX_BYTES_IN_MEMORY // 1024),
        ("newest {} larger ones", memory.MAX_FILES),
        ("{} MiB together", memory.MAX_FILE_BYTES // 1024**2),
    ],
)
def test_limits_are_those_of_the_page(said: str, limit: int) -> None:
    assert said.format(limit) in " ".join(PAGE.split())


def test_a_program_has_the_grace_of_the_page() -> None:
    assert process_group.GRACE_S == 1
    assert "SIGTERM, one second, SIGKILL" in " ".join(PAGE.split())


# The policy


def test_the_policy_of_the_page_fits_its_manifest(policy: Policy, tools: Mapping[str, CommandTool]) -> None:
    assert policy.misfits(tools.values()) == []
    assert [name for name in tools if policy.is_enabled(name)] == ["git_log", "git_commit", "gh_api"]
    assert not policy.is_enabled("other")
    assert policy.needs_approval("git_commit", Risk.WRITE)
    assert not policy.needs_approval("gh_api", Risk.WRITE)


def test_the_policy_of_the_page_has_every_key_and_every_choice() -> None:
    (text,) = [each for each in blocks("toml") if each.startswith(POLICY_MARK)]
    keys = set(_keys(tomllib.loads(text)))
    made_of = (Policy, Docker, ToolRule)
    expected = {each.name for table in made_of for each in dataclasses.fields(table)} - {"where", "arguments"}
    assert expected | {"executor", "args"} <= keys
    assert {"pattern", "min", "max", "enum"} <= keys
    assert len(dataclasses.fields(ArgumentRule)) == 5  # the four, and where they stand
    for choice in (*Approval, *Headless, *Listing, *ExecutorName):
        assert f'"{choice}"' in text


def _keys(table: Mapping[str, Any]) -> Iterator[str]:
    for key, value in table.items():
        yield key
        if isinstance(value, dict):
            yield from _keys(value)


def test_what_is_left_out_of_a_policy_is_as_the_page_says(tmp_path: Path) -> None:
    (tmp_path / "policy.toml").write_text("[tools.git_log]\n", encoding="utf-8")
    found = load_policy(tmp_path / "policy.toml")
    told = {key: re.findall(r"`(\w+)`", meaning)[0] for key, meaning in rows("| key | if left out |")[:6]}
    assert told == {
        "`default`": found.default,
        "`approval`": found.approval,
        "`headless`": found.headless,
        "`executor`": "local",
        "`network`": Docker(image="x").network,
        "`enabled`": str(found.tools["git_log"].enabled).lower(),
    }
    assert found.docker is None


def test_rules_of_the_policy_speak_as_the_page_shows(policy: Policy, tools: Mapping[str, CommandTool]) -> None:
    head, *lines = text_with("Not allowed by").splitlines()
    assert head == "Not allowed by the policy of this server:"
    assert policy.check(tools["git_log"], {"max_count": 500, "author": "a|b"}, environ=HOME) == lines
    assert policy.check(tools["git_log"], {}, environ=HOME) == []


def test_mistakes_of_a_policy_are_told_as_the_page_shows(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    text = 'default = "enabled"\napproval = "always"\n\nheadles = "deny"\n'
    (tmp_path / "policy.toml").write_text(text, encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    with pytest.raises(PolicyError) as refused:
        load_policy(Path("policy.toml"))
    assert list(refused.value.mistakes) == text_with("policy.toml:2").splitlines()


def test_the_page_names_the_variable_of_the_policy() -> None:
    assert f"`{POLICY}`" in PAGE


def test_a_container_is_made_as_the_page_says(policy: Policy, tools: Mapping[str, CommandTool], tmp_path: Path) -> None:
    (tmp_path / "docker").write_text("#!/bin/sh\n", encoding="utf-8")
    (tmp_path / "docker").chmod(0o755)
    assert policy.docker is not None
    there = dataclasses.replace(invocation(tools["git_log"], {}, environ=HOME), cwd="", env={})
    argv = in_container(policy.docker)(there, {"PATH": str(tmp_path)}).argv
    (shown,) = re.findall(r"`(docker run [^`]+) git \.\.\.`", PAGE.replace("\n", " "))
    made = shlex.join(["docker", *argv[1:]])
    assert re.sub(r"toolmason-[0-9a-f]+", "NAME", made).startswith(f"{shown} git --no-pager log ")


# Imports


def test_the_yaml_of_the_page_comes_to_a_manifest_with_the_notes_of_the_page(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "tools.yaml").write_text(the("yaml"), encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    result = CliRunner().invoke(toolmason, ["import", "climax", "tools.yaml"])
    assert result.exit_code == 0
    assert result.stderr == text_with("tools.yaml:2")
    assert tomllib.loads(result.stdout)["clis"]["notes"]["env"] == {"NOTES_COLOR": "off"}


def test_help_is_proposed_as_the_page_shows() -> None:
    shown = text_with("# Proposed from")
    (command,) = re.findall(r"`(.+) --help`", shown)
    result = CliRunner().invoke(toolmason, ["import", "help", "--", *command.split()])
    pattern = ".*".join(re.escape(part) for part in shown.split("...\n"))
    assert re.match(pattern, result.stdout, re.DOTALL), result.output
