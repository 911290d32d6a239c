"""The handlers of the research tools: identical simultaneous calls share one question to the model."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Awaitable, Callable, Coroutine
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, TypeVar

from toolmason_runtime import ToolCall, ToolError

from workbench_handlers.state import roots_for
from workbench_handlers.workspace.roots import Root
from workbench_research import analyze_directory as directory_tool
from workbench_research import paths
from workbench_research.analysis.analyze_codebase import run as run_analyze_codebase
from workbench_research.analysis.ask_gemini import run as run_ask_gemini
from workbench_research.analysis.check_consistency import run as run_check_consistency
from workbench_research.analysis.find_code_by_intent import run as run_find_code_by_intent
from workbench_research.analysis.list_error_patterns import run as run_list_error_patterns
from workbench_research.analysis.query_codebase import run as run_query_codebase
from workbench_research.analysis.result import LONG_TEXT, left_out_of, usage_of
from workbench_research.analysis.scope import Scope, parse_scope, split_list
from workbench_research.analysis.trace_feature import run as run_trace_feature
from workbench_research.analysis.validate_against_codebase import run as run_validate_against_codebase
from workbench_research.backends.question import Answer, Ask, Report
from workbench_research.context.material import Files
from workbench_research.delivery import deliver
from workbench_research.error_codes import with_specified_codes
from workbench_research.prompts import free_question, task
from workbench_research.redaction import redact_known_in_json
from workbench_research.state import AskAbout, Research
from workbench_server.research import models as research
from workbench_server.validation import models as validation

if TYPE_CHECKING:
    from pydantic import BaseModel

Params = TypeVar("Params")
ResultModel = TypeVar("ResultModel", bound="BaseModel")

Analysis = Callable[[Params, Ask, Path], Awaitable[dict[str, Any]]]
"""An analysis tool: parameters, the model and the project root to the result."""
Work = Callable[[AskAbout, Report], Awaitable[dict[str, Any]]]
"""Any research tool: the model and the progress to the result."""
Prepare = Callable[[Params, ToolCall], Awaitable[tuple[Root, Work]]]
"""Checks the arguments of a call, and returns its project root and its work."""
Handler = Callable[[Params, ToolCall], Coroutine[Any, Any, ResultModel]]

FLASH: Final = "flash"
PRO: Final = "pro"


def _handler(
    name: str, result: type[ResultModel], prepare: Prepare[Params], *, kind: str
) -> Handler[Params, ResultModel]:
    """Return the handler of the tool `name`. `kind` selects the models that are asked."""

    async def run(params: Params, call: ToolCall) -> ResultModel:
        root, work = await prepare(params, call)
        return result.model_validate(await _run_shared(params, call, root, work, kind=kind))

    run.__name__ = run.__qualname__ = name  # in logs
    return with_specified_codes(run)


def _question(tool: str, option: str) -> Prepare[Any]:
    """Return the work of a tool that answers a question. The argument `option` selects the form of the answer."""

    async def prepare(params: Any, call: ToolCall) -> tuple[Root, Work]:
        if not params.prompt.strip():
            raise ToolError("`prompt` must not be blank", code="INVALID_ARGUMENT", details={"argument": "prompt"})
        root = await paths.project_root(call)
        form = getattr(params, option)
        prompt = free_question(params.prompt, focus=params.focus or "", form=form)
        files = Files(root=root, paths=tuple(params.paths or ()), about=params.prompt, is_prose=True)

        async def work(ask: AskAbout, _report: Report) -> dict[str, Any]:
            envelope = _envelope(await ask(prompt, files), root)
            result = {"tool": tool, "focus": params.focus, option: form, **envelope}
            return await _chunk_result(call, result)

        return root, work

    return prepare


def _analysis(
    run: Analysis[Params],
    top: Callable[[Params], str | None] = lambda _: None,
    scope: Callable[[Params, Path], Scope] = lambda _params, _root: Scope(),
    *,
    is_prose: bool = False,
) -> Prepare[Params]:
    """Return the work of an analysis. `top` returns the directory that selects the project root of a call.

    `scope` returns the part of the project whose files are sent; it may block.
    """

    async def prepare(params: Params, call: ToolCall) -> tuple[Root, Work]:
        root = await paths.project_root(call, top(params) or "")

        async def work(ask: AskAbout, _report: Report) -> dict[str, Any]:
            async def ask_task(prompt: str) -> Answer:
                files = Files(
                    root=root,
                    about=_words(params),
                    scope=await asyncio.to_thread(scope, params, root.path),
                    is_prose=is_prose,
                )
                return await ask(task(prompt), files)

            return await _chunk_result(call, await run(params, ask_task, root.path))

        return root, work

    return prepare


def _directory_scope(params: Any, root: Path) -> Scope:
    """Return the scope of a tool with one directory."""
    return parse_scope(root, directories=(params.directory if hasattr(params, "directory") else params.scope,))


def _words(params: Any) -> str:
    """Return the caller's texts, which rank the files. Their `@` are no references."""
    texts = [value for value in params.model_dump(mode="json").values() if value]
    words = [text for value in texts for text in (value if isinstance(value, list) else [value])]
    return " ".join(str(word) for word in words if isinstance(word, str)).replace("@", " ")


