"""The address of the review pages, which contains the secrets that they require."""

from __future__ import annotations

import secrets
from dataclasses import dataclass, field
from typing import Final

HOST: Final = "127.0.0.1"


@dataclass(frozen=True, slots=True)
class ReviewPages:
    """The address of the pages, and the secrets that they require.

    The first part of each path is random, and the cookie of the pages is limited to it. Browsers send a cookie to every
    port of a host, so other local servers would receive it otherwise.
    """

    port: int
    prefix: str = field(default_factory=lambda: secrets.token_hex(8))
    """First part of each path."""
    token: str = field(default_factory=lambda: secrets.token_urlsafe(32), repr=False)

    def path(self, review_id: str | None = None) -> str:
        """Return the path of a review, or of the list."""
        return f"/{self.prefix}/{f'r/{review_id}' if review_id else ''}"

    def url(self, review_id: str | None = None) -> str:
        """Return the address of a review, or of the list, with the token. It is for the person alone."""
        return f"http://{HOST}:{self.port}{self.path(review_id)}?token={self.token}"
