"""Write values as TOML: one space around `=`, and arrays on one line or on several, as the author wrote them."""

from __future__ import annotations

from typing import Final

from toolmason.formatting.order import KeyOrder
from toolmason.formatting.syntax import Array, ArrayLine, InlineTable, Pair, Value

_INDENT: Final = "    "


def pair_line(pair: Pair, order: KeyOrder) -> str:
    """Return a pair with its comment, without a line end. Its value may have several lines."""
    return with_comment(f"{pair.key} = {_value(pair.value, '', order)}", pair.comment)


def with_comment(line: str, comment: str) -> str:
    """Return a line with the comment at its end, if there is one. The author's gap before it is kept."""
    return f"{line} {comment}" if comment.startswith("#") else f"{line}{comment}"


def _value(value: Value, indent: str, order: KeyOrder) -> str:
    match value:
        case Array():
            return _array(value, indent, order)
        case InlineTable():
            return _inline_table(value, indent, order)
        case _:
            return value


def _array(array: Array, indent: str, order: KeyOrder) -> str:
    first, *rest = array.lines
    if not any(line.items or line.comment for line in rest) and not (rest and first.items) and not first.comment:
        return f"[{', '.join(_value(item, indent, order) for item in first.items)}]"
    # The comment of the bracket stays on its line, unless it is that of items, which get a line of their own.
    lines = [with_comment("[", "" if first.items else first.comment)]
    for line in _without_outer_blanks([first, *rest] if first.items else rest):
        items = ", ".join(_value(item, indent + _INDENT, order) for item in line.items)
        text = with_comment(f"{items},", line.comment) if items else line.comment.lstrip()
        lines.append(f"{indent}{_INDENT}{text}" if text else "")
    return "\n".join([*lines, f"{indent}]"])


def _without_outer_blanks(lines: list[ArrayLine]) -> list[ArrayLine]:
    """Return the lines without blank ones at both ends, and with one blank line instead of several."""
    kept: list[ArrayLine] = []
    for line in lines:
        if not line.is_blank or (kept and not kept[-1].is_blank):
            kept.append(line)
    return kept[:-1] if kept and kept[-1].is_blank else kept


def _inline_table(table: InlineTable, indent: str, order: KeyOrder) -> str:
    pairs = sorted(table.pairs, key=lambda pair: order.rank(pair.path))
    text = ", ".join(f"{pair.key} = {_value(pair.value, indent, order)}" for pair in pairs)
    return f"{{ {text} }}" if text else "{}"
