"""A tool call as a Python expression: `read_files(files=[{"path": "a.md"}])`."""

from __future__ import annotations

import keyword
from collections.abc import Mapping
from typing import Any


def invocation(name: str, arguments: Mapping[str, Any]) -> str:
    """Return a call as a Python expression. Names that cannot be keyword arguments go into a `**{}`."""
    keywords = {key: value for key, value in arguments.items() if key.isidentifier() and not keyword.iskeyword(key)}
    others = {key: value for key, value in arguments.items() if key not in keywords}
    parts = [f"{key}={value!r}" for key, value in keywords.items()]
    return f"{name}({', '.join([*parts, f'**{others!r}'] if others else parts)})"
