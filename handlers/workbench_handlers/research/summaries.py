"""What a model answered when it was asked for a sentence on each of many files, in whatever form it did."""

from __future__ import annotations

import json
import re
import unicodedata
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import islice
from typing import Any, Final

from workbench_handlers.research.listing import ListedFile, readable
from workbench_handlers.workspace.roots import Located

MAX_SUMMARY_LENGTH: Final = 400
"""Characters of a summary that are kept."""
MAX_UNREADABLE: Final = 200
"""Places where JSON begins and does not end that are tried; each may cost a look at the whole rest of the answer."""
MAX_SPLITS: Final = 8
"""Places of a line that are taken for the end of its path."""
MAX_LINES: Final = 5_000
"""Lines of prose that are looked at."""
MAX_PATH_LENGTH: Final = 1_000
"""Characters of a line of prose in which a path must end."""

_BULLET: Final = re.compile(r"^[\s>|]*(?:(?:[-*+•#]+|\d+[.)])\s+)?")
_SEPARATOR: Final = re.compile(r"(?<=[`*\"'])\s*:\s*|:\s+|:?\*\*:?\s+|\s+(?:[-–—]+|=>|->|→)\s+|\s*\|\s*|—|\t+")  # noqa: RUF001  as they are typed
_LIKE_A_PATH: Final = re.compile(r"(?!\w+://)(?:\S*[\w)\]]/\S+|\S*\w\.[A-Za-z]\w{0,4})")
_PATHS: Final = ("path", "file", "filename", "name")
_SUMMARIES: Final = ("summary", "description", "responsibility", "purpose")
_NOTHING: Final = frozenset({"", "-", "n/a", "none", "null", "unknown", "...", "…"})


@dataclass(frozen=True, slots=True)
class Parsed:
    """The summaries by place in the list, from 0, and the paths that were answered for but not asked about.

    `declined` are the places of which the model said that it has no summary.
    """

    summaries: dict[int, str] = field(default_factory=dict)
    declined: set[int] = field(default_factory=set)
    unknown: list[str] = field(default_factory=list)


def parse_summaries(text: str, top: Located, files: Sequence[ListedFile], others: Sequence[ListedFile] = ()) -> Parsed:
    """Read an answer: JSON in any layout, or else lines of path and summary. The first summary of a file counts.

    A path decides which file is meant. A number does so only if there is no path, or if the file has a name that few
    could repeat, with line breaks or with bytes that are no text. What is said of `others` is passed over.
    """
    names = _Names(top, files)
    parsed = Parsed()
    rest: list[str] = []
    for piece in _pieces(text):
        if isinstance(piece, str):
            rest.append(piece)
            continue
        for path, number, summary, is_certain in _entries(piece):
            place = names.place(path, number)
            _note(parsed, place, summary, path if is_certain or _LIKE_A_PATH.fullmatch(path) else "")
    for line in "\n".join(rest).splitlines()[:MAX_LINES]:
        _note(parsed, *_read_line(line, names))
    if parsed.unknown and others:
        known = _Names(top, others)
        parsed.unknown[:] = [path for path in parsed.unknown if known.place(path) is None]
    return parsed


def _note(parsed: Parsed, place: int | None, summary: str, path: str) -> None:
    if place is None:
        if shown := _cleaned(path):
            parsed.unknown.append(shown)
    elif cleaned := _cleaned(summary):
        parsed.summaries.setdefault(place, cleaned)
    else:
        parsed.declined.add(place)


def _cleaned(summary: str) -> str:
    text = " ".join(readable("".join(each if each.isprintable() else " " for each in summary)).split())
    if text.casefold().strip("*`.") in _NOTHING:
        return ""
    return text if len(text) <= MAX_SUMMARY_LENGTH else f"{text[: MAX_SUMMARY_LENGTH - 1].rstrip()}…"


