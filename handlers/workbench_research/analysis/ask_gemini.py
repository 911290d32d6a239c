"""`ask_gemini`: answer one prompt, with or without access to the project."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from workbench_research.analysis import prompts
from workbench_research.analysis.analyze_codebase import prose_result
from workbench_research.analysis.result import ResultBuilder, require_text
from workbench_research.backends.question import Ask

if TYPE_CHECKING:
    from workbench_server.research.models import AskGeminiParams

TEMPERATURE_WARNING: Final = "temperature has no effect: this model or program has no such setting"
"""Added if it is ignored, since ignoring it silently would mislead."""


async def run(params: AskGeminiParams, ask: Ask, root: Path) -> dict[str, Any]:
    """Answer one prompt.

    Raises:
        ToolError: the prompt is blank, or as `ask`.
    """
    require_text(params.prompt, "prompt")
    reads = bool(params.include_codebase_context)
    answer = await ask(ask_prompt(params.prompt, reads=reads))
    builder = ResultBuilder("ask_gemini", answer, root, reads_files=reads)
    if params.temperature is not None and not answer.has_temperature:
        builder.warnings.append(TEMPERATURE_WARNING)
    return await prose_result(builder, "answer", {"includeCodebaseContext": reads})


def ask_prompt(text: str, *, reads: bool) -> str:
    """Return the prompt. The files of references in it are sent before it."""
    rules = prompts.RULES if reads else prompts.RULES_WITHOUT_FILES
    return prompts.prompt(prompts.ASK, rules, prompts.quoted("prompt", text))
