"""What a model points at, looked up: is the file there, has it those lines, do they hold that name?

Models make paths up, and are off by some lines.
"""

from __future__ import annotations

import os
import re
from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath
from typing import Any, Final

from toolmason_runtime import ToolError

from workbench_handlers.doctor.settings import GIT_IGNORE_SETTING
from workbench_handlers.model_backends.question import Answer
from workbench_handlers.model_backends.redaction import secrets_hidden
from workbench_handlers.research.analysis.budgets import fitting
from workbench_handlers.research.analysis.parsing import text_of, texts_of, whole_of
from workbench_handlers.research.analysis.scope import Scope
from workbench_handlers.workspace.decode import decode
from workbench_handlers.workspace.ignore import IgnoreCheck
from workbench_handlers.workspace.open import existing, open_file
from workbench_handlers.workspace.packages import NotInstalledError
from workbench_handlers.workspace.roots import Located, RefusedPathError, Root

MAX_FILES: Final = 400
"""Files looked at for one result."""
MAX_FILE_BYTES: Final = 2_000_000
"""Bytes of a file whose lines are counted."""
MAX_BYTES: Final = 64_000_000
"""Bytes of all of them: beyond, it is only looked whether a file is there."""
MAX_PLACES: Final = 10
"""Places in one list; the model is told so."""
MAX_NAMED: Final = 5
"""Paths that one warning names."""
MAX_PATH_CHARACTERS: Final = 500
"""Characters of a path."""
DOT_ENV: Final = ".env"
"""How the names of files begin that hold secrets rather than code."""

_LINES: Final = r"L?(?P<first>\d{1,7})(?:\s?[-\u2013]\s?L?(?P<last>\d{1,7})|:\d{1,7})?"
_PLACE: Final = re.compile(rf"(?P<path>.+?)(?:(?::|#|\s\(?lines?\s){_LINES}\)?)?")
_SPAN: Final = re.compile(_LINES)
_NAME: Final = re.compile(r"[^\W\d]\w*")
_TICKED: Final = re.compile(r"`([^`\n]{3,200})`")
_LIKE_A_FILE: Final = re.compile(r"(?:[\w.@+-]+/)+[\w.@+-]*\.[A-Za-z]\w{0,9}(?:[:#]L?\d+(?:-L?\d+)?)?")
"""A path with a folder and an extension: what else stands in backticks may be anything."""


@dataclass(frozen=True, slots=True)
class Place:
    """A file, or lines of it: 1-based, both included."""

    path: str
    first: int | None = None
    last: int | None = None


@dataclass(frozen=True, slots=True)
class _File:
    """What is known of a path. `lines` is None for a folder, a binary or a very large file.

    What `is_kept_back` is not quoted.
    """

    path: str
    exists: bool
    note: str = ""
    lines: tuple[str, ...] | None = None
    is_kept_back: bool = False


