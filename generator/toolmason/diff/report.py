"""Format a comparison as text, Markdown, JSON, GitHub annotations or SARIF."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import PurePosixPath
from typing import Any, Final, Literal, get_args

from toolmason.audit.output import Terminal, as_json, visible
from toolmason.diagnostics import Diagnostic, Location
from toolmason.diagnostics import Severity as Level
from toolmason.diagnostics.printers import report as print_diagnostics
from toolmason.diagnostics.rules import Rule as DiagnosticRule
from toolmason.diff.contract import Change, Contract
from toolmason.diff.rules import Bump, Severity, rules
from toolmason.diff.versions import is_enough, next_version, required_bump

Format = Literal["text", "markdown", "json", "github", "sarif"]
FORMATS: Final[tuple[Format, ...]] = get_args(Format)
MAX_SHOWN: Final = 200
"""Maximum changes in a text or Markdown report; JSON has all."""
MAX_EXAMPLE: Final = 300
_MAX_USERS: Final = 5
_LEVELS: Final = {Severity.BREAKING: Level.ERROR, Severity.DANGEROUS: Level.WARNING, Severity.SAFE: Level.NOTE}
_STYLES: Final = {Severity.BREAKING: "red", Severity.DANGEROUS: "yellow", Severity.SAFE: "green"}
_NO_FILE: Final = re.compile(r"^(::[a-z]+ )file=-,line=1,col=1,", re.MULTILINE)


@dataclass(frozen=True, slots=True, kw_only=True)
class Comparison:
    """Two contracts and the changes between them."""

    old: Contract
    new: Contract
    changes: tuple[Change, ...]

    def count(self, severity: Severity) -> int:
        """Return the number of changes of a severity."""
        return sum(rules()[change.rule].severity is severity for change in self.changes)

    @property
    def counted(self) -> str:
        """The number of changes of each severity: `2 breaking, 1 safe`; empty for equal contracts."""
        counts = [(self.count(severity), severity) for severity in Severity]
        return ", ".join(f"{count} {severity}" for count, severity in counts if count)

    @property
    def bump(self) -> Bump | None:
        """The bump that the changes ask for; None without changes."""
        return required_bump(self.changes)

    @property
    def required_version(self) -> str:
        """The lowest version that the new contract should have; empty if the old one has none."""
        return next_version(self.old.version, self.bump)

    @property
    def has_low_version(self) -> bool:
        """Whether the new contract has a version, and it is lower than required."""
        if not self.changes or not self.new.version or not self.required_version:
            return False
        return not is_enough(self.new.version, self.required_version)


def format_report(comparison: Comparison, layout: Format, terminal: Terminal) -> str:
    """Return the report in a format."""
    match layout:
        case "json":
            return as_json(_data(comparison))
        case "markdown":
            return _markdown(comparison)
        case "github":
            return _NO_FILE.sub(r"\1", print_diagnostics(_diagnostics(comparison), "github"))
        case "sarif":
            used = {change.rule for change in comparison.changes}
            described = {
                f"diff/{name}": DiagnosticRule(code=f"diff/{name}", title=rule.title, why=rule.why, bad="", good="")
                for name, rule in rules().items()
                if name in used
            }
            return print_diagnostics(_diagnostics(comparison), "sarif", rules=described)
        case _:
            return "".join(f"{line}\n" for line in _text(comparison, terminal))


def summary(comparison: Comparison) -> str:
    """Return a sentence: the numbers of changes, and the version that they ask for."""
    if not comparison.changes:
        return f"No changes between {visible(comparison.old.source)} and {visible(comparison.new.source)}."
    total = len(comparison.changes)
    return f"{total} change{'s' * (total != 1)}: {comparison.counted}. {_version(comparison)}"


def _version(comparison: Comparison) -> str:
    old, new, required = comparison.old.version, comparison.new.version, comparison.required_version
    if not required:
        return f"They ask for a {comparison.bump} version."
    if comparison.has_low_version:
        return f"They ask for version {visible(required)} after {visible(old)}; the new one is {visible(new)}."
    return f"They ask for version {visible(required)} after {visible(old)}."


# Text


def _text(comparison: Comparison, terminal: Terminal) -> Iterator[str]:
    for change in comparison.changes[:MAX_SHOWN]:
        severity = rules()[change.rule].severity
        label = terminal.paint(f"{severity:<9}", _STYLES[severity])
        yield f"{label}  {terminal.paint(visible(change.message), 'bold')}"
        indent = " " * 11
        yield f"{indent}{visible(' '.join(filter(None, [_place(change), f'[{change.rule}]'])))}"
        if example := _example(change):
            noun, value = example
            yield from terminal.wrap(value, f"{indent}{noun}: ")
        if change.touches:
            yield from terminal.wrap(_users(change), f"{indent}Used by: ")
        if change.fix and severity is not Severity.SAFE:
            yield from terminal.wrap(change.fix, f"{indent}Fix: ")
    if len(comparison.changes) > MAX_SHOWN:
        yield f"{len(comparison.changes) - MAX_SHOWN:,} more changes: use --format json"
    if comparison.changes:
        yield ""
    yield summary(comparison)


def _place(change: Change) -> str:
    at = change.location
    if at is None:
        return ""
    return f"{at.path}:{at.line}:{at.column}" + (" (before)" if change.is_old and ":" not in str(at.path) else "")


def _example(change: Change) -> tuple[str, str] | None:
    if change.example is None:
        return None
    value = json.dumps(change.example[0], ensure_ascii=False)
    value = value if len(value) <= MAX_EXAMPLE else f"{value[: MAX_EXAMPLE - 1]}…"
    return ("New result", value) if change.place.startswith("/result") else ("Fails", f"{change.subject} {value}")


def _users(change: Change) -> str:
    more = f" and {len(change.touches) - _MAX_USERS} more" if len(change.touches) > _MAX_USERS else ""
    return ", ".join(change.touches[:_MAX_USERS]) + more


# Markdown


def _markdown(comparison: Comparison) -> str:
    """Return a comment for a pull request. Text of others is in code spans, so that it is not interpreted."""
    lines = ["## Contract of the server", "", _inline(summary(comparison)), ""]
    shown = comparison.changes[:MAX_SHOWN]
    for severity in Severity:
        found = [change for change in shown if rules()[change.rule].severity is severity]
        if not found:
            continue
        is_safe = severity is Severity.SAFE
        lines += ["<details>", f"<summary>{len(found)} safe</summary>", ""] if is_safe else []
        lines += [f"### {severity.capitalize()}", ""] if not is_safe else []
        for change in found:
            place = f" ({_code(_place(change))})" if change.location else ""
            lines.append(f"- {_inline(change.message)} `{change.rule}`{place}")
            if example := _example(change):
                lines.append(f"  - {example[0]}: {_code(example[1])}")
            if change.touches:
                lines.append(f"  - Used by: {_inline(_users(change))}")
            if change.fix and not is_safe:
                lines.append(f"  - Fix: {_inline(change.fix)}")
        lines += ["", "</details>", ""] if is_safe else [""]
    if len(comparison.changes) > MAX_SHOWN:
        lines += [f"{len(comparison.changes) - MAX_SHOWN:,} more changes are not shown.", ""]
    return "\n".join(lines).rstrip() + "\n"


_SPAN: Final = re.compile(r"`[^`\n]*`")
_SPECIAL: Final = re.compile(r"[\\<>*_\[\]|#@~!&]")


def _inline(text: str) -> str:
    """Escape Markdown outside code spans. An odd backtick is removed."""
    text = visible(text)
    if text.count("`") % 2:
        text = text.replace("`", "'")
    parts, end = [], 0
    for span in _SPAN.finditer(text):
        parts += [_SPECIAL.sub(r"\\\g<0>", text[end : span.start()]), span[0]]
        end = span.end()
    return "".join([*parts, _SPECIAL.sub(r"\\\g<0>", text[end:])])


def _code(text: str) -> str:
    """Return a code span, with more backticks than the text has in a row."""
    text = visible(text)
    fence = "`" * (max((len(run) for run in re.findall("`+", text)), default=0) + 1)
    pad = " " if text.startswith("`") or text.endswith("`") else ""
    return f"{fence}{pad}{text}{pad}{fence}"


# Data


def _data(comparison: Comparison) -> dict[str, Any]:
    return {
        "old": {"source": comparison.old.source, "version": comparison.old.version},
        "new": {"source": comparison.new.source, "version": comparison.new.version},
        "summary": {severity: comparison.count(severity) for severity in Severity},
        "bump": comparison.bump,
        "required_version": comparison.required_version,
        "changes": [_change(change) for change in comparison.changes],
    }


def _change(change: Change) -> dict[str, Any]:
    rule, at = rules()[change.rule], change.location
    return {
        "rule": change.rule,
        "severity": rule.severity,
        "bump": rule.bump,
        "subject": change.subject,
        "place": change.place,
        "message": change.message,
        "fix": change.fix,
        "location": {"path": str(at.path), "line": at.line, "column": at.column} if at else None,
        **({"example": change.example[0]} if change.example else {}),
        "touches": list(change.touches),
    }


def _diagnostics(comparison: Comparison) -> list[Diagnostic]:
    return [_diagnostic(change, comparison.new.path) for change in comparison.changes]


def _diagnostic(change: Change, path: PurePosixPath | None) -> Diagnostic:
    rule = rules()[change.rule]
    # A place in an old revision has no file in the working tree.
    at = change.location if change.location and not change.is_old else Location(path or PurePosixPath("-"))
    example = _example(change)
    hints: Sequence[str] = (
        *([f"{example[0].lower()}: {example[1]}"] if example else ()),
        *([f"used by {_users(change)}"] if change.touches else ()),
        *([change.fix] if change.fix and rule.severity is not Severity.SAFE else ()),
    )
    return Diagnostic(
        code=f"diff/{change.rule}",
        message=f"{rule.severity}: {change.message}",
        location=at,
        hint="\n".join(hints),
        severity=_LEVELS[rule.severity],
    )
