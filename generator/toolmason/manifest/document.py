"""Stage one: read the manifest and parse it as TOML. Every way in which that can fail is a diagnostic with a place."""

from __future__ import annotations

import codecs
import re
import sys
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path, PurePosixPath
from typing import Any, NamedTuple

from toolmason.diagnostics import Diagnostic, Diagnostics, Location, Severity
from toolmason.diagnostics.key_path import KeyPath
from toolmason.diagnostics.wording import quoted, table_name, within
from toolmason.manifest.input_files import read_input
from toolmason.manifest.positions import Mention, Place, Span, key_spans, mentions

_AT_LINE = re.compile(r" \(at line (\d+), column (\d+)\)$")
_AT_END = " (at end of document)"
_CLASH = ("Cannot declare", "Cannot overwrite", "Cannot mutate", "Cannot redefine", "Duplicate inline table key")
"""How `tomllib` says that something is given twice."""
_TOKEN = re.compile(
    r'"""(?:[^"\\]++|\\.|"{1,2}(?!"))*+"{3,5}|\'\'\'(?:[^\']++|\'{1,2}(?!\'))*+\'{3,5}'
    r'|"(?:[^"\\\n]++|\\.)*+"|\'[^\'\n]*+\'|#[^\n]*+|[\[\]{}]|[0-9][0-9_]*+',
    re.DOTALL,
)
"""Strings and comments (to pass over them), brackets and digits."""
PARSER_CALLS = 4_000
"""Nested calls that `tomllib` may make, a few for each level. They take no room on the stack of the machine."""


# No slots: the spans are kept in the instance once they have been asked for.
@dataclass(frozen=True, eq=False, kw_only=True)
class Document:
    """A manifest as TOML: its text, lines ending in LF, its data, and where each key stands.

    `path` is relative to the project. Positions are found on first use: a run without findings never pays for them.
    """

    path: PurePosixPath
    text: str
    data: Mapping[str, Any]

    @cached_property
    def _spans(self) -> Mapping[KeyPath, Span]:
        return key_spans(self.text)

    @cached_property
    def _lines(self) -> list[str]:
        return self.text.split("\n")

    def locate(self, at: KeyPath, *, value: bool = False) -> Location:
        """Place the key of `at`, or its value. What is not written stands where the nearest table around it does."""
        for length in range(len(at), 0, -1):
            if span := self._spans.get(at[:length]):
                place = span.value if value and length == len(at) else span.key
                return Location(self.path, *place)
        return Location(self.path)

    def report(
        self,
        diagnostics: Diagnostics,
        code: str,
        message: str,
        at: KeyPath,
        *,
        hint: str = "",
        value: bool = False,
        severity: Severity = Severity.ERROR,
    ) -> None:
        """Add a diagnostic about the key of `at`, or about its value."""
        location = self.locate(at, value=value)
        source = self._lines[location.line - 1]
        diagnostics.add(
            Diagnostic(code=code, message=message, location=location, hint=hint, severity=severity, source=source)
        )


class _Failure(NamedTuple):
    """Why there is no document."""

    code: str
    message: str
    hint: str = ""
    place: Place = Place(1, 1)


def load(path: Path, *, root: Path, diagnostics: Diagnostics) -> Document | None:
    """Read `path` and parse it as TOML.

    Returns None, with a TM1xx diagnostic added, if the file cannot be read or is not TOML. Paths in diagnostics are
    relative to `root`.
    """
    shown = PurePosixPath((path.relative_to(root) if path.is_relative_to(root) else path).as_posix())
    raw = _read(path, root)
    text = raw if isinstance(raw, _Failure) else _decode(raw)
    data = text if isinstance(text, _Failure) else _parse(text)
    if isinstance(text, str) and not isinstance(data, _Failure):
        return Document(path=shown, text=text, data=data)
    failure = next(each for each in (raw, text, data) if isinstance(each, _Failure))
    source = _line(raw, failure.place.line) if isinstance(raw, bytes) else ""
    diagnostics.add(
        Diagnostic(
            code=failure.code,
            message=failure.message,
            location=Location(shown, *failure.place),
            hint=failure.hint,
            source=source,
        )
    )
    return None


def _read(path: Path, root: Path) -> bytes | _Failure:
    try:
        return read_input(path, root)
    except FileNotFoundError:
        return _Failure("TM101", "there is no such file", "run this in the project's folder, or name the manifest")
    except (OSError, ValueError) as error:  # ValueError: a null byte in the name
        return _Failure("TM101", f"cannot read: {(getattr(error, 'strerror', None) or str(error)).lower()}")


def _decode(raw: bytes) -> str | _Failure:
    if raw.startswith(codecs.BOM_UTF8):
        return _Failure("TM104", "the file starts with a byte order mark", "save it as UTF-8 without BOM")
    try:
        return raw.decode("utf-8").replace("\r\n", "\n")
    except UnicodeDecodeError as error:
        before = raw[: error.start]
        column = len(before[before.rfind(b"\n") + 1 :].decode("utf-8")) + 1
        message = f"not UTF-8: byte 0x{raw[error.start]:02X} at offset {error.start}"
        is_utf_16 = raw.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE))
        hint = "save it as UTF-8; it looks like UTF-16" if is_utf_16 else "save it as UTF-8"
        return _Failure("TM102", message, hint, Place(before.count(b"\n") + 1, column))


