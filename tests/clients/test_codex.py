"""The real Codex reads through `call_read` without asking its user, and asks before `call`, which can write."""

from __future__ import annotations

import json
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from codex_client import codex
from scripted_model import ScriptedModel, serving

from toolmason.clients import CODEX, clients

RECORD = Path(__file__).with_name("support") / "record.py"
READ = ("call_read", {"tool_name": "read_files", "args": {"files": [{"path": "greeting.txt", "head": 1}]}})
WRITE = ("call", {"tool_name": "git_add", "args": {"paths": ["greeting.txt"]}})


@dataclass(frozen=True)
class Turn:
    """What happened in one turn of Codex."""

    questions: list[dict[str, Any]]
    results: list[str]
    messages: list[dict[str, Any]]
    """What Codex sent to the server."""

    @property
    def calls(self) -> list[str]:
        return [message["params"]["name"] for message in self.requests("tools/call")]

    def requests(self, method: str) -> list[dict[str, Any]]:
        return [message for message in self.messages if message.get("method") == method]


@pytest.fixture
def project(tmp_path: Path) -> Path:
    project = tmp_path / "project"
    project.mkdir()
    (project / "greeting.txt").write_text("Hello from the file\n", encoding="utf-8")
    subprocess.run(["git", "init", "--quiet"], cwd=project, check=True)
    return project


def take_turn(tmp_path: Path, project: Path, *steps: tuple[str, dict[str, Any]], action: str) -> Turn:
    home, record = tmp_path / "home", tmp_path / "record.jsonl"
    home.mkdir()
    server = [sys.executable, "-m", "workbench_server", "--root", str(project), "--all"]
    model = ScriptedModel(steps)
    command = [sys.executable, str(RECORD), str(record), *server]
    with serving(model) as url, codex(home, command, url, action=action, cwd=project) as client:
        client.run("Say what the file says.")
    lines = record.read_text(encoding="utf-8").splitlines()
    messages = [json.loads(line[2:]) for line in lines if line.startswith("> ")]
    return Turn(client.questions, model.results, messages)


def staged(project: Path) -> str:
    command = ["git", "diff", "--cached", "--name-only"]
    return subprocess.run(command, cwd=project, capture_output=True, encoding="utf-8", check=True).stdout


def test_codex_reads_unasked_and_a_refused_write_does_not_reach_the_server(tmp_path: Path, project: Path) -> None:
    turn = take_turn(tmp_path, project, READ, WRITE, READ, action="decline")

    assert [result.count("Hello from the file") > 0 for result in turn.results] == [True, False, True]
    assert turn.calls == ["call_read", "call_read"]
    [question] = turn.questions
    assert question["message"] == 'Allow the workbench MCP server to run tool "call"?'
    assert question["_meta"]["tool_params"] == WRITE[1]
    assert staged(project) == ""


def test_an_approved_write_reaches_the_server_which_asks_in_codex_too(tmp_path: Path, project: Path) -> None:
    turn = take_turn(tmp_path, project, WRITE, READ, action="accept")

    assert turn.calls == ["call", "call_read"]
    approval, question = turn.questions
    assert approval["_meta"]["codex_approval_kind"] == "mcp_tool_call"
    assert question["message"].startswith("Stage these files?")
    assert staged(project) == "greeting.txt\n"


def test_codex_sends_the_name_and_the_progress_token_on_which_waiting_depends(tmp_path: Path, project: Path) -> None:
    turn = take_turn(tmp_path, project, READ, action="decline")

    [opened], [call] = turn.requests("initialize"), turn.requests("tools/call")
    session = clients()[CODEX].session
    assert session is not None
    assert opened["params"]["clientInfo"]["name"] in session.client_info
    assert opened["params"]["capabilities"]["elicitation"] == {"form": {}, "url": {}}
    assert "progressToken" in call["params"]["_meta"]
