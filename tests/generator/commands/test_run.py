"""`toolmason run FILE` serves a manifest or a YAML file of CLImax, and leaves nothing behind."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any, Final

import pytest

EXPR: Final = """\
name: calc
description: Calculator
command: expr
tools:
  - name: calculate
    description: Calculate with two integers
    args:
      - {name: left, type: integer, description: Left, required: true, positional: true}
      - {name: how, description: Operator, enum: ["+", "-"], required: true, positional: true}
      - {name: right, type: integer, description: Right, required: true, positional: true}
"""
MANIFEST: Final = """\
edition = 1

[server]
name = "calc"
package = "calc_server"

[categories.calc]
summary = "Calculator"

[clis.expr]
command = ["expr"]
category = "calc"

[tools.calculate]
summary = "Calculate with two integers"
cli = "expr"
risk = "read"
params.left = { type = "integer", positional = true }
params.how = { type = "string", enum = ["+", "-"], positional = true }
params.right = { type = "integer", positional = true }
"""
HANDLED: Final = """\
edition = 1

[server]
name = "calc"
package = "calc_server"
handlers = "calc"

[categories.calc]
summary = "Calculator"

[tools.calculate]
summary = "Calculate with two integers"
category = "calc"
hints = { read_only = true }
handler = "work:calculate"
params.left = { type = "integer" }
params.how = { type = "string" }
params.right = { type = "integer" }
"""
WORK: Final = """\
from calc_server.calc.models import CalculateParams
from toolmason_runtime import ToolCall


async def calculate(params: CalculateParams, call: ToolCall) -> str:
    return str(params.left + params.right)
