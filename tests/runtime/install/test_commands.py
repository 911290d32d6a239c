"""`install --commands` writes the files of slash commands, and replaces or removes only those without edits."""

from __future__ import annotations

import json
import subprocess
import sys
from hashlib import sha256
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from toolmason_runtime import server_files
from toolmason_runtime.install import InstallError
from toolmason_runtime.install.clients import load_facts
from toolmason_runtime.install.command import main
from toolmason_runtime.install.commands import OURS, CommandDirectory, State, command_directory

PACKAGE = "workbench_server"
FACTS = load_facts(PACKAGE)
FILES = server_files(PACKAGE)
CLIENTS = sorted(name for name, client in FACTS.clients.items() if client.commands)


def directory(client: str, project: Path, scope: str = "project") -> CommandDirectory:
    result = command_directory(FACTS.clients[client], FILES / "commands" / client, scope, project, {})
    assert result is not None
    return result


def run(*arguments: str) -> int:
    return main(arguments, package=PACKAGE, server_files=FILES)


def older(data: bytes) -> bytes:
    """Return another generated version of a command file with front matter: a description that ends in `!`."""
    lines = [line for line in data.splitlines(keepends=True) if b"sha256" not in line]
    index = next(number for number, line in enumerate(lines) if line.startswith(b"description:"))
    lines[index] = lines[index].rstrip() + b"!\n"
    end = lines.index(b"---\n", 1)
    digest = sha256(b"".join(lines)).hexdigest()[:32].encode()
    return b"".join([*lines[:end], b"# toolmason: sha256 " + digest + b"\n", *lines[end:]])


def test_commands_are_installed_updated_and_removed(home: Path) -> None:
    project = home / "project"
    command = [sys.executable, "-m", PACKAGE, "install", "claude-code", "--scope", "project"]
    commands = directory("claude-code", project)
    first, second, third, *_ = commands.commands
    foreign = commands.path / "mine.md"

    def install(*arguments: str) -> str:
        return subprocess.run([*command, *arguments], check=True, capture_output=True, encoding="utf-8").stdout

    assert f"Wrote commands in {commands.path}: {first}, " in install("--commands")
    server = json.loads((project / ".mcp.json").read_text(encoding="utf-8"))["mcpServers"]["workbench"]
    assert server["args"][-1] == "--no-command-prompts"
    assert {path.name: path.read_bytes() for path in commands.path.iterdir()} == commands.commands

    foreign.write_text("Mine.", encoding="utf-8")
    edited = commands.commands[first] + b"And in Latin.\n"
    (commands.path / first).write_bytes(edited)
    (commands.path / second).write_bytes(older(commands.commands[second]))
    (commands.path / third).write_bytes(commands.commands[third].replace(b"\n", b"\r\n"))
    output = install("--", "--root", str(project / "src"))

    assert f"Wrote commands in {commands.path}: {second}\n" in output
    assert f"Left {commands.path / first}: it was edited.\n" in output
    assert commands.states()[second] is State.CURRENT
    server = json.loads((project / ".mcp.json").read_text(encoding="utf-8"))["mcpServers"]["workbench"]
    assert server["args"][-3:] == ["--root", "src", "--no-command-prompts"]

    assert f"Left {commands.path / first}: it was edited.\n" in install("--uninstall")
    assert {path.name: path.read_bytes() for path in commands.path.iterdir()} == {first: edited, "mine.md": b"Mine."}


@pytest.mark.parametrize("client", CLIENTS)
def test_a_dry_run_shows_the_commands_and_changes_nothing(
    home: Path, client: str, capsys: pytest.CaptureFixture[str]
) -> None:
    commands = directory(client, home / "project")
    assert run(client, "--scope", "project", "--commands", "--dry-run") == 0
    assert f"Would write commands in {commands.path}: {', '.join(commands.commands)}\n" in capsys.readouterr().out
    assert [path for path in home.rglob("*") if path.is_file()] == []

    commands.path.mkdir(parents=True)
    for name in commands.commands:
        commands.write(name)
    assert run(client, "--scope", "project", "--uninstall", "--dry-run") == 0
    assert f"Would remove commands in {commands.path}: " in capsys.readouterr().out
    assert set(commands.states().values()) == {State.CURRENT}
    assert run(client, "--scope", "project", "--uninstall") == 0
    assert list(commands.path.iterdir()) == []


