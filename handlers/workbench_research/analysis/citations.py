"""Verification of the paths, lines and names that a model cites: models invent paths, and are off by some lines."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath
from typing import Any, Final

from toolmason_runtime import ToolError

from workbench_handlers.workspace.decode import decode
from workbench_handlers.workspace.ignore import IgnoreCheck
from workbench_handlers.workspace.open import existing, open_file
from workbench_handlers.workspace.packages import NotInstalledError
from workbench_handlers.workspace.roots import Located, RefusedPathError, Root
from workbench_research.analysis.answer_json import parse_int, parse_text, parse_texts
from workbench_research.analysis.scope import Scope
from workbench_research.analysis.token_budget import take_within_budget
from workbench_research.redaction import redact_known

MAX_FILES: Final = 400
"""Maximum files checked for one result."""
MAX_FILE_BYTES: Final = 2_000_000
"""Maximum bytes of a file whose lines are counted."""
MAX_BYTES: Final = 64_000_000
"""Maximum bytes of all files; beyond it, only their existence is checked."""
MAX_CITATIONS: Final = 10
"""Maximum citations in one list, which the prompt states."""
MAX_REPORTED: Final = 5
"""Maximum paths in one warning."""
MAX_PATH_CHARS: Final = 500
"""Maximum characters of a path."""
DOT_ENV: Final = ".env"
"""Beginning of the names of files that contain secrets rather than code."""

_LINES: Final = r"L?(?P<first>\d{1,7})(?:\s?[-\u2013]\s?L?(?P<last>\d{1,7})|:\d{1,7})?"
_CITATION: Final = re.compile(rf"(?P<path>.+?)(?:(?::|#|\s\(?lines?\s){_LINES}\)?)?")
"""A path with optional lines: `src/a.py`, `src/a.py:10-20`, `src/a.py#L10-L20`, `src/a.py (lines 10-20)`."""
_LINE_RANGE: Final = re.compile(_LINES)
_NAME: Final = re.compile(r"[^\W\d]\w*")
_BACKTICKED: Final = re.compile(r"`([^`\n]{3,200})`")
_PATH_LIKE: Final = re.compile(r"(?:[\w.@+-]+/)+[\w.@+-]*\.[A-Za-z]\w{0,9}(?:[:#]L?\d+(?:-L?\d+)?)?")
"""A path with a directory and a suffix; other text in backticks may be anything."""


@dataclass(frozen=True, slots=True)
class Citation:
    """A file, or lines of it: 1-based, both included."""

    path: str
    first: int | None = None
    last: int | None = None


@dataclass(frozen=True, slots=True)
class _File:
    """A path that was checked. `lines` is None for a directory, a binary or a very large file.

    Files with `is_hidden` are not quoted.
    """

    path: str
    exists: bool
    note: str = ""
    lines: tuple[str, ...] | None = None
    is_hidden: bool = False


@dataclass(slots=True)
class CitationChecker:
    """The files of a project, each read once. It blocks. `warnings` are the problems found."""

    root: Path
    scope: Scope = field(default_factory=Scope)
    _files: dict[str, _File] = field(default_factory=dict)
    _missing: dict[str, None] = field(default_factory=dict)
    _imprecise: dict[str, None] = field(default_factory=dict)
    _outside: dict[str, None] = field(default_factory=dict)
    _unchecked: dict[str, None] = field(default_factory=dict)
    _hidden: dict[str, None] = field(default_factory=dict)
    _remaining_bytes: int = MAX_BYTES
    _ignore: IgnoreCheck = field(init=False)

    def __post_init__(self) -> None:
        self._ignore = IgnoreCheck(Located(Root(self.root, "the project"), (), "."))

    def check(self, citation: Citation, *, symbol: str = "") -> dict[str, Any]:
        """Return a citation for the result: `exists`, and a `note` about a problem."""
        file = self._file(citation.path)
        note = file.note or self._line_problem(file, citation) or _name_problem(file, citation, symbol)
        if file.path in self._unchecked:
            pass
        elif not file.exists:
            self._missing[file.path] = None
        elif note:
            self._imprecise[_display(file.path, citation)] = None
        if file.exists and not self.scope.is_whole and not self.scope.covers(file.path):
            self._outside[file.path] = None
        return {
            "path": file.path,
            **({} if citation.first is None else {"startLine": citation.first}),
            **({} if citation.last is None else {"endLine": citation.last}),
            "exists": file.exists,
            **({"note": note} if note else {}),
        }

    def check_all(self, value: Any) -> list[dict[str, Any]]:
        """Check the citations in a list of a model's answer, each once."""
        return [self.check(citation) for citation in parse_citations(value)[:MAX_CITATIONS]]

    def exists(self, path: str) -> bool:
        """Whether there is such a file or directory in the project."""
        citation = parse_citation(path)
        return citation is not None and self._file(citation.path).exists

    def snippet(self, citation: Citation, *, max_lines: int) -> str:
        """Return at most `max_lines` of the cited lines, without our keys; empty if there are none.

        The model chooses them, and a file may instruct it to: files that it may not read are not quoted.
        """
        file = self._file(citation.path)
        if file.lines is None or citation.first is None or self._line_problem(file, citation):
            return ""
        if file.is_hidden:
            self._hidden[file.path] = None
            return ""
        lines = file.lines[citation.first - 1 : min(citation.last or citation.first, citation.first - 1 + max_lines)]
        return redact_known(("\n".join(lines),), os.environ)[0]

    def check_text(self, answer: str) -> None:
        """Check the paths in backticks in a Markdown answer."""
        for text in dict.fromkeys(match[1] for match in _BACKTICKED.finditer(answer)):
            if len(self._files) < MAX_FILES and _PATH_LIKE.fullmatch(text) and (citation := parse_citation(text)):
                self.check(citation)

    @property
    def warnings(self) -> list[str]:
        """Problems of the citations."""
        return [
            f"{message}: {_join(paths)}"
            for message, paths in (
                ("the model named files that do not exist", self._missing),
                ("the model cited lines or names that do not exist", self._imprecise),
                ("the model named files outside the scope", self._outside),
                (f"the model named more than {MAX_FILES} files, and some were not checked", self._unchecked),
                ("ignored files and settings files are not quoted", self._hidden),
            )
            if paths
        ]

    def _file(self, path: str) -> _File:
        if path not in self._files:
            if len(self._files) >= MAX_FILES:
                self._unchecked[path] = None
                return _File(path, exists=False, note=f"not checked: more than {MAX_FILES} files were named")
            self._files[path] = self._find(path)
        return self._files[path]

    def _find(self, path: str) -> _File:
        candidates = [path, *(f"{citation}/{path}" for citation in self.scope.directories if not path.startswith("/"))]
        for candidate in candidates:  # with the scope `src`, a model may write paths relative to it
            try:
                return self._read(existing(candidate, (Root(self.root, "the project"),), suggest=False))
            except RefusedPathError:
                return _File(path, exists=False, note="outside the project")
            except ToolError:
                continue
        return _File(path, exists=False, note="no such file")

    def _read(self, located: Located) -> _File:
        shown = "/".join(located.parts) or "."
        max_lines = min(MAX_FILE_BYTES, self._remaining_bytes)
        try:
            with open_file(located) as stream:
                data = stream.read(max_lines + 1)
        except ToolError:  # a directory, or not readable
            return _File(shown, exists=True)
        text = decode(data) if len(data) <= max_lines else None
        self._remaining_bytes -= len(data) if text is not None else 0
        lines = None if text is None else _split(text)
        return _File(shown, exists=True, lines=lines, is_hidden=self._is_hidden(located))

    def _is_hidden(self, located: Located) -> bool:
        if any(part.casefold().startswith(DOT_ENV) for part in located.parts):
            return True
        try:
            return self._ignore.ignores_file(located.parts)
        except NotInstalledError:  # unknown
            return True

    @staticmethod
    def _line_problem(file: _File, citation: Citation) -> str:
        if file.lines is None or citation.first is None:
            return ""
        if not 1 <= citation.first <= (citation.last or citation.first) <= len(file.lines):
            return f"the file has {len(file.lines)} lines"
        return ""


