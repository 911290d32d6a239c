"""The asynchronous phase of the lean engine: an event loop, and threads for blocking calls."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Iterable
from contextlib import suppress
from typing import TYPE_CHECKING

from toolmason_runtime.transports.stdio.connection import Connection
from toolmason_runtime.transports.stdio.idle_time import IDLE_S, start_thread
from toolmason_runtime.transports.stdio.input import start_reader
from toolmason_runtime.transports.stdio.output import Output

if TYPE_CHECKING:
    from toolmason_runtime.calls.dispatcher import DispatcherProtocol
    from toolmason_runtime.transports.messages import LineBuffer
    from toolmason_runtime.transports.shutdown import Shutdown
    from toolmason_runtime.transports.stdio.session import Session

_log = logging.getLogger(__package__)


def serve(
    dispatcher: DispatcherProtocol,
    session: Session,
    source: int,
    sink: int,
    shutdown: Shutdown,
    *,
    prepare: Callable[[], None] | None,
    lines: Iterable[bytes],
    buffer: LineBuffer,
) -> None:
    """Serve until the input ends, the client closes the output, or a signal arrives; then cancel the running calls.

    `prepare` prepares the first call; None if it has begun. `lines` were read before and not answered; `buffer`
    contains the beginning of the next line.
    """

    async def main() -> None:
        loop = asyncio.get_running_loop()
        ended = asyncio.Event()

        def stop() -> None:
            with suppress(RuntimeError):
                loop.call_soon_threadsafe(ended.set)

        shutdown.serve(stop)
        output = Output(sink, shutdown.stop)
        connection = Connection(dispatcher, session, output)
        start_reader(source, connection.receive, shutdown.stop, output, first=lines, buffer=buffer)
        preparation = loop.create_task(_prepare_when_quiet(connection, prepare)) if prepare else None
        await ended.wait()
        if preparation:
            preparation.cancel()
        await _close(connection, dispatcher)
        await output.flush()

    asyncio.run(main())


async def _prepare_when_quiet(connection: Connection, prepare: Callable[[], None]) -> None:
    """Prepare the first call after `IDLE_S` without messages and running requests, unless the client has made it."""
    received = -1
    while received != connection.received or connection.is_busy():
        received = connection.received
        await asyncio.sleep(IDLE_S)
    if not connection.has_called:
        start_thread(prepare)


async def _close(connection: Connection, dispatcher: DispatcherProtocol) -> None:
    try:
        await connection.close()
        await dispatcher.aclose()
    except Exception:  # noqa: BLE001  the process ends
        _log.debug("error during shutdown", exc_info=True)
