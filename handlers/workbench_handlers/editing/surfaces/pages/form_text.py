r"""Convert the bytes of a file to the text of a browser's form, where all line breaks are `\n`, and back."""

from __future__ import annotations

import re
from typing import Final

from workbench_handlers.editing.text.file_text import read_shown

_LINE_BREAK: Final = re.compile(r"\r\n?")
_REPLACED_BY_FORMS: Final = re.compile(r"[\x00\ud800-\udfff]")
"""NUL, and bytes that are invalid in the encoding of the file."""


def form_text(data: bytes, codec: str = "") -> str | None:
    """Return the text for a form; None if a form would change the file. `codec` is empty to detect it."""
    text = read_shown(data, codec).text
    if _REPLACED_BY_FORMS.search(text):
        return None
    normalized = _LINE_BREAK.sub("\n", text)
    return normalized if edited_bytes(data, normalized, codec) == data else None


def edited_bytes(data: bytes, edited: str, codec: str = "") -> bytes:
    """Return the bytes of a text that was edited in a form. Lines that were not edited keep their line breaks.

    Args:
        data: the bytes from which `form_text` was made.
        edited: the text of the form.
        codec: the codec of the file; empty to detect it.

    Raises:
        ToolError: a character of the text is not in the encoding of the file.
    """
    file = read_shown(data, codec)
    return file.encode(file.with_newlines(edited))
