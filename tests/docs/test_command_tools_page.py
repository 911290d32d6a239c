"""docs/command-tools.md: its manifest and policy are read, and its examples and limits are those of the code."""

from __future__ import annotations

import dataclasses
import json
import re
import shlex
import sys
import tomllib
from collections.abc import Iterator, Mapping
from pathlib import Path
from types import SimpleNamespace
from typing import Any, Final

import pytest
import tomli_w
from pages import matches, quoted, read
from toolmason_runtime.chunks import memory
from toolmason_runtime.chunks import text as chunk_text
from toolmason_runtime.chunks.store import ChunkStore
from toolmason_runtime.programs import approval, output_buffer, process_group, sandbox
from toolmason_runtime.programs.access import SANDBOX
from toolmason_runtime.programs.approval import question
from toolmason_runtime.programs.argv import MAX_ELEMENT_LENGTH, build_invocation
from toolmason_runtime.programs.docker import in_container
from toolmason_runtime.programs.execute import base_environment, run
from toolmason_runtime.programs.handler import PreRunHook
from toolmason_runtime.programs.policy import (
    Approval,
    ArgumentRule,
    DefaultAccess,
    Docker,
    ExecutorName,
    HeadlessMode,
    Policy,
    ToolRule,
)
from toolmason_runtime.programs.policy_file import PolicyError, load_policy
from toolmason_runtime.programs.result_text import reply
from toolmason_runtime.programs.risk import risk_of
from toolmason_runtime.programs.settings import POLICY, ProgramSettings
from toolmason_runtime.programs.spec import CommandTool, Invocation, Permissions, Risk
from toolmason_runtime.protocol import answer_size
from toolmason_runtime.protocol.call import ToolCall
from toolmason_runtime.protocol.errors import ToolError
from toolmason_runtime.toml.tables import keys_of

from toolmason.diagnostics import Diagnostics
from toolmason.diagnostics.rules import RULES
from toolmason.kinds.command.implementation import command_of
from toolmason.kinds.command.tables import CliTable
from toolmason.manifest.document import load
from toolmason.manifest.validate import validate
from toolmason.resolve import resolve

PAGE: Final = read("docs/command-tools.md")
HOME: Final = {"HOME": "/home/ada"}
POLICY_MARK: Final = "# policy.toml\n"
PLACES: Final = PAGE.rows("manifest", "becomes")


def resolved(directory: Path) -> Mapping[str, CommandTool]:
    """Take a manifest through the stages, which must report nothing."""
    diagnostics = Diagnostics()
    document = load(directory / "manifest.toml", root=directory, diagnostics=diagnostics)
    tables = validate(document, diagnostics=diagnostics) if document else None
    server = resolve(tables, document, root=directory, diagnostics=diagnostics) if tables and document else None
    assert server is not None, [str(diagnostic) for diagnostic in diagnostics]
    tools = [tool for category in server.categories for tool in category.tools]
    return {tool.name: command.tool for tool in tools if (command := command_of(tool))}


@pytest.fixture(scope="module")
def tools(tmp_path_factory: pytest.TempPathFactory) -> Mapping[str, CommandTool]:
    """Return the tools of the page's manifest, with its guard."""
    directory = tmp_path_factory.mktemp("desk")
    manifest = [block for block in PAGE.blocks("toml") if not block.startswith(POLICY_MARK)]
    (directory / "manifest.toml").write_text("\n".join(manifest), encoding="utf-8")
    handlers = directory / "handlers" / "desk"
    handlers.mkdir(parents=True)
    (handlers / "__init__.py").touch()
    (handlers / "guarding.py").write_text(PAGE.block("python", "from collections"), encoding="utf-8")
    return resolved(directory)


@pytest.fixture
def policy(tmp_path: Path, tools: Mapping[str, CommandTool]) -> Policy:
    (tmp_path / "policy.toml").write_text(PAGE.block("toml", POLICY_MARK), encoding="utf-8")
    return load_policy(tmp_path / "policy.toml", tools.values())


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


def parsed(call: str) -> tuple[str, dict[str, Any]]:
    """Parse "`git_log {"paths": ["x"]}`"."""
    name, arguments = call.strip("`").split(" ", maxsplit=1)
    return name, json.loads(arguments)


# The manifest


def test_calls_become_the_command_lines_and_errors_of_the_tables(tools: Mapping[str, CommandTool]) -> None:
    for call, line in PAGE.rows("call", "command line"):
        name, arguments = parsed(call)
        assert shlex.join(build_invocation(tools[name], arguments, environ=HOME).argv) == line.strip("`")
    for call, message in PAGE.rows("call", "error"):
        name, arguments = parsed(call)
        with pytest.raises(ToolError) as error:
            build_invocation(tools[name], arguments, environ=HOME)
        assert matches(message, error.value.message)


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
def test_parameter_takes_the_place_of_the_table(tmp_path: Path, row: int, name: str, kind: str, value: Any) -> None:
    placement, becomes = PLACES[row]
    param = {"type": kind, "description": "It"} | tomllib.loads("".join(re.findall(r"`(.+)`", placement)))
    data: dict[str, Any] = {
        "edition": 1,
        "server": {"name": "tried", "package": "tried_server"},
        "categories": {"all": {"summary": "All"}},
        "clis": {"p": {"command": ["p"], "category": "all"}},
        "tools": {"try": {"cli": "p", "summary": "Try it", "risk": "read", "params": {name: param}}},
    }
    (tmp_path / "manifest.toml").write_text(tomli_w.dumps(data), encoding="utf-8")
    (tool,) = resolved(tmp_path).values()
    assert build_invocation(tool, {name: value}, environ={}).argv == ("p", *quoted(becomes)[0].split())


