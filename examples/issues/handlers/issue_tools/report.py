"""Figures about a project."""

from __future__ import annotations

from collections import Counter

from issues_server.projects.models import ProjectReport, ReportProjectParams
from toolmason_runtime import ToolCall

from issue_tools.state import Tracker


async def report_project(params: ReportProjectParams, call: ToolCall) -> ProjectReport:
    """Count the issues of a project by state and label."""
    issues = await call.state(Tracker).issues(params.project)
    open_issues = [issue for issue in issues if issue["state"] == "open"]
    return ProjectReport(
        open=len(open_issues),
        closed=len(issues) - len(open_issues),
        unassigned=[issue["number"] for issue in open_issues if issue["assignee"] is None],
        by_label=Counter(label for issue in open_issues for label in issue["labels"]),
    )
