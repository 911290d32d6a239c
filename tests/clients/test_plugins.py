"""The generated plugin and extension of Workbench, validated, installed and started by Claude Code and Gemini CLI."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest

TESTS = Path(__file__).parents[1]
PLUGINS = TESTS.parent / "generated" / "plugins"
CLAUDE = shutil.which("claude", path=str(TESTS / "clients" / "node_modules" / ".bin"))
GEMINI = str(TESTS / "node_modules" / ".bin" / "gemini")
SKILLS = {path.parent.name for path in PLUGINS.glob("claude-code/skills/*/SKILL.md")}
COMMANDS = {path.stem for path in PLUGINS.glob("claude-code/commands/*.md")}

RECORD_START = """\
#!{python}
import json, os, sys
with open({record!r}, "a") as file:
    print(json.dumps([sys.argv[1:], os.environ.get("GH_TOKEN")]), file=file)
os.execv({python!r}, [{python!r}, "-m", "workbench_server", *sys.argv[1:]])
"""


@dataclass(frozen=True)
class User:
    """A person with an empty home directory and the command of Workbench on PATH."""

    home: Path

    def run(self, *command: str, stdin: str = "") -> str:
        environment = {
            **os.environ,
            "HOME": str(self.home),
            "PATH": os.pathsep.join([str(self.home / "bin"), os.environ["PATH"]]),
            "GH_TOKEN": "a-secret",
            "GEMINI_CLI_TRUST_WORKSPACE": "true",
            # No request may leave the machine.
            "HTTPS_PROXY": "http://127.0.0.1:9",
            "ANTHROPIC_BASE_URL": "http://127.0.0.1:9",
            "ANTHROPIC_API_KEY": "none",
            "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
        }
        project = self.home / "project"
        project.mkdir(exist_ok=True)
        run = subprocess.run(
            command, cwd=project, env=environment, input=stdin, capture_output=True, encoding="utf-8", check=False
        )
        assert run.returncode == 0, run.stdout + run.stderr
        return run.stdout + run.stderr

    @property
    def starts(self) -> list[tuple[list[str], str | None]]:
        """Arguments of the server and its GH_TOKEN, for each start."""
        lines = (self.home / "starts.jsonl").read_text(encoding="utf-8").splitlines()
        return [(arguments, token) for arguments, token in map(json.loads, lines)]


@pytest.fixture
def user(tmp_path: Path) -> User:
    program = tmp_path / "bin" / "toolmason-workbench"
    program.parent.mkdir()
    text = RECORD_START.format(python=sys.executable, record=str(tmp_path / "starts.jsonl"))
    program.write_text(text, encoding="utf-8")
    program.chmod(0o755)
    return User(tmp_path)


def test_gemini_cli_validates_installs_and_starts_the_extension(user: User) -> None:
    extension = str(PLUGINS / "gemini-cli")
    assert "successfully validated" in user.run(GEMINI, "extensions", "validate", extension)

    user.run(GEMINI, "extensions", "install", extension, "--consent", "--skip-settings", stdin="y\n")

    listed = user.run(GEMINI, "extensions", "list")
    assert "MCP servers:\n  workbench\n" in listed
    assert {name for name in SKILLS if f"\n  {name}: " in listed} == SKILLS
    assert "workbench (from workbench)" in (servers := user.run(GEMINI, "mcp", "list"))
    assert "Connected" in servers
    # Gemini CLI withholds the token of a server whose entry does not name it.
    assert user.starts[-1] == (["--no-command-prompts"], "a-secret")


@pytest.mark.skipif(CLAUDE is None, reason="only `nox -s clients` installs Claude Code")
def test_claude_code_validates_installs_and_starts_the_plugin(user: User) -> None:
    claude, plugin = CLAUDE or "", PLUGINS / "claude-code"
    for path in (plugin, plugin / ".claude-plugin" / "plugin.json"):
        assert user.run(claude, "plugin", "validate", str(path)).endswith("Validation passed\n")

    user.run(claude, "plugin", "marketplace", "add", str(plugin))
    user.run(claude, "plugin", "install", "workbench@workbench")

    details = user.run(claude, "plugin", "details", "workbench")
    assert f"Skills ({len(SKILLS | COMMANDS)})  {', '.join(sorted(SKILLS | COMMANDS))}" in details
    assert "Connected" in user.run(claude, "mcp", "list")
    assert user.starts[-1][0] == ["--no-command-prompts"]
