"""One call of each analysis tool, with the answer of a model, and the members of results."""

from __future__ import annotations

from typing import Any

STATS = {"tokensUsed", "toolCalls", "latencyMs"}
META = {"projectRoot", "truncated", "operationId", "warnings"}
CASES: dict[str, tuple[dict[str, Any], Any, set[str]]] = {
    "ask_gemini": ({"prompt": "Why?"}, "So.", {"includeCodebaseContext", "answer"}),
    "analyze_codebase": ({"focus_description": "errors"}, "They pass.", {"analysis"}),
    "query_codebase": (
        {"questions": ["one?", "two?"]},
        {"answers": {"q1": {"found": True, "answer": "One."}, "q2": {"found": False, "answer": "Looked in src."}}},
        {"answers"},
    ),
    "find_code_by_intent": (
        {"intent": "starts it"},
        {"summary": "One.", "files": [{"path": "src/app.py", "relevance": "high", "reason": "main", "parts": []}]},
        {"returnFormat", "summary", "files"},
    ),
    "trace_feature": (
        {"feature": "start", "include_data_flow": True},
        {"summary": "One.", "steps": [{"level": 1, "symbol": "main", "does": "starts", "path": "src/app.py"}]},
        {"maxDepth", "summary", "steps", "dependencies", "dataFlow"},
    ),
    "list_error_patterns": (
        {"pattern_type": "error_handling"},
        {"summary": "None.", "patterns": []},
        {"patternType", "groupBy", "summary", "groups"},
    ),
    "validate_against_codebase": (
        {"spec_content": "Use `main`."},
        {"summary": "Fits.", "checks": {}},
        {"verdict", "summary", "checks", "counts", "issues"},
    ),
    "check_consistency": (
        {"focus": "all", "new_code_or_spec": "def Main(): ..."},
        {"summary": "No.", "aspects": {}},
        {"focus", "verdict", "summary", "notAnswered", "counts", "issues", "conventions"},
    ),
}
"""The analysis tools: arguments, what the model says, and the members of the result besides the envelope."""
