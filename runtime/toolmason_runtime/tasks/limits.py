"""The limits of tasks."""

from __future__ import annotations

from typing import Final

START_S: Final = 0.5
"""Seconds after which a call becomes a task; the result of a faster call is returned directly."""
TTL_S: Final = 3600.0
"""Seconds from its creation until a task expires. Work that takes longer is cancelled."""
RESULT_S: Final = 600.0
"""Minimum seconds that a result, or a question to the user, is kept."""
BEAT_S: Final = 1.0
"""Seconds after which a process reads the records of its running tasks again."""
ALIVE_S: Final = 6.0
"""Seconds without a heartbeat after which a process counts as dead."""
OWNER_TASKS: Final = 32
"""Maximum running tasks of one client in one process; more calls are answered without tasks."""
PROCESS_TASKS: Final = 256
"""Maximum running tasks of one process."""
RECORDS: Final = 1000
"""Maximum stored tasks of one server, in files or in memory; the oldest are deleted."""
RECORD_BYTES: Final = 4 * 1024 * 1024
"""Maximum bytes of a stored task: its arguments, and its result or its questions."""
MEMORY_BYTES: Final = 64 * 1024 * 1024
"""Maximum bytes of all tasks in memory."""
MESSAGE_CHARS: Final = 500
"""Maximum characters of a status message."""

_POLLS: Final = ((10.0, 500), (60.0, 1000), (600.0, 3000))
_SLOW_POLL_MS: Final = 5000


def poll_interval_ms(age_s: float) -> int:
    """Return the suggested milliseconds between polls, which grow with the age of the task."""
    return next((interval for limit_s, interval in _POLLS if age_s < limit_s), _SLOW_POLL_MS)
