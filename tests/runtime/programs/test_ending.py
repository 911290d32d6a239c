"""A server that ends, in whatever way it is told to, leaves none of its programs behind."""

from __future__ import annotations

import os
import shutil
import signal
import sys
from collections.abc import Awaitable, Callable
from pathlib import Path

import anyio
import pytest
import sample_server
from command_sample import Sample
from oracle import LEGACY
from stdio_peer import SAMPLE, talking
from toolmason_runtime.shared.engines import ENGINES

pytestmark = pytest.mark.anyio

Program = Callable[..., tuple[str, ...]]
IsRunning = Callable[[int], bool]
Until = Callable[[Callable[[], bool]], Awaitable[None]]

LEAVE = """
import asyncio, os, sys, threading, time
from pathlib import Path
from toolmason_runtime.programs.execute import run
from toolmason_runtime.programs.docker import in_container
from toolmason_runtime.programs.policy import Docker
from toolmason_runtime.programs.invocation import Invocation
from toolmason_runtime.transports.shutdown import leave

moment, place, *argv = sys.argv[1:]
place = Path(place)
prepared = Invocation(argv=tuple(argv), timeout_s=60)

def children():
    return Path(f"/proc/self/task/{threading.main_thread().native_id}/children").read_text()

async def main():
    more = {"executor": in_container(Docker(image="alpine:3"))} if moment == "in a container" else {}
    task = asyncio.ensure_future(run(prepared, **more))
    is_begun = children if moment == "just started" else place.exists
    while not is_begun():
        await asyncio.sleep(0)
    while not place.exists():
        time.sleep(0.01)
    while moment == "orphaned" and Path("/proc", place.read_text().split()[0]).exists():
        await asyncio.sleep(0)
    # As it is in a server: the thread that hears signals leaves, whatever the loop does.
    threading.Thread(target=leave).start()
    time.sleep(60)

asyncio.run(main())
"""
"""Runs a program, and leaves once that has written a file.

Where it is `just started`, the loop has not heard of it; where `orphaned`, only its child runs on.
"""


ENDINGS = ["SIGTERM twice", "end of input and SIGTERM", "SIGTERM", "SIGINT", "end of input", "SIGKILL"]


def pids(place: Path) -> list[int]:
    return [int(each) for each in place.read_text(encoding="ascii").split()]


@pytest.fixture
def sample_path(sample: Sample, generated: Path) -> str:
    """Where the sample server is imported from, in an environment that it can be started in."""
    assert "linger" in sample.catalogue["tools"]
    return os.pathsep.join([str(generated), *sys.path])


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("ending", ENDINGS)
async def test_no_program_outlives_its_server(
    *, sample_path: str, tmp_path: Path, until: Until, is_running: IsRunning, ending: str, engine: str
) -> None:
    record = tmp_path / "record"
    command = (sys.executable, "-m", "climax_server", "--classic", "--engine", engine)
    with talking(LEGACY, command=command, env={"PYTHONPATH": sample_path}) as peer:
        peer.send("tools/call", name="linger", arguments={"record": str(record), "deaf": True})
        await until(record.exists)
        left = pids(record)
        assert [is_running(each) for each in left] == [True, True, True]
        if ending.startswith("end of input"):
            peer.end_of_input()
        for word in ending.split():
            if word.startswith("SIG"):
                peer.process.send_signal(signal.Signals[word])
        if ending.endswith("twice"):
            peer.process.send_signal(signal.SIGTERM)

        assert peer.exit_status() == (-signal.SIGKILL if ending == "SIGKILL" else 0)
        await until(lambda: not any(map(is_running, left)))


HANDLERS = """

from toolmason_runtime.programs import Invocation, run

COMMAND = Invocation(argv=tuple(os.environ["FAMILY"].split("|")), timeout_s=600)


async def wait(params: NoParams, call: ToolCall) -> Content:
    await run(COMMAND)
    return "never"


def hold(params: NoParams, call: ToolCall) -> Content:
    from_thread.run(run, COMMAND)
    return "never"


async def release(params: NoParams, call: ToolCall) -> Content:
    codes = [subprocess.run([sys.executable, "-c", f"raise SystemExit({code})"]).returncode for code in (0, 7)]
    waited = os.waitpid(os.spawnlp(os.P_NOWAIT, "sh", "sh", "-c", "exit 9"), 0)[1]
    return json.dumps([*codes, os.waitstatus_to_exitcode(waited)])
"""
"""Handlers of both kinds that run a program, and one that waits for programs of its own."""


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("tool", ["wait", "hold"])
async def test_programs_end_with_a_killed_server_and_a_handlers_own_processes_are_unaffected(
    *, tool: str, engine: str, program: Program, tmp_path: Path, until: Until, is_running: IsRunning
) -> None:
    package, place = tmp_path / "sample_server", tmp_path / "pids"
    shutil.copytree(Path(sample_server.__file__).parent, package)
    with (package / "odd_handlers.py").open("a", encoding="utf-8") as file:
        file.write("import os\nimport subprocess\n" + HANDLERS)
    env = {"PYTHONPATH": os.pathsep.join([str(tmp_path), *sys.path])}
    env["FAMILY"] = "|".join(program("family", place, "deaf session"))
    with talking(LEGACY, command=(*SAMPLE, "--engine", engine), env=env) as peer:
        peer.send("tools/call", name=tool, arguments={})
        await until(place.exists)
        left = pids(place)
        statuses = peer.call("release")["content"][0]["text"]
        assert [is_running(each) for each in left] == [True, True]
        peer.process.kill()
        peer.exit_status()
        await until(lambda: not any(map(is_running, left)))

    assert statuses == "[0, 7, 9]"


@pytest.mark.parametrize(
    "situation",
    [
        pytest.param(("running", "deaf"), id="while it runs"),
        pytest.param(("just started", "deaf"), id="before the loop has heard of it"),
        pytest.param(("orphaned", "orphan"), id="after the program itself has ended"),
        pytest.param(("running", "deaf session"), id="in another session"),
    ],
)
async def test_whatever_was_started_is_killed_before_the_process_leaves(
    program: Program, is_running: IsRunning, until: Until, tmp_path: Path, situation: tuple[str, str]
) -> None:
    place = tmp_path / "pids"
    moment, kind = situation

    await anyio.run_process([sys.executable, "-c", LEAVE, moment, str(place), *program("family", place, kind)])

    await until(lambda: not any(map(is_running, pids(place))))


async def test_a_container_is_killed_before_the_process_leaves(
    docker: Path, program: Program, is_running: IsRunning, until: Until, tmp_path: Path
) -> None:
    place = tmp_path / "pids"
    environ = os.environ | {"PATH": f"{docker.parent}{os.pathsep}{os.environ['PATH']}"}
    argv = [sys.executable, "-c", LEAVE, "in a container", str(place), *program("family", place, "deaf")]

    await anyio.run_process(argv, env=environ)

    await until(lambda: not any(map(is_running, pids(place))))
