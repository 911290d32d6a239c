"""Text on its way out: JSON that people can read, in whatever encoding there is."""

from __future__ import annotations

import json
from typing import Any

from toolmason.audit.diff_table import pretty


def as_json(data: Any) -> str:
    """Give JSON that people can read; what cannot be seen, or would be obeyed by a terminal, is an escape."""
    return "".join(f"{line}\n" for line in pretty(data))


def encodable(text: str, encoding: str) -> str:
    """Escape what cannot be encoded, half characters too, as JSON does: in JSON it means the same."""
    if _fits(text, encoding):
        return text
    return "".join(char if _fits(char, encoding) else json.dumps(char)[1:-1] for char in text)


def _fits(text: str, encoding: str) -> bool:
    try:
        text.encode(encoding)
    except UnicodeEncodeError:
        return False
    return True
