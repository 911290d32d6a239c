"""JSON as text of generated files."""

from __future__ import annotations

import json
from typing import Any


def to_json(value: Any) -> str:
    """Return a JSON value on one line. Line separators of JavaScript are escaped."""
    text = json.dumps(value, ensure_ascii=False, allow_nan=False)
    return text.replace("\u2028", "\\u2028").replace("\u2029", "\\u2029")
