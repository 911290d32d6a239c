"""The research tools as the server calls them: each asks the model once for all who ask the same at the same time."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Awaitable, Callable, Mapping
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, TypeVar

from toolmason_runtime import ChunkStore, ServerInfo, ToolCall, ToolError
from toolmason_runtime.programs import ProgramSettings

from workbench_handlers.doctor.health import HealthParts, Held, StoreHealth, health
from workbench_handlers.doctor.settings import is_git_ignore_respected
from workbench_handlers.model_backends.choice import without_projects
from workbench_handlers.model_backends.probing import find
from workbench_handlers.model_backends.question import Answer, Ask, Report
from workbench_handlers.model_backends.readonly import can_search, read_only_enforced
from workbench_handlers.model_backends.redaction import secrets_hidden_within
from workbench_handlers.research import directory, paths
from workbench_handlers.research.analysis import (
    analyzing,
    asking,
    consistency,
    finding,
    patterns,
    querying,
    tracing,
    validating,
)
from workbench_handlers.research.analysis.evidence import refusals
from workbench_handlers.research.analysis.result import LONG_TEXT
from workbench_handlers.research.codes import specified
from workbench_handlers.research.delivery import deliver
from workbench_handlers.research.operations import Operation
from workbench_handlers.research.prompts import free_question, task
from workbench_handlers.research.references import References, check_references, plain
from workbench_handlers.research.state import MODELS, Research, models
from workbench_handlers.state import Workspace, roots_for
from workbench_handlers.workspace.roots import Root
from workbench_server.research import models as research
from workbench_server.validation import models as validation

if TYPE_CHECKING:
    from pydantic import BaseModel

Result = TypeVar("Result", bound="BaseModel")
Run = Callable[[Any, Ask, Path], Awaitable[dict[str, Any]]]
"""What an analysis tool does, given its parameters, what asks the model, and the root of the project."""

Do = Callable[[Ask, Report], Awaitable[dict[str, Any]]]
"""What any of these tools does, given what asks the model and what tells how far it is."""

FLASH: Final = "flash"
PRO: Final = "pro"


@specified
async def quick_query(params: research.QuickQueryParams, call: ToolCall) -> research.QuickQueryResult:
    """Answer a question about the project with a fast model.

    Raises:
        ToolError: the prompt is blank or refers to what must not or cannot be read, or there is no answer.
    """
    style = params.responseStyle
    echo = {"tool": "quick_query", "focus": params.focus, "responseStyle": style}
    compose = partial(free_question, focus=params.focus or "", style=style)
    return research.QuickQueryResult.model_validate(await _answered(params, call, compose, echo, kind=FLASH))


@specified
async def deep_research(params: research.DeepResearchParams, call: ToolCall) -> research.DeepResearchResult:
    """Answer a question about the project with the best model there is.

    Raises:
        ToolError: as for `quick_query`.
    """
    citations = params.citationMode
    echo = {"tool": "deep_research", "focus": params.focus, "citationMode": citations}
    compose = partial(free_question, focus=params.focus or "", citations=citations)
    return research.DeepResearchResult.model_validate(await _answered(params, call, compose, echo, kind=PRO))


@specified
async def analyze_directory(params: research.AnalyzeDirectoryParams, call: ToolCall) -> research.AnalyzeDirectoryResult:
    """Say of each file of a folder what it is for.

    Raises:
        ToolError: the folder cannot be read, or there is no answer.
    """
    root = await paths.project_root(call, params.path)

    async def do(ask: Ask, report: Report) -> dict[str, Any]:
        return await directory.analyze_directory(params, ask, root, report)

    result = await _shared(params, call, root, do, kind=FLASH)
    return research.AnalyzeDirectoryResult.model_validate(result)


@specified
async def validate_paths(params: research.ValidatePathsParams, call: ToolCall) -> research.ValidatePathsResult:
    """Say of each path where it leads, whether it is there and whether it may be read."""
    return research.ValidatePathsResult.model_validate(await paths.validate_paths(params, call))


@specified
async def health_check(params: research.HealthCheckParams, call: ToolCall) -> research.HealthCheckResult:
    """Say whether research tools can work here, and what stands in their way."""
    shared = call.state(Research)
    server = call.state(ServerInfo)
    problems: list[str] = []
    try:
        projects = [each.path for each in await roots_for(call)]
    except ToolError as error:  # how things are can be told all the same
        projects = [call.state(Workspace).working_directory]
        problems.append(f"research tools cannot answer, as {error.message}")
    environ = without_projects(os.environ, projects)
    parts = HealthParts(
        server_name=server.name,
        server_version=server.version,
        project_root=projects[0],
        environ=environ,
        find=lambda: find(environ),
        held=_held,
        retry=lambda: shared.retry,
        retry_statistics=shared.statistics.to_dict,
        store=partial(_store_health, call.state(ChunkStore)),
        models={kind: models(kind) for kind in MODELS},
        operations=[_told(each, is_whole=call.is_local) for each in shared.operations.running()],
        unconfined=call.state(ProgramSettings).unconfined,
    )
    found = await health(include_diagnostics=bool(params.includeDiagnostics), parts=parts)
    if problems:
        status = "degraded" if found["status"] == "ok" else found["status"]
        found |= {"status": status, "problems": [*problems, *found.get("problems", ())]}
    return research.HealthCheckResult.model_validate(found)


@specified
async def ask_gemini(params: research.AskGeminiParams, call: ToolCall) -> research.AskGeminiResult:
    """Answer one prompt, with the project at hand or without it."""
    root = await paths.project_root(call)
    checked = await _checked(params.prompt, root)
    rewritten = params.model_copy(update={"prompt": checked.prompt})

    async def do(ask: Ask, _report: Report) -> dict[str, Any]:
        return _referring(await _chunked(call, await asking.run(rewritten, _with_preamble(ask), root.path)), checked)

    return research.AskGeminiResult.model_validate(await _shared(params, call, root, do, kind=FLASH))


@specified
async def analyze_codebase(params: research.AnalyzeCodebaseParams, call: ToolCall) -> research.AnalyzeCodebaseResult:
    """Analyze the project with one focus."""
    return research.AnalyzeCodebaseResult.model_validate(await _analysed(params, call, analyzing.run, kind=PRO))


@specified
async def query_codebase(params: research.QueryCodebaseParams, call: ToolCall) -> research.QueryCodebaseResult:
    """Answer several questions about the project, each within a budget."""
    result = await _analysed(params, call, querying.run, kind=FLASH, scope=params.scope)
    return research.QueryCodebaseResult.model_validate(result)


@specified
async def find_code_by_intent(
    params: research.FindCodeByIntentParams, call: ToolCall
) -> research.FindCodeByIntentResult:
    """Find code by what it does."""
    result = await _analysed(params, call, finding.run, kind=FLASH, scope=params.scope)
    return research.FindCodeByIntentResult.model_validate(result)


@specified
async def trace_feature(params: research.TraceFeatureParams, call: ToolCall) -> research.TraceFeatureResult:
    """Follow a feature through the code."""
    return research.TraceFeatureResult.model_validate(await _analysed(params, call, tracing.run, kind=PRO))


@specified
async def list_error_patterns(
    params: research.ListErrorPatternsParams, call: ToolCall
) -> research.ListErrorPatternsResult:
    """List how the code handles errors, logs, and so on."""
    result = await _analysed(params, call, patterns.run, kind=FLASH, scope=params.directory)
    return research.ListErrorPatternsResult.model_validate(result)


@specified
async def validate_against_codebase(
    params: validation.ValidateAgainstCodebaseParams, call: ToolCall
) -> validation.ValidateAgainstCodebaseResult:
    """Hold a specification against the code."""
    result = await _analysed(params, call, validating.run, kind=PRO)
    return validation.ValidateAgainstCodebaseResult.model_validate(result)


@specified
async def check_consistency(
    params: validation.CheckConsistencyParams, call: ToolCall
) -> validation.CheckConsistencyResult:
    """Hold new code or a specification against the conventions of the code."""
    result = await _analysed(params, call, consistency.run, kind=PRO, scope=params.scope)
    return validation.CheckConsistencyResult.model_validate(result)


async def _store_health(store: ChunkStore) -> StoreHealth:
    problem = await store.check()
    return StoreHealth(kind=store.kind, is_reachable=not problem, problem=problem)


async def _held(program: Any) -> Held:
    return await asyncio.to_thread(_held_now, program)


def _held_now(program: Any) -> Held:
    is_enforced, reasons = read_only_enforced(program, os.environ)
    if program.name != "gemini":
        promise = f"`{program.name}` promises to read only, and nothing else holds it to that"
        return Held(None if is_enforced else False, (*reasons, promise))
    if not can_search(program):
        lacks = "there is neither a sandbox nor a ripgrep that the CLI trusts, so the model cannot search in files"
        reasons = (*reasons, f"{lacks}: install ripgrep for the whole system")
    return Held(is_enforced, reasons)


def _told(operation: Operation, *, is_whole: bool) -> dict[str, Any]:
    """Tell of one. Over HTTP it may be somebody else's, whose progress names files."""
    return {
        "id": operation.id,
        "tool": operation.tool,
        "seconds": round(operation.age_s, 1),
        "progress": operation.said if is_whole else "",
        "waiting": len(operation.listeners),
    }


