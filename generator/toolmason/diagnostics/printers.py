"""Print what a run has found: for people, for programs, for GitHub and for code scanners."""

from __future__ import annotations

import json
import re
import unicodedata
from collections.abc import Callable, Iterable, Mapping
from typing import Any, Final
from urllib.parse import quote

from toolmason.diagnostics import Diagnostic, Location, Severity
from toolmason.diagnostics.rules import RULES, Rule
from toolmason.diagnostics.terminal import Layout

OMITTED: Final = "TM108"
"""The code of the finding that stands for those that are not printed."""
MAX_SHOWN: Final = 200
"""Findings that are printed. A last one gives the number of the others."""
MAX_COLUMNS = 160
"""Characters of a source line that are shown."""

_COLOURS: Final = {
    Severity.ERROR: "\x1b[1;31m",
    Severity.WARNING: "\x1b[1;33m",
    Severity.NOTE: "\x1b[1;34m",
    "bold": "\x1b[1m",
    "hint": "\x1b[36m",
}
_PLAIN = "\x1b[0m"
# Control characters, and those that turn the reading direction: either could make a line say what it does not.
_UNSEEN = re.compile(r"[\x00-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ufeff\ud800-\udfff]")


def report(
    diagnostics: Iterable[Diagnostic],
    layout: Layout = "text",
    *,
    colour: bool = False,
    rules: Mapping[str, Rule] = RULES,
) -> str:
    """Print `diagnostics` in their order.

    The result ends with a newline, or is empty if there are no diagnostics. `sarif` is a document even then, and
    describes the codes in `rules`. Only `text` has colour.
    """
    found = list(diagnostics)
    shown = bounded(found)
    if len(shown) < len(found):
        shown.append(_omission(len(found) - len(shown), shown[-1].location))
    if layout == "sarif":
        return _sarif(shown, rules)
    if layout != "text":
        return _PRINTERS[layout](shown)
    return _text(shown, closing(found), colour=colour) if found else ""


def bounded(found: list[Diagnostic]) -> list[Diagnostic]:
    """Return the first `MAX_SHOWN` of the most severe findings, in their order."""
    ranks = list(Severity)
    worst = sorted(range(len(found)), key=lambda place: ranks.index(found[place].severity))[:MAX_SHOWN]
    return [found[place] for place in sorted(worst)]


def closing(diagnostics: Iterable[Diagnostic]) -> str:
    """Count what was found: "2 errors, 1 warning. Nothing was written."."""
    severities = [each.severity for each in diagnostics]
    counts = [(severities.count(each), each.value) for each in Severity]
    text = ", ".join(f"{count} {name}{'' if count == 1 else 's'}" for count, name in counts if count)
    return f"{text}. Nothing was written." if Severity.ERROR in severities else f"{text}."


def _omission(number: int, location: Location) -> Diagnostic:
    message = f"{number:,} more {'finding is' if number == 1 else 'findings are'} not shown"
    hint = "fix those above first"
    return Diagnostic(code=OMITTED, message=message, location=location, hint=hint, severity=Severity.NOTE)


# Text


def _text(shown: list[Diagnostic], last: str, *, colour: bool) -> str:
    paint = _painted if colour else _unpainted
    return "\n".join([*(_entry(each, paint) for each in shown), f"{last}\n"])


_Paint = Callable[[str, str], str]


def _painted(text: str, role: str) -> str:
    return f"{_COLOURS[role]}{text}{_PLAIN}" if text else ""


def _unpainted(text: str, role: str) -> str:  # noqa: ARG001  # same signature as its twin
    return text


def _entry(each: Diagnostic, paint: _Paint) -> str:
    """Print one finding: what and where, the line with a marker, the hint."""
    place = f"{each.location.path}:{each.location.line}:{each.location.column}:"
    label = paint(f"{each.severity}[{each.code}]:", each.severity)
    lines = [f"{paint(_visible(place), 'bold')} {label} {paint(_visible(each.message), 'bold')}"]
    gutter = " " * (len(str(each.location.line)) + 1)
    if each.source:
        source, pad = _excerpt(each.source, each.location.column)
        lines += [
            f"{gutter}|",
            f"{each.location.line} | {source}".rstrip(),
            f"{gutter}| {pad}{paint('^', each.severity)}",
        ]
    if each.hint:
        first, *more = each.hint.split("\n")
        lines += [f"{gutter}{paint('= hint:', 'hint')} {_visible(first)}"]
        lines += [f"{gutter}        {_visible(line)}".rstrip() for line in more]
    return "\n".join(lines) + "\n"


