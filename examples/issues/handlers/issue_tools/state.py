"""What the handlers share while the server runs."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import httpx2
from issues_server.options import Options
from toolmason_runtime import ToolError


class Tracker:
    """The API of the tracker."""

    def __init__(self, http: httpx2.AsyncClient) -> None:
        self._http = http

    async def issues(self, project: str) -> list[dict[str, Any]]:
        """Return all issues of a project.

        Raises:
            ToolError: there is no such project.
        """
        issues: list[dict[str, Any]] = []
        page = 1
        while answer := await self._page(project, page):
            issues += answer
            page += 1
        return issues

    async def _page(self, project: str, page: int) -> list[dict[str, Any]]:
        answer = await self._http.get(f"/projects/{project}/issues", params={"page": page})
        if answer.status_code == httpx2.codes.NOT_FOUND:
            raise ToolError(f"no project {project}; list_projects lists all", code="NO_PROJECT")
        answer.raise_for_status()
        return list(answer.json())


@asynccontextmanager
async def lifespan(options: Options) -> AsyncIterator[Tracker]:
    """Keep one pool of connections to the tracker."""
    headers = {"Authorization": f"Bearer {options.tracker_token}"}
    async with httpx2.AsyncClient(base_url=options.tracker_url, headers=headers) as http:
        yield Tracker(http)