async def _answered(
    params: Any, call: ToolCall, compose: Callable[[str], str], echo: Mapping[str, Any], *, kind: str
) -> dict[str, Any]:
    """Answer a question in the caller's own words."""
    if not params.prompt.strip():
        raise ToolError("`prompt` is blank: ask something", code="INVALID_ARGUMENT", details={"argument": "prompt"})
    root = await paths.project_root(call)
    checked = await _checked(params.prompt, root)

    async def do(ask: Ask, _report: Report) -> dict[str, Any]:
        answer = await ask(compose(checked.prompt))
        envelope = await asyncio.to_thread(_envelope, answer, root)
        return _referring(await _chunked(call, {**echo, **envelope}), checked)

    return await _shared(params, call, root, do, kind=kind)


async def _analysed(params: Any, call: ToolCall, run: Run, *, kind: str, scope: str | None = None) -> dict[str, Any]:
    """Do what an analysis tool does."""
    root = await paths.project_root(call, scope or "")

    async def do(ask: Ask, _report: Report) -> dict[str, Any]:
        return await _chunked(call, await run(params, _as_text(_with_preamble(ask)), root.path))

    return await _shared(params, call, root, do, kind=kind)


async def _shared(params: Any, call: ToolCall, root: Root, do: Do, *, kind: str) -> dict[str, Any]:
    projects = [each.path for each in await roots_for(call)]
    work = call.state(Research).work(call, params, root.path, do, kind=kind, projects=projects)
    result, operation = await work
    # Once more for all of it: what was read out of JSON may have been written with escapes before.
    hidden: dict[str, Any] = secrets_hidden_within(result, os.environ)
    return {**hidden, "meta": {**hidden["meta"], "operationId": operation.id}}


