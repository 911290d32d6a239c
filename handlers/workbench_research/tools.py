"""The handlers of the research tools: identical simultaneous calls share one question to the model."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Awaitable, Callable, Mapping
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from toolmason_runtime import ChunkStore, ServerInfo, ToolCall, ToolError, upstream_warnings
from toolmason_runtime.programs import ProgramSettings

from workbench_handlers.editing.reviews.state_files import state_problem
from workbench_handlers.state import Workspace, roots_for
from workbench_handlers.workspace.roots import Root
from workbench_research import analyze_directory as directory_tool
from workbench_research import paths
from workbench_research.analysis.analyze_codebase import run as run_analyze_codebase
from workbench_research.analysis.ask_gemini import run as run_ask_gemini
from workbench_research.analysis.check_consistency import run as run_check_consistency
from workbench_research.analysis.citations import access_warnings
from workbench_research.analysis.find_code_by_intent import run as run_find_code_by_intent
from workbench_research.analysis.list_error_patterns import run as run_list_error_patterns
from workbench_research.analysis.query_codebase import run as run_query_codebase
from workbench_research.analysis.result import LONG_TEXT
from workbench_research.analysis.trace_feature import run as run_trace_feature
from workbench_research.analysis.validate_against_codebase import run as run_validate_against_codebase
from workbench_research.at_references import References, escape_at_signs, resolve_references
from workbench_research.delivery import deliver
from workbench_research.doctor.health import HealthParts, ReadOnlyStatus, StoreHealth, health
from workbench_research.error_codes import with_specified_codes
from workbench_research.model_backends.detect import find_program
from workbench_research.model_backends.question import Answer, Ask, Report
from workbench_research.model_backends.read_only import can_search, read_only_enforced
from workbench_research.model_backends.redaction import redact_known_in_json
from workbench_research.model_backends.selection import MODELS, models, without_project_paths
from workbench_research.model_backends.user_settings import is_git_ignore_respected
from workbench_research.operations import Operation
from workbench_research.prompts import free_question, task
from workbench_research.state import Research
from workbench_server.research import models as research
from workbench_server.validation import models as validation

if TYPE_CHECKING:
    from workbench_research.model_backends.adapter import Program

Analysis = Callable[[Any, Ask, Path], Awaitable[dict[str, Any]]]
"""An analysis tool: parameters, the model and the project root to the result."""
Work = Callable[[Ask, Report], Awaitable[dict[str, Any]]]
"""Any research tool: the model and the progress to the result."""

FLASH: Final = "flash"
PRO: Final = "pro"


@with_specified_codes
async def quick_query(params: research.QuickQueryParams, call: ToolCall) -> research.QuickQueryResult:
    """Answer a question about the project with a fast model.

    Raises:
        ToolError: the prompt is blank or has an invalid reference, or there is no answer.
    """
    style = params.responseStyle
    echo = {"tool": "quick_query", "focus": params.focus, "responseStyle": style}
    compose = partial(free_question, focus=params.focus or "", style=style)
    return research.QuickQueryResult.model_validate(await _answer_prompt(params, call, compose, echo, kind=FLASH))


@with_specified_codes
async def deep_research(params: research.DeepResearchParams, call: ToolCall) -> research.DeepResearchResult:
    """Answer a question about the project with the strongest model.

    Raises:
        ToolError: as for `quick_query`.
    """
    citations = params.citationMode
    echo = {"tool": "deep_research", "focus": params.focus, "citationMode": citations}
    compose = partial(free_question, focus=params.focus or "", citations=citations)
    return research.DeepResearchResult.model_validate(await _answer_prompt(params, call, compose, echo, kind=PRO))


@with_specified_codes
async def analyze_directory(params: research.AnalyzeDirectoryParams, call: ToolCall) -> research.AnalyzeDirectoryResult:
    """Summarize each file of a directory.

    Raises:
        ToolError: the directory cannot be read, or there is no answer.
    """
    root = await paths.project_root(call, params.path)

    async def do(ask: Ask, report: Report) -> dict[str, Any]:
        return await directory_tool.analyze_directory(params, ask, root, report)

    result = await _run_shared(params, call, root, do, kind=FLASH)
    return research.AnalyzeDirectoryResult.model_validate(result)


@with_specified_codes
async def validate_paths(params: research.ValidatePathsParams, call: ToolCall) -> research.ValidatePathsResult:
    """Return where each path leads, whether it exists and whether it may be read."""
    return research.ValidatePathsResult.model_validate(await paths.validate_paths(params, call))


@with_specified_codes
async def health_check(params: research.HealthCheckParams, call: ToolCall) -> research.HealthCheckResult:
    """Return whether research tools work, and the problems to solve."""
    shared = call.state(Research)
    server = call.state(ServerInfo)
    problems: list[str] = []
    try:
        projects = [root.path for root in await roots_for(call)]
    except ToolError as error:  # the other checks still apply
        projects = [call.state(Workspace).working_directory]
        problems.append(f"research tools cannot answer: {error.message}")
    if problem := await asyncio.to_thread(state_problem, os.environ, projects):
        problems.append(f"propose_and_review cannot answer: {problem}")
    environ = without_project_paths(os.environ, projects)
    parts = HealthParts(
        server_name=server.name,
        server_version=server.version,
        project_root=projects[0],
        environ=environ,
        find=lambda: find_program(environ),
        read_only=_read_only_status,
        retry=lambda: shared.retry,
        retry_statistics=shared.statistics.to_dict,
        store=partial(_store_health, call.state(ChunkStore)),
        models={kind: models(kind, environ) for kind in MODELS},
        operations=[_operation_data(running, has_progress=call.is_local) for running in shared.operations.running()],
        unconfined=call.state(ProgramSettings).unconfined,
        upstreams=upstream_warnings(call),
    )
    report = await health(include_diagnostics=bool(params.includeDiagnostics), parts=parts)
    if problems:
        status = "degraded" if report["status"] == "ok" else report["status"]
        report |= {"status": status, "problems": [*problems, *report.get("problems", ())]}
    return research.HealthCheckResult.model_validate(report)


@with_specified_codes
async def ask_gemini(params: research.AskGeminiParams, call: ToolCall) -> research.AskGeminiResult:
    """Answer one prompt, with or without access to the project."""
    root = await paths.project_root(call)
    checked = await _resolve_references(params.prompt, root)
    rewritten = params.model_copy(update={"prompt": checked.prompt})

    async def do(ask: Ask, _report: Report) -> dict[str, Any]:
        return _add_attached_files(
            await _chunk_result(call, await run_ask_gemini(rewritten, _with_preamble(ask), root.path)), checked
        )

    return research.AskGeminiResult.model_validate(await _run_shared(params, call, root, do, kind=FLASH))


@with_specified_codes
async def analyze_codebase(params: research.AnalyzeCodebaseParams, call: ToolCall) -> research.AnalyzeCodebaseResult:
    """Analyze the project with one focus."""
    return research.AnalyzeCodebaseResult.model_validate(
        await _run_analysis(params, call, run_analyze_codebase, kind=PRO)
    )


@with_specified_codes
async def query_codebase(params: research.QueryCodebaseParams, call: ToolCall) -> research.QueryCodebaseResult:
    """Answer several questions about the project, each within a token budget."""
    result = await _run_analysis(params, call, run_query_codebase, kind=FLASH, scope=params.scope)
    return research.QueryCodebaseResult.model_validate(result)


@with_specified_codes
async def find_code_by_intent(
    params: research.FindCodeByIntentParams, call: ToolCall
) -> research.FindCodeByIntentResult:
    """Find code by its behaviour."""
    result = await _run_analysis(params, call, run_find_code_by_intent, kind=FLASH, scope=params.scope)
    return research.FindCodeByIntentResult.model_validate(result)


@with_specified_codes
async def trace_feature(params: research.TraceFeatureParams, call: ToolCall) -> research.TraceFeatureResult:
    """Trace a feature through the code."""
    return research.TraceFeatureResult.model_validate(await _run_analysis(params, call, run_trace_feature, kind=PRO))


@with_specified_codes
async def list_error_patterns(
    params: research.ListErrorPatternsParams, call: ToolCall
) -> research.ListErrorPatternsResult:
    """List the project's conventions for errors, logging and the like."""
    result = await _run_analysis(params, call, run_list_error_patterns, kind=FLASH, scope=params.directory)
    return research.ListErrorPatternsResult.model_validate(result)


