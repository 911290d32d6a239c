"""`install` configures a server in a client and starts it with the environment that the client passes."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
from toolmason_runtime.install.clients import load_facts
from toolmason_runtime.install.command import main
from toolmason_runtime.install.errors import InstallError
from toolmason_runtime.install.launch import is_ours, launch_command, shared_arguments
from toolmason_runtime.install.start import list_tools

PACKAGE = "workbench_server"
FACTS = load_facts(PACKAGE)
SERVER = [sys.executable, "-m", PACKAGE]


def install(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([*SERVER, "install", *arguments], capture_output=True, encoding="utf-8", check=False)


def entry(path: Path) -> dict[str, object]:
    text = path.read_text(encoding="utf-8")
    data = tomllib.loads(text) if path.suffix == ".toml" else json.loads(text)
    [servers] = [data[key] for key in ("mcpServers", "servers", "mcp", "mcp_servers") if key in data]
    result: dict[str, object] = servers["workbench"]
    return result


def test_a_server_is_installed_started_and_removed(home: Path) -> None:
    path = home / ".claude.json"
    path.write_text('{\n  "numStartups": 3\n}\n', encoding="utf-8")

    run = install("claude-code", "--", "--root", str(home))

    assert run.returncode == 0, run.stderr
    assert "Started as Claude Code starts it: 3 tools" in run.stdout
    assert (home / ".claude.json.bak").read_text(encoding="utf-8") == '{\n  "numStartups": 3\n}\n'
    command = entry(path)["command"]
    assert isinstance(command, str)
    assert Path(command).is_absolute()
    assert entry(path)["args"][-2:] == ["--root", str(home)]  # type: ignore[index]
    assert install("claude-code", "--", "--root", str(home)).stdout.startswith(f"{path} needs no change.")

    assert install("claude-code", "--uninstall").returncode == 0
    assert json.loads(path.read_text(encoding="utf-8")) == {"numStartups": 3, "mcpServers": {}}
    assert install("claude-code", "--uninstall").stdout == f"workbench is not in {path}\n"


PLANTED = '{"mcpServers": {"workbench": {"command": "toolmason-workbench", "env": {"PYTHONPATH": "planted"}}}}\n'


def test_a_variable_in_the_file_of_a_repository_runs_no_code(home: Path) -> None:
    project = home / "project"
    path = project / ".mcp.json"
    (project / "planted").mkdir()
    (project / "planted" / "sitecustomize.py").write_text("open('started', 'w').close()", encoding="utf-8")
    path.write_text(PLANTED, encoding="utf-8")

    run = install("claude-code", "--scope", "project")

    assert run.returncode == 4
    assert "`workbench` sets PYTHONPATH, which the server does not read" in run.stderr
    assert path.read_text(encoding="utf-8") == PLANTED
    assert install("claude-code", "--scope", "project", "--force").returncode == 0
    assert "env" not in entry(path)
    assert not (project / "started").exists()


@pytest.mark.skipif(sys.platform == "win32", reason="links need a privilege")
@pytest.mark.parametrize("link", [".cursor", ".cursor/mcp.json"])
def test_a_link_out_of_a_project_is_refused(home: Path, link: str, capsys: pytest.CaptureFixture[str]) -> None:
    path, outside = home / "project" / link, home / "outside"
    outside.mkdir()
    path.parent.mkdir(exist_ok=True)
    path.symlink_to(outside / "mcp.json" if path.suffix else outside)

    assert main(["cursor", "--scope", "project"], package=PACKAGE) == 4

    assert f"is a link to {outside / 'mcp.json'}, outside of the project" in capsys.readouterr().err
    assert not list(outside.iterdir())


def test_a_server_that_does_not_start_is_reported_with_its_error(home: Path) -> None:
    run = install("gemini-cli", "--scope", "project", "--", "--discovery", "unknown")
    assert run.returncode == 1
    assert "does not start as Gemini CLI starts it: the server ended before it answered" in run.stderr
    assert "unknown" in run.stderr.partition("stderr:")[2]
    assert entry(home / "project" / ".gemini" / "settings.json")["args"][-1] == "unknown"  # type: ignore[index]


def test_a_server_gets_the_variables_that_its_client_passes() -> None:
    given = {"GH_TOKEN": "secret", "PATH": "/bin", "MY_KEY": "k", "FOO": "1", "WORKBENCH_ROOTS": "/x"}
    results = {
        name: FACTS.clients[name].environment(FACTS.clients[name].entry, given)
        for name in ("claude-code", "claude-desktop", "codex", "gemini-cli")
    }
    assert results["claude-code"] == given
    assert results["claude-desktop"] == {"PATH": "/bin"}
    assert results["codex"] == {"GH_TOKEN": "secret", "PATH": "/bin", "WORKBENCH_ROOTS": "/x"}
    gemini = {name: value for name, value in results["gemini-cli"].items() if value}
    assert gemini == {"GH_TOKEN": "secret", "PATH": "/bin", "FOO": "1", "WORKBENCH_ROOTS": "/x"}


def test_uvx_is_started_with_its_requirement(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    programs = home / "programs"
    programs.mkdir()
    uvx = programs / "uvx"
    uvx.write_text(f'#!/bin/sh\n[ "$2" = toolmason==1 ] && shift 3 && exec {sys.executable} -m {PACKAGE} "$@"\n')
    uvx.chmod(0o755)
    monkeypatch.setenv("PATH", f"{programs}{os.pathsep}{os.environ['PATH']}")
    (home / ".cursor").mkdir()

    run = install("cursor", "--from", "toolmason==1", "--", "--classic")

    assert run.returncode == 0, run.stderr
    command = ["--from", "toolmason==1", "toolmason-workbench", "--classic"]
    assert entry(home / ".cursor" / "mcp.json") == {"type": "stdio", "command": str(uvx), "args": command}
    assert launch_command(FACTS, "toolmason==1", project=home) == ["uvx", *command[:3]]


@pytest.mark.parametrize("requirement", [".[workbench]", "../src", "./server.whl"])
def test_a_user_s_requirement_has_an_absolute_path(
    home: Path, monkeypatch: pytest.MonkeyPatch, requirement: str
) -> None:
    monkeypatch.setattr("shutil.which", lambda name: f"/bin/{name}")
    (home / "project" / "src" / "server.whl").touch()
    path, _, extras = requirement.partition("[")
    command = launch_command(FACTS, requirement)
    assert command[2] == str(Path(path).absolute()) + ("[" + extras if extras else "")
    assert launch_command(FACTS, "src[x]")[2] == "src[x]"


SHARED_REQUIREMENTS = {
    ".[workbench]": "./src[workbench]",
    "../src": "./src",
    "./server.whl": "./src/server.whl",
    "..": "./.",
    "toolmason[workbench]==1": "toolmason[workbench]==1",
    "git+https://example.com/a/b": "git+https://example.com/a/b",
}


@pytest.mark.parametrize(("requirement", "shared"), SHARED_REQUIREMENTS.items())
def test_a_project_s_requirement_starts_at_the_project(
    home: Path, monkeypatch: pytest.MonkeyPatch, requirement: str, shared: str
) -> None:
    monkeypatch.setattr("shutil.which", lambda name: f"/bin/{name}")
    (home / "project" / "src" / "server.whl").touch()
    assert launch_command(FACTS, requirement, project=home / "project")[2] == shared


ARGUMENTS = {
    ("--root", "{project}"): ["--root", "."],
    ("--root={project}/src", "--all"): ["--root=src", "--all"],
    ("--root", "{project}/../project/docs"): ["--root", "docs"],
    ("--root", "docs", "--name=a=b"): ["--root", "docs", "--name=a=b"],
    ("https://example.com/x", "~/notes"): ["https://example.com/x", "~/notes"],
}


@pytest.mark.parametrize(("arguments", "shared"), ARGUMENTS.items())
def test_arguments_in_a_project_s_file_have_no_path_of_this_machine(
    home: Path, arguments: tuple[str, ...], shared: list[str]
) -> None:
    given = [argument.format(project=home / "project") for argument in arguments]
    assert shared_arguments(given, home / "project") == shared


@pytest.mark.parametrize(
    "options", [["--from", "{home}"], ["--", "--root", "{home}"], ["--", "--root={home}/x"], ["--", "/etc"]]
)
def test_a_path_outside_of_a_project_is_refused_in_its_file(
    home: Path, monkeypatch: pytest.MonkeyPatch, options: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("shutil.which", lambda name: f"/bin/{name}")
    arguments = [option.format(home=home) for option in options]
    assert main(["cursor", "--scope", "project", *arguments], package=PACKAGE) == 4
    assert "is a path of this machine" in capsys.readouterr().err
    assert not (home / "project" / ".cursor").exists()


@pytest.mark.parametrize("client", [name for name, client in FACTS.clients.items() if client.project])
def test_a_project_s_file_starts_the_command_by_its_name(
    home: Path, monkeypatch: pytest.MonkeyPatch, client: str, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("PATH", str(home))
    assert main([client, "--scope", "project", "--", "--root", str(home / "project")], package=PACKAGE) == 1
    files = [path for path in (home / "project").rglob("*") if path.is_file()]
    [path] = [path for path in files if "toolmason-workbench" in path.read_text(encoding="utf-8")]
    assert str(home) not in path.read_text(encoding="utf-8")
    assert "`toolmason-workbench` is not on PATH. Everyone who uses the project" in capsys.readouterr().err


def test_a_module_of_a_project_does_not_replace_the_server(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("toolmason_runtime.install.launch._program", lambda _name: "")
    planted = home / "project" / PACKAGE
    planted.mkdir()
    (planted / "__init__.py").write_text("open('started', 'w').close()", encoding="utf-8")
    command = launch_command(FACTS, "")
    assert is_ours(command, FACTS)
    assert list_tools(command, dict(os.environ), planted.parent)
    assert not (planted.parent / "started").exists()


OTHER = '{"mcpServers": {"workbench": {"command": "other", "args": ["serve"]}}}\n'
COMMENTED = '{"mcpServers": {"workbench": {"command": "toolmason-workbench", "args": ["--all" /* mine */]}}}\n'
USER_FILES = {"cursor": ".cursor/mcp.json", "gemini-cli": ".gemini/settings.json"}
REFUSALS = {
    "a byte order mark": (
        ["gemini-cli"],
        "\ufeff{}",
        "settings.json:1:1: the client does not accept a byte order mark",
    ),
    "a trailing comma": (["gemini-cli"], '{"a": 1,}', "settings.json:1:8: the client does not accept trailing commas"),
    "a project with a name that is too long": (["codex", "--project", "x" * 300], "", "File name too long"),
    "a terminal sequence": (["cursor"], COMMENTED.replace("mine", "\x1b]0;x"), "the comment `/* \\x1b]0;x */`"),
    "a comment in a value": (["cursor"], COMMENTED, "the edit would remove the comment `/* mine */`"),
    "an entry of another server": (["claude-code"], OTHER, 'has another `workbench`:\n{\n  "command": "other"'),
    "removing it": (["claude-code", "--uninstall"], OTHER, "has another `workbench`"),
    "a syntax error": (["claude-code"], '{\n  "a": 1,,\n}\n', ".claude.json:2:10: not JSON"),
    "a comment": (["claude-code"], "{} // mine\n", ".claude.json:1:4: the client does not accept comments"),
    "a list of servers": (["claude-code"], '{"mcpServers": []}\n', "`mcpServers` must be a table of servers"),
    "a project of Claude Desktop": (["claude-desktop", "--scope", "project"], "", "no configuration of a project"),
    "a client that was never started": (["codex"], "", "start Codex once, or create that directory"),
    "a project that does not exist": (["codex", "--project", "none"], "", "none is not a directory"),
}


@pytest.mark.parametrize(("arguments", "text", "message"), REFUSALS.values(), ids=REFUSALS)
def test_a_refusal_has_a_reason_and_writes_nothing(
    home: Path, arguments: list[str], text: str, message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    path = home / USER_FILES.get(arguments[0], ".claude.json")
    path.parent.mkdir(exist_ok=True)
    path.write_text(text, encoding="utf-8")

    assert main(arguments, package=PACKAGE) == 4

    assert message in capsys.readouterr().err
    assert path.read_text(encoding="utf-8") == text
    assert [file for file in home.rglob("*") if file.is_file()] == [path]


def test_installations_at_the_same_time_lose_nothing(home: Path) -> None:
    path = home / ".claude.json"
    path.write_text('{"numStartups": 3}\n', encoding="utf-8")
    command = [*SERVER, "install", "claude-code", "--", "--root"]
    processes = [subprocess.Popen([*command, f"/{number}"], stdout=-3, stderr=-3) for number in range(4)]
    statuses = [process.wait() for process in processes]

    assert 0 in statuses
    assert set(statuses) <= {0, 4}
    assert json.loads(path.read_text(encoding="utf-8"))["numStartups"] == 3
    assert entry(path)["args"][-1] in {"/0", "/1", "/2", "/3"}  # type: ignore[index]
    assert not list(home.glob("*.installing"))


def test_a_comment_that_is_removed_with_the_entry_is_reported(home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = home / ".codex" / "config.toml"
    path.parent.mkdir()
    text = "# mine\n[mcp_servers.workbench]\ncommand = 'toolmason-workbench' # the one in my home\n"
    path.write_text(text, encoding="utf-8")

    assert main(["codex", "--uninstall", "--dry-run"], package=PACKAGE) == 0
    assert path.read_text(encoding="utf-8") == text
    assert main(["codex", "--uninstall"], package=PACKAGE) == 0

    assert path.read_text(encoding="utf-8") == "# mine\n"
    assert path.with_name("config.toml.bak").read_text(encoding="utf-8") == text
    assert capsys.readouterr().out.count("The edit removes the comment # the one in my home\n") == 2


def test_force_replaces_an_entry_of_another_server(home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = home / ".claude.json"
    path.write_text(OTHER, encoding="utf-8")
    assert main(["claude-code", "--force", "--dry-run"], package=PACKAGE) == 0
    assert path.read_text(encoding="utf-8") == OTHER
    changes = capsys.readouterr().out
    assert '-{"mcpServers": {"workbench": {"command": "other"' in changes
    assert changes.endswith("Nothing was written.\n")


SECRETS = {
    "beside the entry": ('{"primaryApiKey": "sk-1", "mcpServers": {"o": {"env": {"T": "sk-2"}}}}\n', 0),
    "of the entry": (COMMENTED.replace("}}}", ', "env": {"GH_TOKEN": "sk-3"}}}}').replace(" /* mine */", ""), 0),
    "of another server": (OTHER.replace("}}}", ', "env": {"KEY": "sk-4"}}}}').replace("serve", "--key=sk-5"), 4),
}


@pytest.mark.parametrize(("text", "status"), SECRETS.values(), ids=SECRETS)
@pytest.mark.parametrize("option", ["--dry-run", "--uninstall"])
def test_credentials_in_the_file_are_not_printed(
    home: Path, text: str, status: int, option: str, capsys: pytest.CaptureFixture[str]
) -> None:
    (home / ".claude.json").write_text(text, encoding="utf-8")
    assert main(["claude-code", option], package=PACKAGE) == status
    assert "sk-" not in "".join(capsys.readouterr())


@pytest.mark.skipif(sys.platform == "win32", reason="arguments are Unicode")
@pytest.mark.parametrize("client", ["cursor", "codex"])
def test_an_argument_that_is_not_utf_8_is_refused(home: Path, client: str, capsys: pytest.CaptureFixture[str]) -> None:
    (home / f".{client}").mkdir()
    assert main([client, "--", os.fsdecode(b"/\xff")], package=PACKAGE) == 4
    assert r"the argument '/\udcff' is not UTF-8" in capsys.readouterr().err
    assert not list((home / f".{client}").iterdir())


def test_a_variable_that_no_program_can_get_is_reported(home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    text = COMMENTED.replace("}}}", ', "env": {"A": "\\u0000"}}}}').replace(" /* mine */", "")
    (home / ".claude.json").write_text(text, encoding="utf-8")
    assert main(["claude-code"], package=PACKAGE) == 1
    assert "embedded null" in capsys.readouterr().err


PATHS = {
    ("claude-code", "linux", ""): ".claude.json",
    ("claude-code", "linux", "CLAUDE_CONFIG_DIR"): "own/.claude.json",
    ("claude-desktop", "darwin", ""): "Library/Application Support/Claude/claude_desktop_config.json",
    ("claude-desktop", "win32", "APPDATA"): "own/Claude/claude_desktop_config.json",
    ("codex", "linux", ""): ".codex/config.toml",
    ("codex", "win32", "CODEX_HOME"): "own/config.toml",
    ("cursor", "darwin", ""): ".cursor/mcp.json",
    ("gemini-cli", "linux", ""): ".gemini/settings.json",
    ("gemini-cli", "linux", "GEMINI_CLI_HOME"): "own/.gemini/settings.json",
    ("opencode", "darwin", ""): ".config/opencode/opencode.json",
    ("opencode", "linux", "XDG_CONFIG_HOME"): "own/opencode/opencode.json",
    ("vscode", "linux", ""): ".config/Code/User/mcp.json",
    ("vscode", "win32", "APPDATA"): "own/Code/User/mcp.json",
}


@pytest.mark.parametrize(("client", "platform", "variable"), PATHS)
def test_a_user_has_one_file_of_each_client(home: Path, client: str, platform: str, variable: str) -> None:
    path = home / PATHS[client, platform, variable]
    path.parent.mkdir(parents=True, exist_ok=True)
    environ = {variable: str(home / "own")} if variable else {}
    assert FACTS.clients[client].path("user", home, environ, platform) == path


def test_an_unknown_path_is_refused(home: Path) -> None:
    with pytest.raises(InstallError, match="configuration of Claude Desktop on linux is not known"):
        FACTS.clients["claude-desktop"].path("user", home, {}, "linux")


def test_the_other_name_of_a_file_is_used_if_it_exists(home: Path) -> None:
    (home / "opencode.jsonc").touch()
    assert FACTS.clients["opencode"].path("project", home, {}) == home / "opencode.jsonc"


MANIFEST = """
edition = 1
server = { name = "workbench", package = "repo_server" }
categories.code.summary = "Code and history of a repository"
clis.git = { command = ["git"], category = "code", reads = ["{roots}"] }