async def _checked(prompt: str, root: Root) -> References:
    return await asyncio.to_thread(_checked_now, prompt, root)


def _checked_now(prompt: str, root: Root) -> References:
    return check_references(prompt, root, obeys_git=is_git_ignore_respected(os.environ))


def _with_preamble(ask: Ask) -> Ask:
    async def asked(prompt: str) -> Answer:
        return await ask(task(prompt))

    return asked


def _as_text(ask: Ask) -> Ask:
    """Give what asks a prompt in which no `@` refers to a file."""

    async def asked(prompt: str) -> Answer:
        return await ask(plain(prompt))

    return asked


def _envelope(answer: Answer, root: Root) -> dict[str, Any]:
    return {
        "model": answer.model,
        "answer": answer.text,
        "filesAccessed": list(answer.files),
        "stats": {"tokensUsed": answer.tokens, "toolCalls": answer.tool_calls, "latencyMs": answer.latency_ms},
        "meta": {
            "projectRoot": str(root.path),
            "truncated": answer.is_cut,
            "warnings": [*answer.warnings, *refusals(answer, root.path)],
        },
    }


def _referring(result: dict[str, Any], checked: References) -> dict[str, Any]:
    """Add what the prompt referred to: the program reads that by itself, and tells of no tool that did.

    A folder stands for the files that were handed over with it, with a slash at its end.
    """
    named = [f"{each.path}/" if each.is_folder else each.path for each in checked.found]
    meta = result["meta"]
    return {
        **result,
        "filesAccessed": list(dict.fromkeys([*named, *result["filesAccessed"]])),
        "meta": {**meta, "warnings": [*checked.warnings, *meta["warnings"]]},
    }


async def _chunked(call: ToolCall, result: dict[str, Any]) -> dict[str, Any]:
    """Bound the member of a result that may be of any length, and keep the rest of it to be fetched."""
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
