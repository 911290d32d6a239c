"""The last line of a long text, which is safe if a client cuts the text.

Clients cut the middle or the end of an answer, some without a mark. The last line has the number of lines before it and
repeats how to continue, so that a cut answer does not look complete.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import takewhile
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from toolmason_runtime.wire.results import WireResult

MIN_CHARS: Final = 4_000
"""Characters from which on a text has a last line; shorter ones only if their first line says that text is missing."""
_MAX_NOTE_CHARS: Final = 700
_CUT: Final = ("[cut:", "[to read in another call:", "[the first ")
"""Beginnings of first lines that say that text is missing."""
_CONTINUED: Final = (
    *("continue with", "cut here", "cut after", "call read_files again", "more matches exist", "more pages exist"),
    *("are not shown", "stopped at the time limit"),
)


def with_end_line(result: WireResult, *, is_whole: bool = False) -> WireResult:
    """Return a result of text with a last line if it is long or a part; others unchanged.

    With `is_whole`, the text of another program stays as it is unless it was cut.
    """
    texts: list[str] = [block["text"] for block in result["content"] if block["type"] == "text"]
    if "structuredContent" in result or not texts:
        return result
    note = next(filter(_is_of_part, _notes(texts[0])), "")
    if not note and (is_whole or sum(map(len, texts)) < MIN_CHARS):
        return result
    lines = sum(len(text.splitlines()) for text in texts)
    where = "first line says" if texts[0].startswith(note) else "first lines say"
    again = f" As the {where}: {_shortened(note)}" if note else ""
    end = f"end of this answer of {lines:,} lines; if fewer are above, the client cut it: request a smaller part."
    block: dict[str, Any] = {"type": "text", "text": f"[{end}{again}]"}
    return result | {"content": [*result["content"], block]}


def _notes(text: str) -> Iterator[str]:
    """Yield the first line of a text, or all lines in brackets at its start."""
    lines = text.splitlines() or [""]
    yield from takewhile(lambda line: line.startswith("[") and line.endswith("]"), lines)
    if lines[0].startswith("==> "):
        yield lines[0]


def _is_of_part(note: str) -> bool:
    """Return whether a note says that text is missing."""
    is_note = note.startswith(("[", "==> "))
    return is_note and (note.startswith(_CUT) or any(words in note for words in _CONTINUED))


def _shortened(note: str) -> str:
    return note if len(note) <= _MAX_NOTE_CHARS else f"{note[:_MAX_NOTE_CHARS]}..."
