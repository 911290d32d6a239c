"""Convert foreign names and texts to the names and texts of a manifest."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Container
from functools import lru_cache
from itertools import count
from typing import Final

from toolmason.manifest.package_names import package_name_problem
from toolmason.manifest.tables import DiscoveryTable
from toolmason.model.identifiers import RESERVED_CONSTANTS, RESERVED_CONTRACT_NAMES, class_name, constant_name
from toolmason.resolve.tool_names import meta_tool_names, tool_name_problem

MAX_SUMMARY_LENGTH: Final = 80
MAX_DESCRIPTION_LENGTH: Final = 4096

_LOOSE: Final = " ,;:-\u2013\u2014"
"""Characters removed from the end of a shortened text."""
_CONTROLS: Final = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028\u2029]")
"""The line breaks and control characters that a manifest refuses: see `unprintable`."""
_SENTENCE_END: Final = re.compile(r"(?<=.)[.!?](?=\s|$)")
_SENTENCE: Final = re.compile(r"(.+?[.!?])(?=\s+\S)")
"""The first of several sentences."""


def snake(text: str, fallback: str) -> str:
    """Return a name of `a-z`, `0-9` and `_`, starting with a letter: `Größe (MB)` becomes `grosse_mb`."""
    decomposed = unicodedata.normalize("NFKD", text).casefold()
    plain = "".join(char for char in decomposed if not unicodedata.combining(char))
    name = re.sub(r"[^a-z0-9]+", "_", plain).strip("_")
    if not name:
        return fallback
    return name if name[0].isalpha() else f"{fallback}_{name}"


def server_package(name: str, fallback: str) -> str:
    """Return the name of the generated package of a server: `notes` becomes `notes_server`."""
    package = f"{snake(name, fallback)}_server"
    return f"my_{package}" if package_name_problem(package) else package


def separated(text: str, mark: str = "_") -> str:
    """Return a name with `mark` between the words that capitals begin: `getHTTPFile` becomes `get_HTTP_File`."""
    return re.sub(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])", mark, text)


def unique(name: str, used: Container[str], key: Callable[[str], str] = str) -> str:
    """Append a number to a name, such as `_2`, if its `key` is in `used`."""
    numbered = (name if number == 1 else f"{name}_{number}" for number in count(1))
    return next(candidate for candidate in numbered if key(candidate) not in used)


@lru_cache(maxsize=4096)
def is_reserved(name: str) -> bool:
    """Return whether generated code or a meta-tool reserves the name of a tool."""
    # Cached: an importer asks several times for each name that an operation may get.
    return (
        name in _META_TOOLS or class_name(name) in RESERVED_CONTRACT_NAMES or constant_name(name) in RESERVED_CONSTANTS
    )


_META_TOOLS: Final = frozenset(meta_tool_names(DiscoveryTable()))


class ToolNames:
    """The names of the tools of one server: valid in every client and unique."""

    def __init__(self, server: str) -> None:
        self._server = server
        self._used: set[str] = set()

    def add(self, wanted: str, *, group: str) -> tuple[str, str]:
        """Return the name for a tool, and the reason why it is not `wanted`.

        A reserved name gets the name of its `group` as prefix.
        """
        name, reason = wanted, "since names consist of a-z, 0-9 and single _, and are unique"
        if is_reserved(name):
            name, reason = f"{group}_{name}", "since that name is reserved"
        if tool_name_problem(name, self._server):
            reason = "since clients limit the length of names"
        name = self._shorten(name)
        if not self._used.isdisjoint(_derived_names(name)):
            numbered = (self._shorten(name, f"_{number}") for number in count(2))
            name = next(candidate for candidate in numbered if self._used.isdisjoint(_derived_names(candidate)))
        self._used |= _derived_names(name)
        return name, reason

    def is_free(self, name: str) -> bool:
        """Return whether a name is valid and no tool has it, nor a name that is derived from it."""
        is_valid = not tool_name_problem(name, self._server) and not is_reserved(name)
        return is_valid and self._used.isdisjoint(_derived_names(name))

    def _shorten(self, name: str, end: str = "") -> str:
        """Shorten a name until clients accept it with the suffix `end`."""
        while tool_name_problem(name + end, self._server):
            name = name[:-1].rstrip("_")
        return name + end


def _derived_names(name: str) -> set[str]:
    """Return the names derived from a tool's name, which must be unique."""
    return {name, constant_name(name), class_name(name)}


def one_line(text: str) -> str:
    """Return a text on one line, without control characters."""
    return " ".join(_CONTROLS.sub(" ", text).split())


def summary_of(text: str) -> str:
    """Return a summary of a text: all of it, its first sentence, or as many words as fit, without a final full stop."""
    line = one_line(text)
    sentence = _SENTENCE.match(line)
    if len(strip_full_stop(line)) > MAX_SUMMARY_LENGTH:
        line = sentence[1] if sentence else line
    return cut(strip_full_stop(line), MAX_SUMMARY_LENGTH)


def strip_full_stop(line: str) -> str:
    """Remove a final full stop, except of an ellipsis or `etc.`."""
    return line if line.endswith(("..", "etc.")) else line.removesuffix(".")


def cut(text: str, length: int) -> str:
    """Shorten a text to `length` characters, if possible after a word."""
    if len(text) <= length:
        return text
    head = text[:length].rsplit(maxsplit=1)[0] if " " in text[:length].strip() else text
    return f"{head[: length - 1].rstrip(_LOOSE)}…"


def shorten(text: str, length: int) -> str:
    """Return a text of at most `length` characters: as many sentences as fit, or else words."""
    if len(text) <= length:
        return text
    whole = ""
    for sentence in _SENTENCE_END.finditer(text, 0, length + 1):
        if sentence.end() > length:
            break
        whole = text[: sentence.end()]
    return whole or cut(text, length)
