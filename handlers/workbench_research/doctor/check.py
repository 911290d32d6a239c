"""The result of a check."""

from __future__ import annotations

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