def parse_citation(text: str) -> Citation | None:
    """Parse `path`, `path:line`, `path:first-last` and variants such as `path#L1-L2`."""
    stripped = text.strip().strip("`'\"").removeprefix("\\").removeprefix("@").removeprefix("./").replace("\\@", "@")
    match = _CITATION.fullmatch(stripped) if 0 < len(stripped) <= MAX_PATH_CHARS and stripped.isprintable() else None
    return _citation(match["path"].strip(), match["first"], match["last"]) if match and match["path"].strip() else None


def parse_line_range(path: str, value: Any) -> Citation:
    """Return the lines of `path` that a model's `10-20`, `10` or 10 means."""
    number = parse_int(value)
    match = _LINE_RANGE.fullmatch(str(number) if number is not None else parse_text(value))
    return _citation(path, match["first"], match["last"]) if match else Citation(path)


def parse_citations(value: Any) -> list[Citation]:
    """Return the citations in a list of texts, each once."""
    return list(dict.fromkeys(citation for text in parse_texts(value) if (citation := parse_citation(text))))


def _citation(path: str, first: str | None, last: str | None) -> Citation:
    if first is None:
        return Citation(path)
    start, end = int(first), int(last or first)
    return Citation(path, min(start, end), max(start, end))


def _split(text: str) -> tuple[str, ...]:
    """Return the lines as editors count them, split at line feeds and carriage returns only."""
    lines = text.replace("\r\n", "\n").replace("\r", "\n").split("\n")
    return tuple(lines[:-1] if lines and not lines[-1] else lines)


