"""The lean engine: serve MCP over standard input and output with the standard library alone, in three phases.

1. **Boot** (`toolmason_runtime.boot`) answers the *opening* of a session with responses that were prepared at
   generation: the handshake, `ping`, `logging/setLevel`, and the first page of each list. The server is not imported.
2. **Synchronous** (`sync_phase`) answers lists, searches and invalid requests one by one, with the dispatcher but
   without an event loop.
3. **Asynchronous** (`async_phase`) answers everything, from the first request that needs a handler on, with an event
   loop; threads read and write where it would block.

The first request that a phase cannot answer starts the next phase, which gets the `Session` and the input from that
request on. No phase starts again.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import TYPE_CHECKING

from toolmason_runtime.transports.stdio.idle_time import IdleTime
from toolmason_runtime.transports.stdio.session import Session
from toolmason_runtime.transports.stdio.sync_phase import SyncPhase

if TYPE_CHECKING:
    from toolmason_runtime.calls.dispatcher import DispatcherProtocol
    from toolmason_runtime.transports.shutdown import Shutdown
    from toolmason_runtime.transports.stdio.session import Opened


def serve(
    make_dispatcher: Callable[[], DispatcherProtocol],
    shutdown: Shutdown,
    source: int,
    sink: int,
    opened: Opened | None = None,
    *,
    prepare: Callable[[], None] | None = None,
) -> None:
    """Serve until the input ends, the client closes the output, or a signal arrives; then cancel the running calls.

    Args:
        make_dispatcher: makes the dispatcher of the server.
        shutdown: ends the process after a signal.
        source: descriptor of the input.
        sink: descriptor of the output.
        opened: the session that the boot phase has begun; None if that phase was omitted.
        prepare: prepares the first call while the client is quiet, unless the boot phase has done so.
    """
    dispatcher = make_dispatcher()
    session = opened.session if opened else Session(dispatcher.server, dispatcher.methods, dispatcher.instructions)
    if (opened and opened.is_prepared) or sys.platform == "win32":  # there, `select` reads no pipes
        prepare = None
    idle_time = IdleTime(session, prepare=prepare)
    sync_phase = SyncPhase(dispatcher, session, source, sink, idle_time)
    lines = sync_phase.serve(shutdown, opened.unread if opened else b"")
    if lines is not None:
        from toolmason_runtime.transports.stdio import async_phase

        async_phase.serve(
            dispatcher,
            session,
            source,
            sink,
            shutdown,
            prepare=idle_time.prepare,
            lines=lines,
            buffer=sync_phase.buffer,
        )
