"""The client whose request is being answered, for texts and sizes that depend on it.

It belongs to the context of the request, so that concurrent requests of other clients have their own. Threads that
`anyio.to_thread` or `asyncio.to_thread` starts inherit it.
"""

from __future__ import annotations

from contextvars import ContextVar, Token

from toolmason_runtime.shared.client_profiles import ClientProfile, client_profile

_current: ContextVar[ClientProfile | None] = ContextVar("client", default=None)


def current_client() -> ClientProfile | None:
    """Return the facts about the client of this request; None outside of a request."""
    return _current.get()


def enter_client(client_name: str) -> Token[ClientProfile | None]:
    """Set the client of this request by its `clientInfo.name`; return the token for `leave_client`."""
    return _current.set(client_profile(client_name))


def leave_client(token: Token[ClientProfile | None]) -> None:
    """Restore the client from before `enter_client`."""
    _current.reset(token)