async def _directory_summaries(params: research.AnalyzeDirectoryParams, call: ToolCall) -> tuple[Root, Work]:
    root = await paths.project_root(call, params.path)

    async def work(ask: AskAbout, report: Report) -> dict[str, Any]:
        return await directory_tool.analyze_directory(params, ask, root, report)

    return root, work


async def _prompt_with_files(params: research.AskGeminiParams, call: ToolCall) -> tuple[Root, Work]:
    root = await paths.project_root(call)
    named_only = not params.include_codebase_context
    files = Files(root=root, paths=tuple(params.paths or ()), about=params.prompt, only_named=named_only, is_prose=True)

    async def work(ask: AskAbout, _report: Report) -> dict[str, Any]:
        async def ask_task(prompt: str) -> Answer:
            return await ask(task(prompt), files)

        return await _chunk_result(call, await run_ask_gemini(params, ask_task, root.path))

    return root, work


async def _run_shared(params: Any, call: ToolCall, root: Root, do: Work, *, kind: str) -> dict[str, Any]:
    projects = [root.path for root in await roots_for(call)]
    result, operation = await call.state(Research).run_shared(
        call, params, root.path, do, kind=kind, projects=projects, is_usable=_is_usable
    )
    # Redacted again: secrets in JSON may have been escaped before it was parsed.
    redacted: dict[str, Any] = redact_known_in_json(result, os.environ)
    return {**redacted, "meta": {**redacted["meta"], "operationId": operation.id}}


def _is_usable(result: dict[str, Any]) -> bool:
    """Return whether a model's answer had the form that its tool asked for."""
    missing = (part for part in result.get("answers", ()) if part.get("status") == "missing")
    return "rawAnswer" not in result and next(missing, None) is None


def _envelope(answer: Answer, root: Root) -> dict[str, Any]:
    return {
        "model": answer.model,
        "answer": answer.text,
        "filesAccessed": list(answer.files),
        "stats": {"tokensUsed": answer.tokens, "toolCalls": answer.tool_calls, "latencyMs": answer.latency_ms},
        **usage_of(answer),
        "meta": {
            "projectRoot": str(root.path),
            "truncated": answer.is_cut,
            **left_out_of(answer),
            "warnings": list(answer.warnings),
        },
    }


async def _chunk_result(call: ToolCall, result: dict[str, Any]) -> dict[str, Any]:
    """Limit the member of a result that can be of any length, and store the rest of it as chunks."""
    member = LONG_TEXT.get(result["tool"], "answer")
    if member not in result:
        return result
    text = await deliver(result[member], call)
    meta = result["meta"]
    return {
        **result,
        member: text.answer,
        **({"chunks": text.chunks} if text.chunks else {}),
        "meta": {
            **meta,
            "truncated": meta["truncated"] or text.is_truncated,
            "warnings": [*meta["warnings"], *text.warnings],
        },
    }


# The tools that ask a model

quick_query: Final = _handler(
    "quick_query", research.QuickQueryResult, _question("quick_query", "responseStyle"), kind=FLASH
)
deep_research: Final = _handler(
    "deep_research", research.DeepResearchResult, _question("deep_research", "citationMode"), kind=PRO
)
analyze_directory: Final = _handler(
    "analyze_directory", research.AnalyzeDirectoryResult, _directory_summaries, kind=FLASH
)
ask_gemini: Final = _handler("ask_gemini", research.AskGeminiResult, _prompt_with_files, kind=FLASH)
analyze_codebase: Final = _handler(
    "analyze_codebase",
    research.AnalyzeCodebaseResult,
    _analysis(
        run_analyze_codebase,
        scope=lambda params, root: parse_scope(
            root,
            directories=split_list(params.directories),
            include=split_list(params.file_patterns),
            exclude=split_list(params.exclude_patterns),
        ),
        is_prose=True,
    ),
    kind=PRO,
)
query_codebase: Final = _handler(
    "query_codebase",
    research.QueryCodebaseResult,
    _analysis(
        run_query_codebase,
        lambda params: params.scope,
        lambda params, root: parse_scope(
            root,
            directories=(params.scope,),
            include=params.include_patterns or (),
            exclude=params.exclude_patterns or (),
        ),
    ),
    kind=FLASH,
)
find_code_by_intent: Final = _handler(
    "find_code_by_intent",
    research.FindCodeByIntentResult,
    _analysis(run_find_code_by_intent, lambda params: params.scope, _directory_scope),
    kind=FLASH,
)
trace_feature: Final = _handler("trace_feature", research.TraceFeatureResult, _analysis(run_trace_feature), kind=PRO)
list_error_patterns: Final = _handler(
    "list_error_patterns",
    research.ListErrorPatternsResult,
    _analysis(run_list_error_patterns, lambda params: params.directory, _directory_scope),
    kind=FLASH,
)
validate_against_codebase: Final = _handler(
    "validate_against_codebase",
    validation.ValidateAgainstCodebaseResult,
    _analysis(run_validate_against_codebase),
    kind=PRO,
)
check_consistency: Final = _handler(
    "check_consistency",
    validation.CheckConsistencyResult,
    _analysis(run_check_consistency, lambda params: params.scope, _directory_scope),
    kind=PRO,
)