def _parse(text: str) -> dict[str, Any] | _Failure:
    try:
        return _parse_deep(text)
    except tomllib.TOMLDecodeError as error:
        message, place = _split_position(str(error), text)
        if message.startswith(_CLASH):
            return _clash(text, place)
        return _Failure("TM103", f"not TOML: {_worded(message)}", _remedy(message, text, place), place)
    except RecursionError:
        return _Failure("TM106", "arrays or tables nest too deeply", "flatten them", _deepest(text))
    except ValueError:  # only int() of very many digits is left
        return _Failure("TM107", "a number has too many digits", "TOML's integers have 64 bits", _longest_number(text))


def _parse_deep(text: str) -> dict[str, Any]:
    """Parse text that nests deeper than Python calls usually do: the stage that knows the key reports it better."""
    usual = sys.getrecursionlimit()
    sys.setrecursionlimit(max(usual, PARSER_CALLS))
    try:
        return tomllib.loads(text)
    finally:
        sys.setrecursionlimit(usual)


def _line(raw: bytes, number: int) -> str:
    """Give one line of a file that may be in any encoding, from its 1-based number."""
    lines = raw.removeprefix(codecs.BOM_UTF8).split(b"\n", number)
    return lines[number - 1].decode("utf-8", "replace").removesuffix("\r") if number <= len(lines) else ""


def _place(text: str, offset: int) -> Place:
    return Place(text.count("\n", 0, offset) + 1, offset - text.rfind("\n", 0, offset))


def _split_position(message: str, text: str) -> tuple[str, Place]:
    """Take the position off a message of `tomllib`, whose errors have attributes for it only from Python 3.14."""
    if match := _AT_LINE.search(message):
        return message[: match.start()], Place(int(match[1]), int(match[2]))
    end = len(text.rstrip())
    return message.removesuffix(_AT_END), _place(text, end)


def _worded(message: str) -> str:
    """Put a message of `tomllib` our way: lower case, the author's text in backticks."""
    if message in (r"Illegal character '\n'", 'Expected "\'"'):
        return "a string does not end on its line"
    if message == "Expected \"'''\"":
        return "a string does not end"
    named = re.sub(r"'((?:[^'\\]|\\.)+)'", r"`\1`", message)
    return named[0].lower() + named[1:]


def _remedy(message: str, text: str, place: Place) -> str:
    """Say how the usual slips are put right; empty for the others."""
    rest = text.split("\n", place.line)[place.line - 1][place.column - 1 :]
    if message.startswith("Invalid value"):
        if not rest:
            return "a value is missing here"
        if re.match(r"(?:null|nil|None|undefined)\b", rest):
            return "TOML has no null: leave the key out"
        if re.match(r"(?:True|False|TRUE|FALSE)\b", rest):
            return "write `true` or `false`"
        return "text stands in quotes"
    for start, remedy in _REMEDIES.items():
        if message.startswith(start):
            return remedy
    return ""


_REMEDIES = {
    "Expected newline": "write one `key = value` a line",
    "Expected '='": "a key is followed by `=` and its value; a key with spaces stands in quotes",
    "Expected ']'": "close the header with `]`",
    "Invalid statement": "a line is `key = value`, a `[table]`, or a comment that starts with `#`",
    "Invalid initial character": "a key is letters, digits, `_` and `-`, or stands in quotes",
    "Unclosed array": "close it with `]`; items have commas between them",
    "Unclosed inline table": "close it with `}`, on the same line",
    "Unescaped '\\'": "write `\\\\`, or put the text in single quotes",
    "Unterminated string": "close the string with the quotes it started with",
    'Expected "\'"': "close the string on its line, or start it with `'''`",
    "Illegal character '\\n'": 'close the string on its line, or start it with `"""`',
}
"""What to write instead, by how the message of `tomllib` starts."""


def _clash(text: str, end: Place) -> _Failure:
    """Say what is given twice, at its second place, with the first one in the hint. `tomllib` stopped at `end`."""
    pair = _same_key_twice(mentions("\n".join(text.split("\n", end.line)[: end.line])))
    if pair is None:  # pragma: no cover  # tomllib and the scanner would have to disagree
        return _Failure("TM105", "a key is given twice", place=end)
    first, second = pair
    place = _place(text, first.key)
    *table, key = second.path
    is_header = text[second.value : second.value + 1] == "[" and second.value < second.key
    name = table_name(second.path) if is_header else f"{quoted(str(key))} {within(tuple(table))}"
    hint = f"the first is in line {place.line}, column {place.column}: keep one"
    return _Failure("TM105", f"{name} is given twice", hint, _place(text, second.key))


def _same_key_twice(found: tuple[Mention, ...]) -> tuple[Mention, Mention] | None:
    """Find the key of the last statement that stood before, and where. Its own key goes before those it mentions."""
    first_of = {mention.path: mention for mention in reversed(found)}
    last = found[-1].statement if found else 0
    latest = [mention for mention in found if mention.statement == last]
    own = [mention for mention in latest if mention.own]
    passing = [mention for mention in latest if not mention.own]
    for second in (*own, *reversed(passing)):
        first = first_of[second.path]
        if first.key < second.key:
            return first, second
    return None  # pragma: no cover  # see where it is called


def _deepest(text: str) -> Place:
    """Find the bracket that opens the deepest array or table."""
    depth = deepest = offset = 0
    for match in _TOKEN.finditer(text):
        if match[0] in "[{":
            depth += 1
            if depth > deepest:
                deepest, offset = depth, match.start()
        elif match[0] in "]}":
            depth -= 1
    return _place(text, offset)


def _longest_number(text: str) -> Place:
    """Find the number with the most digits."""
    numbers = (match for match in _TOKEN.finditer(text) if match[0][0].isdigit())
    longest = max(numbers, key=lambda match: len(match[0]), default=None)
    return _place(text, longest.start() if longest else 0)
