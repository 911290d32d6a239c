"""A call as people write it: `read_files(files=[{"path": "a.md"}])`."""

from __future__ import annotations

import keyword
from collections.abc import Mapping
from typing import Any


def invocation(name: str, arguments: Mapping[str, Any]) -> str:
    """Write a call as a Python expression. A name Python forbids goes into a `**{}`."""
    plain = [f"{key}={value!r}" for key, value in arguments.items() if _is_keyword_argument(key)]
    odd = {key: value for key, value in arguments.items() if not _is_keyword_argument(key)}
    return f"{name}({', '.join([*plain, f'**{odd!r}'] if odd else plain)})"


def _is_keyword_argument(name: str) -> bool:
    return name.isidentifier() and not keyword.iskeyword(name)
