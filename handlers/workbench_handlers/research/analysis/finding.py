"""`find_code_by_intent`: code by what it does. The model says where; the lines shown are read from the files."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from workbench_handlers.model_backends.question import Ask
from workbench_handlers.research.analysis import prompts
from workbench_handlers.research.analysis.budgets import within
from workbench_handlers.research.analysis.evidence import Place, lines_of, place_in
from workbench_handlers.research.analysis.parsing import choice_of, items_of, text_of
from workbench_handlers.research.analysis.result import Review, given
from workbench_handlers.research.analysis.scope import Scope, scope_of

if TYPE_CHECKING:
    from workbench_server.research.models import FindCodeByIntentParams

RELEVANCE: Final = ("high", "medium", "low")
"""Best first."""
WITH_SNIPPETS: Final = "detailed_with_snippets"
"""The form of the answer that holds code."""
MAX_PARTS: Final = 5
"""Parts of one file; the model is told so."""
SNIPPET_LINES: Final = 40
"""Lines of one snippet."""
SNIPPET_TOKENS: Final = 600
"""Tokens of one: minified code is one line."""


async def run(params: FindCodeByIntentParams, ask: Ask, root: Path) -> dict[str, Any]:
    """Find code by what it is for.

    Raises:
        ToolError: the intent is blank, the scope is not allowed, or as `ask`.
    """
    given(params.intent, "intent")
    scope = await asyncio.to_thread(scope_of, root, places=(params.scope,))
    answer = await ask(finding_prompt(params.intent, scope, params.max_files))
    review = Review("find_code_by_intent", answer, root, scope)
    return await asyncio.to_thread(
        _found, review, params.max_files, with_snippets=params.return_format == WITH_SNIPPETS
    )


def finding_prompt(intent: str, scope: Scope, most: int) -> str:
    """Give the prompt."""
    return prompts.prompt(
        prompts.FIND.format(most=most),
        prompts.scope_text(scope),
        prompts.RULES,
        prompts.quoted("intent", intent),
        f"{prompts.JSON_ONLY}\n{prompts.FIND_FORM}",
    )


def _found(review: Review, most: int, *, with_snippets: bool) -> dict[str, Any]:
    parsed = review.read("files")
    said = items_of(parsed.data.get("files")) if parsed else []
    files = [file for entry in said if (file := _file(entry, review, with_snippets=with_snippets))]
    if len(files) < len(said):
        review.warnings.append(f"{len(said) - len(files)} entries of the model's answer name no file and are left out")
    if len(files) > most:
        review.warnings.append(f"the model named {len(files)} files, {most} were asked for: the rest are left out")
    content = {
        "returnFormat": WITH_SNIPPETS if with_snippets else "summary_with_references",
        "summary": text_of(parsed.data.get("summary") if parsed else "", most=2000),
        "files": review.fit(files[:most], "files"),
    }
    return review.result(content, is_raw=parsed is None)


def _file(entry: dict[str, Any], review: Review, *, with_snippets: bool) -> dict[str, Any] | None:
    place = place_in(text_of(entry.get("path")))
    if place is None:
        return None
    looked_up = review.evidence.reference(Place(place.path))
    parts = [
        _part(looked_up["path"], part, review, with_snippets=with_snippets) for part in items_of(entry.get("parts"))
    ]
    return {
        **looked_up,
        "relevance": choice_of(entry.get("relevance"), RELEVANCE) or "medium",
        "reason": text_of(entry.get("reason"), most=1000),
        "parts": parts[:MAX_PARTS],
    }


def _part(path: str, part: dict[str, Any], review: Review, *, with_snippets: bool) -> dict[str, Any]:
    symbol = text_of(part.get("symbol"), most=200)
    place = lines_of(path, part.get("lines"))
    reference = review.evidence.reference(place, symbol=symbol)
    snippet, _ = (
        within(review.evidence.snippet(place, most=SNIPPET_LINES), SNIPPET_TOKENS) if with_snippets else ("", False)
    )
    return {
        "symbol": symbol,
        "does": text_of(part.get("does"), most=1000),
        **{name: reference[name] for name in ("startLine", "endLine", "note") if name in reference},
        **({"snippet": snippet} if snippet else {}),
    }
