"""Web pages for reviews on the loopback interface, for `review --web` and for questions with a URL."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import anyio

from workbench_handlers.editing.reviews.store import ReviewStore
from workbench_handlers.editing.surfaces.pages.address import HOST, ReviewPages
from workbench_handlers.workspace.packages import FOR_PAGES, require

__all__ = ["ReviewPages", "serve_pages"]


@asynccontextmanager
async def serve_pages(store: ReviewStore, *, port: int = 0) -> AsyncIterator[ReviewPages]:
    """Serve the pages until the context ends; port 0 selects a free one.

    Raises:
        NotInstalledError: a package is missing.
        OSError: the port is not available.
    """
    for package in FOR_PAGES:
        require(package)
    from workbench_handlers.editing.surfaces.pages.app import page_server

    with socket.create_server((HOST, port)) as listener:
        pages = ReviewPages(listener.getsockname()[1])
        server = page_server(store, pages)
        task = asyncio.create_task(server.serve(sockets=[listener]))
        try:
            yield pages
        finally:
            server.should_exit = True
            with anyio.CancelScope(shield=True):
                await task