@dataclass(slots=True)
class Evidence:
    """The files of a project, each looked at once. It blocks. `warnings` says what it found wrong.

    `refused` are the paths that the model asked for and was not given.
    """

    root: Path
    scope: Scope = field(default_factory=Scope)
    refused: Collection[str] = ()
    _files: dict[str, _File] = field(default_factory=dict)
    _missing: dict[str, None] = field(default_factory=dict)
    _off: dict[str, None] = field(default_factory=dict)
    _outside: dict[str, None] = field(default_factory=dict)
    _unseen: dict[str, None] = field(default_factory=dict)
    _kept_back: dict[str, None] = field(default_factory=dict)
    _left: int = MAX_BYTES
    _ignoring: IgnoreCheck = field(init=False)

    def __post_init__(self) -> None:
        self._ignoring = IgnoreCheck(Located(Root(self.root, "the project"), (), "."))

    def reference(self, place: Place, *, symbol: str = "") -> dict[str, Any]:
        """Give what results say of a place: `exists`, and a `note` if something is wrong with it."""
        file = self._file(place.path)
        note = file.note or self._wrong_lines(file, place) or _missing_name(file, place, symbol)
        if file.path in self._unseen:
            pass
        elif not file.exists:
            self._missing[file.path] = None
        elif note:
            self._off[_shown(file.path, place)] = None
        if file.exists and not self.scope.is_whole and not self.scope.covers(file.path):
            self._outside[file.path] = None
        return {
            "path": file.path,
            **({} if place.first is None else {"startLine": place.first}),
            **({} if place.last is None else {"endLine": place.last}),
            "exists": file.exists,
            **({"note": note} if note else {}),
        }

    def references(self, value: Any) -> list[dict[str, Any]]:
        """Give the places of a list in a model's answer, each once."""
        return [self.reference(place) for place in places_of(value)[:MAX_PLACES]]

    def exists(self, path: str) -> bool:
        """Whether there is such a file or folder in the project."""
        place = place_in(path)
        return place is not None and self._file(place.path).exists

    def snippet(self, place: Place, *, most: int) -> str:
        """Give the lines at a place as the file has them but for our keys, `most` at most; nothing if there are none.

        It is the model that chooses them, and a file may tell it to: so what it would not be given is not quoted.
        """
        file = self._file(place.path)
        if file.lines is None or place.first is None or self._wrong_lines(file, place):
            return ""
        if file.is_kept_back:
            self._kept_back[file.path] = None
            return ""
        lines = file.lines[place.first - 1 : min(place.last or place.first, place.first - 1 + most)]
        return secrets_hidden(("\n".join(lines),), os.environ)[0]

    def check_text(self, text: str) -> None:
        """Look up the paths that stand in backticks in an answer in prose."""
        for ticked in dict.fromkeys(found[1] for found in _TICKED.finditer(text)):
            if len(self._files) < MAX_FILES and _LIKE_A_FILE.fullmatch(ticked) and (place := place_in(ticked)):
                self.reference(place)

    @property
    def warnings(self) -> list[str]:
        """What is wrong with the places that were looked up."""
        return [
            f"{words}: {_some(paths)}"
            for words, paths in (
                ("the model named files that do not exist", self._missing),
                ("the model named lines or names that are not there", self._off),
                ("the model named files outside of the scope", self._outside),
                (f"the model named more than {MAX_FILES} files, and some were not looked up", self._unseen),
                ("no code is shown of files that are ignored, refused to the model or hold settings", self._kept_back),
            )
            if paths
        ]

    def _file(self, path: str) -> _File:
        if path not in self._files:
            if len(self._files) >= MAX_FILES:
                self._unseen[path] = None
                return _File(path, exists=False, note=f"not looked up: more than {MAX_FILES} files were named")
            self._files[path] = self._looked_up(path)
        return self._files[path]

    def _looked_up(self, path: str) -> _File:
        tries = [path, *(f"{place}/{path}" for place in self.scope.places if not path.startswith("/"))]
        for each in tries:  # a model that was told to look below `src` may write paths from there
            try:
                return self._read(existing(each, (Root(self.root, "the project"),), suggest=False))
            except RefusedPathError:
                return _File(path, exists=False, note="outside of the project")
            except ToolError:
                continue
        return _File(path, exists=False, note="no such file")

    def _read(self, located: Located) -> _File:
        shown = "/".join(located.parts) or "."
        most = min(MAX_FILE_BYTES, self._left)
        try:
            with open_file(located) as stream:
                data = stream.read(most + 1)
        except ToolError:  # a folder, or not readable
            return _File(shown, exists=True)
        text = decode(data) if len(data) <= most else None
        self._left -= len(data) if text is not None else 0
        lines = None if text is None else _split(text)
        return _File(shown, exists=True, lines=lines, is_kept_back=self._is_kept_back(located, shown))

    def _is_kept_back(self, located: Located, shown: str) -> bool:
        if shown in self.refused or any(part.casefold().startswith(DOT_ENV) for part in located.parts):
            return True
        try:
            return self._ignoring.leaves_out(located.parts)
        except NotInstalledError:  # then nobody knows
            return True

    @staticmethod
    def _wrong_lines(file: _File, place: Place) -> str:
        if file.lines is None or place.first is None:
            return ""
        if not 1 <= place.first <= (place.last or place.first) <= len(file.lines):
            return f"the file has {len(file.lines)} lines"
        return ""


