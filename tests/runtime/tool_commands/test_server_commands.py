"""The tools of a generated server as its commands: calls through the dispatcher, approval in a terminal, exit codes."""

from __future__ import annotations

import json
import os
import pty
import signal
import subprocess
import sys
import time
from importlib import import_module
from pathlib import Path

import pytest
from toolmason_runtime.tool_commands.app import ExitCode

pytestmark = pytest.mark.usefixtures("sample")
COMMAND = (sys.executable, "-m", "climax_server")


def main(monkeypatch: pytest.MonkeyPatch, *argv: str) -> int:
    """Run the command of the server in this process."""
    monkeypatch.setattr(sys, "argv", ["climax", *argv])
    code: int = import_module("climax_server.__main__").main()
    return code


def environment(generated: Path) -> dict[str, str]:
    return {**os.environ, "PYTHONPATH": os.pathsep.join([str(generated), *filter(None, sys.path)])}


def in_terminal(generated: Path, *argv: str, answer: str) -> tuple[int, str]:
    """Run a command in a terminal, answer its question; return its exit code and what the terminal shows."""
    pid, terminal = pty.fork()
    if pid == 0:
        os.execve(sys.executable, [*COMMAND, *argv], environment(generated))
    os.write(terminal, f"{answer}\n".encode())
    shown = b""
    while True:
        try:
            shown += os.read(terminal, 65_536)
        except OSError:  # the end of the terminal on Linux
            break
    _, status = os.waitpid(pid, 0)
    os.close(terminal)
    return os.waitstatus_to_exitcode(status), shown.decode()


def test_a_tool_is_called_with_its_options(monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]) -> None:
    assert main(monkeypatch, "vcs", "git-log", "--max-count", "2") == 0
    assert capfd.readouterr().out == "Change one\nAdd two\n"
    before = dict(os.environ)
    assert main(monkeypatch, "git-log", "--max-count", "1", "--json") == 0
    assert json.loads(capfd.readouterr().out) == "Change one"
    assert dict(os.environ) == before