[tools.show_history]
summary = "Show the commits of a branch, newest first"
cli = "git"
argv = ["log"]
risk = "read"
"""


def test_a_server_without_a_command_is_started_by_its_manifest(home: Path) -> None:
    project, path = home / "project", home / "project" / ".mcp.json"
    manifest = project / "manifest" / "repo.toml"
    manifest.parent.mkdir()
    manifest.write_text(MANIFEST, encoding="utf-8")
    toolmason = str(Path(sys.executable).with_name("toolmason"))
    subprocess.run([toolmason, "generate"], cwd=project, check=True, capture_output=True)
    run = [toolmason, "run", str(manifest), "install", "claude-code", "--scope", "project"]

    assert "2 tools in " in subprocess.run(run, check=True, capture_output=True, encoding="utf-8").stdout
    assert entry(path) == {"type": "stdio", "command": "toolmason", "args": ["run", "manifest/repo.toml"]}

    subprocess.run([*run, "--uninstall"], check=True, capture_output=True)
    assert json.loads(path.read_text(encoding="utf-8")) == {"mcpServers": {}}


COMMANDS = {
    "/usr/bin/toolmason-workbench --root /x": True,
    "C:\\bin\\toolmason-workbench.exe": True,
    "/usr/bin/python3 -m workbench_server": True,
    "uvx --from toolmason[workbench] toolmason-workbench": True,
    "uvx workbench-of-another": False,
    "/usr/bin/python3 -m other workbench_server": False,
    "toolmason run manifest/workbench.toml": False,
    "": False,
}


@pytest.mark.parametrize(("command", "expected"), COMMANDS.items())
def test_an_entry_is_ours_if_it_starts_this_server(command: str, expected: bool) -> None:
    assert is_ours(command.split(), FACTS) is expected


PROGRAMS = {
    "a missing program": (["/none/at/all"], "cannot start /none/at/all: No such file"),
    "an exit": (
        [sys.executable, "-c", "raise SystemExit('no key')"],
        "ended before it answered `initialize`; its stderr:\nno key",
    ),
    "other output": ([sys.executable, "-c", "print('hello')"], "stdout contains text that is not MCP: b'hello"),
    "an error": (
        [sys.executable, "-c", 'print(\'{"id": 1, "error": {"code": -1}}\'); input()'],
        "`initialize` failed: {'code': -1}",
    ),
    "no result": (
        [sys.executable, "-c", "print('{\"id\": 1}'); input()"],
        "the answer to `initialize` has no `result`",
    ),
    "silence": ([sys.executable, "-c", "import time; time.sleep(600)"], "no answer to `initialize` within 1 seconds"),
}


@pytest.mark.parametrize(("command", "message"), PROGRAMS.values(), ids=PROGRAMS)
def test_a_program_that_is_not_a_server_is_reported_and_ended(tmp_path: Path, command: list[str], message: str) -> None:
    limit = 1 if "600" in command[-1] else 30
    with pytest.raises(InstallError) as caught:
        list_tools(command, os.environ, tmp_path, time_limit_s=limit)
    assert message in str(caught.value)


@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
def test_a_program_that_the_server_leaves_behind_is_ended(tmp_path: Path) -> None:
    script = "sleep 60 </dev/null >/dev/null 2>&1 & echo $! >pid"
    with pytest.raises(InstallError, match="ended before it answered"):
        list_tools(["/bin/sh", "-c", script], os.environ, tmp_path)
    status = Path("/proc", (tmp_path / "pid").read_text(encoding="utf-8").strip(), "stat")
    assert not status.exists() or status.read_text(encoding="utf-8").split()[2] != "S"  # Killed, perhaps not yet gone.
