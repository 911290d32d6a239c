"""The lifespan of the server: shared state of its handlers, created at startup and closed at shutdown."""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from toolmason_runtime.programs import Projects

from workbench_handlers.editing.reviews.state_files import STATE_VARIABLE, reviews_directory, unfinished_reviews
from workbench_handlers.editing.state import EditingState, editing_state
from workbench_handlers.state import Workspace, project_paths, workspace
from workbench_handlers.workflows.answers import RecentAnswers
from workbench_research import logs
from workbench_research.state import Research
from workbench_server.options import Options


@asynccontextmanager
async def lifespan(
    options: Options,
) -> AsyncIterator[tuple[Workspace, Research, Projects, EditingState, RecentAnswers]]:
    """Yield the state of the handlers for the server's options. Running research and editors end with the server."""
    logs.install()
    research, editing = Research(), editing_state(options)
    given = workspace(options.root)
    # Without --root, the directories are known at the first proposal, which checks a chosen state directory then.
    if unfinished_reviews(reviews_directory(os.environ)) and (given.roots or STATE_VARIABLE not in os.environ):
        roots = [root.path for root in given.roots] or [given.working_directory]
        await asyncio.to_thread(editing.finish_interrupted, os.environ, roots)
    try:
        yield given, research, Projects(project_paths), editing, RecentAnswers()
    finally:
        await editing.aclose()
        await research.aclose()
