"""Authorize HTTP requests with access tokens: an OAuth 2.1 resource server, built from the parts of the official SDK.

MCP 2025-11-25 and 2026-07-28, "Authorization"; RFC 9728 (metadata), RFC 6750 (challenges).
"""

from __future__ import annotations

import ipaddress
import os
from collections.abc import Callable, Mapping
from typing import Any, Final
from urllib.parse import urlsplit

from mcp.server.auth.middleware.auth_context import AuthContextMiddleware
from mcp.server.auth.middleware.bearer_auth import BearerAuthBackend, RequireAuthMiddleware
from mcp.server.auth.routes import build_resource_metadata_url, create_protected_resource_routes
from mcp.server.auth.settings import AuthSettings
from mcp.types import INVALID_REQUEST, ErrorData, JSONRPCError, JSONRPCMessage, JSONRPCRequest
from pydantic import ValidationError
from starlette.middleware.authentication import AuthenticationMiddleware
from starlette.requests import HTTPConnection
from starlette.responses import PlainTextResponse, Response
from starlette.types import ASGIApp, Receive, Scope, Send
from toolmason_runtime.audit import events
from toolmason_runtime.audit.calls import of_principal
from toolmason_runtime.calls.authorization import INSUFFICIENT_SCOPE, insufficient_scope, missing_scopes
from toolmason_runtime.calls.principal import Principal
from toolmason_runtime.programs.argv import expand_variables
from toolmason_runtime.server.access_tokens import AccessTokens, TokenRules
from toolmason_runtime.server.jwks import KeySet
from toolmason_runtime.server.sdk import principal_of
from toolmason_runtime.shared.catalogue import AuthEntry, Catalogue, ToolEntry
from toolmason_runtime.shared.errors import ToolError
from toolmason_runtime.shared.selection import is_enabled
from toolmason_runtime.shared.shown_names import bare_name, meta_name
from toolmason_runtime.shared.styles import CODE, STYLES
from toolmason_runtime.transports.framing import REFUSE
from toolmason_runtime.transports.http_access import AccessError, Authorize
from toolmason_runtime.transports.http_app import METADATA_PATH

_URLS: Final = ("issuer", "jwks_url", "resource")


def authorization(catalogue: Catalogue, flags: Mapping[str, str | None], *, token: str = "") -> Authorize:
    """Return the function that puts an ASGI app behind the check of access tokens.

    Args:
        catalogue: the tools and settings of a server with `[server.auth]`.
        flags: values of the command line that replace those of the manifest, by key.
        token: bearer token of the operator, accepted beside access tokens; empty for none.

    Raises:
        AccessError: a variable is not set, or a URL is invalid.
    """
    entry = catalogue["server"]["auth"]
    settings = _settings(entry, flags)
    tools = _scoped_tools(catalogue)
    all_scopes = {*entry["scopes"], *(scope for tool in tools.values() for scope in tool["scopes"])}
    rules = TokenRules(issuer=settings["issuer"], audience=settings["audience"], algorithms=tuple(entry["algorithms"]))
    verifier = AccessTokens(rules, KeySet(settings["jwks_url"]), operator_token=token, operator_scopes=all_scopes)
    try:
        # The model keeps the URLs as they are written; clients compare them as texts.
        auth = AuthSettings(
            issuer_url=settings["issuer"],  # type: ignore[arg-type]
            resource_server_url=settings["resource"],  # type: ignore[arg-type]
            required_scopes=entry["scopes"],
            validate_token_resource=False,  # the verifier checks the audience
        )
    except ValidationError as error:
        raise AccessError(f"[server.auth] is invalid: {error.errors()[0]['msg']}") from error
    return _Authorization(catalogue, tools, auth, verifier).protect


