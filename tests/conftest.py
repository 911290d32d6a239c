"""What all tests share: signals, how hypothesis runs, the oracle of the wire within reach, an ear for any transport."""

from __future__ import annotations

import gc
import os
import signal
import sys
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from pathlib import Path

import anyio
import pytest
from hypothesis import HealthCheck, settings
from mcp.client import Transport
from mcp.shared.message import SessionMessage

sys.path.insert(0, str(Path(__file__).parent / "runtime" / "support"))
sys.path.insert(0, str(Path(__file__).parent / "support"))
sys.path.append(str(Path(__file__).parents[1]))  # for `bench`, after installed packages

import forked_start
from oracle import Ends, Oracle, plain

# Tests started in the background or with nohup have these ignored, and so has every program that a test starts: an
# interrupt that a test sends would be lost, and the test would wait for its end.
for _name in ("SIGINT", "SIGHUP", "SIGQUIT"):
    if (_number := getattr(signal, _name, None)) and signal.getsignal(_number) is signal.SIG_IGN:
        signal.signal(_number, signal.default_int_handler if _name == "SIGINT" else signal.SIG_DFL)

# A busy machine is slow without anything being wrong. Examples are the same in each run, so that no change fails for a
# mistake that it did not make; `nox -s fuzz` looks for new ones.
settings.register_profile(
    "calm", deadline=None, suppress_health_check=[HealthCheck.too_slow], derandomize=True, max_examples=50
)
settings.register_profile("fuzz", settings.get_profile("calm"), derandomize=False, max_examples=1_000, print_blob=True)
settings.load_profile("calm")

forked_start.install()


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--real-start", action="store_true", help="start every process; fork no loaded interpreter")


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", "covering: in tests/generator, whose branches of the toolkit nox measures")
    config.addinivalue_line("markers", "uncovered: takes long, and quicker tests reach its branches: not measured")
    config.addinivalue_line("markers", "real_start(reason): the processes of this test are started, never forked")


def pytest_collection() -> None:
    gc.disable()


def pytest_collection_finish() -> None:
    # The library of the module `readline` sets these behind the back of `os.environ`, for started processes alone.
    for name in {"COLUMNS", "LINES"} - os.environ.keys():
        os.unsetenv(name)
    # Modules and collected tests stay until the end. Without this, each full collection of garbage visits them all.
    gc.freeze()
    gc.enable()


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup(item: pytest.Item) -> None:
    is_real = item.config.getoption("--real-start") or item.get_closest_marker("real_start") is not None
    forked_start.pause(is_paused=is_real)


@pytest.fixture(scope="session", autouse=True)
def types_of_packages(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Let mypy read the types of installed packages once for all projects of the tests."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("MYPY_CACHE_DIR", str(tmp_path_factory.mktemp("mypy")))
        yield


@pytest.fixture(scope="session", autouse=True)
def programs_of_npm(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Let Node.js compile each program once for all tests, and Gemini CLI not start itself again for more memory."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("NODE_COMPILE_CACHE", str(tmp_path_factory.mktemp("node")))
        patch.setenv("GEMINI_CLI_NO_RELAUNCH", "true")
        yield


Overheard = Callable[[Transport, Oracle], AbstractAsyncContextManager[Ends]]


@pytest.fixture(scope="session")
def overheard() -> Overheard:
    """Put an oracle between a client and its transport: every message is held against its revision of MCP."""
    return _overheard


@asynccontextmanager
async def _overheard(transport: Transport, oracle: Oracle) -> AsyncIterator[Ends]:
    to_client, client_in = anyio.create_memory_object_stream[SessionMessage | Exception](16)
    client_out, from_client = anyio.create_memory_object_stream[SessionMessage](16)
    async with transport as (from_server, to_server), anyio.create_task_group() as tasks:

        async def forth() -> None:
            async with from_client, to_server:
                async for message in from_client:
                    oracle.from_client(plain(message))
                    await to_server.send(message)

        async def back() -> None:
            async with to_client:
                async for message in from_server:
                    assert isinstance(message, SessionMessage), message
                    oracle.from_server(plain(message))
                    await to_client.send(message)

        tasks.start_soon(forth)
        tasks.start_soon(back)
        async with client_in, client_out:
            yield client_in, client_out
        tasks.cancel_scope.cancel()