def test_a_client_without_command_files_is_refused(home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run("codex", "--scope", "project", "--commands") == 4
    assert "`workbench` has no command files for Codex; leave --commands out" in capsys.readouterr().err
    assert not (home / "project" / ".codex").exists()


def test_names_that_other_files_have_are_refused_before_anything_is_written(
    home: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    commands = directory("gemini-cli", home / "project")
    commands.path.mkdir(parents=True)
    for name in commands.commands:
        (commands.path / name).write_text("prompt = 'Mine.'\n", encoding="utf-8")

    assert run("gemini-cli", "--scope", "project", "--commands") == 4

    assert "have the names of all commands; rename them" in capsys.readouterr().err
    assert not (home / "project" / ".gemini" / "settings.json").exists()
    assert set(commands.states().values()) == {State.FOREIGN}


@pytest.mark.skipif(sys.platform == "win32", reason="links need a privilege")
def test_links_out_of_a_project_are_not_followed_or_replaced(home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    commands = directory("claude-code", home / "project")
    name = next(iter(commands.commands))
    commands.path.mkdir(parents=True)
    (home / name).write_bytes(older(commands.commands[name]))
    (commands.path / name).symlink_to(home / name)
    assert commands.state(name) is State.FOREIGN
    list(commands.change(removes=True, dry_run=False))
    assert (commands.path / name).is_symlink()

    (commands.path / name).unlink()
    commands.path.rmdir()
    commands.path.symlink_to(home)
    assert run("claude-code", "--scope", "project", "--commands") == 4
    assert "outside of the project" in capsys.readouterr().err
    assert run("claude-code", "--scope", "project", "--dry-run") == 0


DIRECTORIES = {
    ("claude-code", "linux", ""): ".claude/commands",
    ("claude-code", "linux", "CLAUDE_CONFIG_DIR"): "own/commands",
    ("gemini-cli", "linux", ""): ".gemini/commands",
    ("gemini-cli", "darwin", "GEMINI_CLI_HOME"): "own/.gemini/commands",
    ("opencode", "linux", ""): ".config/opencode/command",
    ("opencode", "linux", "XDG_CONFIG_HOME"): "own/opencode/command",
    ("cursor", "win32", ""): ".cursor/commands",
}


@pytest.mark.parametrize(("client", "platform", "variable"), DIRECTORIES)
def test_a_user_has_one_directory_of_commands_of_each_client(
    home: Path, client: str, platform: str, variable: str
) -> None:
    environ = {variable: str(home / "own")} if variable else {}
    expected = home / DIRECTORIES[client, platform, variable]
    assert FACTS.clients[client].command_path("user", home, environ, platform) == expected


def test_the_message_for_a_file_that_cannot_be_replaced_contains_its_path(tmp_path: Path) -> None:
    commands = directory("claude-code", tmp_path)
    name, data = next(iter(commands.commands.items()))
    commands.path.mkdir(parents=True)
    path = commands.path / name
    path.write_bytes(older(data))
    (tmp_path / "other").hardlink_to(path)

    with pytest.raises(InstallError, match="hard links") as error:
        commands.write(name)

    assert str(path) in str(error.value)
    assert path.read_bytes() == older(data)


def test_a_file_that_another_server_generated_is_not_ours(tmp_path: Path) -> None:
    commands = directory("claude-code", tmp_path)
    name, data = next(iter(commands.commands.items()))
    commands.path.mkdir(parents=True)
    lines = data.replace(b"Generated by toolmason from ", b"Generated by toolmason from another/")
    (commands.path / name).write_bytes(older(lines))
    assert commands.state(name) is State.FOREIGN
    (commands.path / name).write_bytes(older(data))
    assert commands.state(name) is State.OUTDATED


@given(data=st.data())
def test_an_edit_of_any_kind_is_never_lost(data: st.DataObject, tmp_path_factory: pytest.TempPathFactory) -> None:
    commands = directory(data.draw(st.sampled_from(CLIENTS)), tmp_path_factory.mktemp("project"))
    name, text = data.draw(st.sampled_from(sorted(commands.commands.items())))
    start = data.draw(st.integers(0, len(text)))
    end = data.draw(st.integers(start, min(start + 40, len(text))))
    edited = text[:start] + data.draw(st.binary(max_size=8) | st.sampled_from([text, b"---\n"])) + text[end:]
    commands.path.mkdir(parents=True)
    (commands.path / name).write_bytes(edited)

    is_same = edited.replace(b"\r\n", b"\n") == text
    assert (commands.state(name) in OURS) is is_same
    for removes in (False, True):
        list(commands.change(removes=removes, dry_run=False))
        assert is_same or (commands.path / name).read_bytes() == edited
