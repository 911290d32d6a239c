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

pytestmark = pytest.mark.real_start(reason="an interpreter reads its clock module at its start")
HOUR: Final = 3_600
DAY: Final = 24 * HOUR
JUMPS: Final = (12 * HOUR, -DAY, DAY, 3_650 * DAY, -DAY, 0)
"""Seconds from the true time, one after the other."""
SUPPORT: Final = Path(__file__).parent / "support" / "clock"


@pytest.fixture
def clock(tmp_path: Path) -> Callable[[int], None]:
    """Set the offset of the time of day in the processes that start with `shifted`."""
    path = tmp_path / "offset"
    new = tmp_path / "offset.new"

    def jump(seconds: int) -> None:
        new.write_text(str(seconds), encoding="utf-8")
        new.replace(path)

    jump(0)
    return jump


@pytest.fixture
def shifted(tmp_path: Path) -> dict[str, str]:
    """Variables of a process whose time of day is that of `clock`; its monotonic clock stays true."""
    path = os.pathsep.join([str(SUPPORT), *sys.path])
    return {"PYTHONPATH": path, "CLOCK_OFFSET": str(tmp_path / "offset")}


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
    place: Place, user: Person, clock: Callable[[int], None], shifted: dict[str, str], report: Callable[[str], None]
) -> None:
    log = place.state / "audit.log"
    place.state.mkdir(mode=0o700)
    count = 0
    with place.server(LEGACY, "--audit", str(log), person=user, env=shifted) as client:
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
    "jump", [(-DAY, "COMMITTED"), (-3_650 * DAY, "COMMITTED"), (12 * HOUR, "COMMITTED"), (25 * HOUR, "EXPIRED")]
)
def test_a_review_expires_by_the_time_of_day(
    jump: tuple[int, str], place: Place, clock: Callable[[int], None], shifted: dict[str, str], report: Any
) -> None:
    """A review outlives the server, so its 24 hours are of the time of day. An expired one writes nothing."""
    offset, outcome = jump
    place.write("a.txt", b"old\n")
    person = TimeTraveller(lambda: clock(offset))
    with place.server(LEGACY, person=person, env=shifted) as client:
        result = client.call(PROPOSE, path="a.txt", match_text="OVERWRITE_FILE", new_string="new\n")

    assert result["user_action"] == outcome
    assert (place.project / "a.txt").read_bytes() == (b"new\n" if outcome == "COMMITTED" else b"old\n")
    report(outcome)


def test_a_session_over_http_survives_jumps(
    place: Place, clock: Callable[[int], None], shifted: dict[str, str], report: Callable[[str], None]
) -> None:
    env = {**shifted, "WORKBENCH_STATE": str(place.state)}
    flags = ("--classic", "--all", "--http", "--port", "0", "--log-level", "critical", "--root", str(place.project))
    with serving(*flags, command=("-m", "workbench_server"), env=env) as (_, address), ExitStack() as stack:
        client = RawClient(address, LEGACY, stack)
        for offset in JUMPS:
            clock(offset)
            for tool, arguments in calls(place):
                message = list(client.call(tool, arguments))[-1]
                assert not message["result"].get("isError"), (offset, message)

    report(f"one session, {len(JUMPS)} jumps")


def test_the_clock_of_these_tests_jumps(clock: Callable[[int], None], shifted: dict[str, str]) -> None:
    times = []
    for offset in (0, DAY):
        clock(offset)
        command = [sys.executable, "-c", "import time; print(time.time(), time.monotonic())"]
        done = subprocess.run(command, env={**os.environ, **shifted}, capture_output=True, text=True, check=True)
        times.append([float(word) for word in done.stdout.split()])

    assert 86_000 < times[1][0] - times[0][0] < 87_000
    assert times[1][1] - times[0][1] < 1_000
