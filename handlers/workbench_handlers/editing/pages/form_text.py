"""The text of a file in a form of a browser, which knows only one line break, and back to bytes."""

from __future__ import annotations

import re
from difflib import SequenceMatcher
from typing import Final

from workbench_handlers.editing.file_text import read_text

_LINE_BREAK: Final = re.compile(r"(\r\n|\r|\n)")
_CHANGED_BY_FORMS: Final = re.compile(r"[\x00\ud800-\udfff]")
"""Characters that a form would replace: NUL, and bytes that are invalid in the encoding of the file."""


def form_text(data: bytes, shown: str) -> str | None:
    """Return the text for a form; None if a form would change it."""
    text = read_text(data, shown).text
    return None if _CHANGED_BY_FORMS.search(text) else _LINE_BREAK.sub("\n", text)


def edited_bytes(data: bytes, edited: str, shown: str) -> bytes:
    r"""Return the bytes of a text that was edited in a form. Lines that were not edited keep their line breaks.

    Args:
        data: the bytes from which `form_text` was made.
        edited: the text of the form, with `\n` as line break.
        shown: the file's name in errors.

    Raises:
        ToolError: a character of the text is not in the encoding of the file.
    """
    file = read_text(data, shown)
    parts = _LINE_BREAK.split(file.text)
    lines, breaks = parts[::2], parts[1::2]
    if len(set(breaks)) <= 1:
        return file.encode(file.with_newlines(edited))
    edited_lines = edited.split("\n")
    edited_breaks = [file.newline] * (len(edited_lines) - 1)
    matcher = SequenceMatcher(None, lines, edited_lines, autojunk=False)
    for old, new, size in matcher.get_matching_blocks():
        for line in range(min(size, len(breaks) - old, len(edited_breaks) - new)):
            edited_breaks[new + line] = breaks[old + line]
    text = "".join(line + end for line, end in zip(edited_lines, [*edited_breaks, ""], strict=True))
    return file.encode(text)
