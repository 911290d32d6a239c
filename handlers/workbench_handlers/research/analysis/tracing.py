"""`trace_feature`: how a feature runs, step by step, each step looked up in the files."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from workbench_handlers.model_backends.question import Ask
from workbench_handlers.research.analysis import prompts
from workbench_handlers.research.analysis.budgets import RESULT_TOKENS
from workbench_handlers.research.analysis.evidence import place_in
from workbench_handlers.research.analysis.parsing import items_of, text_of, texts_of, whole_of
from workbench_handlers.research.analysis.result import Review, given

if TYPE_CHECKING:
    from workbench_server.research.models import TraceFeatureParams

MAX_DEPENDENCIES: Final = 50
"""Names in the list of what a feature needs."""

_DATA_FIELDS: Final = {"data": "data", "from": "source", "to": "target", "change": "change"}
"""Members of a flow, as the model writes them and as results do."""


async def run(params: TraceFeatureParams, ask: Ask, root: Path) -> dict[str, Any]:
    """Trace a feature from its entry to its end.

    Raises:
        ToolError: the feature is blank, or as `ask`.
    """
    given(params.feature, "feature")
    data_flow = bool(params.include_data_flow)
    answer = await ask(tracing_prompt(params.feature, params.entry_point or "", params.max_depth, data_flow=data_flow))
    review = Review("trace_feature", answer, root)
    return await asyncio.to_thread(_traced, review, params.max_depth, data_flow=data_flow)


def tracing_prompt(feature: str, entry_point: str, depth: int, *, data_flow: bool) -> str:
    """Give the prompt. Without an entry point the model looks for it."""
    return prompts.prompt(
        prompts.TRACE.format(depth=depth),
        prompts.RULES,
        prompts.quoted("feature", feature),
        prompts.quoted("entry point", entry_point) if entry_point.strip() else "",
        f"{prompts.JSON_ONLY}\n{prompts.TRACE_DATA_FORM if data_flow else prompts.TRACE_FORM}",
    )


def _traced(review: Review, depth: int, *, data_flow: bool) -> dict[str, Any]:
    parsed = review.read("steps")
    data = parsed.data if parsed else {}
    said = items_of(data.get("steps"))
    steps = [step for entry in said if (step := _step(entry, review))]
    if len(steps) < len(said):
        review.warnings.append(f"{len(said) - len(steps)} steps of the model's answer say nothing and are left out")
    if deeper := [step for step in steps if step["level"] > depth]:
        review.warnings.append(f"{len(deeper)} steps lie deeper than max_depth and are left out")
    shown = [step for step in steps if step["level"] <= depth]
    content = {
        "maxDepth": depth,
        "summary": text_of(data.get("summary"), most=2000),
        "steps": review.fit(shown, "steps", budget=RESULT_TOKENS * 2 // 3),
        "dependencies": [text[:300] for text in texts_of(data.get("dependencies"))[:MAX_DEPENDENCIES]],
    }
    if data_flow:
        flows = [_flow(each) for each in items_of(data.get("data_flow"))]
        content["dataFlow"] = review.fit(
            [flow for flow in flows if flow["data"]], "data flows", budget=RESULT_TOKENS // 4
        )
    return review.result(content, is_raw=parsed is None)


def _step(entry: dict[str, Any], review: Review) -> dict[str, Any] | None:
    symbol, does = text_of(entry.get("symbol"), most=200), text_of(entry.get("does"), most=1000)
    place = place_in(text_of(entry.get("place")))
    if not (symbol or does):
        return None
    return {
        "level": max(1, whole_of(entry.get("level")) or 1),
        "symbol": symbol,
        "does": does,
        **({"reference": review.evidence.reference(place, symbol=symbol)} if place else {}),
    }


def _flow(entry: dict[str, Any]) -> dict[str, Any]:
    return {shown: text_of(entry.get(name), most=500) for name, shown in _DATA_FIELDS.items()}