class _Names:
    """Which file of the list a written path means."""

    def __init__(self, top: Located, files: Sequence[ListedFile]) -> None:
        self._files = files
        places = list(enumerate(files))[::-1]  # of two that look the same, the first
        self._places = {_key(file.path): place for place, file in places}
        self._places |= {file.path: place for place, file in places}
        self._root = f"{_key(readable(top.root.path.as_posix()))}/"
        self._top = "/".join(_key(readable(part)) for part in top.parts)

    def place(self, path: str, number: int | None = None) -> int | None:
        """Give the place in the list, or None."""
        for key in self._spellings(path):
            if key in self._places:
                return self._places[key]
        if number is None or not 1 <= number <= len(self._files):
            return None
        return number - 1 if not path or _is_odd(self._files[number - 1]) else None

    def _spellings(self, path: str) -> Iterator[str]:
        yield path
        yield _key(path)
        written = _key(path).strip().strip("`*\"'").strip()
        for each in (written, written.replace("\\", "/")):
            for plain in dict.fromkeys((each, each.removeprefix("@"), each.removeprefix("@").replace("//", "/"))):
                relative = plain.removeprefix(self._root)
                while relative.startswith("./"):
                    relative = relative[2:]
                yield relative
                if self._top:
                    yield f"{self._top}/{relative}"


def _key(path: str) -> str:
    return unicodedata.normalize("NFC", path)


def _is_odd(file: ListedFile) -> bool:
    name = "/".join(file.located.parts)
    return file.path != name or not name.isprintable()


def _pieces(text: str) -> Iterator[Any]:
    """Give the JSON objects and arrays in a text, in order, and as text what stands around them."""
    decoder = json.JSONDecoder()
    begins = re.compile(r"[{\[]")
    unreadable = start = looked = 0
    while unreadable < MAX_UNREADABLE and (match := begins.search(text, looked)):
        try:
            value, end = decoder.raw_decode(text, match.start())
        except (ValueError, RecursionError):  # code, prose, or an answer that was cut
            unreadable += 1
            looked = match.end()
            continue
        if isinstance(value, dict) or any(isinstance(each, dict) for each in value):
            yield text[start : match.start()]
            yield value
            start = end
        looked = end
    yield text[start:]


def _entries(value: Any, depth: int = 0) -> Iterator[tuple[str, int | None, str, bool]]:
    """Give path, number and summary of what looks like an entry, and whether it certainly is one.

    An object of its own is; a member `"PATH": "SUMMARY"` may be something else.
    """
    if depth > 3:  # {"result": {"entries": [{...}]}} is as far as anyone goes
        return
    if isinstance(value, list):
        for each in value:
            yield from _entries(each, depth + 1)
    if not isinstance(value, dict):
        return
    path, number = _first(value, _PATHS), value.get("n")
    is_number = isinstance(number, int) and not isinstance(number, bool)
    if path is not None or is_number:
        yield path or "", number if is_number else None, _first(value, _SUMMARIES) or "", True
        return
    for name, inner in value.items():
        if isinstance(inner, str):
            yield name, None, inner, False
        else:
            yield from _entries(inner, depth + 1)


def _first(value: Mapping[str, Any], names: Sequence[str]) -> str | None:
    return next((value[name] for name in names if isinstance(value.get(name), str)), None)


def _read_line(line: str, names: _Names) -> tuple[int | None, str, str]:
    """Read `- path: summary` and the like: place and summary; or, for what only looks like an entry, its path."""
    text = _BULLET.sub("", line, count=1)
    first = ""
    for match in islice(_SEPARATOR.finditer(text, 0, MAX_PATH_LENGTH), MAX_SPLITS):
        path = text[: match.start()]
        place = names.place(path)
        if place is not None:
            return place, text[match.end() :].strip(" |*"), ""
        first = first or path.strip("`*\"' ")
    return None, "", first if line != text and _LIKE_A_PATH.fullmatch(first) else ""
