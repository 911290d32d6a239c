"""Client files start the server as it can be started, and `toolmason run` starts it without an installation."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tomllib
from collections.abc import Callable
from pathlib import Path, PurePosixPath

import pytest
from click.testing import CliRunner, Result
from toolmason_runtime.shared.client_profiles import client_profile

from toolmason.catalogue.table import catalogue
from toolmason.clients import GEMINI_CLI, clients
from toolmason.commands import toolmason
from toolmason.diagnostics import Diagnostics
from toolmason.manifest.input_files import MAX_INPUT_BYTES
from toolmason.model.client_launch import PyprojectError, read_declared
from toolmason.model.server import Server
from toolmason.pipeline import read
from toolmason.project import Project, find_project
from toolmason.render.renderer import render

MANIFEST = """
edition = 1
server = { name = "repo", package = "repo_server" }
outputs.include = ["clients"]
categories.code.summary = "Code and history of a repository"
clis.git = { command = ["git"], category = "code", pass_env = ["GH_TOKEN", "EDITOR"], timeout = 40 }

[tools.show_history]
summary = "Show the commits of a branch, newest first"
cli = "git"
argv = ["log"]
risk = "read"
"""
SCRIPTS = '[project]\nname = "repo"\n\n[project.scripts]\nrepo = "repo_server.__main__:main"\n'
HELLO = {
    "jsonrpc": "2.0",
    "id": 1,
    "method": "initialize",
    "params": {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "test", "version": "1"}},
}
PATIENCE_S = 60


@pytest.fixture
def bare(tmp_path: Path) -> Project:
    """A manifest and nothing else."""
    (tmp_path / "manifest").mkdir()
    (tmp_path / "manifest" / "repo.toml").write_text(MANIFEST, encoding="utf-8")
    return find_project(tmp_path)


def server_of(project: Project) -> Server:
    reading = read(project, diagnostics=Diagnostics())
    assert reading is not None
    return reading.server


def client_files(project: Project) -> dict[str, str]:
    """Return the text of each client's file, by the client's name."""
    files = render(server_of(project))
    return {file.path.parts[1]: file.text for file in files if file.path.parts[0] == "clients"}


def started(client: str, text: str) -> list[str]:
    """Return the command line that a client takes from its file."""
    if client == "codex":
        [table] = tomllib.loads(text)["mcp_servers"].values()
        return [table["command"], *table["args"]]
    document = json.loads(text)
    [servers] = [document[key] for key in ("mcpServers", "servers", "mcp") if key in document]
    [table] = servers.values()
    command = table["command"]
    return command if isinstance(command, list) else [command, *table["args"]]


def test_without_an_installed_command_every_client_runs_the_manifest(bare: Project) -> None:
    commands = {client: started(client, text) for client, text in client_files(bare).items()}

    anywhere = commands.pop("claude-desktop")
    assert anywhere == ["<absolute path of toolmason>", "run", "<absolute path of manifest/repo.toml>"]
    assert len(commands) == 6
    assert all(each == ["toolmason", "run", "manifest/repo.toml"] for each in commands.values())


def test_a_command_that_the_project_installs_is_used_by_every_client(bare: Project) -> None:
    (bare.root / "pyproject.toml").write_text(SCRIPTS, encoding="utf-8")
    commands = {client: started(client, text) for client, text in client_files(bare).items()}

    assert commands.pop("claude-desktop") == ["<absolute path of repo>"]
    assert all(each == ["repo"] for each in commands.values())


def test_a_change_of_pyproject_shows_in_check(project: Project, run: Callable[..., Result]) -> None:
    assert run("generate").exit_code == 0
    assert run("check").exit_code == 0
    pyproject = project.root / "pyproject.toml"
    pyproject.write_text(pyproject.read_text(encoding="utf-8").replace("[project.scripts]", "[project.other]"))

    checked = run("check")

    assert checked.exit_code == 3
    assert "notes_server/install.json" in checked.output


@pytest.mark.parametrize(
    ("text", "scripts"),
    [
        (SCRIPTS, {"repo"}),
        ("", set()),
        ("project = 1", set()),
        ("[project]\nscripts = ['repo']", set()),
    ],
)
def test_scripts_are_those_of_the_project_table(tmp_path: Path, text: str, scripts: set[str]) -> None:
    (tmp_path / "pyproject.toml").write_text(text, encoding="utf-8")

    assert read_declared(tmp_path).scripts == scripts


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (b"\xff", "not UTF-8 at byte 0"),
        (b"a = ", "Invalid value"),
        (b"#" * (MAX_INPUT_BYTES + 1), "larger than 16 MiB"),
    ],
)
def test_an_unreadable_pyproject_is_reported(tmp_path: Path, data: bytes, reason: str) -> None:
    (tmp_path / "pyproject.toml").write_bytes(data)

    with pytest.raises(PyprojectError, match=reason):
        read_declared(tmp_path)


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no named pipes in folders")
def test_a_pyproject_that_is_a_fifo_or_an_outside_link_is_refused(tmp_path: Path) -> None:
    root = tmp_path / "project"
    root.mkdir()
    os.mkfifo(root / "pyproject.toml")
    with pytest.raises(PyprojectError, match="not a regular file"):
        read_declared(root)

    (root / "pyproject.toml").unlink()
    (tmp_path / "elsewhere.toml").write_text(SCRIPTS, encoding="utf-8")
    (root / "pyproject.toml").symlink_to(tmp_path / "elsewhere.toml")
    with pytest.raises(PyprojectError, match="is outside the project"):
        read_declared(root)


def test_the_gemini_cli_entry_passes_on_withheld_variables(bare: Project) -> None:
    [server] = json.loads(client_files(bare)["gemini-cli"])["mcpServers"].values()

    assert server["env"] == {"GH_TOKEN": "${GH_TOKEN:-}"}


@pytest.mark.parametrize(
    ("name", "is_withheld"),
    [
        ("GEMINI_API_KEY", True),
        ("GH_TOKEN", True),
        ("SSH_AUTH_SOCK", True),
        ("google_cloud_project", True),
        ("GEMINI_CLI_KEY", False),
        ("EDITOR", False),
        ("WORKBENCH_ROOTS", False),
    ],
)
def test_names_that_gemini_cli_withholds_are_known(name: str, is_withheld: bool) -> None:
    withheld = clients()[GEMINI_CLI].withheld

    assert withheld is not None
    assert withheld.includes(name) is is_withheld


@pytest.mark.parametrize(
    ("manifest", "seconds"),
    [
        (MANIFEST, 300),
        (MANIFEST.replace("timeout = 40", "timeout = 900"), 930),
        (MANIFEST.replace('"repo_server" }', '"repo_server", tool_timeout = 45.5 }'), 45.5),
        (MANIFEST.replace('argv = ["log"]', 'argv = ["log"]\ntimeout = 400'), 430),
    ],
)
def test_codex_waits_as_long_as_the_longest_tool_may_take(bare: Project, manifest: str, seconds: float) -> None:
    bare.manifest.write_text(manifest, encoding="utf-8")

    [server] = tomllib.loads(client_files(bare)["codex"])["mcp_servers"].values()

    assert server["tool_timeout_sec"] == seconds


def test_the_commented_limit_of_codex_is_a_key_of_the_whole_file(bare: Project) -> None:
    text = client_files(bare)["codex"].replace("# tool_output_token_limit", "tool_output_token_limit")

    assert tomllib.loads(text)["tool_output_token_limit"] == 12_000


def served(folder: Path, *arguments: str, sent: str = "") -> subprocess.CompletedProcess[str]:
    """Run `toolmason` in a folder until it has read its input."""
    return subprocess.run(
        [sys.executable, "-m", "toolmason", *arguments],
        cwd=folder,
        input=sent,
        capture_output=True,
        check=False,
        encoding="utf-8",
        timeout=PATIENCE_S,
    )


def test_run_serves_a_project_that_nobody_has_installed(bare: Project) -> None:
    assert CliRunner().invoke(toolmason, ["generate", "--manifest", str(bare.manifest)]).exit_code == 0

    ended = served(bare.root, "run", "manifest/repo.toml", sent=json.dumps(HELLO) + "\n")

    assert ended.returncode == 0, ended.stderr
    assert json.loads(ended.stdout)["result"]["serverInfo"]["name"] == "repo"


def test_run_serves_the_handlers_of_the_project(project: Project) -> None:
    example = server_of(project).tools[0]
    arguments = dict(example.examples[0].arguments)
    request = {"name": "call", "arguments": {"tool_name": example.name, "args": arguments}}
    lines = [HELLO, {"jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": request}]
    command = [sys.executable, "-m", "toolmason", "run", project.shown_manifest]
    with subprocess.Popen(
        command, cwd=project.root, stdin=subprocess.PIPE, stdout=subprocess.PIPE, encoding="utf-8"
    ) as server:
        assert server.stdin is not None
        assert server.stdout is not None
        server.stdin.write("".join(f"{json.dumps(each)}\n" for each in lines))
        server.stdin.flush()
        answers = [json.loads(server.stdout.readline()) for _ in lines]
        server.stdin.close()
        assert server.wait(PATIENCE_S) == 0

    assert "isError" not in answers[1]["result"]
    assert answers[1]["result"]["structuredContent"]


def test_run_hands_on_the_flags_of_the_server(bare: Project) -> None:
    assert CliRunner().invoke(toolmason, ["generate", "--manifest", str(bare.manifest)]).exit_code == 0

    listed = served(bare.root.parent, "run", str(bare.manifest), "--list-tools")
    refused = served(bare.root, "run", "manifest/repo.toml", "--toolsets", "nothing")

    assert listed.stdout.startswith("show_history: ")
    assert refused.returncode == 2
    assert "nothing" in refused.stderr


def test_run_without_generated_files_suggests_generate(bare: Project) -> None:
    ended = served(bare.root, "run")

    assert ended.returncode == 2
    assert "no generated/repo_server/__main__.py" in ended.stderr
    assert "toolmason generate --manifest manifest/repo.toml" in ended.stderr


@pytest.mark.parametrize("text", ["server = 1", "a = ", '[server]\npackage = "../x"'])
def test_run_refuses_a_manifest_that_names_no_package(bare: Project, text: str) -> None:
    bare.manifest.write_text(text, encoding="utf-8")

    ended = served(bare.root, "run")

    assert ended.returncode == 2
    assert "see toolmason check" in ended.stderr
    assert "Traceback" not in ended.stderr


def test_help_of_run_warns_that_it_runs_code_of_the_project() -> None:
    shown = CliRunner().invoke(toolmason, ["run", "--help"]).output

    assert "This runs the project's code" in " ".join(shown.split())


def test_paths_of_client_files_have_slashes(bare: Project) -> None:
    assert server_of(bare).launch[-1] == PurePosixPath("manifest", "repo.toml").as_posix()


@pytest.mark.parametrize(
    ("manifest", "seconds"),
    [
        (MANIFEST.replace("timeout = 40", "timeout = 900"), 300),
        (MANIFEST.replace('"repo_server" }', '"repo_server", tool_timeout = 45.5 }'), 45.5),
    ],
)
def test_a_server_never_expects_codex_to_wait_longer_than_by_default(
    bare: Project, manifest: str, seconds: float
) -> None:
    bare.manifest.write_text(manifest, encoding="utf-8")

    timeouts = catalogue(server_of(bare))["server"]["tool_timeouts"]

    assert timeouts["codex-mcp-client"] == seconds
    assert client_profile("gemini-cli-mcp-client").tool_timeout_s == 600
    assert "opencode" not in timeouts
