"""The protocol state of one connection: era, handshake and log level; checks of requests, and the form of results."""

from __future__ import annotations

from functools import cached_property

from toolmason_runtime.shared.errors import (
    INVALID_PARAMS,
    INVALID_REQUEST,
    METHOD_NOT_FOUND,
    RESOURCE_NOT_FOUND,
    MethodError,
)
from toolmason_runtime.shared.server_info import server_info
from toolmason_runtime.wire.requests import (
    CAPABILITIES,
    CLIENT_INFO,
    DEFAULT_LEVEL,
    HANDSHAKE_VERSIONS,
    MODERN_VERSIONS,
    PROTOCOL_VERSION,
    SERVER_INFO,
    TASK_METHODS,
    declared_extensions,
    meta_of,
    request_shape,
)

TYPE_CHECKING = False  # see `boot`: importing `typing` takes long
if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Mapping
    from typing import Any, Final

    from toolmason_runtime.calls.call import Level
    from toolmason_runtime.shared.catalogue import ServerEntry

    Params = Mapping[str, Any]

UNSUPPORTED_VERSION: Final = -32022
_OF_CLIENT: Final = {"ttlMs": 3_600_000, "cacheScope": "private"}
"""Lists are constant for the process, but the names of tools, also in texts, depend on the client."""
_OF_FILES: Final = {"ttlMs": 0, "cacheScope": "private"}
CACHE_HINTS: Final[Mapping[str, Mapping[str, Any]]] = {
    **dict.fromkeys(
        ("server/discover", "tools/list", "prompts/list", "resources/list", "resources/templates/list"), _OF_CLIENT
    ),
    **dict.fromkeys(("resources/read", "skills/list", "skills/get", "resources/directory/read"), _OF_FILES),
}


class Session:
    """The state of a connection: the first request decides its era, and `initialize` describes the client.

    `server` is the catalogue's entry of the server, and `methods` are those that it answers. `instructions` returns
    the instructions for a client, from its `clientInfo.name`.
    """

    def __init__(self, server: ServerEntry, methods: Collection[str], instructions: Callable[[str], str]) -> None:
        self._instructions_for = instructions
        self._server = server
        self._methods = methods
        self.is_modern: bool | None = None
        """Whether requests are of 2026-07-28; None before the first request."""
        self.is_ready = False
        """Whether the handshake has begun (2025-11-25 and earlier)."""
        self.level: Level = DEFAULT_LEVEL
        self._client: Params = {}

    def check(self, method: str, params: Params | None) -> None:
        """Decide the era if this is the first request, and check the request.

        Raises:
            MethodError: it is invalid.
        """
        has_envelope = PROTOCOL_VERSION in meta_of(params)
        if self.is_modern is None:
            self.is_modern = has_envelope and method != "initialize"
        if self.is_modern:
            _check_envelope(method, params)
        elif has_envelope and method != "initialize":
            raise MethodError(
                INVALID_REQUEST,
                "this connection serves the handshake protocol era; "
                "requests carrying the 2026-07-28 envelope are not accepted on it",
            )
        shape = request_shape(method, is_modern=self.is_modern)
        if shape is None:
            raise _unknown(method)
        if not shape({} if params is None else params):
            raise _invalid_params()
        if method not in self._served:
            raise _unknown(method)
        if not (self.is_modern or self.is_ready or method in {"initialize", "ping"}):
            raise _invalid_params()

    @cached_property
    def _served(self) -> frozenset[str]:
        own = {"initialize", "ping", "logging/setLevel", "server/discover", "subscriptions/listen", *TASK_METHODS}
        return frozenset(own | set(self._methods))

    @property
    def _has_subscriptions(self) -> bool:
        return "resources/subscribe" in self._methods

    def answer(self, method: str, params: Params) -> dict[str, Any] | None:
        """Return the result of a method that needs no handler; None for other methods."""
        match method:
            case "initialize":
                return self._initialize(params)
            case "server/discover":
                about = {"supportedVersions": list(MODERN_VERSIONS), "capabilities": self._capabilities}
                return self.complete(method, about | self._instructions(params))
            case "logging/setLevel":
                self.level = params["level"]
                return {}
            case "ping":
                return {}
        return None

    def _initialize(self, params: Params) -> dict[str, Any]:
        self._client = params
        self.is_ready = True
        self.level = DEFAULT_LEVEL
        offered = params["protocolVersion"]
        return {
            "protocolVersion": offered if offered in HANDSHAKE_VERSIONS else HANDSHAKE_VERSIONS[-1],
            "capabilities": self._capabilities,
            "serverInfo": self._server_info,
            **self._instructions(params),
        }

    def complete(self, method: str, result: dict[str, Any]) -> dict[str, Any]:
        """Return a result with the members that the era requires."""
        if not self.is_modern:
            return result
        if result.get("resultType") != "input_required":
            result = {"resultType": "complete", **CACHE_HINTS.get(method, {}), **result}
        return {**result, "_meta": {SERVER_INFO: self._server_info, **(result.get("_meta") or {})}}

    def convert(self, error: MethodError) -> MethodError:
        """Return an error with the code of the era."""
        if self.is_modern and error.code == RESOURCE_NOT_FOUND:
            error.code = INVALID_PARAMS
        return error

    def client_capabilities(self, params: Params) -> dict[str, Any]:
        """Return the client's capabilities, as sent, without null."""
        declared = meta_of(params).get(CAPABILITIES) if self.is_modern else self._client.get("capabilities")
        if not declared:
            return {}
        return _without_null(declared)

    def client_name(self, params: Params) -> str:
        """Return the name in `clientInfo`: of the handshake, or of this request (2026-07-28)."""
        info = meta_of(params).get(CLIENT_INFO) if self.is_modern else self._client.get("clientInfo")
        name: str = (info or {}).get("name", "")
        return name

    def client_version(self, params: Params) -> str:
        """Return the version in `clientInfo`, as `client_name`."""
        info = meta_of(params).get(CLIENT_INFO) if self.is_modern else self._client.get("clientInfo")
        version: str = (info or {}).get("version", "")
        return version

    @cached_property
    def _server_info(self) -> dict[str, Any]:
        return server_info(self._server)

    def _instructions(self, params: Params) -> dict[str, str]:
        text = self._instructions_for(self.client_name(params))
        return {"instructions": text} if text else {}

    @cached_property
    def _capabilities(self) -> dict[str, Any]:
        """The capabilities of the server; its lists never change."""
        capabilities: dict[str, Any] = {"logging": {}}
        for part in ("tools", "prompts", "resources"):
            if f"{part}/list" in self._methods:
                capabilities[part] = {"listChanged": False}
        if "resources" in capabilities:
            capabilities["resources"]["subscribe"] = self._has_subscriptions
        if "completion/complete" in self._methods:
            capabilities["completions"] = {}
        if self.is_modern and (extensions := declared_extensions(self._methods)):
            capabilities["extensions"] = extensions
        return capabilities


