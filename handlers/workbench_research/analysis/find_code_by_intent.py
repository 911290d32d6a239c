"""`find_code_by_intent`: find code by its behaviour. The model names locations; snippets are read from the files."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from workbench_research.analysis import prompts
from workbench_research.analysis.answer_json import parse_choice, parse_objects, parse_text
from workbench_research.analysis.citations import Citation, parse_citation, parse_line_range
from workbench_research.analysis.result import ResultBuilder, require_text
from workbench_research.analysis.scope import Scope, parse_scope
from workbench_research.analysis.token_budget import cut_to_budget
from workbench_research.backends.question import Ask

if TYPE_CHECKING:
    from workbench_server.research.models import FindCodeByIntentParams

RELEVANCE: Final = ("high", "medium", "low")
"""The most relevant first."""
WITH_SNIPPETS: Final = "detailed_with_snippets"
"""The result format with code."""
MAX_PARTS: Final = 5
"""Maximum parts of one file, which the prompt states."""
SNIPPET_LINES: Final = 40
"""Maximum lines of a snippet."""
SNIPPET_TOKENS: Final = 600
"""Maximum tokens of a snippet: minified code is a single line."""


async def run(params: FindCodeByIntentParams, ask: Ask, root: Path) -> dict[str, Any]:
    """Find code by its purpose.

    Raises:
        ToolError: the intent is blank, the scope is not allowed, or as `ask`.
    """
    require_text(params.intent, "intent")
    scope = await asyncio.to_thread(parse_scope, root, directories=(params.scope,))
    answer = await ask(finding_prompt(params.intent, scope, params.max_files))
    builder = ResultBuilder("find_code_by_intent", answer, root, scope)
    return await asyncio.to_thread(
        _build_result, builder, params.max_files, with_snippets=params.return_format == WITH_SNIPPETS
    )


def finding_prompt(intent: str, scope: Scope, max_files: int) -> str:
    """Return the prompt."""
    return prompts.prompt(
        prompts.FIND.format(max_files=max_files),
        prompts.scope_text(scope),
        prompts.RULES,
        prompts.quoted("intent", intent),
        f"{prompts.JSON_ONLY}\n{prompts.FIND_FORM}",
    )


def _build_result(builder: ResultBuilder, max_files: int, *, with_snippets: bool) -> dict[str, Any]:
    parsed = builder.read("files")
    entries = parse_objects(parsed.data.get("files")) if parsed else []
    files = [file for entry in entries if (file := _file(entry, builder, with_snippets=with_snippets))]
    if len(files) < len(entries):
        builder.warnings.append(f"{len(entries) - len(files)} entries of the model's answer without a file are omitted")
    if len(files) > max_files:
        builder.warnings.append(
            f"the model named {len(files)} files, but the limit is {max_files}: the rest are omitted"
        )
    content = {
        "returnFormat": WITH_SNIPPETS if with_snippets else "summary_with_references",
        "summary": parse_text(parsed.data.get("summary") if parsed else "", max_chars=2000),
        "files": builder.fit_to_budget(files[:max_files], "files"),
    }
    return builder.build(content, is_raw=parsed is None)


def _file(entry: dict[str, Any], builder: ResultBuilder, *, with_snippets: bool) -> dict[str, Any] | None:
    citation = parse_citation(parse_text(entry.get("path")))
    if citation is None:
        return None
    reference = builder.citations.check(Citation(citation.path))
    parts = [
        _part(reference["path"], part, builder, with_snippets=with_snippets)
        for part in parse_objects(entry.get("parts"))
    ]
    return {
        **reference,
        "relevance": parse_choice(entry.get("relevance"), RELEVANCE) or "medium",
        "reason": parse_text(entry.get("reason"), max_chars=1000),
        "parts": parts[:MAX_PARTS],
    }


def _part(path: str, part: dict[str, Any], builder: ResultBuilder, *, with_snippets: bool) -> dict[str, Any]:
    symbol = parse_text(part.get("symbol"), max_chars=200)
    citation = parse_line_range(path, part.get("lines"))
    reference = builder.citations.check(citation, symbol=symbol)
    snippet, _ = (
        cut_to_budget(builder.citations.snippet(citation, max_lines=SNIPPET_LINES), SNIPPET_TOKENS)
        if with_snippets
        else ("", False)
    )
    return {
        "symbol": symbol,
        "does": parse_text(part.get("does"), max_chars=1000),
        **{name: reference[name] for name in ("startLine", "endLine", "note") if name in reference},
        **({"snippet": snippet} if snippet else {}),
    }
