"""The page of a server with tools of any kind, without a process."""

from __future__ import annotations

from typing import Any, Final

from toolmason.audit.server_lists import ServerDescription
from toolmason.audit.sources import Source
from toolmason.audit.tool_lists import parse_tool_list
from toolmason.report.costs import costs
from toolmason.report.page import Report, html_report
from toolmason.report.risks import risks
from toolmason.report.schemas import schemas
from toolmason.report.searches import searches
from toolmason.report.subject import server_subject

SCHEMA: Final = {"type": "object", "properties": {"text": {"type": "string"}}}
NAMES: Final = {
    "script": "<script>alert(1)</script>",
    "image": "<img src=x onerror=alert(1)>",
    "quotes": "\"double\" 'single' & &amp;",
    "attribute": '" onmouseover="alert(1)',
    "right-to-left": "שלום עולם",
    "override": "abc\u202edcba",
    "emoji": "👩‍👩‍👧 🎉 ❤️",
    "wide": "名前" * 40,
    "combining": "e\u0301" * 60,
    "long": "x" * 300,
    "control": "tab\there\x00\x1b[31m",
    "cdata": "]]><!-- --",
    "backticks": "`a` ``b`` `",
    "template": "{{ 7 * 7 }}{% raw %}",
    "one letter": "a",
    "spaces": "  a   b  ",
}
"""Names that others choose."""


def page_of(tools: list[dict[str, Any]], about: ServerDescription | None = None, *, is_listed: bool = True) -> str:
    """The page of a server with these tools, which is not started."""
    parsed = parse_tool_list(tools, ("tools",))
    subject = server_subject(about or ServerDescription(name="shop"), Source(name="shop", tools=parsed.tools))
    return html_report(
        Report(
            subject=subject,
            costs=costs(subject),
            schemas=schemas(subject.audited, is_listed=is_listed),
            searches=searches(subject, (), ""),
            risks=risks(subject, None),
            changes=None,
            no_changes="Nothing to compare.",
        )
    )