@with_specified_codes
async def validate_against_codebase(
    params: validation.ValidateAgainstCodebaseParams, call: ToolCall
) -> validation.ValidateAgainstCodebaseResult:
    """Check a specification against the code."""
    result = await _run_analysis(params, call, run_validate_against_codebase, kind=PRO)
    return validation.ValidateAgainstCodebaseResult.model_validate(result)


@with_specified_codes
async def check_consistency(
    params: validation.CheckConsistencyParams, call: ToolCall
) -> validation.CheckConsistencyResult:
    """Compare new code or a specification with the conventions of the code."""
    result = await _run_analysis(params, call, run_check_consistency, kind=PRO, scope=params.scope)
    return validation.CheckConsistencyResult.model_validate(result)


async def _store_health(store: ChunkStore) -> StoreHealth:
    problem = await store.check()
    return StoreHealth(kind=store.kind, is_reachable=not problem, problem=problem)


async def _read_only_status(program: Program) -> ReadOnlyStatus:
    return await asyncio.to_thread(_read_only_status_now, program)


def _read_only_status_now(program: Program) -> ReadOnlyStatus:
    is_enforced, reasons = read_only_enforced(program, os.environ)
    if not can_search(program):
        note = (
            "the model cannot search files, since neither a sandbox nor a trusted ripgrep is available: install ripgrep"
        )
        reasons = (*reasons, f"{note} for the whole system")
    return ReadOnlyStatus(is_enforced, reasons)


