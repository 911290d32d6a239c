"""The result of a check."""

from __future__ import annotations

import unicodedata
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

Status = Literal["ok", "warning", "error", "skipped"]


@dataclass(frozen=True, slots=True)
class Check:
    """The result of one check.

    `fix` contains instructions, one paragraph a line; a line that starts with two spaces is to be copied. `code` is the
    error code of research tools, or empty.
    """

    name: str
    status: Status
    message: str
    fix: str = ""
    code: str = ""

    def __str__(self) -> str:
        return f"{self.message}; {self.fix}" if self.fix else self.message


def printable(text: str, environ: Mapping[str, str]) -> str:
    """Return the text of a program or a server without secrets, control characters and line breaks."""
    from workbench_research.redaction import redact

    characters = (" " if character in "\r\n\t" else character for character in redact(text, environ))
    # Control characters act on the terminal; format characters can reverse the text that follows.
    return "".join(
        character for character in characters if unicodedata.category(character) not in {"Cc", "Cf", "Cs"}
    ).strip()
