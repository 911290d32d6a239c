"""Format diagnostics as text, JSON lines, GitHub workflow commands or SARIF."""

from __future__ import annotations

import json
import re
import unicodedata
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from typing import Any, Final
from urllib.parse import quote

from toolmason.diagnostics import Diagnostic, Location, Severity
from toolmason.diagnostics.rules import RULES, Rule
from toolmason.diagnostics.terminal import Layout

OMITTED: Final = "TM108"
"""Code of the note that counts the findings omitted."""
MAX_SHOWN: Final = 200
"""Maximum findings printed, followed by the number of the others."""
NOTHING_WRITTEN: Final = "Nothing was written."
MAX_TEXT: Final = 4_000
"""Maximum characters printed of a message or a hint, which may contain text of the manifest."""
MAX_COLUMNS = 160
"""Maximum characters printed of a source line."""

_COLOURS: Final = {
    Severity.ERROR: "\x1b[1;31m",
    Severity.WARNING: "\x1b[1;33m",
    Severity.NOTE: "\x1b[1;34m",
    "bold": "\x1b[1m",
    "hint": "\x1b[36m",
}
_RESET = "\x1b[0m"
# Control, bidirectional and line-separator characters, surrogates and BOM: a terminal would interpret them.
_UNPRINTABLE = re.compile(r"[\x00-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ufeff\ud800-\udfff]")


def report(
    diagnostics: Iterable[Diagnostic],
    layout: Layout = "text",
    *,
    colour: bool = False,
    rules: Mapping[str, Rule] = RULES,
    outcome: str = NOTHING_WRITTEN,
) -> str:
    """Return `diagnostics` in their order as text that ends with a newline; `colour` affects the layout `text` only.

    `outcome` is the sentence after the number of errors.

    Without diagnostics the result is empty, but for `sarif`, which is always a document and describes the codes in
    `rules`.
    """
    findings = list(diagnostics)
    printed = [_shorten(finding) for finding in most_severe(findings)]
    if len(printed) < len(findings):
        printed.append(_omission(len(findings) - len(printed), printed[-1].location))
    if layout == "sarif":
        return _format_sarif(printed, rules)
    if layout != "text":
        return _PRINTERS[layout](printed)
    return _format_text(printed, _summary(findings, outcome), colour=colour) if findings else ""


def most_severe(findings: list[Diagnostic]) -> list[Diagnostic]:
    """Return the `MAX_SHOWN` most severe findings, in their order."""
    ranks = list(Severity)
    worst = sorted(range(len(findings)), key=lambda index: ranks.index(findings[index].severity))[:MAX_SHOWN]
    return [findings[index] for index in sorted(worst)]


def _shorten(finding: Diagnostic) -> Diagnostic:
    """Return a finding whose texts have at most `MAX_TEXT` characters."""
    if len(finding.message) <= MAX_TEXT and len(finding.hint) <= MAX_TEXT:
        return finding
    return replace(finding, message=_shorten_text(finding.message), hint=_shorten_text(finding.hint))


def _shorten_text(text: str) -> str:
    return text if len(text) <= MAX_TEXT else f"{text[: MAX_TEXT - 1]}…"


def _summary(findings: Iterable[Diagnostic], outcome: str) -> str:
    """Return the number of findings by severity: `2 errors, 1 warning. Nothing was written.`."""
    severities = [finding.severity for finding in findings]
    counts = [(severities.count(severity), severity.value) for severity in Severity]
    text = ", ".join(f"{count} {name}{'' if count == 1 else 's'}" for count, name in counts if count)
    return f"{text}. {outcome}" if Severity.ERROR in severities else f"{text}."


def _omission(number: int, location: Location) -> Diagnostic:
    message = f"{number:,} more {'finding is' if number == 1 else 'findings are'} not shown"
    hint = "fix the findings above first"
    return Diagnostic(code=OMITTED, message=message, location=location, hint=hint, severity=Severity.NOTE)


# Text


def _format_text(findings: list[Diagnostic], summary: str, *, colour: bool) -> str:
    paint: _Paint = _add_colour if colour else lambda text, _role: text
    return "\n".join([*(_format_finding(finding, paint) for finding in findings), f"{summary}\n"])


_Paint = Callable[[str, str], str]


def _add_colour(text: str, role: str) -> str:
    return f"{_COLOURS[role]}{text}{_RESET}" if text else ""


