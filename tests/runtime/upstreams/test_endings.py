"""Upstreams end with their processes: after a crash, a cancellation, and with the server."""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Awaitable, Callable
from contextlib import AbstractAsyncContextManager
from pathlib import Path

import anyio
import pytest
from mcp import Client
from mcp.types import CallToolResult, TextContent
from oracle import LEGACY
from stdio_peer import talking as talking_to_process
from toolmason_runtime.serving import ProgramSettings
from toolmason_runtime.shared.specs.upstream import Upstream
from toolmason_runtime.upstreams.process import UpstreamProcess

pytestmark = pytest.mark.anyio

Talk = Callable[..., AbstractAsyncContextManager[Client]]
Until = Callable[[Callable[[], bool]], Awaitable[None]]
IsRunning = Callable[[int], bool]
UNASKED = ProgramSettings(headless_approve=True)


@pytest.fixture(autouse=True)
def ending_server(desk: Path, monkeypatch: pytest.MonkeyPatch) -> None:  # noqa: ARG001  whose environment this changes
    monkeypatch.setenv("MODERN_SERVER", str(Path(__file__).with_name("ending_server.py")))


def text_of(result: CallToolResult) -> str:
    """Return all texts of a result."""
    return "\n".join(block.text for block in result.content if isinstance(block, TextContent))


def numbers(path: Path) -> list[int]:
    """Return the numbers in a file; none if it does not exist."""
    return [int(word) for word in path.read_text(encoding="utf-8").split()] if path.exists() else []


@pytest.mark.parametrize(
    ("tool", "times", "message"),
    [
        pytest.param("crash_read", 1, "survived", id="repeated after one crash"),
        pytest.param("crash_read", 2, "ended twice during this call with exit code 3", id="not repeated a second time"),
        pytest.param("crash_write", 1, "The call may have had an effect: check it", id="a write is never repeated"),
    ],
)
async def test_a_crash_restarts_the_upstream_once(talking: Talk, tool: str, times: int, message: str) -> None:
    async with talking(UNASKED) as client:
        result = await client.call_tool(tool, {"times": times})
        again = await client.call_tool(tool, {"times": times})

    assert message in text_of(result)
    assert text_of(again) == "survived"


async def test_an_upstream_that_is_killed_during_a_call_leaves_no_process(
    talking: Talk, desk: Path, until: Until, is_running: IsRunning
) -> None:
    results: list[CallToolResult] = []
    async with talking() as client, anyio.create_task_group() as tasks:

        async def wait() -> None:
            results.append(await client.call_tool("wait_modern", {}))

        tasks.start_soon(wait)
        for start in (1, 2):
            await until(lambda start=start: len(numbers(desk / "waiting")) == start)  # type: ignore[misc]
            os.kill(numbers(desk / "waiting")[-1], signal.SIGKILL)
    processes = numbers(desk / "pids")

    assert "ended twice during this call by signal 9" in text_of(results[0])
    assert len(processes) == 4
    await until(lambda: not any(map(is_running, processes)))


async def test_a_stopped_upstream_is_ended_with_the_server(
    talking: Talk, desk: Path, until: Until, is_running: IsRunning
) -> None:
    """A process that SIGSTOP has stopped takes no request to end."""
    async with talking() as client, anyio.create_task_group() as tasks:
        tasks.start_soon(client.call_tool, "wait_modern", {})
        await until(lambda: len(numbers(desk / "waiting")) == 1)
        os.kill(numbers(desk / "waiting")[0], signal.SIGSTOP)
        tasks.cancel_scope.cancel()

    await until(lambda: not any(map(is_running, numbers(desk / "pids"))))


async def test_an_error_with_the_code_of_a_closed_connection_does_not_end_the_upstream(
    talking: Talk, desk: Path
) -> None:
    async with talking() as client:
        refused = await client.call_tool("refuse", {})
        await client.call_tool("fail", {})

    assert "The MCP server 'modern' failed: no [31m ink." in text_of(refused)
    assert len(numbers(desk / "pids")) == 2


async def test_invalid_lines_of_an_upstream_do_not_fill_the_log(caplog: pytest.LogCaptureFixture) -> None:
    process = UpstreamProcess(
        Upstream(name="chatty", command=(sys.executable, "-c", "print('hello\\n' * 1_000)")), None
    )
    async with process.streams():
        await process.ended.wait()

    assert 1 <= caplog.text.count("ignored an invalid line") <= 20


async def test_an_idle_upstream_that_was_killed_starts_again_for_any_call(
    talking: Talk, desk: Path, until: Until, is_running: IsRunning
) -> None:
    async with talking(UNASKED) as client:
        await client.call_tool("fail", {})
        upstream, child = numbers(desk / "pids")
        os.kill(upstream, signal.SIGKILL)
        await until(lambda: not is_running(child))
        result = await client.call_tool("crash_write", {"times": 0})

    assert text_of(result) == "survived"


async def test_cancelling_a_call_cancels_it_in_the_upstream_without_ending_the_upstream(
    talking: Talk, desk: Path, until: Until
) -> None:
    async with talking() as client:
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(client.call_tool, "wait_modern", {})
            await until((desk / "waiting").exists)
            tasks.cancel_scope.cancel()
        await until((desk / "cancelled").exists)
        await client.call_tool("fail", {})

    assert len(numbers(desk / "pids")) == 2


async def test_closing_the_server_ends_its_upstreams(
    talking: Talk, desk: Path, until: Until, is_running: IsRunning
) -> None:
    async with talking() as client:
        await client.call_tool("fail", {})
        processes = numbers(desk / "pids")
        assert [is_running(pid) for pid in processes] == [True, True]

    await until(lambda: not any(map(is_running, processes)))


@pytest.mark.parametrize("ending", ["end of input", "SIGTERM", "SIGKILL"])
async def test_no_upstream_outlives_a_server_that_waits_for_it(
    desk_project: Path, desk: Path, until: Until, is_running: IsRunning, ending: str
) -> None:
    path = os.pathsep.join([str(desk_project / "generated"), *sys.path])
    with talking_to_process(LEGACY, command=(sys.executable, "-m", "desk_server"), env={"PYTHONPATH": path}) as peer:
        peer.send("tools/call", name="wait_modern", arguments={})
        await until((desk / "waiting").exists)
        processes = numbers(desk / "pids")
        if ending == "end of input":
            peer.end_of_input()
        else:
            peer.process.send_signal(signal.Signals[ending])
        assert peer.exit_status() == (-signal.SIGKILL if ending == "SIGKILL" else 0)

    await until(lambda: not any(map(is_running, processes)))
