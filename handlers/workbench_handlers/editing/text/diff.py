"""Compare two versions of a file, as a unified diff or side by side. Invisible characters appear as escapes."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import zip_longest
from typing import Final, Literal

from toolmason_runtime import ToolError
from toolmason_runtime.programs import escape_invisible

from workbench_handlers.editing.text.file_text import FileText, line_breaks, read_shown
from workbench_handlers.editing.text.lines import Block, compare_lines, hunks, line_end, split_lines

CONTEXT_LINES: Final = 3
NO_NEWLINE: Final = "\\ No newline at end of file"

RowKind = Literal["same", "changed", "added", "removed", "gap"]


@dataclass(frozen=True, slots=True)
class DiffRow:
    """One row of a side by side view; invisible characters are escaped.

    A side without a line has None and the empty string.

    A gap has the number of its omitted lines as text on both sides. A last line without a line break is followed by
    `NO_NEWLINE` on a line of its own.
    """

    old_number: int | None
    old: str
    new_number: int | None
    new: str
    kind: RowKind


def reveal(text: str, keep: str = "\n\t") -> str:
    r"""Return a text with control, bidirectional and other invisible characters as escapes, such as `\u202e`."""
    plain = text
    for character in keep:
        plain = plain.replace(character, "")
    return text if plain.isascii() and plain.isprintable() else escape_invisible(text, keep=keep)


def unified_diff(
    old: bytes | None, new: bytes | None, shown: str, *, labels: tuple[str, str] = ("before", "after"), codec: str = ""
) -> str:
    """Return the unified diff of two versions, empty if they are equal. None is a missing file.

    Lines before it report changes of the encoding and the line breaks. For binary files it has only the sizes. `codec`
    is that of both; empty to detect it.
    """
    if old == new:
        return ""
    names = [f"{reveal(shown, keep='')} ({label})" for label in labels]
    heads = [
        f"--- {'/dev/null' if old is None else names[0]}\n",
        f"+++ {'/dev/null' if new is None else names[1]}\n",
    ]
    before, after = _decode(old, codec), _decode(new, codec)
    if before is None or after is None:
        return "".join([*heads, f"Binary files differ: {_size(old)} -> {_size(new)}\n"])
    changes = format_changes(before, after) if old is not None and new is not None else []
    lines = [f"{change}\n" for change in changes] + heads
    old_side, new_side = _sides(before, after)
    for hunk in hunks(compare_lines(old_side.lines, new_side.lines), CONTEXT_LINES):
        first, last = hunk[0], hunk[-1]
        lines.append(f"@@ -{_range(first.old_start, last.old_end)} +{_range(first.new_start, last.new_end)} @@\n")
        for block in hunk:
            removed, added = range(block.old_start, block.old_end), range(block.new_start, block.new_end)
            if block.is_equal:
                lines += [f" {old_side.show(i)}\n" for i in removed]
                continue
            lines += [f"-{old_side.show(i)}\n" for i in removed]
            lines += [f"+{new_side.show(j)}\n" for j in added]
    return "".join(lines)


def format_changes(before: FileText, after: FileText) -> list[str]:
    """Return the changes of encoding and line breaks, one text each."""
    changes = []
    if before.encoding != after.encoding:
        changes.append(f"encoding: {before.encoding} -> {after.encoding}")
    if before.newline and after.newline and before.line_breaks != after.line_breaks:
        changes.append(f"line breaks: {before.line_breaks} -> {after.line_breaks}")
    return changes


def keeps_change(old: bytes | None, new: bytes | None, current: bytes | None, *, codec: str = "") -> bool:
    """Return whether the change from `old` to `new` is still in `current`, a later version of `new`.

    It is if no line that the change wrote has been changed, and nothing was added where it only removed lines. `codec`
    is that of all versions; empty to detect it.
    """
    if current == new:
        return True
    versions = [_decode(version, codec) for version in (old, new, current)]
    if current is None or any(version is None for version in versions):
        return False
    before, after, now = (split_lines(version.text) for version in versions if version is not None)
    later = [block for block in compare_lines(after, now) if not block.is_equal]
    return not any(
        _touches(change, (block.old_start, block.old_end))
        for change in ((block.new_start, block.new_end) for block in compare_lines(before, after) if not block.is_equal)
        for block in later
    )


def _touches(written: tuple[int, int], changed: tuple[int, int]) -> bool:
    """Return whether lines that were changed are among lines that were written, or at the place of removed ones."""
    if written[0] == written[1]:
        return changed[0] <= written[0] <= changed[1]
    return changed[0] < written[1] and written[0] < changed[1]


def diff_rows(old: bytes | None, new: bytes, *, context: int = 4, codec: str = "") -> list[DiffRow]:
    """Return the rows of a side by side view, with gaps for equal lines further than `context` from a change."""
    before, after = _decode(old, codec), _decode(new, codec)
    if before is None or after is None:
        return [DiffRow(None, f"binary, {_size(old)}", None, f"binary, {_size(new)}", "changed")]
    old_side, new_side = _sides(before, after)
    rows: list[DiffRow] = []
    end = 0
    for hunk in hunks(compare_lines(old_side.lines, new_side.lines), context):
        rows += _gap(hunk[0].old_start - end)
        for block in hunk:
            rows += _block_rows(block, old_side, new_side)
        end = hunk[-1].old_end
    return [*rows, *_gap(len(old_side.lines) - end)]


@dataclass(frozen=True, slots=True)
class _Side:
    """The lines of one version; `shows_breaks` if their line breaks must be visible."""

    lines: list[str]
    line_end: str
    shows_breaks: bool

    def show(self, index: int) -> str:
        r"""Return a line without its line break; with a note on a second line if it has none."""
        line = self.lines[index]
        body = line.removesuffix(self.line_end)
        if self.shows_breaks:
            body += "\r" if line.endswith("\r") and self.line_end == "\r" else ""
        elif body != line:
            body = body.removesuffix("\r")
        return reveal(body, keep="\t") + ("" if line.endswith(self.line_end) else f"\n{NO_NEWLINE}")


def _sides(before: FileText, after: FileText) -> tuple[_Side, _Side]:
    # Where line breaks of two kinds meet, `\r` is printed as its escape.
    shows_breaks = len({*line_breaks(before.text), *line_breaks(after.text)}) > 1
    old, new = (_Side(split_lines(file.text), line_end(file.text), shows_breaks) for file in (before, after))
    return old, new


def _block_rows(block: Block, old: _Side, new: _Side) -> Iterator[DiffRow]:
    for i, j in zip_longest(range(block.old_start, block.old_end), range(block.new_start, block.new_end)):
        kind: RowKind = "same" if block.is_equal else "changed"
        if i is None or j is None:
            kind = "added" if i is None else "removed"
        left = "" if i is None else old.show(i)
        right = "" if j is None else new.show(j)
        yield DiffRow(None if i is None else i + 1, left, None if j is None else j + 1, right, kind)


def _gap(size: int) -> list[DiffRow]:
    text = f"{size:,} equal line{'s' if size > 1 else ''}"
    return [DiffRow(None, text, None, text, "gap")] if size else []


def _decode(data: bytes | None, codec: str) -> FileText | None:
    """Return the text of a version, empty if it is missing; None if it is binary."""
    try:
        return read_shown(data or b"", codec)
    except ToolError:
        return None


def _size(data: bytes | None) -> str:
    return "no file" if data is None else f"{len(data):,} bytes"


def _range(start: int, end: int) -> str:
    """Return a range of lines as in the head of a hunk: 1-based start and length."""
    return f"{start + 1 if end > start else start},{end - start}"