def _settings(entry: AuthEntry, flags: Mapping[str, str | None]) -> dict[str, str]:
    settings = {
        "issuer": _setting("issuer", flags.get("issuer") or entry["issuer"]),
        "audience": _setting("audience", flags.get("audience") or entry["audience"]),
        "jwks_url": _setting("jwks_url", flags.get("jwks_url") or entry["jwks_url"]),
    }
    settings["resource"] = _setting("resource", flags.get("resource") or entry["resource"] or settings["audience"])
    return settings


def _setting(key: str, text: str) -> str:
    """Return a setting with its variables expanded.

    Raises:
        AccessError: a variable is not set, or the value is not a URL that keeps tokens and keys confidential.
    """
    flag = f"--auth-{key.replace('_', '-')}"
    try:
        value = expand_variables(f"\0{text}", os.environ, where=f"`{key}` of [server.auth]")[1:].strip()
    except ToolError as error:
        reason = error.message.partition(": ")[2]
        raise AccessError(f"{reason}; set it, or use {flag}") from error
    if key not in _URLS:
        return value
    try:
        parts = urlsplit(value)
        is_valid = bool(parts.hostname) and not (parts.query or parts.fragment or parts.username)
        is_safe = parts.scheme == "https" or (parts.scheme == "http" and _is_loopback(parts.hostname or ""))
    except ValueError:
        is_valid = is_safe = False
    if key == "resource" and not is_valid and "://" not in value:
        raise AccessError("the audience is not a URL: set the address of this server's endpoint with --auth-resource")
    if not (is_valid and is_safe):
        raise AccessError(f"`{key}` of [server.auth] must be an https URL without query; got `{value}` ({flag})")
    return value


