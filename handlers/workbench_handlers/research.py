"""The handlers of the research tools, from their own package, which is imported at the first call of a tool.

Most tools import much: the backends, the files that are sent, and the parser of each answer. `validate_paths` does not.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from workbench_handlers.first_call import handler_of

if TYPE_CHECKING:
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
    )
    from workbench_research.validate_paths import validate_paths
    from workbench_research.web_search import grounding_search
else:
    _TOOLS: Final = "workbench_research.tools"
    analyze_codebase: Final = handler_of(_TOOLS, "analyze_codebase")
    analyze_directory: Final = handler_of(_TOOLS, "analyze_directory")
    ask_gemini: Final = handler_of(_TOOLS, "ask_gemini")
    check_consistency: Final = handler_of(_TOOLS, "check_consistency")
    deep_research: Final = handler_of(_TOOLS, "deep_research")
    find_code_by_intent: Final = handler_of(_TOOLS, "find_code_by_intent")
    grounding_search: Final = handler_of("workbench_research.web_search", "grounding_search")
    health_check: Final = handler_of("workbench_research.health_check", "health_check")
    list_error_patterns: Final = handler_of(_TOOLS, "list_error_patterns")
    query_codebase: Final = handler_of(_TOOLS, "query_codebase")
    quick_query: Final = handler_of(_TOOLS, "quick_query")
    trace_feature: Final = handler_of(_TOOLS, "trace_feature")
    validate_against_codebase: Final = handler_of(_TOOLS, "validate_against_codebase")
    validate_paths: Final = handler_of("workbench_research.validate_paths", "validate_paths")

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
