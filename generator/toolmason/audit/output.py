"""Format untrusted text and JSON for terminals and files."""

from __future__ import annotations

import difflib
import json
import textwrap
from dataclasses import dataclass
from itertools import zip_longest
from typing import Any, Final

from toolmason.diagnostics.terminal import paint
from toolmason.schema import Severity

MAX_DIFF_LINES: Final = 5_000
"""Maximum length of a schema in a diff: comparing takes quadratic time."""
_STYLES: Final = {
    Severity.REFUSED: "red",
    Severity.BREAKS: "red",
    Severity.NARROWED: "yellow",
    Severity.LOSSY: "yellow",
    Severity.NOTE: "blue",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Terminal:
    """The width of the output in columns, and whether it has colour."""

    width: int
    colour: bool = False

    def paint(self, text: str, *styles: str) -> str:
        """Colour `text` if this output has colour."""
        return paint(text, *styles, colour=self.colour)

    def label(self, severity: Severity, text: str = "") -> str:
        """Return `text`, or else the name of the severity, in the severity's colour."""
        return self.paint(text or str(severity), _STYLES[severity])

    def wrap(self, text: str, first: str) -> list[str]:
        """Wrap `text` behind the prefix `first`; later lines are indented by its length."""
        return textwrap.wrap(
            visible(text),
            max(self.width, 40),
            initial_indent=first,
            subsequent_indent=" " * len(first),
            break_long_words=False,
            break_on_hyphens=False,
        ) or [first.rstrip()]


def visible(text: str) -> str:
    """Escape characters that are not printable: untrusted text may contain terminal control sequences."""
    return text if text.isprintable() else "".join(char if char.isprintable() else _escape(char) for char in text)


def _escape(char: str) -> str:
    return json.dumps(char)[1:-1] if ord(char) > 0x7F or char in "\n\r\t" else f"\\u{ord(char):04x}"


def json_lines(value: Any) -> list[str]:
    """Return a JSON value as indented, printable lines."""
    return [visible(line) for line in json.dumps(value, indent=2, ensure_ascii=False).split("\n")]


def as_json(value: Any) -> str:
    """Return a JSON value as an indented, printable document."""
    return "".join(f"{line}\n" for line in json_lines(value))


def encodable(text: str, encoding: str) -> str:
    """Replace characters that `encoding` lacks, and unpaired surrogates, with JSON escapes."""
    if _fits(text, encoding):
        return text
    return "".join(char if _fits(char, encoding) else json.dumps(char)[1:-1] for char in text)


def _fits(text: str, encoding: str) -> bool:
    try:
        text.encode(encoding)
    except UnicodeEncodeError:
        return False
    return True


def diff_lines(original: Any, transformed: Any) -> list[str]:
    """Return a unified diff of two JSON values; empty if they differ in the order of keys at most."""
    before, after = json_lines(original), json_lines(_reorder(transformed, original))
    if before == after:
        return []
    if max(len(before), len(after)) > MAX_DIFF_LINES:
        return [f"too long to compare: {len(before):,} lines original, {len(after):,} lines transformed"]
    return list(difflib.unified_diff(before, after, "original", "transformed", lineterm=""))


def _reorder(value: Any, model: Any) -> Any:
    """Return `value` with its keys in the order of `model`."""
    if isinstance(value, dict) and isinstance(model, dict):
        keys = [key for key in model if key in value] + [key for key in value if key not in model]
        return {key: _reorder(value[key], model.get(key)) for key in keys}
    if isinstance(value, list) and isinstance(model, list):
        return [_reorder(item, other) for item, other in zip_longest(value, model)][: len(value)]
    return value
