"""The report as a page, Markdown or HTML, and as a badge."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from html import escape
from typing import Final

from toolmason.audit.audit import AuditedTool
from toolmason.audit.groups import IssueGroup, group_issues, sort_groups
from toolmason.audit.output import visible
from toolmason.audit.report import summary_line
from toolmason.audit.tokens import token_line
from toolmason.audit.verdict import Policy, concern_text, percent, share_of_failures
from toolmason.schema import Severity

MAX_NAMES: Final = 10
"""Maximum tools named for a cause."""
_HEAD: Final = ("verdict", "cause", "tools", "fails for", "why", "fix", "line")
_COLOURS: Final = {True: "#2da44e", False: "#cf222e"}
_LABEL: Final = "MCP schemas"
_STYLE: Final = (
    "body{font-family:sans-serif;margin:1em}table{border-collapse:collapse}"
    "td,th{border:1px solid #ccc;padding:.3em;text-align:left;vertical-align:top;overflow-wrap:anywhere}"
    "th,td:first-child,td:nth-child(2){overflow-wrap:normal}.fails{color:#cf222e;font-weight:bold}"
    "@media(max-width:60em){table,tbody,tr,td{display:block}th{display:none}tr{margin-bottom:1em}"
    "td::before{content:attr(data-name) ': ';font-weight:bold}}"
)
_CODE: Final = re.compile("`([^`]+)`")
_FAILS: Final = "fails"


def markdown_report(tools: Sequence[AuditedTool], policy: Policy) -> str:
    """Return the report as Markdown: the summary of each source, and a table with a row for each cause."""
    lines: list[str] = ["# Tool schemas", ""]
    for source, own in _by_source(tools):
        lines += [
            f"## {_markdown(source)}",
            "",
            _markdown(summary_line(own, policy=policy)),
            _markdown(token_line(own)),
            "",
        ]
        if rows := _rows(own, policy):
            lines += [f"| {' | '.join(row)} |" for row in (_HEAD, ["---"] * len(_HEAD))]
            lines += [f"| {' | '.join(map(_markdown, row))} |" for row in rows]
            lines.append("")
    return "\n".join(lines).rstrip("\n") + "\n"


def html_report(tools: Sequence[AuditedTool], policy: Policy) -> str:
    """Return the report as an HTML document without scripts and other files."""
    body = ["<h1>Tool schemas</h1>"]
    for source, own in _by_source(tools):
        body += [
            f"<h2>{_html(source)}</h2>",
            f"<p>{_html(summary_line(own, policy=policy))} {_html(token_line(own))}</p>",
        ]
        if rows := _rows(own, policy):
            head = "".join(f"<th>{name}</th>" for name in _HEAD)
            cells = ("".join(map(_cell, _HEAD, row)) for row in rows)
            body += ["<table>", f"<tr>{head}</tr>", *(f"<tr>{row}</tr>" for row in cells), "</table>"]
    viewport = '<meta name="viewport" content="width=device-width">'
    head = f'<meta charset="utf-8">{viewport}<title>Tool schemas</title><style>{_STYLE}</style>'
    return "\n".join(["<!doctype html>", f'<html lang="en"><head>{head}</head><body>', *body, "</body></html>", ""])


def badge(tools: Sequence[AuditedTool], policy: Policy) -> dict[str, object]:
    """Return the verdict in the form of shields.io's endpoint badge."""
    message, is_good = _badge_text(tools, policy), all(map(policy.accepts, tools))
    return {"schemaVersion": 1, "label": _LABEL, "message": message, "color": _COLOURS[is_good].removeprefix("#")}


def badge_svg(tools: Sequence[AuditedTool], policy: Policy) -> str:
    """Return the verdict as a picture."""
    message, is_good = _badge_text(tools, policy), all(map(policy.accepts, tools))
    left, right = (7 * len(text) + 12 for text in (_LABEL, message))
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{left + right}" height="20" role="img" '
        f'aria-label="{escape(f"{_LABEL}: {message}")}">'
        f'<rect width="{left}" height="20" fill="#555"/>'
        f'<rect x="{left}" width="{right}" height="20" fill="{_COLOURS[is_good]}"/>'
        '<g fill="#fff" font-family="Verdana,sans-serif" font-size="11" text-anchor="middle">'
        f'<text x="{left / 2}" y="14">{escape(_LABEL)}</text>'
        f'<text x="{left + right / 2}" y="14">{escape(message)}</text></g></svg>\n'
    )


def badge_file(name: str, tools: Sequence[AuditedTool], policy: Policy) -> str:
    """Return the content of a badge's file: a picture for `.svg`, otherwise JSON."""
    return badge_svg(tools, policy) if name.lower().endswith(".svg") else json.dumps(badge(tools, policy)) + "\n"


def _badge_text(tools: Sequence[AuditedTool], policy: Policy) -> str:
    compatible = sum(map(policy.accepts, tools))
    if compatible < len(tools):
        return f"{len(tools) - compatible:,} of {len(tools):,} tools fail"
    share = share_of_failures(tools, policy)
    return f"{percent(1 - share)} of clients" if share else "all clients"


def _by_source(tools: Sequence[AuditedTool]) -> list[tuple[str, list[AuditedTool]]]:
    sources = dict.fromkeys(tool.source for tool in tools)
    return [(source, [tool for tool in tools if tool.source == source]) for source in sources]


def _rows(tools: Sequence[AuditedTool], policy: Policy) -> list[tuple[str, ...]]:
    """Return a row for each cause, the failing ones first; notes have none."""
    groups = (
        group for group in sort_groups(group_issues(tools), policy) if group.first.finding.severity is not Severity.NOTE
    )
    return [_row(group, policy) for group in groups]


def _row(group: IssueGroup, policy: Policy) -> tuple[str, ...]:
    issue, names = group.first, [tool.tool.name for tool in group.tools]
    state = _FAILS if policy.fails(issue) else str(issue.finding.severity)
    more = [f"and {len(names) - MAX_NAMES:,} more"] if len(names) > MAX_NAMES else []
    return (
        f"accepted: {issue.accepted}" if issue.accepted else state,
        issue.finding.pattern,
        ", ".join([*names[:MAX_NAMES], *more]),
        concern_text(issue),
        group.message,
        issue.finding.fix,
        group.line,
    )


def _markdown(text: str) -> str:
    """Return untrusted text on one line of a Markdown table; `<` cannot begin an element."""
    return visible(text).replace("\\", "\\\\").replace("|", "\\|").replace("<", "&lt;")


def _cell(name: str, text: str) -> str:
    """Return a cell of an HTML table, with its name for narrow screens."""
    is_failure = name == _HEAD[0] and text == _FAILS
    marked = ' class="fails"' if is_failure else ""
    return f'<td data-name="{name}"{marked}>{_html(text)}</td>'


def _html(text: str) -> str:
    return _CODE.sub(r"<code>\1</code>", escape(visible(text)))
