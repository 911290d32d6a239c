"""Test a generated server as a client sees it: over stdio, with the official SDK's client."""

from __future__ import annotations

import asyncio
import os
import sys
from collections.abc import Awaitable, Callable, Mapping
from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from mcp import Client

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
    from mcp import Client, StdioServerParameters

    server = StdioServerParameters(
        command=sys.executable,
        args=["-m", package, *arguments],
        env={"PYTHONPATH": os.pathsep.join(sys.path), **(environment or {})},
    )

    async def run() -> T:
        async with Client(server) as client:
            return await question(client)

    return asyncio.run(run())