def test_the_arguments_are_checked_as_those_of_a_client(
    monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    assert main(monkeypatch, "git-log", "--max-count", "0") == ExitCode.COMMAND_LINE
    assert "max_count" in capfd.readouterr().err


def test_a_failure_of_the_tool_is_a_failure_of_the_command(
    monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    assert main(monkeypatch, "git-show", "--arguments", '{"commit": "none"}') == ExitCode.FAILED
    out, err = capfd.readouterr()
    assert (out, "none" in err) == ("", True)


def test_options_of_the_server_precede_the_command(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    policy = tmp_path / "policy.toml"
    policy.write_text("[tools.git_status]\n", encoding="utf-8")
    log = tmp_path / "audit.jsonl"

    assert main(monkeypatch, "--audit", str(log), "--log-level", "error", "git-log", "--max-count", "1") == 0
    assert main(monkeypatch, "--policy", str(policy), "vcs", "git-log") != 0
    assert "git_log" in capfd.readouterr().err
    assert main(monkeypatch, "--policy", "none", "vcs", "git-log") == ExitCode.COMMAND_LINE
    calls = [json.loads(line) for line in log.read_text(encoding="utf-8").splitlines()]
    assert [call["tool"] for call in calls if call.get("event") == "call"] == ["git_log"]


def test_without_a_terminal_a_call_that_needs_approval_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    record = tmp_path / "record"
    argv = ("send", "--record", str(record), "--method", "PUT")

    assert main(monkeypatch, *argv) == ExitCode.NOT_APPROVED
    assert "Run it in a terminal, or add --yes to approve it." in capfd.readouterr().err
    assert not record.exists()
    assert main(monkeypatch, *argv, "--yes") == 0
    assert record.read_text(encoding="utf-8").strip() == "PUT"


@pytest.mark.parametrize(("answer", "code"), [("y", 0), ("n", 3), ("", 3), ("\x04", 3), ("a\nb\nc", 3)])
def test_a_terminal_asks_for_approval(generated: Path, tmp_path: Path, answer: str, code: int) -> None:
    record = tmp_path / "record"

    ended, shown = in_terminal(generated, "send", "--record", str(record), "--method", "DELETE", answer=answer)

    assert ended == code, shown
    assert "Its risk is: destructive." in shown
    assert "Approve? [y/N]" in shown
    assert record.exists() == (code == 0)


def test_a_closed_pipe_ends_the_command(generated: Path) -> None:
    ran = subprocess.run(
        ["bash", "-c", '"$@" | true; exit "${PIPESTATUS[0]}"', "-", *COMMAND, "pour", "--lines", "30000"],
        env=environment(generated),
        capture_output=True,
        encoding="utf-8",
        check=False,
    )
    assert (ran.returncode, ran.stderr) == (ExitCode.CLOSED_PIPE, "")


@pytest.mark.parametrize(
    "words",
    ["tools --help", "completion bash", "programs list --json", "pour --lines 3", "git-log --max-count 1 --json"],
)
@pytest.mark.parametrize(("target", "codes"), [(">/dev/full", {1}), (">&-", {0, 1})])
def test_an_output_that_cannot_be_written_is_an_error(
    generated: Path, words: str, target: str, codes: set[int]
) -> None:
    ran = subprocess.run(
        ["sh", "-c", f'"$0" -m climax_server {words} {target}', sys.executable],
        env=environment(generated),
        capture_output=True,
        check=False,
    )
    assert b"Traceback" not in ran.stderr
    assert b"Exception ignored" not in ran.stderr
    assert ran.returncode in codes


def test_an_interrupt_ends_the_call(generated: Path, tmp_path: Path) -> None:
    record = tmp_path / "record"
    with subprocess.Popen(
        [*COMMAND, "linger", "--record", str(record)],
        env=environment(generated),
        stderr=subprocess.PIPE,
        stdout=subprocess.PIPE,
    ) as process:
        deadline = time.monotonic() + 30
        while not record.exists() and time.monotonic() < deadline:
            time.sleep(0.05)
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=20)
    assert (process.returncode, out, err.strip()) == (ExitCode.INTERRUPTED, b"", b"")


def test_the_commands_are_listed_and_completed(
    monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    assert main(monkeypatch, "tools", "--help") == 0
    assert "vcs    Look at a repository and change it" in capfd.readouterr().out
    assert main(monkeypatch, "tools", "vcs", "--help") == 0
    assert "Usage: climax tools vcs" in capfd.readouterr().out
    assert main(monkeypatch, "completion", "bash") == 0
    assert "complete -o default" in capfd.readouterr().out
    assert main(monkeypatch, "completion", "--help") == 0
    assert capfd.readouterr().out.startswith("usage: climax completion bash|zsh|fish\n")
    assert main(monkeypatch, "completion", "csh") == ExitCode.COMMAND_LINE


def test_a_server_that_starts_imports_no_command(generated: Path) -> None:
    code = "import sys, climax_server.__main__, toolmason_runtime.serving; toolmason_runtime.serving.Command"
    listed = subprocess.run(
        [sys.executable, "-c", f"{code}; print(*sys.modules)"],
        env=environment(generated),
        capture_output=True,
        encoding="utf-8",
        check=True,
    ).stdout.split()

    assert not {"click", "rich", "climax_server.tool_commands", "toolmason_runtime.tool_commands.app"} & {*listed}


def test_options_with_values_import_no_command_either(generated: Path) -> None:
    code = (
        "import sys; sys.argv = ['climax', '--toolsets', 'vcs', '--list-tools'];"
        "import climax_server.__main__ as server; assert server.main() == 0; print(*sys.modules)"
    )
    listed = subprocess.run(
        [sys.executable, "-c", code], env=environment(generated), capture_output=True, encoding="utf-8", check=True
    ).stdout.split()

    assert "climax_server" in listed
    assert not {"click", "climax_server.tool_commands", "toolmason_runtime.tool_commands"} & {*listed}


def test_without_the_extra_the_command_names_it(
    monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setitem(sys.modules, "click", None)

    assert main(monkeypatch, "vcs", "git-log") == ExitCode.COMMAND_LINE
    assert "pip install 'toolmason[cli]'" in capfd.readouterr().err


def test_an_unknown_command_names_the_nearest(
    monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    assert main(monkeypatch, "vsc", "git-log") == ExitCode.COMMAND_LINE
    assert (
        capfd.readouterr().err == "climax: unknown command `vsc`; did you mean `vcs`? `climax tools` lists the tools\n"
    )
