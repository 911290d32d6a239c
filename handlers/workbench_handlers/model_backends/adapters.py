"""Which adapter speaks to which program."""

from __future__ import annotations

from workbench_handlers.model_backends.adapter import Adapter, Program
from workbench_handlers.model_backends.agy import AgyAdapter
from workbench_handlers.model_backends.gemini import Gemini


def adapter_for(program: Program) -> Adapter:
    """Give what speaks to `program`, whatever its file is called."""
    return AgyAdapter() if program.name == "agy" else Gemini()
