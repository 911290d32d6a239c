"""`health_check`: whether research tools work, from the state of this server."""

from __future__ import annotations

import asyncio
import os
from functools import partial
from typing import Any

from toolmason_runtime import ChunkStore, ServerInfo, ToolCall, ToolError, upstream_warnings
from toolmason_runtime.programs import ProgramSettings, SearchPath

from workbench_handlers.editing.reviews.state_files import state_problem
from workbench_handlers.state import Workspace, roots_for
from workbench_research.backends.gemini_cli_home import PROGRAM, find_program
from workbench_research.backends.models import KINDS, providers
from workbench_research.backends.selection import GEMINI_CLI, select
from workbench_research.doctor.backends import backend_rows
from workbench_research.doctor.health import HealthParts, StoreHealth, health
from workbench_research.doctor.program import auth_method, program_version
from workbench_research.error_codes import with_specified_codes
from workbench_research.operations import Operation
from workbench_research.state import Research
from workbench_server.research.models import HealthCheckParams, HealthCheckResult


@with_specified_codes
async def health_check(params: HealthCheckParams, call: ToolCall) -> HealthCheckResult:
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
    environ = SearchPath.of(os.environ, projects).narrow(os.environ)
    selected, select_problem = None, ""
    try:
        selected = await asyncio.to_thread(select, environ)
    except ToolError as error:
        select_problem = error.message
    name = selected.provider.name if selected else ""
    program = find_program(environ) if name == GEMINI_CLI else ""
    models = selected.models if selected else lambda kind, _: providers()[GEMINI_CLI].resolve(kind)
    parts = HealthParts(
        server_name=server.name,
        server_version=server.version,
        project_root=projects[0],
        version=lambda: program_version(program, environ),
        retry=lambda: shared.retry,
        retry_statistics=shared.statistics.to_dict,
        store=partial(_store_health, call.state(ChunkStore)),
        models={kind: models(kind, environ) for kind in KINDS},
        backend=name,
        program=program,
        is_on_path=SearchPath.of(environ, ()).find(PROGRAM) is not None,
        auth_method=await asyncio.to_thread(auth_method, selected, environ),
        select_problem=select_problem,
        backends=lambda: backend_rows(environ),
        operations=[_operation_data(running, has_progress=call.is_local) for running in shared.operations.running()],
        unconfined=call.state(ProgramSettings).unconfined,
        upstreams=upstream_warnings(call),
    )
    report = await health(include_diagnostics=bool(params.includeDiagnostics), parts=parts)
    if problems:
        status = "degraded" if report["status"] == "ok" else report["status"]
        report |= {"status": status, "problems": [*problems, *report.get("problems", ())]}
    return HealthCheckResult.model_validate(report)


async def _store_health(store: ChunkStore) -> StoreHealth:
    problem = await store.check()
    return StoreHealth(kind=store.kind, is_reachable=not problem, problem=problem)


def _operation_data(operation: Operation, *, has_progress: bool) -> dict[str, Any]:
    """Return an operation as JSON. Over HTTP it may belong to another client, and its progress contains file names."""
    return {
        "id": operation.id,
        "tool": operation.tool,
        "seconds": round(operation.age_s, 1),
        "progress": operation.last_progress if has_progress else "",
        "waiting": len(operation.listeners),
    }