def _name_problem(file: _File, citation: Citation, symbol: str) -> str:
    """Return a note if the last name of `symbol` is missing in the lines; empty if `symbol` has no name."""
    names = _NAME.findall(symbol.partition("(")[0])
    if not names or file.lines is None or citation.first is None:
        return ""
    if any(names[-1] in line for line in file.lines[citation.first - 1 : citation.last]):
        return ""
    line_number = next((number for number, line in enumerate(file.lines, 1) if names[-1] in line), None)
    return f"`{names[-1]}` is not in these lines" + (
        f", but in line {line_number}" if line_number else " or elsewhere in the file"
    )


def _display(path: str, citation: Citation) -> str:
    lines = f"{citation.first}" if citation.first == citation.last else f"{citation.first}-{citation.last}"
    return path if citation.first is None else f"{path}:{lines}"


def _join(paths: Iterable[str]) -> str:
    quoted = [f"`{path}`" for path in paths]
    rest = len(quoted) - MAX_REPORTED
    return ", ".join(quoted[:MAX_REPORTED]) + (f" and {rest} more" if rest > 0 else "")


def files_outside_scope(scope: Scope, paths: Iterable[str]) -> str:
    """Return a warning about files outside the scope that the model read; empty if there are none."""
    read = [path for path in paths if not scope.is_whole and not scope.covers(PurePosixPath(path).as_posix())]
    return f"the model also read files outside the scope: {_join(read)}" if read else ""


def fit_entries(entries: list[dict[str, Any]], budget: int, what: str) -> tuple[list[dict[str, Any]], str]:
    """Return the entries that fit into `budget` tokens, and a warning if some do not."""
    fitting, _ = take_within_budget(entries, budget)
    omitted = len(entries) - len(fitting)
    return fitting, f"{omitted} of {len(entries)} {what} are omitted: narrow the scope" if omitted else ""
