"""Names of a typed client: identifiers of Python and TypeScript from any text, each only once."""

from __future__ import annotations

import keyword
import re
import textwrap
import unicodedata
from collections.abc import Callable, Container, Iterable, Sequence
from itertools import count
from typing import Final

from toolmason.model.identifiers import words

_MAX_WORDS: Final = 12
"""Words of a name; schemas of others can be deep."""


_LATIN: Final = str.maketrans(
    {"ß": "ss", "æ": "ae", "œ": "oe", "ø": "o", "ł": "l", "đ": "d", "Æ": "Ae", "Œ": "Oe", "Ø": "O", "Ł": "L"}
)
"""Letters that do not consist of a letter of ASCII and an accent."""


class Names:
    """Names in one scope."""

    def __init__(self, reserved: Iterable[str] = ()) -> None:
        self._taken = set(reserved)

    def take(self, wanted: str, *, prefix: str = "", separator: str = "") -> str:
        """Return `wanted`, or if it is taken, with `prefix` before it, or with a number after it."""
        candidates = [wanted, *([f"{prefix}{wanted}"] if prefix and not wanted.startswith(prefix) else [])]
        numbered = (f"{wanted}{separator}{number}" for number in count(2))
        name = next((each for each in candidates if each not in self._taken), "")
        name = name or next(each for each in numbered if each not in self._taken)
        self._taken.add(name)
        return name

    def release(self, name: str) -> None:
        """Make a name free again."""
        self._taken.discard(name)


def ascii_text(text: str) -> str:
    """Return a text with letters of ASCII where they look alike, without the others: é becomes e."""
    return unicodedata.normalize("NFKD", text.translate(_LATIN)).encode("ascii", "ignore").decode("ascii")


def _letters(text: str) -> str:
    """Return a text with letters of ASCII where they look alike, and those of other scripts that names can have."""
    normal = unicodedata.normalize("NFKC", text.translate(_LATIN))
    return "".join(ascii_text(each) or (each if f"a{each}".isidentifier() else "") for each in normal)


def pascal(text: str) -> str:
    """Return `text` as a class name, empty without letters and digits: `git.show-log` becomes `GitShowLog`."""
    found = words(_letters(text))[:_MAX_WORDS]
    return "".join(word[0].upper() + word[1:] for word in found)


def class_name(text: str, fallback: str) -> str:
    """Return `text` as a class name that begins with a letter."""
    name = pascal(text) or fallback
    name = name if name.isidentifier() else f"{fallback}{name}"
    return f"{name}_" if keyword.iskeyword(name) else name


def snake(text: str, fallback: str) -> str:
    """Return `text` as an identifier of Python: `Show-Log` becomes `show_log`, the keyword `in` becomes `in_`."""
    plain = _letters(text)
    name = "_".join("".join(each if f"a{each}".isidentifier() else " " for each in plain).split())
    name = name.strip("_") or fallback
    name = name if name.isidentifier() else f"{fallback}_{name}"
    return f"{name}_" if keyword.iskeyword(name) else name


def method_name(text: str) -> str:
    """Return the name of a tool as a method of Python: `getUser` becomes `get_user`."""
    plain = _letters(text)
    if plain != plain.lower():
        plain = "_".join(word.lower() for word in words(plain)) if re.search(r"[a-z][A-Z]", plain) else plain.lower()
    return snake(plain, "tool")


def camel(text: str, fallback: str) -> str:
    """Return `text` as an identifier of TypeScript: `show_log` becomes `showLog`."""
    name = pascal(text) or fallback
    name = name if name.isidentifier() else f"{fallback}{name}"
    head = re.match(r"[A-Z]+(?![a-z])|[A-Z]", name)
    cut = head.end() if head else 1
    return name[:cut].lower() + name[cut:]


def free(name: str, taken: Container[str]) -> str:
    """Return a name with an underscore if it is taken by something that every client has."""
    return f"{name}_" if name in taken else name


def unique_names(keys: Sequence[str], wanted: Callable[[str], str], separator: str = "") -> dict[str, str]:
    """Return a different name for each key: that which `wanted` returns, or one with a number.

    A key that is its own name keeps it, wherever it is in the list.
    """
    names = Names()
    found = {key: names.take(key) for key in keys if wanted(key) == key}
    for key in keys:
        if key not in found:
            found[key] = names.take(wanted(key), separator=separator)
    return found


def wrapped(text: str, width: int) -> list[str]:
    """Return the lines of a text, each at most `width` characters long; lines of a list keep their indent."""
    lines: list[str] = []
    for line in text.replace("\r\n", "\n").replace("\r", "\n").split("\n"):
        indent = " " * (len(line) - len(line.lstrip(" ")))
        folded = textwrap.wrap(
            line.rstrip(), width, subsequent_indent=indent, break_long_words=False, break_on_hyphens=False
        )
        lines += folded or [""]
    return lines
