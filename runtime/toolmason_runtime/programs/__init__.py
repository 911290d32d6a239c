"""Command tools: programs that run as typed tools, and the names that handlers use to run programs or ask for approval.

Importing this package loads none of its modules: each name is imported when it is first used.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from toolmason_runtime._lazy import lazy_exports

if TYPE_CHECKING:
    from toolmason_runtime.programs.access import Guarded as Guarded
    from toolmason_runtime.programs.access import confined as confined
    from toolmason_runtime.programs.access import describe_isolation as describe_isolation
    from toolmason_runtime.programs.access import isolation as isolation
    from toolmason_runtime.programs.access import isolation_warnings as isolation_warnings
    from toolmason_runtime.programs.access import resolve_access as resolve_access
    from toolmason_runtime.programs.approval import approve_handler as approve_handler
    from toolmason_runtime.programs.argv import build_invocation as build_invocation
    from toolmason_runtime.programs.argv import items as items
    from toolmason_runtime.programs.executable import find_executable as find_executable
    from toolmason_runtime.programs.execute import Command as Command
    from toolmason_runtime.programs.execute import Outcome as Outcome
    from toolmason_runtime.programs.execute import base_environment as base_environment
    from toolmason_runtime.programs.execute import follow as follow
    from toolmason_runtime.programs.execute import run as run
    from toolmason_runtime.programs.execute import run_to_cleanup as run_to_cleanup
    from toolmason_runtime.programs.invocation import Invocation as Invocation
    from toolmason_runtime.programs.launcher_client import Execution as Execution
    from toolmason_runtime.programs.launcher_client import Limits as Limits
    from toolmason_runtime.programs.output_buffer import Capture as Capture
    from toolmason_runtime.programs.process_group import Process as Process
    from toolmason_runtime.programs.sandbox import Access as Access
    from toolmason_runtime.programs.search_path import Projects as Projects
    from toolmason_runtime.programs.search_path import SearchPath as SearchPath
    from toolmason_runtime.programs.search_path import is_outside as is_outside
    from toolmason_runtime.programs.search_path import is_too_wide as is_too_wide
    from toolmason_runtime.programs.search_path import working_directory as working_directory
    from toolmason_runtime.programs.settings import ProgramSettings as ProgramSettings
    from toolmason_runtime.shared.specs.program import CommandTool as CommandTool
    from toolmason_runtime.shared.specs.program import PlacementKind as PlacementKind
    from toolmason_runtime.shared.specs.program import Program as Program
    from toolmason_runtime.shared.specs.program import Risk as Risk
    from toolmason_runtime.shared.visible_text import escape_invisible as escape_invisible

EXPORTS: Final = {
    "toolmason_runtime.programs.access": (
        "Guarded",
        "confined",
        "describe_isolation",
        "isolation",
        "isolation_warnings",
        "resolve_access",
    ),
    "toolmason_runtime.programs.approval": ("approve_handler",),
    "toolmason_runtime.programs.argv": ("build_invocation", "items"),
    "toolmason_runtime.programs.executable": ("find_executable",),
    "toolmason_runtime.programs.execute": ("Command", "Outcome", "base_environment", "run_to_cleanup", "follow", "run"),
    "toolmason_runtime.programs.launcher_client": ("Execution", "Limits"),
    "toolmason_runtime.programs.output_buffer": ("Capture",),
    "toolmason_runtime.programs.process_group": ("Process",),
    "toolmason_runtime.programs.sandbox": ("Access",),
    "toolmason_runtime.programs.search_path": (
        "Projects",
        "SearchPath",
        "is_outside",
        "is_too_wide",
        "working_directory",
    ),
    "toolmason_runtime.programs.settings": ("ProgramSettings",),
    "toolmason_runtime.shared.visible_text": ("escape_invisible",),
    "toolmason_runtime.programs.invocation": ("Invocation",),
    "toolmason_runtime.shared.specs.program": ("CommandTool", "PlacementKind", "Program", "Risk"),
}

__getattr__ = lazy_exports(__name__, EXPORTS)
