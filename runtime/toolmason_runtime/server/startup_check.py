"""The startup check of a server: its warnings are logged after the start. No response waits for it."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable

StartupCheck = Callable[[], Iterable[object]]
"""The function of a startup check: returns warnings, whose text is logged."""
DELAY_S = 1.0
"""Seconds from the start of the server to the check; clients have their first responses by then."""


def schedule_startup_check(target: str) -> None:
    """Run `target` (`module:function`) in a daemon thread, so that the exit does not wait for it either."""
    from threading import Timer

    timer = Timer(DELAY_S, _run, (target,))
    timer.daemon = True
    timer.start()


def check_at_start(target: str, log_level: str | None, log_format: str | None) -> None:
    """Run the startup check and log its warnings; `boot` calls this in a process of its own.

    Args:
        target: `module:function`.
        log_level: value of `--log-level`; None without it.
        log_format: value of `--log-format`; None without it.
    """
    from toolmason_runtime.server.flags import DEFAULT_LOG_LEVEL
    from toolmason_runtime.server.logging import log_to_stderr

    log_to_stderr(log_level or DEFAULT_LOG_LEVEL, log_format)
    _run(target)
    if sys.stdout is not None:
        sys.stdout.flush()


def _run(target: str) -> None:
    import logging
    from pkgutil import resolve_name

    log = logging.getLogger(__name__)
    try:
        for warning in resolve_name(target)():
            log.warning("%s", warning)
    except Exception:
        log.exception("the startup check failed")