def test_tables_have_every_key_of_a_program_and_of_its_permissions(tools: Mapping[str, CommandTool]) -> None:
    keys = {key for cell, _ in PAGE.rows("key", "meaning") for key in quoted(cell)}
    assert keys == {field.name for field in dataclasses.fields(CliTable)} - {"at", "unread"}
    allowed = [key.strip("`") for key, _ in PAGE.rows("key", "permission")]
    assert allowed == [field.name for field in dataclasses.fields(Permissions)]
    assert tools["make_target"].program.permissions == Permissions(
        reads=("{roots}", "~/.config/make"), writes=("{roots}",), executes=("sh", "cc", "/usr/bin/ld"), network=False
    )
    assert tools["gh_api"].program.permissions is None


def test_working_directory_and_environment_are_expanded(tools: Mapping[str, CommandTool]) -> None:
    made = build_invocation(tools["git_log"], {"repository": "notes"}, environ=HOME)
    assert (made.cwd, made.env) == ("/home/ada/src/notes", {"GIT_TERMINAL_PROMPT": "0"})


def test_risk_follows_the_value_and_the_question_is_that_of_the_page(tools: Mapping[str, CommandTool]) -> None:
    tool = tools["gh_api"]
    for method, risk in ((None, Risk.READ), ("PATCH", Risk.WRITE), ("delete", Risk.DESTRUCTIVE)):
        values = {"endpoint": "user"} | ({"method": method} if method else {})
        assert risk_of(tool, values, environ=HOME) is risk

    arguments = {"endpoint": "repos/ada/notes", "method": "DELETE"}
    made = dataclasses.replace(build_invocation(tool, arguments, environ=HOME), cwd="/home/ada/src")
    asked = question(tool, made, risk_of(tool, arguments, environ=HOME), ProgramSettings())
    assert asked == PAGE.block("text", "Run this command?").rstrip("\n")


@pytest.mark.anyio
async def test_guard_keeps_git_inside_and_ignores_other_programs(tools: Mapping[str, CommandTool]) -> None:
    module: dict[str, Any] = {}
    exec(compile(PAGE.block("python", "from collections"), "guarding.py", "exec"), module)
    guard: PreRunHook = module["guard"]
    call: Any = None
    inside = await guard(tools["git_log"], {"repository": "notes"}, call)
    assert inside == {"repository": str(module["SOURCES"].resolve() / "notes")}
    assert await guard(tools["git_log"], {}, call) == {}
    assert await guard(tools["gh_api"], {"endpoint": "/"}, call) == {}
    with pytest.raises(ToolError, match="is outside"):
        await guard(tools["git_log"], {"repository": "../../etc"}, call)


@pytest.mark.anyio
async def test_handler_asks_before_it_removes() -> None:
    module: dict[str, Any] = {}
    exec(compile(PAGE.block("python", "from toolmason_runtime"), "notes.py", "exec"), module)
    client: Any = SimpleNamespace(capabilities={}, operation_id="1", is_local=True)
    with pytest.raises(ToolError, match=r"Not run: remove_note \(destructive\) needs user approval"):
        await module["remove_note"]("Dune", ToolCall("remove_note", client, ()))


# Runs


def test_page_names_isolation_and_environment_of_the_code() -> None:
    allowed = {*sandbox.LIBRARIES, *sandbox.FILES, *sandbox.DEVICES}
    for path in ("/usr", "/lib", "/proc", "/dev/null", "/dev/zero", "/dev/urandom"):
        assert f"`{path}`" in PAGE.text
        assert path in allowed
    assert f"`{SANDBOX}=off`" in PAGE.text
    assert f"`{POLICY}`" in PAGE.text
    assert RULES["TM522"].title == "A program is not isolated"

    section = PAGE.section("Environment of a program").text.partition("On Windows")[0]
    names = set(re.findall(r"`([A-Z_*]+)`", section))
    environ = {name.replace("*", "ALL"): "x" for name in names} | {"SECRET": "x", "GH_TOKEN": "x"}
    assert set(base_environment(environ)) == {name.replace("*", "ALL") for name in names} | {"TERM"}
    assert "`TERM=dumb`" in section


