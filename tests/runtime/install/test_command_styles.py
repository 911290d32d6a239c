"""`install --commands` writes command files for the discovery style in which the server is started."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path, PurePosixPath
from typing import Any

import pytest
from toolmason_runtime import server_files
from toolmason_runtime.install import InstallError
from toolmason_runtime.install.clients import load_facts
from toolmason_runtime.install.command import main
from toolmason_runtime.install.command_styles import (
    in_style,
    load_catalogue_of,
    prefix_of,
    skills_with_names,
    style_of,
)
from toolmason_runtime.install.commands import command_directory
from toolmason_runtime.server.dispatch import Dispatcher
from toolmason_runtime.shared import checksum
from toolmason_runtime.shared.selection import Selection
from toolmason_runtime.shared.styles import STYLES

PACKAGE = "workbench_server"
FACTS = load_facts(PACKAGE)
FILES = server_files(PACKAGE)
CATALOGUE = load_catalogue_of(PACKAGE)
CLIENTS = sorted(name for name, client in FACTS.clients.items() if client.commands)
CALLS = {
    "search-call": "call_read",
    "list-describe": "call_tool",
    "discover-schema": "call_tool",
    "classic": "",
    "code": "",  # programs call them
}


def commands(client: str, project: Path) -> dict[str, bytes]:
    directory = command_directory(FACTS.clients[client], FILES / "commands" / client, "project", project, {})
    assert directory is not None
    return dict(directory.commands)


@pytest.mark.parametrize("style", STYLES)
@pytest.mark.parametrize("client", CLIENTS)
def test_a_command_file_names_the_meta_tools_of_the_style(client: str, style: str, tmp_path: Path) -> None:
    default = commands(client, tmp_path)
    written = in_style(default, CATALOGUE, style)

    assert written.keys() == default.keys()
    for name, data in written.items():
        text = data.decode()
        assert set(re.findall(r"`(call\w*)`", text)) == ({CALLS[style]} if CALLS[style] else set())
        assert checksum.verify(PurePosixPath(name), data) is checksum.State.VALID
        assert not re.search(r"\{(tool|calling):", text)
        if name.endswith(".toml"):
            assert "{{args}}" in tomllib.loads(text)["prompt"]
        if style == "search-call":
            assert data == default[name]


def test_the_tools_that_claude_code_may_run_are_those_of_the_style(tmp_path: Path) -> None:
    default = commands("claude-code", tmp_path)

    def allowed(style: str) -> str:
        text = in_style(default, CATALOGUE, style)["workbench-find.md"].decode()
        (names,) = re.findall("^allowed-tools: (.*)$", text, re.MULTILINE)
        return str(names)

    assert allowed("search-call") == "mcp__workbench__call_read, mcp__workbench__search"
    assert allowed("list-describe") == "mcp__workbench__call_tool, mcp__workbench__get_tool_description"
    expected = ("grep_content", "read_files", "search_files")
    assert allowed("classic") == ", ".join(f"mcp__workbench__{name}" for name in expected)


SKILLS = {f"{path.parent.name}/SKILL.md": path.read_bytes() for path in (FILES / "skills").glob("*/SKILL.md")}
META_NAMES = {name for facts in STYLES.values() for name in facts.metas}


@pytest.mark.parametrize("prefix", ["", "workbench_", "w_"])
@pytest.mark.parametrize("style", STYLES)
def test_a_skill_names_the_tools_that_the_client_lists(style: str, prefix: str) -> None:
    written = skills_with_names(SKILLS, CATALOGUE, style, prefix)
    catalogue: Any = CATALOGUE | {"discovery": CATALOGUE["discovery"] | {"prefix": prefix}}
    dispatcher = Dispatcher(catalogue, selection=Selection(style), load_index=dict)
    listed = {prefix + name for name in dispatcher.listed}

    assert written.keys() == SKILLS.keys()
    for name, data in written.items():
        text = data.decode()
        assert checksum.verify(PurePosixPath(name), data) is checksum.State.VALID
        names = set(re.findall(r"`(\w+)`", text))
        assert {each for each in names if each.removeprefix(prefix) in META_NAMES} <= listed
        assert not {each for each in names if prefix + each in listed} - listed
        if style != "classic" and "-shell/" not in name:
            assert any(each.removeprefix(prefix) in META_NAMES for each in names)
        if style == "search-call" and not prefix:
            assert data == SKILLS[name]


def test_a_skill_without_names_stays() -> None:
    skill = SKILLS["workbench-debug/SKILL.md"].decode()
    text = f"{skill}\nProse with {{search}}, `x` and e.g. 1.5 {{y}}.\n\n- An item without `call_read`.\n"
    written = skills_with_names({"a/SKILL.md": text.encode()}, CATALOGUE, "classic", "")["a/SKILL.md"].decode()

    assert written.endswith("\nProse with {search}, `x` and e.g. 1.5 {y}.\n")
    assert "call_read" not in written


@pytest.mark.parametrize(
    ("client", "arguments", "names"),
    [
        ("junie", [], {"workbench_call_read"}),
        ("roo-code", ["--prefix", "w_"], {"w_call_read"}),
        ("junie", ["--prefix=", "--discovery=list-describe"], {"call_tool"}),
        ("codex", ["--prefix", "w_"], {"call_read"}),
        ("cline-cli", ["--discovery", "discover-schema"], {"call_tool"}),
        ("copilot-cli", ["--classic"], set()),
    ],
)
@pytest.mark.usefixtures("started")
def test_install_writes_skills_for_the_client(home: Path, client: str, arguments: list[str], names: set[str]) -> None:
    (home / ".cline").mkdir()
    scope = "project" if FACTS.clients[client].project else "user"

    assert main([client, "--scope", scope, "--", *arguments], package=PACKAGE, server_files=FILES) == 0
    text = next(home.rglob("workbench-debug/SKILL.md")).read_text(encoding="utf-8")
    assert set(re.findall(r"`(\w*call\w*)`", text)) == names


@pytest.mark.parametrize(
    ("arguments", "prefix"),
    [
        ([], "workbench_"),
        (["--prefix", "w_"], "w_"),
        (["--prefix="], ""),
        (["--prefix", ""], ""),
        (["--prefix"], "workbench_"),
    ],
)
def test_the_prefix_is_in_the_arguments_of_the_server(arguments: list[str], prefix: str) -> None:
    assert prefix_of(arguments, CATALOGUE) == prefix


def test_install_writes_the_files_for_the_style_of_the_server(home: Path) -> None:
    project = home / "project"
    options = ["claude-code", "--scope", "project", "--project", str(project), "--commands", "--dry-run"]
    for arguments in (["--classic"], ["--discovery=list-describe"]):
        assert main([*options, "--", *arguments], package=PACKAGE, server_files=FILES) == 0


@pytest.mark.parametrize(
    ("arguments", "style"),
    [
        ([], ""),
        (["--root", "."], ""),
        (["--classic"], "classic"),
        (["--discovery", "list-describe"], "list-describe"),
        (["--discovery=discover-schema", "--all"], "discover-schema"),
        (["--discovery"], ""),
        (["--discovery", "none"], ""),
    ],
)
def test_the_style_is_in_the_arguments_of_the_server(arguments: list[str], style: str) -> None:
    assert style_of(arguments) == style


def test_a_file_without_the_text_of_its_prompt_is_not_written() -> None:
    with pytest.raises(InstallError, match="cannot be written for the style classic"):
        in_style({"workbench-find.md": b"Other text.\n"}, CATALOGUE, "classic")
