"""`trace_feature`: the execution of a feature, step by step, with each step verified in the files."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from workbench_research.analysis import prompts
from workbench_research.analysis.answer_json import parse_int, parse_objects, parse_text, parse_texts
from workbench_research.analysis.citations import parse_citation
from workbench_research.analysis.result import ResultBuilder, require_text
from workbench_research.analysis.token_budget import RESULT_TOKENS
from workbench_research.backends.question import Ask

if TYPE_CHECKING:
    from workbench_server.research.models import TraceFeatureParams

MAX_DEPENDENCIES: Final = 50
"""Maximum names in the list of dependencies."""

_DATA_FIELDS: Final = {"data": "data", "from": "source", "to": "target", "change": "change"}
"""Members of a data flow in the model's answer, and in the result."""


async def run(params: TraceFeatureParams, ask: Ask, root: Path) -> dict[str, Any]:
    """Trace a feature from its entry point to its last step.

    Raises:
        ToolError: the feature is blank, or as `ask`.
    """
    require_text(params.feature, "feature")
    data_flow = bool(params.include_data_flow)
    answer = await ask(tracing_prompt(params.feature, params.entry_point or "", params.max_depth, data_flow=data_flow))
    builder = ResultBuilder("trace_feature", answer, root)
    return await asyncio.to_thread(_build_result, builder, params.max_depth, data_flow=data_flow)


def tracing_prompt(feature: str, entry_point: str, depth: int, *, data_flow: bool) -> str:
    """Return the prompt. Without an entry point, the model finds it."""
    return prompts.prompt(
        prompts.TRACE.format(depth=depth),
        prompts.RULES,
        prompts.quoted("feature", feature),
        prompts.quoted("entry point", entry_point) if entry_point.strip() else "",
        f"{prompts.JSON_ONLY}\n{prompts.TRACE_DATA_FORM if data_flow else prompts.TRACE_FORM}",
    )


def _build_result(builder: ResultBuilder, depth: int, *, data_flow: bool) -> dict[str, Any]:
    parsed = builder.read("steps")
    data = parsed.data if parsed else {}
    entries = parse_objects(data.get("steps"))
    steps = [step for entry in entries if (step := _step(entry, builder))]
    if len(steps) < len(entries):
        builder.warnings.append(f"{len(entries) - len(steps)} empty steps of the model's answer are omitted")
    if deeper := [step for step in steps if step["level"] > depth]:
        builder.warnings.append(f"{len(deeper)} steps below max_depth are omitted")
    visible = [step for step in steps if step["level"] <= depth]
    content = {
        "maxDepth": depth,
        "summary": parse_text(data.get("summary"), max_chars=2000),
        "steps": builder.fit_to_budget(visible, "steps", budget=RESULT_TOKENS * 2 // 3),
        "dependencies": [text[:300] for text in parse_texts(data.get("dependencies"))[:MAX_DEPENDENCIES]],
    }
    if data_flow:
        flows = [_flow(entry) for entry in parse_objects(data.get("data_flow"))]
        content["dataFlow"] = builder.fit_to_budget(
            [flow for flow in flows if flow["data"]], "data flows", budget=RESULT_TOKENS // 4
        )
    return builder.build(content, is_raw=parsed is None)


def _step(entry: dict[str, Any], builder: ResultBuilder) -> dict[str, Any] | None:
    symbol, does = parse_text(entry.get("symbol"), max_chars=200), parse_text(entry.get("does"), max_chars=1000)
    citation = parse_citation(parse_text(entry.get("place")))
    if not (symbol or does):
        return None
    return {
        "level": max(1, parse_int(entry.get("level")) or 1),
        "symbol": symbol,
        "does": does,
        **({"reference": builder.citations.check(citation, symbol=symbol)} if citation else {}),
    }


def _flow(entry: dict[str, Any]) -> dict[str, Any]:
    return {member: parse_text(entry.get(name), max_chars=500) for name, member in _DATA_FIELDS.items()}
