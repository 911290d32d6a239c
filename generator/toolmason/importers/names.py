"""Names and sentences of others, made into what a manifest takes."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Container
from itertools import count
from typing import Final

from toolmason_runtime.toml.problems import unprintable

from toolmason.manifest.tables import DiscoveryTable
from toolmason.model.identifiers import CONSTANTS_TAKEN, CONTRACT_TAKEN, class_name, constant_name
from toolmason.resolve.tool_names import meta_tool_names

MAX_SUMMARY_LENGTH: Final = 80
MAX_DESCRIPTION_LENGTH: Final = 4096

_LOOSE: Final = " ,;:-\u2013\u2014"
"""What no shortened text ends with: blanks, dashes and the like."""
_SENTENCE: Final = re.compile(r"(.+?[.!?])(?=\s+\S)")


def snake(text: str, otherwise: str) -> str:
    """Write a name with `a-z`, `0-9` and `_`, a letter first; `otherwise` if nothing of it is left."""
    decomposed = unicodedata.normalize("NFKD", text).casefold()
    plain = "".join(each for each in decomposed if not unicodedata.combining(each))
    name = re.sub(r"[^a-z0-9]+", "_", plain).strip("_")
    if not name:
        return otherwise
    return name if name[0].isalpha() else f"{otherwise}_{name}"


def unique(name: str, taken: Container[str], key: Callable[[str], str] = str) -> str:
    """Number a name until its `key` is not in `taken`."""
    numbered = (name if number == 1 else f"{name}_{number}" for number in count(1))
    return next(each for each in numbered if key(each) not in taken)


def is_kept(name: str) -> bool:
    """Whether a server keeps the name of a tool for something of its own."""
    return (
        name in meta_tool_names(DiscoveryTable())
        or class_name(name) in CONTRACT_TAKEN
        or constant_name(name) in CONSTANTS_TAKEN
    )


def one_line(text: str) -> str:
    """Put a text on one line, without control characters."""
    return " ".join("".join(" " if unprintable(each) else each for each in text).split())


def summary_of(text: str) -> str:
    """Give the one line that stands for a text: all of it, its first sentence, or as many words as have room.

    The full stop of a sentence that stands alone is left out.
    """
    line = one_line(text)
    sentence = _SENTENCE.match(line)
    if len(unstopped(line)) > MAX_SUMMARY_LENGTH:
        line = sentence[1] if sentence else line
    return cut(unstopped(line), MAX_SUMMARY_LENGTH)


def unstopped(line: str) -> str:
    """Leave out a full stop at the end, but for that of an ellipsis or an abbreviation."""
    return line if line.endswith(("..", "etc.")) else line.removesuffix(".")


def cut(text: str, length: int) -> str:
    """Shorten a text to `length` characters, at a word if there is one to end with."""
    if len(text) <= length:
        return text
    head = text[:length].rsplit(maxsplit=1)[0] if " " in text[:length].strip() else text
    return f"{head[: length - 1].rstrip(_LOOSE)}…"