def _excerpt(source: str, column: int) -> tuple[str, str]:
    """Give the part of a line that is shown, and the white space that brings a marker under `column` (1-based)."""
    start = 0
    if len(source) > MAX_COLUMNS:
        start = max(0, min(column - 1 - MAX_COLUMNS // 2, len(source) - MAX_COLUMNS))
    before, after = ("…" if start else ""), ("…" if start + MAX_COLUMNS < len(source) else "")
    shown = source[start : start + MAX_COLUMNS]
    pad = " " * len(before) + "".join(map(_blank, shown[: column - 1 - start]))
    return before + "".join(map(_one_cell, shown)) + after, pad


def _blank(char: str) -> str:
    """Give white space as wide as `char` is on a terminal."""
    if char == "\t":
        return "\t"
    if _UNSEEN.match(char):
        return " "
    if unicodedata.category(char) in ("Mn", "Me", "Cf"):
        return ""
    return "  " if unicodedata.east_asian_width(char) in ("W", "F") else " "


def _one_cell(char: str) -> str:
    return "\ufffd" if char != "\t" and _UNSEEN.match(char) else char


def _visible(text: str) -> str:
    """Write unseen characters as TOML would: a key may hold an escape sequence, and a terminal would obey it."""
    return _UNSEEN.sub(lambda match: f"\\u{ord(match[0]):04x}", text)


# The others


def _json(found: list[Diagnostic]) -> str:
    """One object a line."""
    return "".join(
        json.dumps(
            {
                "severity": each.severity,
                "code": each.code,
                "message": each.message,
                "hint": each.hint,
                "path": str(each.location.path),
                "line": each.location.line,
                "column": each.location.column,
            }
        )
        + "\n"
        for each in found
    )


_COMMANDS: Final[Mapping[Severity, str]] = {
    Severity.ERROR: "error",
    Severity.WARNING: "warning",
    Severity.NOTE: "notice",
}


def _github(found: list[Diagnostic]) -> str:
    """Workflow commands, escaped as the runner's own toolkit does it.

    See https://docs.github.com/actions/reference/workflow-commands-for-github-actions.
    """
    return "".join(f"{_workflow_command(each)}\n" for each in found)


def _workflow_command(each: Diagnostic) -> str:
    at = each.location
    properties = {"file": str(at.path), "line": str(at.line), "col": str(at.column), "title": each.code}
    listed = ",".join(f"{key}={_property(_visible(value))}" for key, value in properties.items())
    text = "\n".join(_visible(line) for line in (each.message, *each.hint.split("\n")) if line)
    return f"::{_COMMANDS[each.severity]} {listed}::{_data(text)}"


def _data(text: str) -> str:
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _property(text: str) -> str:
    return _data(text).replace(":", "%3A").replace(",", "%2C")


def _sarif(found: list[Diagnostic], rules: Mapping[str, Rule]) -> str:
    """One document. See https://docs.oasis-open.org/sarif/sarif/v2.1.0/sarif-v2.1.0.html."""
    codes = sorted({each.code for each in found})
    run = {
        "tool": {"driver": {"name": "toolmason", "rules": [_sarif_rule(code, rules) for code in codes]}},
        "columnKind": "unicodeCodePoints",
        "results": [_sarif_result(each, codes.index(each.code)) for each in found],
    }
    document = {
        "$schema": "https://json.schemastore.org/sarif-2.1.0.json",
        "version": "2.1.0",
        "runs": [run],
    }
    return json.dumps(document, indent=2) + "\n"


def _sarif_rule(code: str, rules: Mapping[str, Rule]) -> dict[str, Any]:
    rule = rules.get(code) or RULES.get(code)
    if rule is None:
        return {"id": code}
    return {"id": code, "shortDescription": {"text": rule.title}, "fullDescription": {"text": rule.why}}


def _sarif_result(each: Diagnostic, rule: int) -> dict[str, Any]:
    text = f"{each.message}\n{each.hint}" if each.hint else each.message
    region = {"startLine": each.location.line, "startColumn": each.location.column}
    uri = quote(str(each.location.path), errors="replace")
    return {
        "ruleId": each.code,
        "ruleIndex": rule,
        "level": each.severity,
        "message": {"text": text},
        "locations": [{"physicalLocation": {"artifactLocation": {"uri": uri}, "region": region}}],
    }


_PRINTERS: Final[Mapping[Layout, Callable[[list[Diagnostic]], str]]] = {
    "json": _json,
    "github": _github,
}
