"""The envelope that all these tools answer in, as the specification of `quick_query` has it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from toolmason_runtime import ToolError

from workbench_handlers.model_backends.question import Answer
from workbench_handlers.research.analysis.budgets import RESULT_TOKENS
from workbench_handlers.research.analysis.evidence import Evidence, listing, outside_of, refusals
from workbench_handlers.research.analysis.parsing import Parsed, read_object, text_of
from workbench_handlers.research.analysis.scope import Scope

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
"""The member of each tool's result that may be of any length, to be sent in chunks. `rawAnswer` is seldom there."""

SEVERITIES: Final = ("error", "warning", "info")
"""Worst first."""
_SEVERITY_WORDS: Final = (
    ("error", "critical", "blocker", "fatal", "high", "major"),
    ("warning", "warn", "medium", "moderate", "minor"),
    ("info", "information", "informational", "low", "note", "hint", "trivial"),
)
"""What models say for each of them."""


@dataclass(slots=True)
class Review:
    """One answer on its way to a result: what it rests on, and what must be said about it. It blocks."""

    tool: str
    answer: Answer
    root: Path
    scope: Scope = field(default_factory=Scope)
    reads_files: bool = True
    """Whether the model was to look at the project."""
    is_handed_files: bool = False
    """Whether the program itself read files for it, which no tool tells of."""
    warnings: list[str] = field(default_factory=list)
    truncated: bool = False
    evidence: Evidence = field(init=False)

    def __post_init__(self) -> None:
        self.evidence = Evidence(self.root, self.scope, self.answer.refused)

    def read(self, *keys: str) -> Parsed | None:
        """Give the JSON object of the answer, and note if it is missing or ends early."""
        parsed = read_object(self.answer.text, keys)
        if parsed is None:
            self.warnings.append("the model did not answer in the form it was asked for: see rawAnswer")
        elif parsed.is_cut:
            self.truncated = True
            self.warnings.append("the model's answer ends early: what stood behind is missing")
        return parsed

    def fit(self, entries: list[dict[str, Any]], what: str, *, budget: int = RESULT_TOKENS) -> list[dict[str, Any]]:
        """Give the entries that fit into one result, and note if some do not."""
        kept, warning = listing(entries, budget, what)
        if warning:
            self.truncated = True
            self.warnings.append(warning)
        return kept

    def result(self, content: Mapping[str, Any], *, is_raw: bool = False) -> dict[str, Any]:
        """Give the result; with `is_raw` the model's own words are in it, as they are."""
        return {
            "tool": self.tool,
            "model": self.answer.model,
            **content,
            **({"rawAnswer": self.answer.text} if is_raw else {}),
            "filesAccessed": list(self.answer.files),
            "stats": {
                "tokensUsed": self.answer.tokens,
                "toolCalls": self.answer.tool_calls,
                "latencyMs": self.answer.latency_ms,
            },
            "meta": {
                "projectRoot": str(self.root),
                "truncated": self.truncated or self.answer.is_cut,
                "warnings": list(dict.fromkeys([*self.answer.warnings, *self.warnings, *self._doubts()])),
            },
        }

    def _doubts(self) -> list[str]:
        doubts = [*refusals(self.answer, self.root), *self.evidence.warnings]
        if outside := outside_of(self.scope, self.answer.files):
            doubts.append(outside)
        is_unseen = not (self.answer.files or self.answer.tool_calls or self.is_handed_files)
        if self.reads_files and is_unseen:
            doubts.append("the model was not seen to look at any file: the answer may not rest on the project")
        return doubts


def severity_of(value: Any, default: str) -> str:
    """Give the severity that is meant by a model's word, or `default` for a word that is none."""
    said = text_of(value).casefold()
    return next((SEVERITIES[place] for place, words in enumerate(_SEVERITY_WORDS) if said in words), default)


def given(text: str, name: str) -> str:
    """Give a text that a caller must not leave blank.

    Raises:
        ToolError: it is blank.
    """
    if not text.strip():
        raise ToolError(f"`{name}` is blank", code="INVALID_ARGUMENT", details={"argument": name})
    return text
