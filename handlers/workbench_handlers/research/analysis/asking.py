"""`ask_gemini`: one prompt, with the project at hand or without it."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from workbench_handlers.model_backends.question import Ask
from workbench_handlers.research.analysis import prompts
from workbench_handlers.research.analysis.analyzing import in_prose
from workbench_handlers.research.analysis.result import Review, given

if TYPE_CHECKING:
    from workbench_server.research.models import AskGeminiParams

NO_TEMPERATURE: Final = "temperature has no effect: the command line has no such setting"
"""Said of every call that sends one: what looks obeyed and is not would mislead."""


async def run(params: AskGeminiParams, ask: Ask, root: Path) -> dict[str, Any]:
    """Answer one prompt.

    Raises:
        ToolError: the prompt is blank, or as `ask`.
    """
    given(params.prompt, "prompt")
    reads = bool(params.include_codebase_context)
    answer = await ask(asking_prompt(params.prompt, reads=reads))
    handed = prompts.refers(params.prompt)
    review = Review("ask_gemini", answer, root, reads_files=reads, is_handed_files=handed)
    if params.temperature is not None:
        review.warnings.append(NO_TEMPERATURE)
    if review.answer.files and not reads:
        review.warnings.append("the model read files though it was told to do without: see filesAccessed")
    return await in_prose(review, "answer", {"includeCodebaseContext": reads})


def asking_prompt(text: str, *, reads: bool) -> str:
    """Give the prompt. An `@path` in it is left for the program to read: this is the one text meant as a prompt."""
    rules = prompts.RULES if reads else prompts.RULES_WITHOUT_FILES
    return prompts.prompt(prompts.ASK, rules, prompts.quoted("prompt", text, reads_files=True))
