"""Divide the change of a file into parts that a person approves one by one."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

from toolmason_runtime import ToolError

from workbench_handlers.editing.text.file_text import FileText, read_shown
from workbench_handlers.editing.text.lines import Block, compare_lines, line_end, split_lines


@dataclass(frozen=True, slots=True)
class _Lines:
    """The lines of both versions of a file, and their blocks."""

    old: list[str]
    new: list[str]
    blocks: list[Block]
    format: FileText


def count_parts(old: bytes | None, new: bytes, codec: str = "") -> int:
    """Return the number of parts of a change: its blocks of changed lines. Some changes are one part as a whole.

    These are new and binary files, and changes of the encoding or of all line breaks. `codec` is that of both versions;
    empty to detect it.
    """
    lines = _lines(old, new, codec)
    return int(old != new) if lines is None else sum(not block.is_equal for block in lines.blocks)


def select_parts(old: bytes | None, new: bytes, chosen: Collection[int], codec: str = "") -> bytes | None:
    """Return the file with the chosen parts of a change, numbered from 0; None if it stays missing.

    `codec` is as in `count_parts`.
    """
    lines = _lines(old, new, codec)
    if lines is None:
        return new if 0 in chosen else old
    text, number = [], 0
    for block in lines.blocks:
        takes_new = block.is_equal or number in chosen
        number += not block.is_equal
        text += lines.new[block.new_start : block.new_end] if takes_new else lines.old[block.old_start : block.old_end]
    return lines.format.encode("".join(text))


def _lines(old: bytes | None, new: bytes, codec: str) -> _Lines | None:
    """Return the lines of two versions; None if parts of the change cannot be combined."""
    if old is None:
        return None
    try:
        before, after = read_shown(old, codec), read_shown(new, codec)
        if (before.encode(before.text), after.encode(after.text)) != (old, new):  # invalid in `codec`
            return None
    except ToolError:
        return None
    is_same = (before.codec, before.bom) == (after.codec, after.bom)
    if not is_same or line_end(before.text) != line_end(after.text):
        return None
    lines = split_lines(before.text), split_lines(after.text)
    return _Lines(*lines, compare_lines(*lines), after)
