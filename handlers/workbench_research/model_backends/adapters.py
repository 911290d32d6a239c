"""Selection of the adapter of a program."""

from __future__ import annotations

from workbench_research.model_backends.adapter import Adapter, Program
from workbench_research.model_backends.agy import AgyAdapter
from workbench_research.model_backends.gemini import GeminiAdapter


def adapter_for(program: Program) -> Adapter:
    """Return the adapter of `program`, regardless of the name of its file."""
    return AgyAdapter() if program.name == "agy" else GeminiAdapter()
