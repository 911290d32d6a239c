"""The process runner, with the launcher and without it."""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
from pathlib import Path

import anyio
import pytest
from toolmason_runtime.programs.launcher_client import Execution
from toolmason_runtime.programs.process_group import LaunchedProcess, SpawnedProcess
from toolmason_runtime.programs.running_process import RunningProcess

pytestmark = pytest.mark.anyio

TIMEOUT_S = 30.0
KINDS = [LaunchedProcess, SpawnedProcess] if sys.platform == "linux" else [SpawnedProcess]
ENDLESS = "import sys\nwhile True: sys.stdout.write('x' * 1000)"


@pytest.fixture(params=KINDS, ids=lambda kind: kind.__name__)
def kind(request: pytest.FixtureRequest) -> type[LaunchedProcess | SpawnedProcess]:
    found: type[LaunchedProcess | SpawnedProcess] = request.param
    return found


def python(code: str, *, cwd: str = "", umask: int = -1) -> Execution:
    return Execution(
        argv=(sys.executable, "-c", code), executable=sys.executable, env=dict(os.environ), cwd=cwd, umask=umask
    )


async def run(process: RunningProcess, execution: Execution, stdin: bytes = b"") -> int | None:
    """Run a program to its end, and return its exit code."""
    try:
        with anyio.fail_after(TIMEOUT_S):
            await process.start(execution, stdin)
            await process.finished()
        return process.exit_code
    finally:
        await process.end()


def modes(directory: Path) -> dict[str, str]:
    return {path.name: f"{path.stat().st_mode & 0o777:o}" for path in directory.iterdir()}


async def test_callbacks_receive_both_streams_and_the_input_arrives_whole(kind: type[LaunchedProcess]) -> None:
    stdout, stderr = bytearray(), bytearray()
    code = "import sys; data = sys.stdin.read(); print(len(data)); print(data[-3:], file=sys.stderr); sys.exit(7)"

    assert await run(kind(stdout.extend, stderr.extend), python(code), b"x" * 500_000 + b"end") == 7
    assert (stdout.decode().strip(), stderr.decode().strip()) == ("500003", "end")


async def test_a_stream_without_destination_is_the_null_device(kind: type[LaunchedProcess]) -> None:
    code = "import os; assert os.path.samestat(os.fstat(1), os.stat(os.devnull))"

    assert await run(kind(None), python(code)) == 0


async def test_a_reader_and_an_open_input_allow_a_dialogue(kind: type[LaunchedProcess]) -> None:
    reader = asyncio.StreamReader()
    process = kind(reader)
    try:
        with anyio.fail_after(TIMEOUT_S):
            await process.start(python("while line := input(): print(line.upper(), flush=True)"), stdin=None)
            assert process.stdin is not None
            answers = []
            for word in (b"one\n", b"two\n"):
                process.stdin.write(word)
                await process.stdin.drain()
                answers.append(await reader.readline())
    finally:
        await process.end(at_once=True)

    assert answers == [b"ONE\n", b"TWO\n"]
    assert process.exit_code is not None


async def test_a_reader_that_is_not_read_stops_the_program(kind: type[LaunchedProcess]) -> None:
    reader = asyncio.StreamReader(limit=1_000)
    process = kind(reader)
    try:
        with anyio.fail_after(TIMEOUT_S):
            await process.start(python(ENDLESS))
            await reader.readexactly(1_000_000)
            for _ in range(10_000):
                await asyncio.sleep(0)
    finally:
        await process.end(at_once=True)
    with anyio.fail_after(TIMEOUT_S):
        rest = await reader.read()

    assert len(rest) < 1_000_000


async def test_a_program_that_writes_too_much_is_not_waited_for(kind: type[LaunchedProcess]) -> None:
    size = bytearray()
    process = kind(size.extend, max_bytes=100_000)

    await run(process, python(ENDLESS))

    assert process.has_written_too_much
    assert len(size) > 100_000


async def test_waiting_can_be_stopped_while_the_program_runs(kind: type[LaunchedProcess]) -> None:
    process = kind(lambda _: process.stop_waiting())

    assert await run(process, python("import time; print('ready', flush=True); time.sleep(600)")) is None
    assert process.exit_code is not None


async def test_the_end_includes_processes_that_the_program_left_behind(
    kind: type[LaunchedProcess], tmp_path: Path
) -> None:
    os.mkfifo(tmp_path / "alive")
    left = f"p = open({str(tmp_path / 'alive')!r}, 'w'); import time; print('ready', flush=True); time.sleep(600)"
    code = f"import subprocess, sys, time; subprocess.Popen([sys.executable, '-c', {left!r}]); time.sleep(600)"
    reader = os.open(tmp_path / "alive", os.O_RDONLY | os.O_NONBLOCK)
    process = kind(lambda _: process.stop_waiting())

    await run(process, python(code))

    os.set_blocking(reader, True)
    with anyio.fail_after(TIMEOUT_S):
        assert await anyio.to_thread.run_sync(os.read, reader, 1, abandon_on_cancel=True) == b""
    os.close(reader)


async def test_an_output_file_is_read_while_it_grows_and_is_private(
    kind: type[LaunchedProcess], tmp_path: Path
) -> None:
    output = bytearray()
    # The program ends only when its first output was read.
    code = "import os, sys; print('one', flush=True); os.mkdir('made'); sys.stdin.read(); print('two')"
    process = kind(output.extend, stdout_file=tmp_path / "output")
    before = os.umask(0o022)
    try:
        with anyio.fail_after(TIMEOUT_S):
            await process.start(python(code, cwd=str(tmp_path), umask=0o077), stdin=None)
            while not output:  # noqa: ASYNC110  a file has no event
                await asyncio.sleep(0.01)
            assert process.stdin is not None
            process.stdin.close()
            await process.finished()
    finally:
        await process.end()
        os.umask(before)

    assert output.decode().split() == ["one", "two"]
    assert modes(tmp_path) == {"output": "600", "made": "700"}


async def test_a_program_that_cannot_start_raises_and_leaves_nothing(kind: type[LaunchedProcess]) -> None:
    process = kind(None)
    try:
        with pytest.raises(OSError, match="No such file"):
            await process.start(Execution(argv=("x",), executable="/nonexistent/x", env={}))
    finally:
        await process.end()


def test_the_public_names_are_loaded_on_first_use() -> None:
    code = (
        "import sys, toolmason_runtime.programs as runner; early = 'asyncio' in sys.modules;"
        "names = [name for names in runner.EXPORTS.values() for name in names];"
        "assert all(hasattr(runner, name) for name in names); sys.exit(early or hasattr(runner, 'x'))"
    )

    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