def place_in(text: str) -> Place | None:
    """Read `path`, `path:line`, `path:first-last` and what models write instead, such as `path#L1-L2`."""
    written = text.strip().strip("`'\"").removeprefix("\\").removeprefix("@").removeprefix("./").replace("\\@", "@")
    found = _PLACE.fullmatch(written) if 0 < len(written) <= MAX_PATH_CHARACTERS and written.isprintable() else None
    return _place(found["path"].strip(), found["first"], found["last"]) if found and found["path"].strip() else None


def lines_of(path: str, value: Any) -> Place:
    """Give the place in `path` that a model's `10-20`, `10` or 10 stands for."""
    number = whole_of(value)
    found = _SPAN.fullmatch(str(number) if number is not None else text_of(value))
    return _place(path, found["first"], found["last"]) if found else Place(path)


def places_of(value: Any) -> list[Place]:
    """Give the places in a list of texts, each once."""
    return list(dict.fromkeys(place for text in texts_of(value) if (place := place_in(text))))


def _place(path: str, first: str | None, last: str | None) -> Place:
    if first is None:
        return Place(path)
    start, end = int(first), int(last or first)
    return Place(path, min(start, end), max(start, end))


def _split(text: str) -> tuple[str, ...]:
    """Give the lines as editors count them: not at every character that Unicode calls a line's end."""
    lines = text.replace("\r\n", "\n").replace("\r", "\n").split("\n")
    return tuple(lines[:-1] if lines and not lines[-1] else lines)


def _missing_name(file: _File, place: Place, symbol: str) -> str:
    """Say if the last name of `symbol` does not stand in the lines. One that holds none is not looked for."""
    names = _NAME.findall(symbol.partition("(")[0])
    if not names or file.lines is None or place.first is None:
        return ""
    if any(names[-1] in line for line in file.lines[place.first - 1 : place.last]):
        return ""
    at = next((number for number, line in enumerate(file.lines, 1) if names[-1] in line), None)
    return f"`{names[-1]}` is not in these lines" + (f", but in line {at}" if at else ", nor elsewhere in the file")


def _shown(path: str, place: Place) -> str:
    lines = f"{place.first}" if place.first == place.last else f"{place.first}-{place.last}"
    return path if place.first is None else f"{path}:{lines}"


def _some(paths: Iterable[str]) -> str:
    named = [f"`{path}`" for path in paths]
    more = len(named) - MAX_NAMED
    return ", ".join(named[:MAX_NAMED]) + (f" and {more} more" if more > 0 else "")


def outside_of(scope: Scope, paths: Iterable[str]) -> str:
    """Name the files the model read that are not in the scope, or nothing."""
    read = [path for path in paths if not scope.is_whole and not scope.covers(PurePosixPath(path).as_posix())]
    return f"the model also read files outside of the scope: {_some(read)}" if read else ""


def refusals(answer: Answer, root: Path) -> Iterator[str]:
    """Say what the model asked for and was not given; what is not there it only guessed. Looks at the disk."""
    if answer.ignored:
        where = f"where it is .gitignore, the Gemini CLI's setting `{GIT_IGNORE_SETTING} = false` has it read"
        yield f"the model was not given what it asked for and ignore files name ({where}): {_some(answer.ignored)}"
    there = [path for path in answer.refused if path not in answer.ignored and os.path.lexists(root / path)]
    if there:
        yield f"the model was not given what it asked for and may not or cannot read: {_some(there)}"


def listing(entries: list[dict[str, Any]], budget: int, what: str) -> tuple[list[dict[str, Any]], str]:
    """Give the entries that fit into `budget` tokens, and a warning for those that do not."""
    kept, _ = fitting(entries, budget)
    left = len(entries) - len(kept)
    return kept, f"{left} of {len(entries)} {what} are left out of this answer: narrow the scope" if left else ""
