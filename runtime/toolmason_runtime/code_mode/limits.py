"""The limits of a program."""

from __future__ import annotations

from typing import Final

CPU_S: Final = 10.0
"""Seconds that the interpreter works, without the time that calls take."""
MEMORY_BYTES: Final = 128 * 1024 * 1024
RECURSION: Final = 300
"""Depth of function calls."""
CALLS: Final = 500
"""Calls of tools by one program."""
PARALLEL: Final = 8
"""Calls that run at the same time; further ones wait."""
OUTPUT_CHARS: Final = 2_000_000
"""Characters that a program prints."""
SUSPENSIONS: Final = 20 * CALLS
"""Exchanges between the interpreter and the server: calls, names, results."""
TURN_S: Final = 60.0
"""Seconds after which a worker that does not answer is killed."""
WORKERS: Final = 4
"""Programs that run at the same time."""
PROBLEMS: Final = 5
"""Mistakes that one answer lists."""
SUSPENDED_S: Final = 24 * 3600.0
"""Seconds until a suspended program expires."""
SNAPSHOT_BYTES: Final = 32 * 1024 * 1024
"""Bytes of a suspended program."""
SUSPENDED: Final = 100
"""Suspended programs of one server; the oldest go first."""
