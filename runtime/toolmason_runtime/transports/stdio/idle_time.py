"""What a server does while its client is quiet: run the startup check, and prepare the first call."""

from __future__ import annotations

import select

TYPE_CHECKING = False  # see `boot`: importing `typing` takes long
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Final

    from toolmason_runtime.transports.stdio.session import Session

IDLE_S: Final = 0.5
"""Seconds without a request after which the startup check runs, and the first call is prepared.

Clients send the requests of the start without a pause, and a model needs longer for its first call.
"""


class IdleTime:
    """Uses the idle time of one phase. `check` and `prepare` are None once they have begun, or if nothing is to do."""

    def __init__(
        self, session: Session, *, check: Callable[[], None] | None = None, prepare: Callable[[], None] | None
    ) -> None:
        self._session = session
        self.check = check
        self.prepare = prepare

    def wait_for_input(self, source: int) -> None:
        """Wait for input; if there is none for `IDLE_S`, run the check, and prepare the first call in a thread.

        Before the handshake, the first call is not prepared: only clients that open the session need it.
        """
        prepare = self.prepare if self._session.is_ready or self._session.is_modern else None
        if not (self.check or prepare) or select.select([source], [], [], IDLE_S)[0]:
            return
        if check := self.check:
            self.check = None
            check()
        if prepare:
            self.prepare = None
            start_thread(prepare)


def start_thread(prepare: Callable[[], None]) -> None:
    """Prepare the first call in a thread, which does not keep the process alive."""
    from threading import Thread

    Thread(target=prepare, name="first call", daemon=True).start()