class Opened:
    """A session that the boot phase has begun. `unread` is the input from its first unanswered request on."""

    def __init__(self, session: Session, unread: bytes, *, is_checked: bool, is_prepared: bool) -> None:
        self.session = session
        self.unread = unread
        self.is_checked = is_checked
        """Whether the startup check has run."""
        self.is_prepared = is_prepared
        """Whether the preparation of the first call has begun."""


def _check_envelope(method: str, params: Params | None) -> None:
    """Check the part of a request that every method of 2026-07-28 has.

    Raises:
        MethodError: it is invalid.
    """
    offered = (params or {}).get("protocolVersion") if method == "initialize" else None
    if method == "initialize":
        raise MethodError(
            UNSUPPORTED_VERSION,
            "connection is serving the 2026-07-28 protocol; the initialize handshake is not accepted",
            _supported(offered),
        )
    meta = (params or {}).get("_meta")
    if not isinstance(meta, dict):
        raise MethodError(
            INVALID_PARAMS,
            "params._meta must be an object carrying the required "
            f"{PROTOCOL_VERSION!r} and {CAPABILITIES!r} envelope keys",
        )
    if missing := [key for key in (PROTOCOL_VERSION, CAPABILITIES) if key not in meta]:
        reason = f"params._meta is missing the required envelope key(s): {', '.join(missing)}"
        raise MethodError(INVALID_PARAMS, reason)
    version = meta[PROTOCOL_VERSION]
    if not isinstance(version, str):
        raise MethodError(INVALID_PARAMS, "the protocol-version envelope value must be a string")
    if version not in MODERN_VERSIONS:
        raise MethodError(UNSUPPORTED_VERSION, "Unsupported protocol version", _supported(version))


def _supported(requested: Any) -> dict[str, Any]:
    supported: dict[str, Any] = {"supported": list(MODERN_VERSIONS)}
    return supported | ({"requested": requested} if isinstance(requested, str) else {})


def _unknown(method: str) -> MethodError:
    return MethodError(METHOD_NOT_FOUND, "Method not found", method)


def _invalid_params() -> MethodError:
    return MethodError(INVALID_PARAMS, "Invalid request parameters", "")


def _without_null(value: dict[str, Any]) -> dict[str, Any]:
    return {
        name: _without_null(member) if isinstance(member, dict) else member
        for name, member in value.items()
        if member is not None
    }
