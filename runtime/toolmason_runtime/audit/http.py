"""Write one line for each HTTP request that is refused before it reaches the dispatcher."""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING, Any, Final

from toolmason_runtime.audit.calls import digest_of
from toolmason_runtime.audit.events import active, fields_of_call

if TYPE_CHECKING:
    from starlette.types import ASGIApp, Message, Receive, Scope, Send

ACCESS: Final = frozenset({401, 403, 408, 413, 421, 429, 503})
"""Statuses with which access checks and limits refuse a request to any path."""
_REACHED: Final = "toolmason.audit"
"""Key in the scope of a request: a list with an item if the request has reached the server."""
_MIN_REFUSED: Final = 400
_SESSION_CHARS: Final = 12


def audited_http(app: ASGIApp, *, path: str) -> ASGIApp:
    """Return `app` with a line for each refused request; `app` itself while there is no log.

    Every error of `path`, where MCP is served, is a refusal; of other paths, those of access checks and limits.
    """
    if active() is None:
        return app

    async def auditing(scope: Scope, receive: Receive, send: Send) -> None:
        fields: dict[str, Any] = {}
        reached: list[bool] = []
        scope = {**scope, _REACHED: reached}
        status = 0

        async def watch(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
            await send(message)

        variable = fields_of_call()
        token = variable.set(fields)
        try:
            await app(scope, receive, watch)
        finally:
            variable.reset(token)
            is_refused = status in ACCESS or (status >= _MIN_REFUSED and scope["path"].rstrip("/") == path)
            if scope["type"] == "http" and is_refused and not reached:
                _refused(scope, status, fields)

    return auditing


def _refused(scope: Scope, status: int, fields: dict[str, Any]) -> None:
    log = active()
    if log is None:
        return
    arguments = fields.pop("arguments", None)
    line = {"transport": "http", **origin(scope), "user_agent": _header(scope, b"user-agent")}
    line |= _of_user(scope.get("user"))
    line |= fields
    line |= {} if arguments is None else digest_of(log, arguments)
    is_missing = status == 401 and not _header(scope, b"authorization")
    rule = fields.get("rule") or ("TOKEN_MISSING" if is_missing else f"HTTP_{status}")
    line |= {"decision": "denied", "rule": rule, "outcome": "refused"}
    log.refuse_request({**line, "status": status})


def mark_reached(scope: Scope) -> None:
    """Note that a request has reached the dispatcher or the SDK's check of it, which write its line."""
    if (reached := scope.get(_REACHED)) is not None:
        reached.append(True)


def origin(scope: Scope) -> dict[str, Any]:
    """Return the address of the client of an HTTP request, and a short form of its session's id."""
    client = scope.get("client")
    session = _header(scope, b"mcp-session-id")
    return {
        "address": client[0] if client else None,
        "forwarded_for": _header(scope, b"x-forwarded-for"),
        "session": short_session(session) if session else None,
    }


def short_session(session: str) -> str:
    """Return a digest that identifies a session: its id is a credential."""
    return hashlib.sha256(session.encode("utf-8", "replace")).hexdigest()[:_SESSION_CHARS]


def _header(scope: Scope, name: bytes) -> str:
    return next((value.decode("latin-1") for key, value in scope["headers"] if key.lower() == name), "")


def _of_user(user: object) -> dict[str, Any]:
    """Return the fields of the owner of a verified token; none if the request was refused before that."""
    token = getattr(user, "access_token", None)
    return {} if token is None else {"principal": token.subject or "", "oauth_client": token.client_id}
