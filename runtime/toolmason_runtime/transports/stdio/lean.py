"""Serve MCP over standard input and output with the standard library alone, in three phases.

`boot` may have answered the opening of the session, with almost nothing imported. Lists, searches and refusals need
neither an event loop nor a thread; the first handler that has to run starts both.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from toolmason_runtime.transports.stdio.session import Session
from toolmason_runtime.transports.stdio.sync_phase import SyncPhase

if TYPE_CHECKING:
    from toolmason_runtime.protocol.dispatcher import DispatcherProtocol
    from toolmason_runtime.transports.shutdown import Shutdown
    from toolmason_runtime.transports.stdio.session import Opened


def serve(
    make_dispatcher: Callable[[], DispatcherProtocol],
    shutdown: Shutdown,
    source: int,
    sink: int,
    opened: Opened | None = None,
) -> None:
    """Serve until the input ends, the client closes the output, or a signal arrives; then cancel the running calls.

    `opened` is a session that has begun.
    """
    dispatcher = make_dispatcher()
    session = opened.session if opened else Session(dispatcher.server, dispatcher.methods)
    sync_phase = SyncPhase(dispatcher, session, source, sink)
    lines = sync_phase.serve(shutdown, opened.unread if opened else b"")
    if lines is not None:
        from toolmason_runtime.transports.stdio import async_phase

        async_phase.serve(dispatcher, session, source, sink, shutdown, lines=lines, buffer=sync_phase.buffer)
