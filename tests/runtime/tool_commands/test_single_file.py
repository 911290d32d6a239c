"""`toolmason cli`: the file for a server, which needs no toolmason, and what it does with servers that fail."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from toolmason.audit.server_lists import ServerDescription
from toolmason.commands import toolmason
from toolmason.single_file import single_file

HOSTILE = {
    "name": "a'b\"\\\n#{{ x }}",
    "description": '"""\nimport os; os.system("touch ran")\n{{ 7 * 7 }} {% raw %} \x1b[2J',
    "inputSchema": {
        "type": "object",
        "properties": {
            "class": {"type": "string", "description": "'''\n\"\"\""},
            "größe": {"type": "integer"},
            "x y": {"enum": ["it's", 'say "hi"', "\\"]},
            "help": {"type": "boolean"},
        },
    },
}


def described(*tools: dict[str, Any], **about: str) -> ServerDescription:
    return ServerDescription(name=about.get("name", "notes"), title=about.get("title", ""), tools=tools)


def run(path: Path, *argv: str, **variables: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, str(path), *argv],
        cwd=path.parent,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path)), **variables},
        capture_output=True,
        encoding="utf-8",
        check=False,
    )


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "cli.py"


def test_the_file_calls_a_server(generated: Path, sample: object, file: Path) -> None:
    assert sample
    words = (sys.executable, "-m", "climax_server", "--classic")
    made = CliRunner(env={"PYTHONPATH": f"{generated}{os.pathsep}{os.pathsep.join(sys.path)}"}).invoke(
        toolmason, ["cli", "-o", str(file), "--", *words]
    )
    assert made.exit_code == 0, made.output
    variables = {"PYTHONPATH": f"{generated}{os.pathsep}{os.pathsep.join(filter(None, sys.path))}"}

    listed = run(file, "--help", **variables)
    assert "git-log" in listed.stdout
    called = run(file, "git-log", "--max-count", "1", "--json", **variables)
    assert (called.returncode, called.stdout, called.stderr) == (0, '"Change one"\n', "")
    failed = run(file, "git-log", "--max-count", "0", **variables)
    assert (failed.returncode, failed.stdout) == (1, "")
    assert "max_count" in failed.stderr
    refused = run(file, "git-log", "--max-count", "many", **variables)
    assert refused.returncode == 2
    assert "toolmason" not in "".join(re.findall(r"^(?:from|import) .*", file.read_text("utf-8"), re.MULTILINE))
    assert os.access(file, os.X_OK)


def test_texts_of_a_server_stay_texts(file: Path) -> None:
    text = single_file(
        described(HOSTILE, HOSTILE, name='"""\n', title="\\"), program="x.py", command=("true",), headers={}
    )
    compile(text, "cli.py", "exec")
    file.write_text(text, encoding="utf-8")

    listed = run(file, "--help")
    word = "a-b-x-1"
    helped = run(file, word, "--help")

    assert (listed.returncode, helped.returncode) == (0, 0), listed.stderr + helped.stderr
    assert word in listed.stdout
    assert "{{ 7 * 7 }}" in helped.stdout
    assert "--größe INTEGER" in helped.stdout
    assert "\x1b" not in helped.stdout + listed.stdout
    assert not file.with_name("ran").exists()
    assert run(file, "--completion", "bash").stdout.startswith("# Completion of cli.py for bash.")


@pytest.mark.parametrize(
    ("command", "reason"),
    [
        (("/no/such/program",), "No such file or directory"),
        ((sys.executable, "-c", "raise SystemExit('out of ink')"), "the server has ended\nout of ink"),
        (("$NO_SUCH_VARIABLE",), "set the environment variable NO_SUCH_VARIABLE"),
    ],
)
def test_a_server_that_does_not_start_has_an_exit_code(file: Path, command: tuple[str, ...], reason: str) -> None:
    tool = {"name": "add", "inputSchema": {}}
    file.write_text(single_file(described(tool), program="x", command=command, headers={}), encoding="utf-8")

    ran = run(file, "add")

    assert (ran.returncode, ran.stdout) == (4, "")
    assert reason in ran.stderr
    assert "Traceback" not in ran.stderr


def test_a_server_that_never_answers_has_an_exit_code(file: Path) -> None:
    tool = {"name": "add", "inputSchema": {}}
    silent = (sys.executable, "-c", "import sys; sys.stdin.read()")
    text = single_file(described(tool), program="x", command=silent, headers={})
    file.write_text(text.replace("TIMEOUT_S = 600.0", "TIMEOUT_S = 0.5"), encoding="utf-8")

    ran = run(file, "add")

    assert (ran.returncode, ran.stdout) == (4, "")
    assert "Traceback" not in ran.stderr
    assert "imed out" in ran.stderr


def test_a_server_that_cannot_be_reached_has_an_exit_code(file: Path) -> None:
    tool = {"name": "add", "inputSchema": {}}
    text = single_file(
        described(tool), program="x", url="http://127.0.0.1:9/mcp", headers={"Authorization": "Bearer $TOKEN"}
    )
    file.write_text(text, encoding="utf-8")

    assert '{"Authorization": "Bearer $TOKEN"}' in text
    assert "set the environment variable TOKEN" in run(file, "add").stderr
    ran = run(file, "add", TOKEN="secret")
    assert ran.returncode == 4
    assert "Traceback" not in ran.stderr


@pytest.mark.parametrize(
    ("argv", "code", "reason"),
    [
        (["--", "/no/such/program"], 1, "the server: "),
        (["http://127.0.0.1:9/mcp"], 1, "the server: "),
        (["-o", "{existing}", "--", "true"], 4, "exists; nothing was written"),
        (["--header", "nonsense", "http://127.0.0.1:9/mcp"], 2, "--header must be"),
        (["--", "server", "--api-key", "hunter2"], 1, "a manifest is committed"),
    ],
)
def test_nothing_is_written_for_a_server_that_cannot_be_listed(
    tmp_path: Path, argv: list[str], code: int, reason: str
) -> None:
    existing = tmp_path / "existing.py"
    existing.write_text("mine", encoding="utf-8")

    ran = CliRunner().invoke(toolmason, ["cli", *(word.replace("{existing}", str(existing)) for word in argv)])

    assert ran.exit_code == code, ran.output
    assert reason in ran.output
    assert existing.read_text(encoding="utf-8") == "mine"
