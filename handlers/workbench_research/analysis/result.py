"""The result format of the analysis tools, following the specification of `quick_query`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from toolmason_runtime import ToolError

from workbench_research.analysis.answer_json import Parsed, find_object, parse_text
from workbench_research.analysis.citations import (
    CitationChecker,
    files_outside_scope,
    fit_entries,
)
from workbench_research.analysis.scope import Scope
from workbench_research.analysis.token_budget import RESULT_TOKENS
from workbench_research.backends.question import Answer, Usage

LONG_TEXT: Final[Mapping[str, str]] = {
    "ask_gemini": "answer",
    "analyze_codebase": "analysis",
    "query_codebase": "rawAnswer",
    "find_code_by_intent": "rawAnswer",
    "trace_feature": "rawAnswer",
    "list_error_patterns": "rawAnswer",
    "validate_against_codebase": "rawAnswer",
    "check_consistency": "rawAnswer",
}
"""The member of each tool's result that can be of any length, and is split into chunks. `rawAnswer` is rare."""

SEVERITIES: Final = ("error", "warning", "info")
"""The worst first."""
_SEVERITY_WORDS: Final = (
    ("error", "critical", "blocker", "fatal", "high", "major"),
    ("warning", "warn", "medium", "moderate", "minor"),
    ("info", "information", "informational", "low", "note", "hint", "trivial"),
)
"""Words of models for each severity."""


@dataclass(slots=True)
class ResultBuilder:
    """Builds the result from a model's answer, its citations and warnings. It blocks."""

    tool: str
    answer: Answer
    root: Path
    scope: Scope = field(default_factory=Scope)
    reads_files: bool = True
    """Whether the model should read the project."""
    warnings: list[str] = field(default_factory=list)
    truncated: bool = False
    citations: CitationChecker = field(init=False)

    def __post_init__(self) -> None:
        self.citations = CitationChecker(self.root, self.scope)

    def read(self, *keys: str) -> Parsed | None:
        """Return the JSON object of the answer; add a warning if it is missing or incomplete."""
        parsed = find_object(self.answer.text, keys)
        if parsed is None:
            self.warnings.append("the model's answer is not in the requested form: see rawAnswer")
        elif parsed.is_cut:
            self.truncated = True
            self.warnings.append("the model's answer is incomplete: its end is missing")
        return parsed

    def fit_to_budget(
        self, entries: list[dict[str, Any]], what: str, *, budget: int = RESULT_TOKENS
    ) -> list[dict[str, Any]]:
        """Return the entries that fit into one result; add a warning if some do not."""
        fitting, warning = fit_entries(entries, budget, what)
        if warning:
            self.truncated = True
            self.warnings.append(warning)
        return fitting

    def build(self, content: Mapping[str, Any], *, is_raw: bool = False) -> dict[str, Any]:
        """Return the result; with `is_raw`, it contains the model's text unchanged."""
        return {
            "tool": self.tool,
            "model": self.answer.model,
            **content,
            **({"rawAnswer": self.answer.text} if is_raw else {}),
            "filesAccessed": list(self.answer.files),
            **usage_of(self.answer),
            "stats": {
                "tokensUsed": self.answer.tokens,
                "toolCalls": self.answer.tool_calls,
                "latencyMs": self.answer.latency_ms,
            },
            "meta": {
                "projectRoot": str(self.root),
                "truncated": self.truncated or self.answer.is_cut,
                **left_out_of(self.answer),
                "warnings": list(dict.fromkeys([*self.answer.warnings, *self.warnings, *self._reliability_warnings()])),
            },
        }

    def _reliability_warnings(self) -> list[str]:
        doubts = list(self.citations.warnings)
        if outside := files_outside_scope(self.scope, self.answer.files):
            doubts.append(outside)
        is_unseen = not (self.answer.files or self.answer.tool_calls)
        if self.reads_files and is_unseen:
            doubts.append("the model read no file: the answer may not be based on the project")
        return doubts


def usage_of(answer: Answer) -> dict[str, Any]:
    """Return the member `usage`; none for a program, which does not report it."""
    usage = answer.usage
    if usage == Usage():
        return {}
    members = {"sent": usage.sent, "cached": usage.cached, "written": usage.written}
    return {"usage": members | ({} if usage.cost is None else {"cost": round(usage.cost, 6)})}


def left_out_of(answer: Answer) -> dict[str, Any]:
    """Return the member of `meta` about files that were not sent, or cut; none if all were sent."""
    return {"leftOut": list(dict.fromkeys(answer.left_out))} if answer.left_out else {}


def parse_severity(value: Any, default: str) -> str:
    """Return the severity that a model's word means, or `default` for an unknown word."""
    word = parse_text(value).casefold()
    return next((SEVERITIES[index] for index, synonyms in enumerate(_SEVERITY_WORDS) if word in synonyms), default)


def require_text(text: str, name: str) -> str:
    """Return an argument that must not be blank.

    Raises:
        ToolError: it is blank.
    """
    if not text.strip():
        raise ToolError(f"`{name}` must not be blank", code="INVALID_ARGUMENT", details={"argument": name})
    return text
