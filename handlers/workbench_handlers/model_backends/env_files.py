"""Reads the text of a `.env` file as the Gemini CLI's own reader (dotenv) does."""

from __future__ import annotations

import re
from typing import Final

_SETTING: Final = re.compile(
    # Blank lines are left to the next `^`: taken along, each of many would be tried with all that follow.
    r"^[^\S\n]*(?:export\s+)?([A-Za-z0-9_.-]+)(?:\s*=\s*?|:\s+?)"
    r"(\s*'(?:\\'|[^'])*'|\s*\"(?:\\\"|[^\"])*\"|\s*`(?:\\`|[^`])*`|[^#\r\n]+)?\s*(?:#.*)?$",
    re.MULTILINE,
)


def assigned(text: str) -> dict[str, str]:
    """Give the variables that it sets; of one that stands there twice, the last value."""
    text = re.sub(r"\r\n?", "\n", text.removeprefix("\ufeff"))
    return {each[1]: _value(each[2] or "") for each in _SETTING.finditer(text)}


def _value(text: str) -> str:
    text = text.strip()
    if len(text) > 1 and text[0] == text[-1] and text[0] in "'\"`":
        quote, text = text[0], text[1:-1]
        return text.replace("\\n", "\n").replace("\\r", "\r") if quote == '"' else text
    return text
