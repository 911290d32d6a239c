"""Parser of summaries: JSON in any layout, or lines of path and summary."""

from __future__ import annotations

import json
import re
import unicodedata
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import islice
from typing import Any, Final

from workbench_handlers.workspace.roots import Located
from workbench_research.file_list import ListedFile, readable

MAX_SUMMARY_CHARS: Final = 400
"""Maximum characters of a summary."""
MAX_INVALID_STARTS: Final = 200
"""Maximum brackets tried at which no JSON value begins; each may cost a scan of the rest of the answer."""
MAX_SPLITS: Final = 8
"""Maximum separators of a line that may end its path."""
MAX_LINES: Final = 5_000
"""Maximum lines of prose."""
MAX_PATH_CHARS: Final = 1_000
"""Maximum characters of a line of prose before the end of its path."""

_BULLET: Final = re.compile(r"^[\s>|]*(?:(?:[-*+•#]+|\d+[.)])\s+)?")
"""The beginning of a list item: `- `, `12. `, `> * `."""
_SEPARATOR: Final = re.compile(
    r"(?<=[`*\"'])\s*+:\s*+|:\s++|:?\*\*:?\s++"
    r"|(?<!\s)\s++(?:[-–—]++|=>|->|→)\s++|(?:(?<!\s)\s++)?\|\s*+|—|\t++"  # noqa: RUF001  as they are typed
)
"""The separator between path and summary: `a.py: x`, `**a.py** x`, `a.py - x`, `| a.py | x |`."""
_PATH_LIKE: Final = re.compile(r"(?!\w+://)(?:(?=\S*[\w)\]]/\S)\S++|\S*\w\.[A-Za-z]\w{0,4})")
"""A path: it contains a slash or a suffix, and is not a URL."""
_PATHS: Final = ("path", "file", "filename", "name")
_SUMMARIES: Final = ("summary", "description", "responsibility", "purpose")
_NO_SUMMARY: Final = frozenset({"", "-", "n/a", "none", "null", "unknown", "...", "…"})


@dataclass(frozen=True, slots=True)
class Parsed:
    """The summaries by index in the list, and the paths that are not in the list.

    `declined` are the indices for which the model reported that it has no summary.
    """

    summaries: dict[int, str] = field(default_factory=dict)
    declined: set[int] = field(default_factory=set)
    unknown: list[str] = field(default_factory=list)


def parse_summaries(text: str, top: Located, files: Sequence[ListedFile], others: Sequence[ListedFile] = ()) -> Parsed:
    """Parse an answer. The first summary of a file counts.

    A path determines the file. A number does so only if there is no path, or if the file has a name that is hard to
    repeat, such as one with line breaks or undecodable bytes. Entries for `others` are ignored.
    """
    names = _FileNames(top, files)
    parsed = Parsed()
    rest: list[str] = []
    for piece in _pieces(text):
        if isinstance(piece, str):
            rest.append(piece)
            continue
        for path, number, summary, is_certain in _entries(piece):
            index = names.index(path, number)
            _add_entry(parsed, index, summary, path if is_certain or _PATH_LIKE.fullmatch(path) else "")
    for line in "\n".join(rest).splitlines()[:MAX_LINES]:
        _add_entry(parsed, *_read_line(line, names))
    if parsed.unknown and others:
        known = _FileNames(top, others)
        parsed.unknown[:] = [path for path in parsed.unknown if known.index(path) is None]
    return parsed


def _add_entry(parsed: Parsed, index: int | None, summary: str, path: str) -> None:
    if index is None:
        if shown := _clean(path):
            parsed.unknown.append(shown)
    elif cleaned := _clean(summary):
        parsed.summaries.setdefault(index, cleaned)
    else:
        parsed.declined.add(index)


def _clean(summary: str) -> str:
    text = " ".join(readable("".join(character if character.isprintable() else " " for character in summary)).split())
    if text.casefold().strip("*`.") in _NO_SUMMARY:
        return ""
    return text if len(text) <= MAX_SUMMARY_CHARS else f"{text[: MAX_SUMMARY_CHARS - 1].rstrip()}…"


class _FileNames:
    """The files of the list by the spellings of their paths."""

    def __init__(self, top: Located, files: Sequence[ListedFile]) -> None:
        self._files = files
        indices = list(enumerate(files))[::-1]  # the first of two with equal spelling wins
        self._indices = {_normalize(file.path): index for index, file in indices}
        self._indices |= {file.path: index for index, file in indices}
        self._root = f"{_normalize(readable(top.root.path.as_posix()))}/"
        self._top = "/".join(_normalize(readable(part)) for part in top.parts)

    def index(self, path: str, number: int | None = None) -> int | None:
        """Return the index in the list, or None."""
        for key in self._spellings(path):
            if key in self._indices:
                return self._indices[key]
        if number is None or not 1 <= number <= len(self._files):
            return None
        return number - 1 if not path or _is_unusual(self._files[number - 1]) else None

    def _spellings(self, path: str) -> Iterator[str]:
        yield path
        yield _normalize(path)
        stripped = _normalize(path).strip().strip("`*\"'").strip()
        for spelling in (stripped, stripped.replace("\\", "/")):
            for candidate in dict.fromkeys(
                (spelling, spelling.removeprefix("@"), spelling.removeprefix("@").replace("//", "/"))
            ):
                relative = candidate.removeprefix(self._root)
                while relative.startswith("./"):
                    relative = relative[2:]
                yield relative
                if self._top:
                    yield f"{self._top}/{relative}"


def _normalize(path: str) -> str:
    return unicodedata.normalize("NFC", path)


def _is_unusual(file: ListedFile) -> bool:
    name = "/".join(file.located.parts)
    return file.path != name or not name.isprintable()


def _pieces(text: str) -> Iterator[Any]:
    """Yield the JSON objects and arrays in a text, in order, and the text between them."""
    decoder = json.JSONDecoder()
    brackets = re.compile(r"[{\[]")
    invalid = start = position = 0
    while invalid < MAX_INVALID_STARTS and (match := brackets.search(text, position)):
        try:
            value, end = decoder.raw_decode(text, match.start())
        except (ValueError, RecursionError):  # code, prose, or an incomplete answer
            invalid += 1
            position = match.end()
            continue
        if isinstance(value, dict) or any(isinstance(item, dict) for item in value):
            yield text[start : match.start()]
            yield value
            start = end
        position = end
    yield text[start:]


def _entries(value: Any, depth: int = 0) -> Iterator[tuple[str, int | None, str, bool]]:
    """Yield path, number and summary of each possible entry, and whether it certainly is one.

    An object of its own is; a member `"PATH": "SUMMARY"` may be something else.
    """
    if depth > 3:  # {"result": {"entries": [{...}]}} is the deepest layout in use
        return
    if isinstance(value, list):
        for item in value:
            yield from _entries(item, depth + 1)
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


def _read_line(line: str, names: _FileNames) -> tuple[int | None, str, str]:
    """Read `- path: summary` and the like: index and summary; or, for what only looks like an entry, its path."""
    text = _BULLET.sub("", line, count=1)
    first = ""
    for match in islice(_SEPARATOR.finditer(text, 0, MAX_PATH_CHARS), MAX_SPLITS):
        path = text[: match.start()]
        index = names.index(path)
        if index is not None:
            return index, text[match.end() :].strip(" |*"), ""
        first = first or path.strip("`*\"' ")
    return None, "", first if line != text and _PATH_LIKE.fullmatch(first) else ""
