"""Test a generated server as a client sees it, with the official SDK's client: in memory, or over stdio."""

from __future__ import annotations

import asyncio
import os
import sys
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any, TypeVar

from toolmason_runtime.shared.client_profiles import TOOLMASON
from toolmason_runtime.shared.extras import HTTP, require_extra
from toolmason_runtime.shared.selection import Selection

if TYPE_CHECKING:
    from mcp import Client
    from mcp.server.lowlevel import Server
    from mcp.types import Implementation

T = TypeVar("T")


def ask(
    package: str,
    question: Callable[[Client], Awaitable[T]],
    *,
    arguments: tuple[str, ...] = (),
    environment: Mapping[str, str] | None = None,
) -> T:
    """Start the server `package`, call `question` with a connected client, and return its result.

    The server is a process of its own, started as `python -m package` with the command-line `arguments`. It sees the
    import path of this process and the variables of `environment`.

    Example:
        ```python
        ask("my_server", lambda client: client.call_tool("count_words", {"text": "to be"}))
        ```
    """
    require_extra("`toolmason_runtime.testing`", HTTP)
    from mcp import Client, StdioServerParameters

    server = StdioServerParameters(
        command=sys.executable,
        args=["-m", package, *arguments],
        env={"PYTHONPATH": os.pathsep.join(sys.path), **(environment or {})},
    )

    async def run() -> T:
        async with _opened(Client(server, client_info=_client_info())) as client:
            return await question(client)

    return asyncio.run(run())


@asynccontextmanager
async def _opened(client: Client) -> AsyncIterator[Client]:
    """Open a client. An error of the body is raised as it is, not in the exception group of the client's tasks."""
    failure: BaseException | None = None
    async with client:
        try:
            yield client
        except (asyncio.CancelledError, GeneratorExit):
            raise
        except BaseException as error:  # noqa: BLE001  also that of `pytest.skip`; raised below
            failure = error
    if failure is not None:
        raise failure


def _client_info() -> Implementation:
    """Return the name of a client that sees the names of tools without a prefix."""
    from mcp.types import Implementation

    return Implementation(name=TOOLMASON, version="1")


ALL_TOOLS = Selection("classic", all_tools=True)
"""Every tool is listed and called by its own name."""


@asynccontextmanager
async def connected(
    build_server: Callable[..., Server[None]],
    *,
    selection: Selection = ALL_TOOLS,
    answers: Mapping[str, Any] | None = None,
    client: Mapping[str, Any] | None = None,
    **server: Any,
) -> AsyncIterator[Client]:
    """Yield a client that is connected to a server in this process. The lifespan ends with it.

    Args:
        build_server: the function of the generated package.
        selection: the served tools; by default all, by their own names.
        answers: what the user answers to every form: values by field; None declines.
        client: further arguments of `mcp.Client`, such as `sampling_callback`.
        server: further arguments of `build_server`: `options`, `state`, `commands`.

    Example:
        ```python
        async with connected(build_server, options=Options(token="test")) as client:
            result = await client.call_tool("count_words", {"text": "to be"})
        ```
    """
    require_extra("`toolmason_runtime.testing`", HTTP)
    from mcp import Client
    from mcp.types import ElicitResult

    async def answer(_context: Any, _request: Any) -> ElicitResult:
        if answers is None:
            return ElicitResult(action="decline")
        return ElicitResult(action="accept", content=dict(answers))

    arguments = {"elicitation_callback": answer, "client_info": _client_info(), **(client or {})}
    async with _opened(Client(build_server(selection, **server), **arguments)) as connection:
        yield connection


def fixtures(build_server: Callable[..., Server[None]], **arguments: Any) -> tuple[Any, Any]:
    """Return the pytest fixtures `anyio_backend` and `client`, a client of its own for each test.

    Tests are `async def` and have the mark `anyio`, of anyio's pytest plugin, which the SDK installs.

    Args:
        build_server: the function of the generated package.
        arguments: those of `connected`.

    Example:
        ```python
        anyio_backend, client = fixtures(build_server, options=Options(token="test"))
        ```
    """
    import pytest

    @pytest.fixture(name="anyio_backend", scope="session")
    def anyio_backend() -> str:
        return "asyncio"

    @pytest.fixture(name="client")
    async def client() -> AsyncIterator[Client]:
        async with connected(build_server, **arguments) as connection:
            yield connection

    return anyio_backend, client
