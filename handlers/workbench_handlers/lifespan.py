"""The lifespan of the server: shared state of its handlers, created at startup and closed at shutdown."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager

from toolmason_runtime.programs import Projects

from workbench_handlers.editing.state import EditingState, editing_state
from workbench_handlers.model_backends import logs
from workbench_handlers.research.state import Research
from workbench_handlers.state import Workspace, project_paths, workspace
from workbench_handlers.workflows.answers import RecentAnswers


@asynccontextmanager
async def lifespan(
    options: Mapping[str, str | tuple[str, ...]],
) -> AsyncIterator[tuple[Workspace, Research, Projects, EditingState, RecentAnswers]]:
    """Yield the state of the handlers for the server's options. Running research and editors end with the server."""
    logs.install()
    roots = options.get("root", ())
    research, editing = Research(), editing_state(options)
    given = workspace((roots,) if isinstance(roots, str) else roots)
    try:
        yield given, research, Projects(project_paths), editing, RecentAnswers()
    finally:
        await editing.aclose()
        await research.aclose()
