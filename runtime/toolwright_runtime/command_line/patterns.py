"""Regular expressions that no text can keep busy: those of Rust's `regex`, which comes along with pydantic.

The time that Python's `re` takes can double with each character, and a model chooses the text.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Final

from pydantic_core import SchemaError
from toolwright_runtime.patterns import compile_linear

_HINTS: Final = {
    "look-around": "say what may be there instead, or list what is allowed with `enum`",
    "backreferences": "write the text out, or list what is allowed with `enum`",
    "size limit": r"repeat fewer times, or a class of fewer characters: `[A-Za-z0-9_]` in place of `\w`",
}


class PatternError(ValueError):
    """A text is no regular expression, or one that cannot be matched quickly."""


@dataclass(frozen=True, slots=True)
class Pattern:
    """A regular expression that a text must match as a whole.

    Raises:
        PatternError: it is none; the text says why, and what to write instead if that can be said.
    """

    text: str
    _whole: Callable[[str], bool] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        _compiled(self.text)  # alone as well: `a)|(?:b` would be sound between the brackets below
        object.__setattr__(self, "_whole", _compiled(rf"\A(?:{self.text})\z"))

    def matches(self, text: str) -> bool:
        """Tell whether all of `text` matches, in time that grows with its length and no faster."""
        return self._whole(text)


def _compiled(pattern: str) -> Callable[[str], bool]:
    try:
        return compile_linear(pattern)
    except SchemaError as error:
        last = str(error).rpartition("\n")[2]
        reason = re.sub(r"\A\s*(?:\w*E|e)rror: ", "", last).rstrip(".")
        hint = next((f": {hint}" for sign, hint in _HINTS.items() if sign in reason), "")
        raise PatternError(f"{reason}{hint}") from error