"""
COMMAND: Final = (sys.executable, "-m", "toolmason", "run")
WAIT_S: Final = 60.0


def environment(temporary: Path) -> dict[str, str]:
    temporary.mkdir(exist_ok=True)
    return {**os.environ, "TMPDIR": str(temporary), "TEMP": str(temporary), "HOME": str(temporary.parent / "home")}


def left_in(temporary: Path) -> list[str]:
    """Return the directories of servers that remain; another process may need a moment to remove one."""
    until = time.monotonic() + WAIT_S
    while (found := sorted(path.name for path in temporary.glob("toolmason-run-*"))) and time.monotonic() < until:
        time.sleep(0.02)
    return found


def start(project: Path, *arguments: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [*COMMAND, *arguments],
        cwd=project,
        env=environment(project.parent / "tmp"),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        encoding="utf-8",
    )


def call(server: subprocess.Popen[str], arguments: dict[str, Any]) -> str:
    """Initialize a session and return the text of one call."""
    hello = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "test", "version": "1"}}
    assert server.stdin
    assert server.stdout
    for message in (
        {"id": 1, "method": "initialize", "params": hello},
        {"method": "notifications/initialized"},
        {"id": 2, "method": "tools/call", "params": {"name": "calculate", "arguments": arguments}},
    ):
        server.stdin.write(json.dumps({"jsonrpc": "2.0", **message}) + "\n")
    server.stdin.flush()
    answers = (json.loads(line) for line in server.stdout)
    result = next(answer["result"] for answer in answers if answer.get("id") == 2)
    return str(result["content"][0]["text"])


def files_of(project: Path) -> set[str]:
    paths = (path for path in project.rglob("*") if path.is_file() and "__pycache__" not in path.parts)
    return {path.relative_to(project).as_posix() for path in paths}


@pytest.fixture
def project(tmp_path: Path) -> Path:
    directory = tmp_path / "project"
    (directory / "handlers" / "calc").mkdir(parents=True)
    (directory / "handlers" / "calc" / "__init__.py").write_text("", encoding="utf-8")
    (directory / "handlers" / "calc" / "work.py").write_text(WORK, encoding="utf-8")
    (directory / "handled.toml").write_text(HANDLED, encoding="utf-8")
    (directory / "calc.toml").write_text(MANIFEST, encoding="utf-8")
    (directory / "calc.yaml").write_text(EXPR, encoding="utf-8")
    (directory / "more.yml").write_text(EXPR.replace("calculate", "more").replace("calc", "second"), encoding="utf-8")
    (directory / "policy.yaml").write_text(
        "approval: {global: none}\ntools:\n  calculate: {description: Add up}\n", encoding="utf-8"
    )
    return directory


@pytest.mark.parametrize(
    "arguments",
    [
        ("calc.toml",),
        ("handled.toml",),
        ("calc.yaml", "--unstated-risk", "read"),
        ("--unstated-risk", "read", "calc.yaml"),
        ("calc.yaml", "more.yml", "--unstated-risk=read"),
        ("calc.yaml", "--policy", "policy.yaml"),
    ],
    ids=" ".join,
)
def test_a_file_is_served_without_a_trace_in_the_project(project: Path, arguments: tuple[str, ...]) -> None:
    before = files_of(project)
    with start(project, *arguments, "--classic") as server:
        assert "2" in call(server, {"left": -3, "how": "+", "right": 5}).split("\n")
        assert list((project.parent / "tmp").glob("toolmason-run-*")), "the server is there"
        assert server.stdin
        server.stdin.close()
        assert server.wait(WAIT_S) == 0

    assert files_of(project) == before
    assert left_in(project.parent / "tmp") == []


@pytest.mark.parametrize("name", ["SIGTERM", "SIGINT", "SIGHUP", "SIGKILL"])
@pytest.mark.parametrize("is_called", [True, False])
@pytest.mark.skipif(sys.platform == "win32", reason="signals of POSIX")
def test_nothing_remains_after_a_signal(project: Path, name: str, is_called: bool) -> None:
    temporary = project.parent / "tmp"
    with start(project, "calc.toml", "--classic") as server:
        if is_called:
            call(server, {"left": 1, "how": "+", "right": 1})
        until = time.monotonic() + WAIT_S
        while not list(temporary.glob("toolmason-run-*")) and time.monotonic() < until:
            time.sleep(0.005)
        server.send_signal(getattr(signal, name))
        server.wait(WAIT_S)

    assert left_in(temporary) == []


WRONG: dict[str, tuple[str, str, str]] = {
    "an unknown key": ("bad.toml", MANIFEST + "rsk = 1\n", "bad.toml:21:1: error[TM203]: unknown key `rsk`"),
    "no TOML": ("bad.toml", MANIFEST + "[tools\n", "bad.toml:21:7: error[TM103]: not TOML"),
    "no handler": ("bad.toml", HANDLED.replace("work:", "play:"), "bad.toml:15:11: error[TM312]"),
    "no YAML": ("bad.yaml", EXPR + "   - x\n", "bad.yaml:11:4: not YAML"),
    "no command": ("bad.yaml", "name: x\ntools: []\n", "bad.yaml:1:1: missing `command`"),
    "a lost default": (
        "bad.yaml",
        EXPR + '      - {name: more, description: x, flag: "-- x", default: 1}\n',
        "bad.yaml:11:38: calculate.more: `-- x` is not a valid option",
    ),
    "no mapping": ("bad.yml", "- a\n", "bad.yml:1:1: expected a mapping"),
}


@pytest.mark.parametrize(("name", "text", "error"), WRONG.values(), ids=WRONG)
def test_an_error_has_its_position_in_the_file(project: Path, name: str, text: str, error: str) -> None:
    (project / name).write_text(text, encoding="utf-8")
    before = files_of(project)
    with start(project, name) as server:
        stdout, stderr = server.communicate(timeout=WAIT_S)

    assert server.returncode == 1
    assert stdout == ""
    assert error in stderr
    assert "Traceback" not in stderr
    assert files_of(project) == before
    assert left_in(project.parent / "tmp") == []


@pytest.mark.parametrize("name", ["none.toml", "none.yaml"])
def test_a_missing_file_is_named(project: Path, name: str) -> None:
    with start(project, name) as server:
        _, stderr = server.communicate(timeout=WAIT_S)

    assert server.returncode in {1, 2}
    assert name in stderr
    assert "Traceback" not in stderr


def test_a_client_starts_the_file_that_install_was_called_with(project: Path) -> None:
    (project / ".cursor").mkdir()
    with start(project, "calc.yaml", "install", "cursor", "--scope", "project", "--dry-run") as server:
        stdout, stderr = server.communicate(timeout=WAIT_S)

    assert '"calc.yaml"' in stdout, stderr
    assert str(project) not in stdout.partition("@@")[2]
    assert "toolmason-run-" not in stdout


@pytest.mark.parametrize(
    ("before", "after", "written"),
    [
        (["calc.yaml", "more.yml"], [], ["calc.yaml", "{project}/more.yml"]),
        (["calc.yaml", "--unstated-risk", "read"], [], ["calc.yaml", "--unstated-risk=read"]),
        (["--unstated-risk=read", "calc.yaml"], [], ["calc.yaml", "--unstated-risk=read"]),
        (["calc.yaml"], ["--", "--unstated-risk", "read"], ["calc.yaml", "--unstated-risk=read"]),
        (["calc.yaml", "--policy", "policy.yaml"], [], ["calc.yaml", "--policy={project}/policy.yaml"]),
        (["calc.yaml"], ["--", "--policy=policy.yaml"], ["calc.yaml", "--policy={project}/policy.yaml"]),
    ],
)
def test_a_client_starts_all_files_with_the_options_of_run(
    project: Path, before: list[str], after: list[str], written: list[str]
) -> None:
    with start(project, *before, "install", "--print", "cursor", *after) as server:
        stdout, stderr = server.communicate(timeout=WAIT_S)

    assert server.returncode == 0, stderr
    (entry,) = json.loads(stdout[stdout.index("{") :])["mcpServers"].values()
    arguments = entry["args"][entry["args"].index("run") + 1 :]
    assert arguments[0].endswith(written[0])
    assert arguments[1:] == [text.format(project=project) for text in written[1:]]