def _is_loopback(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def _scoped_tools(catalogue: Catalogue) -> dict[str, ToolEntry]:
    """Return the enabled tools that need scopes, by name and alias."""
    return {
        alias: entry
        for name, entry in catalogue["tools"].items()
        if "scopes" in entry and is_enabled(entry)
        for alias in (name, *entry.get("aliases", ()))
    }


class _Authorization:
    def __init__(
        self, catalogue: Catalogue, tools: Mapping[str, ToolEntry], auth: AuthSettings, verifier: AccessTokens
    ) -> None:
        prefix = catalogue["discovery"]["prefix"]
        self._prefix = prefix
        # Programs have no `tool_name`: the dispatcher checks each of their calls.
        styles = (facts for style, facts in STYLES.items() if style != CODE)
        calls = {name for facts in styles for name in (facts.call, facts.call_read) if name}
        self._runners = {meta_name(name, catalogue["tools"], prefix) for name in calls}
        """The bare names of the meta-tools that run a tool."""
        self._names = {*self._runners, *tools}
        self._tools = tools
        self._verifier = verifier
        self._scopes = auth.required_scopes or []
        assert auth.resource_server_url is not None  # noqa: S101  `authorization` sets it
        self._metadata_url = build_resource_metadata_url(auth.resource_server_url)
        [self._metadata] = create_protected_resource_routes(
            auth.resource_server_url,
            [auth.issuer_url],
            # Scopes of single tools are requested when a tool is called.
            scopes_supported=self._scopes or None,
            resource_name=catalogue["server"]["title"] or catalogue["server"]["name"],
        )

    def protect(self, app: ASGIApp) -> ASGIApp:
        """Return `app` for authorized requests, with the public metadata of this resource server."""

        async def checked(scope: Scope, receive: Receive, send: Send) -> None:
            await app({**scope, REFUSE: self._refusal(principal_of(scope["user"]))}, receive, send)

        required = RequireAuthMiddleware(checked, self._scopes, self._metadata_url)
        private = AuthenticationMiddleware(
            AuthContextMiddleware(required), backend=BearerAuthBackend(self._verifier), on_error=_unavailable
        )

        async def route(scope: Scope, receive: Receive, send: Send) -> None:
            if scope["type"] == "lifespan":
                await app(scope, receive, send)
                return
            answers: ASGIApp = private
            if scope["type"] == "http" and f"{scope['path']}/".startswith(f"{METADATA_PATH}/"):
                # The URI of another resource, by RFC 9728: a client without a token can try the next one.
                answers = self._metadata.app if scope["path"] == self._metadata.path else self._no_metadata
            await answers(scope, receive, send)

        return route

    async def _no_metadata(self, scope: Scope, receive: Receive, send: Send) -> None:
        await PlainTextResponse(f"The metadata is at {self._metadata.path}.\n", 404)(scope, receive, send)

    def _refusal(self, principal: Principal | None) -> Callable[[JSONRPCMessage], Response | None]:
        """Return the function that refuses a call of a tool with 403 if `principal` lacks a scope of it.

        Clients can then ask the user for this scope. The dispatcher refuses calls that are not recognized here.
        """

        def refuse(message: JSONRPCMessage) -> Response | None:
            if not isinstance(message, JSONRPCRequest) or message.method != "tools/call":
                return None
            entry = self._called_tool(message.params or {})
            missing = missing_scopes(entry, principal) if entry else []
            return self._insufficient_scope(message, entry, principal) if entry and missing else None

        return refuse

    def _called_tool(self, params: Mapping[str, Any]) -> ToolEntry | None:
        """Return the tool of a call, perhaps through a meta-tool; None for one that needs no scope."""
        name, arguments = self._called_name(params), params.get("arguments")
        if name in self._runners and isinstance(arguments, dict):
            name = arguments.get("tool_name")
        return self._tools.get(name.strip()) if isinstance(name, str) else None

    def _called_name(self, params: Mapping[str, Any]) -> Any:
        """Return the name in the parameters of a call, without the prefix."""
        name = params.get("name")
        return bare_name(name, self._prefix, self._names) if isinstance(name, str) else name

    def _insufficient_scope(self, message: JSONRPCRequest, entry: ToolEntry, principal: Principal | None) -> Response:
        """Return the response of RFC 6750, section 3.1. Its `scope` also has the granted scopes: none is lost."""
        missing = missing_scopes(entry, principal)
        self._note_refusal(message, entry, principal, missing)
        granted = principal.scopes if principal else frozenset()
        known = {*self._scopes, *(scope for tool in self._tools.values() for scope in tool["scopes"])}
        scopes = " ".join(sorted({*entry["scopes"], *(known & granted)}))
        text = insufficient_scope(entry["tool"]["name"], missing)
        error = ErrorData(code=INVALID_REQUEST, message=text, data={"scopes": missing})
        challenge = (
            f'Bearer error="insufficient_scope", scope="{scopes}", error_description="Required: {" ".join(missing)}",'
            f' resource_metadata="{self._metadata_url}"'
        )
        return Response(
            JSONRPCError(jsonrpc="2.0", id=message.id, error=error).model_dump_json(by_alias=True, exclude_unset=True),
            403,
            headers={"WWW-Authenticate": challenge},
            media_type="application/json",
        )

    def _note_refusal(
        self, message: JSONRPCRequest, entry: ToolEntry, principal: Principal | None, missing: list[str]
    ) -> None:
        """Add the refused call to the line of its request in the audit log."""
        params = message.params or {}
        name, arguments = self._called_name(params), params.get("arguments")
        events.note(
            **of_principal(principal), request=message.id, tool=entry["tool"]["name"], arguments=arguments or {}
        )
        events.note(rule=INSUFFICIENT_SCOPE, scopes=missing)
        if name in self._runners and isinstance(arguments, dict):
            inner: Any = next(
                (arguments[key] for key in ("args", "arguments") if isinstance(arguments.get(key), dict)), {}
            )
            events.note(via=name, arguments=inner)
        elif name != entry["tool"]["name"]:
            events.note(alias=name)


def _unavailable(_: HTTPConnection, error: Exception) -> Response:
    return PlainTextResponse(f"{error}\n", 503, headers={"Retry-After": "10"})
