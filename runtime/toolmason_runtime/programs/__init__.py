"""Tools that run programs: the command line, its permission, the process and its output.

Handlers import the process runner from here. Its modules are loaded at the first use of a name.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from toolmason_runtime.programs.execute import Command, Outcome, base_environment, ended_whole, follow, run
    from toolmason_runtime.programs.launcher_client import Execution, Limits
    from toolmason_runtime.programs.output_buffer import Capture
    from toolmason_runtime.programs.process_group import Process
    from toolmason_runtime.programs.spec import Invocation

__all__ = [
    "Capture",
    "Command",
    "Execution",
    "Invocation",
    "Limits",
    "Outcome",
    "Process",
    "base_environment",
    "ended_whole",
    "follow",
    "run",
]

_MODULES: Final = (
    ("capture", ("Capture",)),
    ("execute", ("Command", "Outcome", "base_environment", "ended_whole", "follow", "run")),
    ("launcher_client", ("Execution", "Limits")),
    ("processes", ("Process",)),
    ("spec", ("Invocation",)),
)


def __getattr__(name: str) -> Any:
    for module, names in _MODULES:
        if name in names:
            return getattr(import_module(f"{__name__}.{module}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
