"""`kill -9` of the whole server before each system call with which a reviewed edit of three files changes the disk.

`tests/workbench/editing/` kills the functions alone, before each line and each change.
"""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any, Final

import pytest
from edit_server import PROPOSE, Person, Place, answer
from oracle import LEGACY
from strace import injected, injecting

OLD: Final = {"a.txt": b"old a\n" * 50, "b.txt": b"old b\n", "sub/c.txt": None}
NEW: Final = {"a.txt": b"new a\n" * 90, "b.txt": b"new b\n", "sub/c.txt": b"new c\n"}
FILES: Final[list[dict[str, Any]]] = [
    {"path": name, "match_text": "OVERWRITE_FILE" if OLD[name] else "", "new_string": text.decode()}
    for name, text in NEW.items()
]
CHANGES: Final = ("fsync", "write", "rename", "renameat", "renameat2", "link", "unlink", "unlinkat", "mkdir", "flock")
"""Between two of these calls, every kill leaves the same disk. `open` creates an empty file before its `write`."""
MAX_STEPS: Final = 60
LOCK_S: Final = 8
"""Less than a server waits for the lock of a file; a stale lock would take longer."""


class FaultyReview(Person):
    """A person who approves; strace comes with the question."""

    def __init__(self, attach: Callable[[], None]) -> None:
        super().__init__()
        self.attach = attach

    def __call__(self, question: dict[str, Any]) -> dict[str, Any]:  # noqa: ARG002  as the client calls it
        self.attach()
        return answer("approve")


def contents(place: Place) -> dict[str, bytes | None]:
    files = {name: place.project / name for name in NEW}
    return {name: path.read_bytes() if path.exists() else None for name, path in files.items()}


def restore(place: Place) -> None:
    for name, data in OLD.items():
        if data is None:
            (place.project / name).unlink(missing_ok=True)
        else:
            place.write(name, data)


def age_leftovers(place: Place) -> None:
    """Let temporary files look old enough to be removed by the next write."""
    for path in temporary_files(place):
        os.utime(path, (0, 0))


def temporary_files(place: Place) -> list[Path]:
    """Return the temporary files and directories in the project and in the state directory."""
    return [*place.project.rglob("*.toolmason-tmp"), *(place.state / "reviews").glob("tmp-*")]


def edit_with_fault(place: Place, log: Path, calls: str, fault: str, phase: str) -> tuple[int | None, str]:
    """Make the edit while `fault` is injected; return the exit code, None while the server runs, and the answer."""
    with ExitStack() as stack:
        pid = 0

        def attach() -> None:
            stack.enter_context(injecting(pid, calls, fault, log))

        person = FaultyReview(attach) if phase == "write" else Person()
        with place.server(LEGACY, "--audit", str(place.state / "audit.log"), person=person) as client:
            pid = client.peer.process.pid
            client.call("list_allowed_directories")
            if phase == "propose":
                attach()
            try:
                text = client.raw(PROPOSE, files=FILES)["content"][0]["text"]
            except (AssertionError, BrokenPipeError):  # the server has ended
                return client.peer.exit_status(), ""
            finally:
                stack.close()
            return client.peer.process.poll(), text


def edit_again(place: Place, person: Person) -> str:
    """Start a server as a client does after a crash, and send the same call again; return the outcome."""
    with place.server(LEGACY, "--audit", str(place.state / "audit.log"), person=person) as client:
        started = time.monotonic()
        client.call("list_allowed_directories")
        after_start = contents(place)
        assert after_start in (OLD, NEW), "the next start finishes a change of several files"
        outcome: str = client.call(PROPOSE, files=FILES)["user_action"]
        assert time.monotonic() - started < LOCK_S
        if outcome == "CONFLICT":
            # A file was about to be created: it may have been created and removed again, so the user decides.
            assert contents(place) == OLD
            assert client.call(PROPOSE, files=FILES)["user_action"] == "COMMITTED"
    assert contents(place) == NEW
    return outcome


