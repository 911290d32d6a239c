"""The last line of a long text, which is safe if a client cuts the text.

Clients cut the middle or the end of an answer, some without a mark. The last line has the number of lines before it and
repeats how to continue, so that a cut answer does not look complete.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from toolmason_runtime.wire.results import WireResult

MIN_CHARS: Final = 4_000
"""Characters from which on a text has a last line; shorter ones only if their first line says that text is missing."""
_MAX_NOTE_CHARS: Final = 700
_CUT: Final = ("[cut:", "[to read in another call:", "[the first ")
"""Beginnings of first lines that say that text is missing."""
_LOOKED_AT: Final = 4_000
"""Characters of a text whose lines are separated at once."""
_CONTINUED: Final = (
    *("continue with", "cut here", "cut after", "call read_files again", "more matches exist", "more pages exist"),
    *("are not shown", "stopped at the time limit"),
)


def with_end_line(result: WireResult, *, is_whole: bool = False) -> WireResult:
    """Return a result of text with a last line if it is long or a part; others unchanged.

    With `is_whole`, the text of another program stays as it is unless it was cut.
    """
    if "structuredContent" in result:
        return result
    texts: list[str] = [block["text"] for block in result["content"] if block["type"] == "text"]
    if not texts:
        return result
    if len(texts) == 1 and len(texts[0]) < MIN_CHARS and not texts[0].startswith(("[", "==> ")):
        return result
    note = next(filter(_is_of_part, _notes(texts[0])), "")
    if not note and (is_whole or sum(map(len, texts)) < MIN_CHARS):
        return result
    lines = sum(map(_line_count, texts))
    where = "first line says" if texts[0].startswith(note) else "first lines say"
    again = f" As the {where}: {_shortened(note)}" if note else ""
    end = f"end of this answer of {lines:,} lines; if fewer are above, the client cut it: request a smaller part."
    block: dict[str, Any] = {"type": "text", "text": f"[{end}{again}]"}
    return result | {"content": [*result["content"], block]}


def _notes(text: str) -> Iterator[str]:
    """Yield the first line of a text, or all lines in brackets at its start."""
    if text.startswith("==> "):
        yield _line_at(text, 0)
    start = 0
    while text.startswith("[", start) and (line := _line_at(text, start)).endswith("]"):
        yield line
        start += len(line)
        start += 2 if text.startswith("\r\n", start) else 1


def _line_at(text: str, start: int) -> str:
    """Return the line that begins at `start`, without its end. Most are short, and the text may be long."""
    length = _LOOKED_AT
    while len(lines := text[start : start + length].splitlines()) == 1 and start + length < len(text):
        length *= 2
    return lines[0]


def _line_count(text: str) -> int:
    """Return the number of lines, without a list of all of them."""
    count = start = 0
    while start < len(text):
        end = text.find("\n", start + _LOOKED_AT) + 1 or len(text)
        count += len(text[start:end].splitlines())
        start = end
    return count


def _is_of_part(note: str) -> bool:
    """Return whether a note says that text is missing."""
    is_note = note.startswith(("[", "==> "))
    return is_note and (note.startswith(_CUT) or any(words in note for words in _CONTINUED))


def _shortened(note: str) -> str:
    return note if len(note) <= _MAX_NOTE_CHARS else f"{note[:_MAX_NOTE_CHARS]}..."
