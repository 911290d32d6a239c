"""Show rows as a Markdown table, for people and for models that get no structured result."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any


def table_text(columns: Sequence[str], rows: Sequence[Sequence[Any]]) -> str:
    """Return JSON values as a table. NULL is an empty cell; a value is on one line."""
    if not columns:
        return ""
    head = [_line(columns), f"|{'|'.join(' --- ' for _ in columns)}|"]
    return "\n".join([*head, *(_line(row) for row in rows)])


def _line(cells: Sequence[Any]) -> str:
    return f"| {' | '.join(_cell(cell) for cell in cells)} |"


def _cell(value: Any) -> str:
    if value is None:
        return ""
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    return text.replace("\\", "\\\\").replace("|", "\\|").replace("\r", "\\r").replace("\n", "\\n")
