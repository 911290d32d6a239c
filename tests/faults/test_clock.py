"""The time of day jumps while a server runs: a day forward, a day back, and years."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path
from typing import Any, Final

import pytest
from edit_server import PROPOSE, Person, Place, answer
from http_peer import RawClient, serving
from oracle import LEGACY

JUMPS: Final = ("+12h", "-1d", "+1d", "+3650d", "-1d", "+0")
"""Offsets from the true time, one after the other."""


@pytest.fixture
def clock(tmp_path: Path) -> Callable[[str], None]:
    """Set the offset of the time of day in the processes that start with `fake_time`."""
    path = tmp_path / "offset"
    path.write_text("+0\n", encoding="utf-8")
    return lambda offset: (path.with_suffix(".new").write_text(f"{offset}\n"), path.with_suffix(".new").replace(path))  # type: ignore[func-returns-value]


@pytest.fixture
def fake_time(tmp_path: Path) -> dict[str, str]:
    """Variables of a process whose clock is that of `clock`; its monotonic clock stays true."""
    found = sorted(Path("/usr/lib").glob("*/faketime/libfaketimeMT.so.1"))
    if not found:
        pytest.skip("not run: needs faketime")
    return {
        "LD_PRELOAD": str(found[0]),
        "FAKETIME_TIMESTAMP_FILE": str(tmp_path / "offset"),
        "FAKETIME_NO_CACHE": "1",
        # Otherwise the wait for the lock of the interpreter lasts as long as the jump.
        "FAKETIME_FORCE_MONOTONIC_FIX": "0",
        "FAKETIME_DONT_FAKE_MONOTONIC": "1",
        "DONT_FAKE_MONOTONIC": "1",
    }


def calls(place: Place) -> list[tuple[str, dict[str, Any]]]:
    place.write("a.txt", b"line\n" * 100)
    place.write("b.json", b'{"a": 1}')
    return [
        ("read_files", {"files": [{"path": "a.txt", "head": 1}]}),
        ("grep_content", {"pattern": "^line", "search_path": "a.txt"}),
        ("query_json", {"file_path": "b.json", "jq_expression": ".a"}),
        ("word_count", {"lines": True, "paths": ["a.txt"]}),
    ]


def test_calls_succeed_and_the_audit_log_stays_intact(
    place: Place, user: Person, clock: Callable[[str], None], fake_time: dict[str, str], report: Callable[[str], None]
) -> None:
    log = place.state / "audit.log"
    place.state.mkdir(mode=0o700)
    count = 0
    with place.server(LEGACY, "--audit", str(log), person=user, env=fake_time) as client:
        for offset in JUMPS:
            clock(offset)
            for tool, arguments in calls(place):
                result = client.raw(tool, **arguments)
                assert not result.get("isError"), (offset, tool, result)
                count += 1
            edit = {"path": "new.txt", "match_text": "", "new_string": f"after {offset}\n"}
            assert client.call(PROPOSE, **edit)["user_action"] == "COMMITTED", offset
            (place.project / "new.txt").unlink()
            count += 1

    command = [sys.executable, "-m", "workbench_server", "audit", "--format", "json", str(log)]
    done = subprocess.run(command, capture_output=True, encoding="utf-8", check=False, timeout=60)
    assert done.returncode == 0, done.stderr
    assert "20" in done.stdout
    report(f"{count} calls right, {len(JUMPS)} jumps")


class TimeTraveller(Person):
    """A person during whose decision the clock jumps."""

    def __init__(self, jump: Callable[[], None]) -> None:
        super().__init__()
        self.jump = jump

    def __call__(self, question: dict[str, Any]) -> dict[str, Any]:  # noqa: ARG002  as the client calls it
        self.jump()
        return answer("approve")


@pytest.mark.parametrize(
    "jump", [("-1d", "COMMITTED"), ("-3650d", "COMMITTED"), ("+12h", "COMMITTED"), ("+25h", "EXPIRED")], ids=" ".join
)
def test_a_review_expires_by_the_time_of_day(
    jump: tuple[str, str], place: Place, clock: Callable[[str], None], fake_time: dict[str, str], report: Any
) -> None:
    """A review outlives the server, so its 24 hours are of the time of day. An expired one writes nothing."""
    offset, outcome = jump
    place.write("a.txt", b"old\n")
    person = TimeTraveller(lambda: clock(offset))
    with place.server(LEGACY, person=person, env=fake_time) as client:
        result = client.call(PROPOSE, path="a.txt", match_text="OVERWRITE_FILE", new_string="new\n")

    assert result["user_action"] == outcome
    assert (place.project / "a.txt").read_bytes() == (b"new\n" if outcome == "COMMITTED" else b"old\n")
    report(outcome)


def test_a_session_over_http_survives_jumps(
    place: Place, clock: Callable[[str], None], fake_time: dict[str, str], report: Callable[[str], None]
) -> None:
    env = {**fake_time, "WORKBENCH_STATE": str(place.state)}
    flags = ("--classic", "--all", "--http", "--port", "0", "--log-level", "critical", "--root", str(place.project))
    with serving(*flags, command=("-m", "workbench_server"), env=env) as (_, address), ExitStack() as stack:
        client = RawClient(address, LEGACY, stack)
        for offset in JUMPS:
            clock(offset)
            for tool, arguments in calls(place):
                message = list(client.call(tool, arguments))[-1]
                assert not message["result"].get("isError"), (offset, message)

    report(f"one session, {len(JUMPS)} jumps")


def test_the_clock_of_these_tests_jumps(clock: Callable[[str], None], fake_time: dict[str, str]) -> None:
    times = []
    for offset in ("+0", "+1d"):
        clock(offset)
        command = [sys.executable, "-c", "import time; print(time.time(), time.monotonic())"]
        done = subprocess.run(command, env={**os.environ, **fake_time}, capture_output=True, text=True, check=True)
        times.append([float(word) for word in done.stdout.split()])

    assert 86_000 < times[1][0] - times[0][0] < 87_000
    assert times[1][1] - times[0][1] < 1_000
