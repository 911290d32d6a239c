"""The completion scripts in real shells. They start no program, and run nothing that a server has written."""

from __future__ import annotations

import os
import pty
import re
import select
import shutil
import subprocess
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from toolmason_runtime.tool_commands import CommandCategory, CommandEntry, CommandOption, ToolCommand
from toolmason_runtime.tool_commands.completion import SHELLS, completion_script

LOG = ToolCommand(
    "log",
    "git_log",
    "Show commits",
    options=(
        CommandOption("max_count", "--max-count", kind="integer", help="Most commits; `touch ran` $(touch ran) 'x'"),
        CommandOption("format", "--format", kind="choice", choices=("short", "full", "it's $(touch ran) `touch ran`")),
        CommandOption("patch", "--patch", kind="boolean", negation="--no-patch"),
    ),
)
LOG_STAT = ToolCommand("log-stat", "git_log_stat", "Count: lines [a]", options=(CommandOption("paths", "--paths"),))
SEND = ToolCommand("send", "mail_send", "Send\x1b[2J mail")
CATEGORIES = (
    CommandCategory(
        "git",
        "History",
        (CommandEntry("log", "git-log", LOG.summary), CommandEntry("log-stat", "git-log-stat", LOG_STAT.summary)),
    ),
    CommandCategory("audit", "A taken name", (CommandEntry("send", "mail-send", SEND.summary),)),
)
COMMANDS = {"git": {"log": LOG, "log-stat": LOG_STAT}, "audit": {"send": SEND}}
OWN = {"--arguments", "--json", "--output", "--yes", "--help"}
LOG_OPTIONS = {"--max-count", "--format", "--patch", "--no-patch", *OWN}
CASES = [
    ("", {"git", "tools", "audit", "serve"}),
    ("g", {"git"}),
    ("tools ", {"git", "audit"}),
    ("git ", {"log", "log-stat"}),
    ("tools git log-", {"log-stat"}),
    ("tools audit ", {"send"}),
    ("git log --m", {"--max-count"}),
    ("git log --", LOG_OPTIONS),
    ("tools git log --", LOG_OPTIONS),
    ("git-log --n", {"--no-patch"}),
    ("git log --max-count 5 --p", {"--patch"}),
    ("git log-stat --p", {"--paths"}),
    ("git log --format s", {"short"}),
]


def script(shell: str) -> str:
    others = (("serve", "Serve"), ("audit", "Filter a log"), ("tools", "Run a tool"))
    return completion_script(shell, "my-server", CATEGORIES, COMMANDS, others=others, prefix="tools")


def installed(shell: str) -> str:
    path = shutil.which(shell)
    if path is None:
        pytest.skip(f"{shell} is missing; .ci/run installs it")
    return path


def run(shell: str, text: str, folder: Path) -> str:
    environment = {"PATH": os.environ["PATH"], "HOME": str(folder), "TERM": "dumb"}
    ran = subprocess.run(
        [installed(shell), *(["--norc", "--noprofile"] if shell == "bash" else ["--no-config"])],
        input=text,
        cwd=folder,
        env=environment,
        capture_output=True,
        encoding="utf-8",
        check=False,
        timeout=60,
    )
    assert ran.stderr == ""
    return ran.stdout


def in_bash(line: str, folder: Path) -> set[str]:
    words = ["my-server", *line.split(" ")]
    listed = " ".join(f"'{word}'" for word in words)
    text = f"{script('bash')}\nCOMP_WORDS=({listed}); COMP_CWORD={len(words) - 1}; _my_server\n"
    return {*run("bash", text + 'printf "%s\\n" "${COMPREPLY[@]}"\n', folder).splitlines()} - {""}


def in_fish(line: str, folder: Path) -> set[str]:
    text = f"{script('fish')}\ncomplete -C 'my-server {line}'\n"
    return {row.partition("\t")[0] for row in run("fish", text, folder).splitlines()}


def in_zsh(line: str, folder: Path) -> set[str]:
    """Press the tabulator at the end of a line and return the words of the list."""
    folder.joinpath("completion").write_text(script("zsh"), encoding="utf-8")
    folder.joinpath(".zshrc").write_text(
        "autoload -Uz compinit && compinit -u -D; source ./completion\n"
        "PS1='> '; zstyle ':completion:*' list-colors ''; unsetopt automenu\n"
        "LISTMAX=1000; zstyle ':completion:*' list-prompt ''; print ready\n",
        encoding="utf-8",
    )
    shell = installed("zsh")
    pid, terminal = pty.fork()
    if pid == 0:
        os.chdir(folder)
        os.environ.update(HOME=str(folder), TERM="vt100", ZDOTDIR=str(folder), COLUMNS="200", LINES="60")
        os.execv(shell, ["zsh", "-i"])
    try:
        read_until(terminal, b"ready")
        os.write(terminal, f"my-server {line}\t\t".encode())
        shown = read_until(terminal, b"never", quiet_s=1.5)
    finally:
        os.close(terminal)
        os.waitpid(pid, 0)
    plain = re.sub(rb"\x1b\[[0-9;?]*[A-Za-z]|\x1b[=>]|[\x00\x07]", b"", shown).decode("utf-8", "replace")
    return {*plain.replace("\b", " ").split()}


def read_until(terminal: int, end: bytes, *, quiet_s: float = 30.0) -> bytes:
    shown = b""
    deadline = time.monotonic() + 30
    while end not in shown and time.monotonic() < deadline and select.select([terminal], [], [], quiet_s)[0]:
        try:
            shown += os.read(terminal, 65_536)
        except OSError:
            break
    return shown


@pytest.mark.parametrize(("line", "expected"), CASES)
@pytest.mark.parametrize("complete", [in_bash, in_fish], ids=["bash", "fish"])
def test_a_shell_completes(
    complete: Callable[[str, Path], set[str]], line: str, expected: set[str], tmp_path: Path
) -> None:
    assert complete(line, tmp_path) == expected


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("g", {"git"}),
        ("git ", {"log", "log-stat"}),
        ("tools audit ", {"send"}),
        ("git log --", LOG_OPTIONS),
        ("git log --format s", {"short"}),
    ],
)
def test_zsh_completes(line: str, expected: set[str], tmp_path: Path) -> None:
    shown = in_zsh(line, tmp_path)

    assert expected <= shown
    assert "serve" not in shown


@pytest.mark.parametrize(("complete", "shell"), [(in_bash, "bash"), (in_fish, "fish"), (in_zsh, "zsh")])
def test_a_value_of_a_server_runs_nothing(
    complete: Callable[[str, Path], set[str]], shell: str, tmp_path: Path
) -> None:
    complete("git log --format ", tmp_path)
    complete("git log --", tmp_path)

    assert not tmp_path.joinpath("ran").exists()
    assert "\x1b" not in script(shell)


@pytest.mark.parametrize("shell", SHELLS)
def test_a_script_has_valid_syntax(shell: str, tmp_path: Path) -> None:
    tmp_path.joinpath("script").write_text(script(shell), encoding="utf-8")

    ran = subprocess.run([installed(shell), "-n", "script"], cwd=tmp_path, capture_output=True, check=False)

    assert (ran.returncode, ran.stderr) == (0, b"")
