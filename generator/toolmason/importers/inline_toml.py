"""Write keys and values of TOML on one line."""

from __future__ import annotations

import json
import re
from typing import Any


def inline_value(value: Any) -> str:
    """Return a JSON value without null as TOML on one line."""
    if isinstance(value, dict):
        items = ", ".join(f"{inline_key(key)} = {inline_value(inner)}" for key, inner in value.items())
        return f"{{ {items} }}" if items else "{}"
    if isinstance(value, list):
        return f"[{', '.join(map(inline_value, value))}]"
    # JSON escapes the same characters as TOML, except DEL.
    return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")


def inline_key(name: str) -> str:
    """Return a key, in quotes if it needs them."""
    return name if re.fullmatch(r"[A-Za-z0-9_-]+", name) else inline_value(name)
