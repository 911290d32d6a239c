"""Find values of TOML that JSON cannot represent, such as dates and numbers that are not finite."""

from __future__ import annotations

import math
from typing import Any, Final

from toolmason_runtime.shared.toml.positions import KeyPath
from toolmason_runtime.shared.toml.problems import kind_of

MAX_DEPTH: Final = 64
"""Maximum nesting depth of a JSON value. JSON writers and validators recurse, and stop at a few hundred."""
MAX_INT64: Final = 2**63 - 1
"""Maximum integer of TOML 1.0."""
TOO_DEEP: Final = f"more than {MAX_DEPTH} levels of arrays and tables"
HINTS: Final = {
    "a date-time": "put it in quotes",
    "a date": "put it in quotes",
    "a time": "put it in quotes",
    TOO_DEEP: "flatten it",
}


def find_non_json(value: Any, at: KeyPath) -> tuple[KeyPath, str] | None:
    """Return the path of a value that JSON cannot represent, and its description. Does not recurse."""
    waiting = [(value, at)]
    max_length = len(at) + MAX_DEPTH
    while waiting:
        part, path = waiting.pop()
        if isinstance(part, dict | list) and len(path) >= max_length:
            return at, TOO_DEEP
        if isinstance(part, dict):
            waiting += [(each, (*path, name)) for name, each in reversed(part.items())]
        elif isinstance(part, list):
            waiting += [(each, (*path, index)) for index, each in reversed(list(enumerate(part)))]
        elif reason := json_problem(part):
            return path, reason
    return None


def json_problem(value: Any) -> str:
    """Describe a value that JSON cannot represent; empty for the others. Never prints it: it may be huge."""
    if isinstance(value, str | bool):
        return ""
    if isinstance(value, int):
        return "" if -MAX_INT64 - 1 <= value <= MAX_INT64 else "an integer of more than 64 bits"
    if isinstance(value, float):
        return "" if math.isfinite(value) else "no finite number"
    return kind_of(value)
