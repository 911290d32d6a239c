"""The handlers of the research tools. Each imports its module of `workbench_research` at its first call.

`validate_paths` has a module of its own, because `tools` imports backends, collectors of files and parsers of answers.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

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

_OTHER_MODULES: Final = {
    "grounding_search": "web_search",
    "health_check": "health_check",
    "validate_paths": "validate_paths",
}
"""The modules of the handlers that are not in `tools`."""

if not TYPE_CHECKING:

    def __getattr__(name: str) -> Any:
        """Return a handler that imports its module at its first call."""
        if name not in __all__:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        return handler_of(f"workbench_research.{_OTHER_MODULES.get(name, 'tools')}", name)
