"""Web pages for reviews on the loopback interface, for `review --web` and for questions with a URL."""

from __future__ import annotations

import asyncio
import secrets
import socket
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Final

import anyio

from workbench_handlers.editing.reviews import ReviewStore

HOST: Final = "127.0.0.1"


@dataclass(frozen=True, slots=True)
class ReviewPages:
    """The address of the pages, and the secrets that they require.

    The first part of each path is random. Browsers send cookies to every port of a host; the cookie of these pages is
    limited to that path, so that other local servers do not receive it.
    """

    port: int
    space: str = field(default_factory=lambda: secrets.token_hex(8))
    token: str = field(default_factory=lambda: secrets.token_urlsafe(32), repr=False)

    def path(self, review_id: str | None = None) -> str:
        """Return the path of a review, or of the list."""
        return f"/{self.space}/{f'r/{review_id}' if review_id else ''}"

    def url(self, review_id: str | None = None) -> str:
        """Return the address of a review, or of the list, with the token. It is for the person alone."""
        return f"http://{HOST}:{self.port}{self.path(review_id)}?token={self.token}"


@asynccontextmanager
async def serve_pages(store: ReviewStore, *, port: int = 0) -> AsyncIterator[ReviewPages]:
    """Serve the pages until the context ends; port 0 selects a free one.

    Raises:
        OSError: the port is not available.
    """
    from workbench_handlers.editing.pages.app import page_server

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