@pytest.mark.anyio
async def test_output_comes_back_as_on_the_page() -> None:
    shown = PAGE.block("text", "README.md\n")
    stdout, stderr = re.findall(r"\A(.*)\n\[stderr\]\n(.*)\n\[exit code: 2\]\n\Z", shown)[0]
    store = ChunkStore()
    code = f"import sys; print({stdout!r}); print({stderr!r}, file=sys.stderr); sys.exit(2)"
    short, long = [
        await reply(await run(Invocation(argv=(sys.executable, "-I", "-S", "-c", each))), store)
        for each in (code, "print('x' * 50_000)")
    ]
    await store.aclose()

    assert (short.content, short.is_error) == (shown.rstrip("\n"), True)
    first = re.sub(r"[0-9a-f]{32}", "9f86d081884c7d659a2feaa0c55ad015", str(long.content).splitlines()[0])
    assert first == PAGE.block("text", "[cut: ").rstrip("\n")


@pytest.mark.parametrize(
    ("text", "limit"),
    [
        ("element longer than {:,} bytes", MAX_ELEMENT_LENGTH),
        ("longer than {:,} characters", approval.MAX_COMMAND_LENGTH),
        ("or {:,} characters of its beginning", approval.MAX_INPUT_LENGTH),
        ("at most {:,} characters", answer_size.DEFAULT_SIZE),
        ("from {:,} to", answer_size.MIN_SIZE),
        ("to {:,}; the limit", answer_size.MAX_SIZE),
        ("{} KiB of each stream", output_buffer.MAX_IN_MEMORY // 1024),
        ("{} MiB in a temporary file", output_buffer.MAX_IN_FILE // 1024**2),
        ("the newest {} of up to", memory.MAX_TEXTS),
        ("of up to {} KiB in memory", chunk_text.MAX_BYTES_IN_MEMORY // 1024),
        ("the newest {} larger ones", memory.MAX_FILES),
        ("files of {} MiB together", memory.MAX_FILE_BYTES // 1024**2),
        ("SIGTERM, {} second, SIGKILL", "one" if process_group.GRACE_S == 1 else process_group.GRACE_S),
    ],
)
def test_limits_are_those_of_the_code(text: str, limit: object) -> None:
    assert text.format(limit) in PAGE.words


# The policy


def test_policy_of_the_page_fits_its_manifest(policy: Policy, tools: Mapping[str, CommandTool]) -> None:
    assert [name for name in tools if policy.is_enabled(name)] == ["git_log", "git_commit", "gh_api"]
    assert policy.needs_approval("git_commit", Risk.WRITE)
    assert not policy.needs_approval("gh_api", Risk.WRITE)

    head, *lines = PAGE.block("text", "Not allowed by").splitlines()
    assert head == "Not allowed by the policy of this server:"
    errors = policy.check(tools["git_log"], {"max_count": 500, "author": "a|b"}, environ=HOME)
    assert matches("\n".join(lines), "\n".join(errors))
    assert policy.check(tools["git_log"], {}, environ=HOME) == []


def test_policy_of_the_page_has_every_key_and_every_choice() -> None:
    text = PAGE.block("toml", POLICY_MARK)
    keys = set(_keys(tomllib.loads(text)))
    tables = (Policy, Docker, ToolRule, ArgumentRule)
    assert {key for table in tables for key in keys_of(table)} <= keys
    for choice in (*Approval, *HeadlessMode, *DefaultAccess, *ExecutorName):
        assert f'"{choice}"' in text


def _keys(table: Mapping[str, Any]) -> Iterator[str]:
    for key, value in table.items():
        yield key
        if isinstance(value, dict):
            yield from _keys(value)


def test_defaults_and_mistakes_of_a_policy_are_those_of_the_page(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("policy.toml").write_text("[tools.git_log]\n", encoding="utf-8")
    loaded = load_policy(Path("policy.toml"))
    shown = {key.strip("`"): quoted(meaning)[0] for key, meaning in PAGE.rows("key", "default")[:6]}
    assert shown == {
        **{key: getattr(loaded, key) for key in ("default", "approval", "headless")},
        "executor": "local",
        "network": Docker(image="x").network,
        "enabled": str(loaded.tools["git_log"].enabled).lower(),
    }
    assert loaded.docker is None

    text = 'default = "enabled"\napproval = "always"\n\nheadles = "deny"\n'
    Path("policy.toml").write_text(text, encoding="utf-8")
    with pytest.raises(PolicyError) as error:
        load_policy(Path("policy.toml"))
    assert matches(PAGE.block("text", "policy.toml:2:12"), str(error.value))


def test_container_runs_the_command_line_of_the_page(
    policy: Policy, tools: Mapping[str, CommandTool], tmp_path: Path
) -> None:
    (tmp_path / "docker").write_text("#!/bin/sh\n", encoding="utf-8")
    (tmp_path / "docker").chmod(0o755)
    assert policy.docker is not None
    made = dataclasses.replace(build_invocation(tools["git_log"], {}, environ=HOME), cwd="", env={})
    argv = in_container(policy.docker)(made, {"PATH": str(tmp_path)}).argv
    (shown,) = re.findall(r"`(docker run [^`]+) git \.\.\.`", PAGE.words)
    line = re.sub(r"toolmason-[0-9a-f]+", "NAME", shlex.join(["docker", *argv[1:]]))
    assert line.startswith(f"{shown} git --no-pager log ")
