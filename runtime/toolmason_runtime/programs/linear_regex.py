"""Regular expressions of policies, matched in linear time by Rust's `regex`, which is part of pydantic-core.

Python's `re` can take exponential time, and a model chooses the text.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Final

_HINTS: Final = {
    "look-around": "match the allowed text instead, or list the allowed values with `enum`",
    "backreferences": "repeat the expression, or list the allowed values with `enum`",
    "size limit": r"use fewer repetitions or a smaller class: `[A-Za-z0-9_]` instead of `\w`",
}


class PatternError(ValueError):
    """A text is not a regular expression of Rust's `regex`."""


@dataclass(frozen=True, slots=True)
class Pattern:
    """A regular expression that a text must match as a whole.

    Raises:
        PatternError: it is invalid; the message has the reason and, if possible, a replacement.
    """

    text: str
    _whole: Callable[[str], bool] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        _compiled(self.text)  # compiled alone too: `a)|(?:b` is valid only inside the brackets below
        object.__setattr__(self, "_whole", _compiled(rf"\A(?:{self.text})\z"))

    def matches(self, text: str) -> bool:
        """Return whether all of `text` matches, in linear time."""
        return self._whole(text)


def _compiled(pattern: str) -> Callable[[str], bool]:
    from pydantic_core import SchemaError  # only a policy with patterns needs it
    from toolmason_runtime.shared.values.patterns import compile_linear

    try:
        return compile_linear(pattern)
    except SchemaError as error:
        last = str(error).rpartition("\n")[2]
        reason = re.sub(r"\A\s*(?:\w*E|e)rror: ", "", last).rstrip(".")
        hint = next((f": {hint}" for sign, hint in _HINTS.items() if sign in reason), "")
        raise PatternError(f"{reason}{hint}") from error
