"""`check`, `generate` and `lint` end after their time limit, with the stage, and change nothing."""

from __future__ import annotations

import re
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable

import pytest
from click.testing import Result

from toolmason.project import Project
from toolmason.time_limit import WRITING, TimeLimitError, limited_time

Toolmason = Callable[..., Result]
needs_alarm = pytest.mark.skipif(not hasattr(signal, "setitimer"), reason="Windows interrupts only Python code")


def large(project: Project, tools: int) -> None:
    """Make the manifest so large that no machine finishes it in a moment."""
    text = project.manifest.read_text(encoding="utf-8")
    start = text.index("[tools.")
    end = text.find("\n[", start + 1)
    tool = text[start : end if end > 0 else len(text)]
    name = re.match(r"\[tools\.(\w+)\]", tool)
    assert name
    copies = (tool.replace(f"[tools.{name[1]}", f"[tools.copy_{number}") for number in range(tools))
    project.manifest.write_text(text + "\n" + "\n".join(copies), encoding="utf-8")


@pytest.mark.parametrize("command", ["check", "generate", "lint"])
def test_a_run_ends_with_the_stage_and_writes_nothing(command: str, run: Toolmason, project: Project) -> None:
    large(project, 2_000)
    before = {path: path.stat().st_mtime_ns for path in project.generated.rglob("*")}
    result = run(command, "--time-limit", "0.05")

    assert result.exit_code == 1
    assert re.search(r"error\[TM616\]: stopped after 0\.05 s while \w+", result.stderr), result.stderr
    assert {path: path.stat().st_mtime_ns for path in project.generated.rglob("*")} == before
    assert not list(project.generated.glob(".toolmason*"))


def test_the_variable_is_the_limit_of_runs_without_the_option(
    run: Toolmason, project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    large(project, 2_000)
    monkeypatch.setenv("TOOLMASON_TIME_LIMIT", "0.05")

    assert "TM616" in run("check").stderr
    assert '"TM616"' in run("check", "--format", "json").stdout


@pytest.mark.parametrize("seconds", ["-1", "nan", "soon", "100000"])
def test_an_invalid_limit_is_refused(seconds: str, run: Toolmason) -> None:
    assert run("check", "--time-limit", seconds).exit_code == 2


def test_without_a_limit_a_run_finishes(run: Toolmason) -> None:
    assert run("check", "--time-limit", "0").exit_code == 0


@needs_alarm
@pytest.mark.parametrize(
    "task",
    [
        lambda: re.match(r"(a+)+$", "a" * 40 + "b"),
        lambda: [None for _ in iter(int, 1)],
        lambda: time.sleep(60),
        lambda: threading.Event().wait(60),
        lambda: subprocess.run([sys.executable, "-c", "import time; time.sleep(60)"], check=False),
        lambda: sum(1 for _ in range(10**10)),
    ],
    ids=["regular expression", "loop", "sleep", "lock", "child process", "C loop"],
)
def test_every_kind_of_work_is_interrupted(task: Callable[[], object]) -> None:
    started = time.monotonic()
    with pytest.raises(TimeLimitError, match=r"stopped after 0\.2 s while starting"), limited_time(0.2):
        task()
    assert time.monotonic() - started < 20


@needs_alarm
def test_writing_is_not_interrupted() -> None:
    with limited_time(0.1) as limit:
        limit.enter(WRITING)
        time.sleep(0.3)


@needs_alarm
def test_the_limit_ends_with_its_block() -> None:
    before = signal.getsignal(signal.SIGALRM)
    with limited_time(0.1):
        pass
    time.sleep(0.3)
    assert signal.getsignal(signal.SIGALRM) is before


def test_an_error_of_a_stage_does_not_hide_the_limit() -> None:
    assert not issubclass(TimeLimitError, Exception)
