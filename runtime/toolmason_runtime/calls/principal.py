"""The principal of a call."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True, slots=True, kw_only=True)
class Principal:
    """The owner of a verified access token."""

    subject: str
    """Claim `sub`: the user or program that the token stands for; unique for its issuer. Empty without the claim."""
    scopes: frozenset[str] = frozenset()
    """Granted scopes."""
    claims: Mapping[str, Any] = field(default_factory=dict, repr=False)
    """All verified claims of the token."""
    client_id: str = ""
    """Identity of the OAuth client; empty if the token has none."""


def identity_of(principal: Principal | None) -> str:
    """Return the identity of the owner of an access token; empty without one."""
    return "" if principal is None else f"{principal.subject}\0{principal.client_id}"
