"""Serve MCP over standard input and output with the standard library alone."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from contextlib import suppress
from typing import TYPE_CHECKING

from toolmason_runtime.transports.stdio.connection import Connection
from toolmason_runtime.transports.stdio.descriptors import own_streams
from toolmason_runtime.transports.stdio.pipes import Output, start_reader

if TYPE_CHECKING:
    from toolmason_runtime.protocol.dispatching import Dispatching
    from toolmason_runtime.transports.shutdown import Shutdown

_log = logging.getLogger(__package__)


def serve(make_dispatcher: Callable[[], Dispatching], shutdown: Shutdown) -> None:
    """Serve until the input ends, the client closes the output, or a signal arrives; then cancel the running calls."""
    with own_streams() as (source, sink):
        asyncio.run(_serve(make_dispatcher(), source, sink, shutdown))


async def _serve(dispatcher: Dispatching, source: int, sink: int, shutdown: Shutdown) -> None:
    loop = asyncio.get_running_loop()
    ended = asyncio.Event()

    def stop() -> None:
        with suppress(RuntimeError):
            loop.call_soon_threadsafe(ended.set)

    shutdown.serve(stop)
    output = Output(sink, shutdown.stop)
    connection = Connection(dispatcher, output)
    start_reader(source, connection.receive, shutdown.stop)
    await ended.wait()
    try:
        await connection.close()
        await dispatcher.aclose()
    except Exception:  # noqa: BLE001  the process ends
        _log.debug("error during shutdown", exc_info=True)
    await output.flush()
