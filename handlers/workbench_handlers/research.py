"""The handlers of the research tools, from their own package."""

from __future__ import annotations

from workbench_research.health_check import health_check
from workbench_research.tools import (
    analyze_codebase,
    analyze_directory,
    ask_gemini,
    check_consistency,
    deep_research,
    find_code_by_intent,
    list_error_patterns,
    query_codebase,
    quick_query,
    trace_feature,
    validate_against_codebase,
    validate_paths,
)
from workbench_research.web_search import grounding_search

__all__ = [
    "analyze_codebase",
    "analyze_directory",
    "ask_gemini",
    "check_consistency",
    "deep_research",
    "find_code_by_intent",
    "grounding_search",
    "health_check",
    "list_error_patterns",
    "query_codebase",
    "quick_query",
    "trace_feature",
    "validate_against_codebase",
    "validate_paths",
]