def audit_problems(place: Place) -> str:
    command = [sys.executable, "-m", "workbench_server", "audit", str(place.state / "audit.log")]
    done = subprocess.run(command, capture_output=True, encoding="utf-8", check=False, timeout=60)
    return done.stderr if done.returncode else ""


def killed_edits(place: Place, calls: str, phase: str, steps: Callable[[int], bool]) -> Iterator[int]:
    """Kill before the first, second, ... of `calls`; yield after each kill until a run finishes."""
    for number in filter(steps, range(1, MAX_STEPS)):
        restore(place)
        log = place.state.with_name(f"{phase}-{calls}-{number}.log")
        code, text = edit_with_fault(place, log, calls, f"signal=KILL:when={number}", phase)
        if code is None:
            assert '"COMMITTED"' in text
            return
        assert code == -signal.SIGKILL
        yield number
        # The next kill edits the same change as a new edit.
        (place.project / "a.txt").unlink()
        subprocess.run(["rm", "-r", place.state], check=True)
        place.state.mkdir(mode=0o700)
    raise AssertionError("no run finished")


@pytest.mark.parametrize("phase", ["propose", "write"])
def test_the_faults_of_these_tests_happen(phase: str, place: Place) -> None:
    """An edit flushes files in each phase. Without this, a fault that never happens would be no failure."""
    place.state.mkdir(mode=0o700)
    assert next(killed_edits(place, "fsync", phase, lambda _: True), None) == 1
    restore(place)
    log = place.state.with_name("failure.log")
    edit_with_fault(place, log, "fsync", "error=EIO:when=1", phase)
    assert len(injected(log)) == 1


@pytest.mark.parametrize("phase", ["propose", "write"])
@pytest.mark.parametrize("calls", CHANGES)
def test_a_kill_before_any_system_call_of_an_edit_loses_nothing(
    calls: str, phase: str, place: Place, steps: Any, report: Any
) -> None:
    place.state.mkdir(mode=0o700)
    outcomes: list[str] = []
    for number in killed_edits(place, calls, phase, steps):
        after_kill = contents(place)
        assert all(after_kill[name] in (OLD[name], NEW[name]) for name in NEW), f"mixed text after kill {number}"
        age_leftovers(place)
        outcomes.append(edit_again(place, Person()))
        assert temporary_files(place) == [], number
        assert audit_problems(place) == "", number

    assert outcomes.count("CONFLICT") <= max(1, len(outcomes) // 2)
    report(f"{len(outcomes)} kills, {outcomes.count('CONFLICT')} conflicts")


ERRORS: Final = [
    *(
        (call, error)
        for call in ("fsync", "rename,renameat,renameat2", "link", "mkdir,mkdirat")
        for error in ("EIO", "ENOSPC")
    ),
    ("openat", "EMFILE"),
    ("openat", "EACCES"),
    ("unlink,unlinkat", "EROFS"),
    ("flock", "ENOLCK"),
    ("fchmod", "EPERM"),
]


@pytest.mark.parametrize("phase", ["propose", "write"])
@pytest.mark.parametrize("fault", ERRORS, ids=" ".join)
def test_a_failing_system_call_of_an_edit_loses_nothing(
    fault: tuple[str, str], phase: str, place: Place, steps: Any, report: Any
) -> None:
    calls, error = fault
    failures = 0
    for number in filter(steps, range(1, 2 * MAX_STEPS)):
        restore(place)
        log = place.state.with_name(f"{phase}-{number}.log")
        code, text = edit_with_fault(place, log, calls, f"error={error}:when={number}", phase)
        assert code is None, f"the server ended with {code}"
        assert re.search("Traceback|Errno", text) is None, text
        if not injected(log):
            break
        failures += 1
        after = contents(place)
        assert all(after[name] in (OLD[name], NEW[name]) for name in NEW), text
        age_leftovers(place)
        edit_again(place, Person())
        subprocess.run(["rm", "-r", place.state], check=True)
    else:
        raise AssertionError("no run without a failure")

    report(f"{failures} failures")