def _format_finding(finding: Diagnostic, paint: _Paint) -> str:
    """Return location, code and message, the source line with a marker under the column, and the hint."""
    at = finding.location
    label = paint(f"{finding.severity}[{finding.code}]:", finding.severity)
    position = _escape(f"{at.path}:{at.line}:{at.column}:")
    lines = [f"{paint(position, 'bold')} {label} {paint(_escape(finding.message), 'bold')}"]
    gutter = " " * (len(str(at.line)) + 1)
    if finding.source:
        source, pad = _excerpt(finding.source, at.column)
        lines += [
            f"{gutter}|",
            f"{at.line} | {source}".rstrip(),
            f"{gutter}| {pad}{paint('^', finding.severity)}",
        ]
    if finding.hint:
        first, *more = finding.hint.split("\n")
        lines += [f"{gutter}{paint('= hint:', 'hint')} {_escape(first)}"]
        lines += [f"{gutter}        {_escape(line)}".rstrip() for line in more]
    return "\n".join(lines) + "\n"


def _excerpt(source: str, column: int) -> tuple[str, str]:
    """Return the printed part of a line, and the white space that puts a marker under `column` (1-based)."""
    start = 0
    if len(source) > MAX_COLUMNS:
        start = max(0, min(column - 1 - MAX_COLUMNS // 2, len(source) - MAX_COLUMNS))
    before, after = ("…" if start else ""), ("…" if start + MAX_COLUMNS < len(source) else "")
    excerpt = source[start : start + MAX_COLUMNS]
    pad = " " * len(before) + "".join(map(_blank, excerpt[: column - 1 - start]))
    return before + "".join(map(_replace_unprintable, excerpt)) + after, pad


def _blank(char: str) -> str:
    """Return white space of the width of `char` on a terminal."""
    if char == "\t":
        return "\t"
    if _UNPRINTABLE.match(char):
        return " "
    if unicodedata.category(char) in ("Mn", "Me", "Cf"):
        return ""
    return "  " if unicodedata.east_asian_width(char) in ("W", "F") else " "


def _replace_unprintable(char: str) -> str:
    return "\ufffd" if char != "\t" and _UNPRINTABLE.match(char) else char


def _escape(text: str) -> str:
    """Replace unprintable characters by TOML escapes: a key may contain a terminal escape sequence."""
    return _UNPRINTABLE.sub(lambda match: f"\\u{ord(match[0]):04x}", text)


# Machine-readable layouts


def _format_json(findings: list[Diagnostic]) -> str:
    """Return one object per line."""
    return "".join(
        json.dumps(
            {
                "severity": finding.severity,
                "code": finding.code,
                "message": finding.message,
                "hint": finding.hint,
                "path": str(finding.location.path),
                "line": finding.location.line,
                "column": finding.location.column,
            }
        )
        + "\n"
        for finding in findings
    )


_COMMANDS: Final[Mapping[Severity, str]] = {
    Severity.ERROR: "error",
    Severity.WARNING: "warning",
    Severity.NOTE: "notice",
}


def _format_github(findings: list[Diagnostic]) -> str:
    """Return workflow commands, escaped like GitHub's own toolkit does.

    See https://docs.github.com/actions/reference/workflow-commands-for-github-actions.
    """
    return "".join(f"{_workflow_command(finding)}\n" for finding in findings)


def _workflow_command(finding: Diagnostic) -> str:
    at = finding.location
    properties = {"file": str(at.path), "line": str(at.line), "col": str(at.column), "title": finding.code}
    fields = ",".join(f"{key}={_escape_property(_escape(value))}" for key, value in properties.items())
    text = "\n".join(_escape(line) for line in (finding.message, *finding.hint.split("\n")) if line)
    return f"::{_COMMANDS[finding.severity]} {fields}::{_escape_data(text)}"


def _escape_data(text: str) -> str:
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _escape_property(text: str) -> str:
    return _escape_data(text).replace(":", "%3A").replace(",", "%2C")


def _format_sarif(findings: list[Diagnostic], rules: Mapping[str, Rule]) -> str:
    """Return one document. See https://docs.oasis-open.org/sarif/sarif/v2.1.0/sarif-v2.1.0.html."""
    codes = sorted({finding.code for finding in findings})
    run = {
        "tool": {"driver": {"name": "toolmason", "rules": [_sarif_rule(code, rules) for code in codes]}},
        "columnKind": "unicodeCodePoints",
        "results": [_sarif_result(finding, codes.index(finding.code)) for finding in findings],
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


def _sarif_result(finding: Diagnostic, rule: int) -> dict[str, Any]:
    text = f"{finding.message}\n{finding.hint}" if finding.hint else finding.message
    region = {"startLine": finding.location.line, "startColumn": finding.location.column}
    uri = quote(str(finding.location.path), errors="replace")
    return {
        "ruleId": finding.code,
        "ruleIndex": rule,
        "level": finding.severity,
        "message": {"text": text},
        "locations": [{"physicalLocation": {"artifactLocation": {"uri": uri}, "region": region}}],
    }


_PRINTERS: Final[Mapping[Layout, Callable[[list[Diagnostic]], str]]] = {
    "json": _format_json,
    "github": _format_github,
}