def _operation_data(operation: Operation, *, has_progress: bool) -> dict[str, Any]:
    """Return an operation as JSON. Over HTTP it may belong to another client, and its progress contains file names."""
    return {
        "id": operation.id,
        "tool": operation.tool,
        "seconds": round(operation.age_s, 1),
        "progress": operation.last_progress if has_progress else "",
        "waiting": len(operation.listeners),
    }


async def _answer_prompt(
    params: Any, call: ToolCall, compose: Callable[[str], str], echo: Mapping[str, Any], *, kind: str
) -> dict[str, Any]:
    """Answer a caller's question."""
    if not params.prompt.strip():
        raise ToolError("`prompt` must not be blank", code="INVALID_ARGUMENT", details={"argument": "prompt"})
    root = await paths.project_root(call)
    checked = await _resolve_references(params.prompt, root)

    async def do(ask: Ask, _report: Report) -> dict[str, Any]:
        answer = await ask(compose(checked.prompt))
        envelope = await asyncio.to_thread(_envelope, answer, root)
        return _add_attached_files(await _chunk_result(call, {**echo, **envelope}), checked)

    return await _run_shared(params, call, root, do, kind=kind)


async def _run_analysis(
    params: Any, call: ToolCall, run: Analysis, *, kind: str, scope: str | None = None
) -> dict[str, Any]:
    root = await paths.project_root(call, scope or "")

    async def do(ask: Ask, _report: Report) -> dict[str, Any]:
        return await _chunk_result(call, await run(params, _with_escaped_at_signs(_with_preamble(ask)), root.path))

    return await _run_shared(params, call, root, do, kind=kind)


async def _run_shared(params: Any, call: ToolCall, root: Root, do: Work, *, kind: str) -> dict[str, Any]:
    projects = [root.path for root in await roots_for(call)]
    run = call.state(Research).run_shared(call, params, root.path, do, kind=kind, projects=projects)
    result, operation = await run
    # Redacted again: secrets in JSON may have been escaped before it was parsed.
    redacted: dict[str, Any] = redact_known_in_json(result, os.environ)
    return {**redacted, "meta": {**redacted["meta"], "operationId": operation.id}}


async def _resolve_references(prompt: str, root: Root) -> References:
    return await asyncio.to_thread(_resolve_now, prompt, root)


def _resolve_now(prompt: str, root: Root) -> References:
    return resolve_references(prompt, root, obeys_git=is_git_ignore_respected(os.environ))


def _with_preamble(ask: Ask) -> Ask:
    async def ask_task(prompt: str) -> Answer:
        return await ask(task(prompt))

    return ask_task


def _with_escaped_at_signs(ask: Ask) -> Ask:
    """Return a function that asks prompts without references."""

    async def ask_escaped(prompt: str) -> Answer:
        return await ask(escape_at_signs(prompt))

    return ask_escaped


def _envelope(answer: Answer, root: Root) -> dict[str, Any]:
    return {
        "model": answer.model,
        "answer": answer.text,
        "filesAccessed": list(answer.files),
        "stats": {"tokensUsed": answer.tokens, "toolCalls": answer.tool_calls, "latencyMs": answer.latency_ms},
        "meta": {
            "projectRoot": str(root.path),
            "truncated": answer.is_cut,
            "warnings": [*answer.warnings, *access_warnings(answer, root.path)],
        },
    }


def _add_attached_files(result: dict[str, Any], checked: References) -> dict[str, Any]:
    """Add the files that the prompt refers to: the program reads them without a tool call.

    A directory, with a slash at its end, represents the files in it.
    """
    attached = [f"{reference.path}/" if reference.is_directory else reference.path for reference in checked.found]
    meta = result["meta"]
    return {
        **result,
        "filesAccessed": list(dict.fromkeys([*attached, *result["filesAccessed"]])),
        "meta": {**meta, "warnings": [*checked.warnings, *meta["warnings"]]},
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
