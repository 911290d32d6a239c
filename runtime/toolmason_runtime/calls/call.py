"""The second parameter of every handler: progress, log, client requests and the state of the server."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final, Literal, Protocol, TypeVar

from toolmason_runtime.calls.secrets import mask, masked
from toolmason_runtime.shared.client_profiles import ClientProfile, client_profile

if TYPE_CHECKING:
    from toolmason_runtime.calls.principal import Principal
    from toolmason_runtime.calls.text_store import KeptText

State = TypeVar("State")
Level = Literal["debug", "info", "notice", "warning", "error", "critical", "alert", "emergency"]
"""Syslog severities of RFC 5424, least first."""
ElicitationMode = Literal["form", "url"]

DEFAULT_WAIT_S: Final = 50.0
"""Time that a handler may wait for a person if the client's timeout is unknown, or the client accepts no progress."""
WAIT_MARGIN_S: Final = 10.0
"""Time between the longest wait and the client's timeout, for the rest of the call."""


def can_elicit(capabilities: Mapping[str, Any], mode: ElicitationMode) -> bool:
    """Return whether a client with `capabilities` can ask its user in `mode`.

    Clients of the protocol without modes declare `{}`, which means forms.
    """
    modes = capabilities.get("elicitation")
    return modes is not None and (mode in modes or (mode == "form" and "url" not in modes))


@dataclass(frozen=True, slots=True)
class ServerInfo:
    """The name and version of the server, and its discovery style; it is in the state of every call."""

    name: str
    version: str
    style: str


class Context(Protocol):
    """Interface to the transport for one request: progress, logging, client requests.

    The transport cancels a request by cancelling the asyncio task in which `dispatch` runs.
    """

    @property
    def operation_id(self) -> str:
        """Identity of this request within the process, for logs and shared work."""
        ...

    @property
    def capabilities(self) -> Mapping[str, Any]:
        """The client's capabilities, as sent."""
        ...

    @property
    def client_name(self) -> str:
        """The client's own name for itself (`clientInfo.name`); empty if unknown."""
        ...

    @property
    def is_modern(self) -> bool:
        """Whether the request is of 2026-07-28 or later, where a handler runs again instead of waiting."""
        ...

    @property
    def has_progress_token(self) -> bool:
        """Whether the client receives progress of this request."""
        ...

    @property
    def is_local(self) -> bool:
        """Whether the client started this server; see `ToolCall.is_local`."""
        ...

    @property
    def principal(self) -> Principal | None:
        """The owner of the access token; see `ToolCall.principal`."""
        ...

    @property
    def answered(self) -> Collection[str]:
        """Keys of the requests to the client that it has answered in this call (2026-07-28)."""
        ...

    async def progress(self, progress: float, total: float | None, message: str | None) -> None:
        """Send progress if the client asked for it."""
        ...

    async def log(self, level: Level, data: Any, logger: str | None) -> None:
        """Send a log message if the client asked for that level."""
        ...

    async def request(self, key: str, method: str, params: Mapping[str, Any]) -> dict[str, Any]:
        """Send a request to the client: `elicitation/create`, `sampling/createMessage` or `roots/list`.

        In the 2025-11-25 protocol this is a separate request. In 2026-07-28 it is the `key` entry of an input-required
        result, and the handler runs again from the start with the response.
        """
        ...


Method = Callable[[Mapping[str, Any], Context], Awaitable[dict[str, Any]]]
"""The answer to one method of MCP: its parameters and the context of the request to the result."""


class InputRequired(BaseException):
    """The client must answer `requests` before the call can continue (2026-07-28); each is `{"method", "params"}`.

    Not an `Exception`, so that no handler catches it as a failure.
    """

    def __init__(self, requests: Mapping[str, dict[str, Any]]) -> None:
        super().__init__(*requests)
        self.requests = dict(requests)


class ToolCall:
    """One call of a tool: progress, log, client requests and the state of the server.

    Example:
        ```python
        async def count_lines(params: CountLinesParams, call: ToolCall) -> LineCount:
            await call.progress(0, message="reading")
            return call.state(Archive).count_lines(params.name)
        ```

    A handler that is a plain `def` runs in a worker thread. There, `anyio.from_thread.run(call.progress, 1, 2)` awaits
    a method, and `anyio.from_thread.check_cancelled()` ends the work if the call was cancelled.
    """

    __slots__ = ("_client_roots", "_context", "_state", "_tool_timeouts", "tool")

    tool: str
    """Name of the tool."""

    def __init__(
        self,
        tool: str,
        context: Context,
        state: Sequence[object],
        *,
        tool_timeouts: Mapping[str, float] = MappingProxyType({}),
    ) -> None:
        self.tool = tool
        self._context = context
        self._state = state
        self._tool_timeouts = tool_timeouts
        self._client_roots: list[dict[str, Any]] | None = None

    @property
    def operation_id(self) -> str:
        """Identity of this call within the process."""
        return self._context.operation_id

    @property
    def client_capabilities(self) -> Mapping[str, Any]:
        """The client's capabilities, as sent."""
        return self._context.capabilities

    @property
    def client_name(self) -> str:
        """The client's own name for itself (`clientInfo.name`), such as `codex-mcp-client`; empty if unknown."""
        return self._context.client_name

    @property
    def client(self) -> ClientProfile:
        """The facts about the client that the toolkit knows; those of an unknown client have defaults."""
        return client_profile(self.client_name)

    @property
    def max_wait_s(self) -> float:
        """Seconds that a handler may wait for a person in this call, while it sends progress.

        0 in 2026-07-28, where nothing waits: `elicit` ends the run, and the client calls again with the answer.
        """
        if self._context.is_modern:
            return 0.0
        timeout_s = self._tool_timeouts.get(self.client_name, client_profile(self.client_name).tool_timeout_s)
        if timeout_s is None:
            return DEFAULT_WAIT_S
        wait_s = max(0.0, timeout_s - WAIT_MARGIN_S)
        return wait_s if self._context.has_progress_token else min(wait_s, DEFAULT_WAIT_S)

    @property
    def is_local(self) -> bool:
        """Whether the client started this server, and so may choose the directories that it accesses.

        True over stdio and in one process, false over HTTP, where every program that reaches the port can call.
        """
        return self._context.is_local

    @property
    def principal(self) -> Principal | None:
        """The owner of the request's access token: subject, scopes and claims.

        None over stdio and in one process, and over HTTP without `[server.auth]`. The bearer token of `--token-file`
        belongs to a principal without subject and claims that has every scope of the manifest.
        """
        return self._context.principal

    @property
    def is_task(self) -> bool:
        """Whether the call has become a task: the client polls, so the handler may take as long as a task may exist."""
        return bool(getattr(self._context, "is_task", False))

    @property
    def answered(self) -> Collection[str]:
        """Keys of the questions that the client has answered, if the handler runs again (2026-07-28)."""
        return self._context.answered if self._context.is_modern else ()

    def state(self, kind: type[State]) -> State:
        """Return the object of type `kind` that the server's lifespan yielded, or the `Options`.

        Raises:
            LookupError: it yielded none, which is a bug in the server.
        """
        item = self.find_state(kind)
        if item is None:
            raise LookupError(f"the server's lifespan yielded no {kind.__name__}")
        return item

    def find_state(self, kind: type[State]) -> State | None:
        """Return the object of type `kind` that the server's lifespan yielded; None without one."""
        return next((item for item in self._state if isinstance(item, kind)), None)

    async def keep(self, text: str, *, max_part_bytes: int | None = None) -> KeptText:
        """Cut a text that may be too long for one answer; `fetch_chunk` returns the parts after the first for an hour.

        Example:
            ```python
            kept = await call.keep(report)
            return Reply([kept.first, f"[part 1 of {kept.total}: {kept.next_call} returns the next]"])
            ```

        Args:
            text: the whole text.
            max_part_bytes: maximum UTF-8 bytes of a part; it always fits into one answer of every client.
        """
        from toolmason_runtime.calls.text_store import TextStore

        store = self.state(TextStore)  # type: ignore[type-abstract]  # a lookup makes no instance
        return await store.keep(text, max_part_bytes=max_part_bytes)

    async def once(
        self,
        key: str,
        work: Callable[[], Awaitable[str]],
        *,
        keep_s: float,
        on_wanted: Callable[[], None] = lambda: None,
    ) -> str:
        """Return the text of `work`, of which equal calls in other processes of this server wait for the text.

        It is for work that is slow or costs money, on a server with several processes and a `chunk_store`. The text is
        stored for `keep_s` seconds, so it is not lost if this process is killed. Alone, a process just calls `work`.

        Args:
            key: identifies the work among those of this tool; it must contain everything that the text depends on.
            work: returns the text; its errors are not shared.
            keep_s: seconds that the text is stored, for calls that are repeated.
            on_wanted: called from time to time while another process waits for the text.
        """
        from toolmason_runtime.calls.text_store import TextStore

        store = self.state(TextStore)  # type: ignore[type-abstract]  # a lookup makes no instance
        return await store.once(f"{self.tool}\0{key}", work, keep_s=keep_s, on_wanted=on_wanted)

    async def progress(self, done: float, total: float | None = None, message: str | None = None) -> None:
        """Send progress to the client; `done` must increase with each call. Secret options are masked in `message`."""
        await self._context.progress(done, total, mask(message) if message else message)

    async def log(self, level: Level, data: Any, logger: str | None = None) -> None:
        """Send a log message to the client. It is not shown to the model. Secret options are masked in it."""
        await self._context.log(level, masked(data), logger)

    def can_elicit(self, mode: ElicitationMode) -> bool:
        """Return whether the client can ask its user with a form, or by opening a page."""
        return can_elicit(self.client_capabilities, mode)

    def person_needed(self, reason: str) -> None:
        """Mark the result of this call as preliminary: a person must decide first, for `reason`.

        The same call later must return the decision. A program that made the call is suspended meanwhile; other
        callers get the result.
        """
        notify = getattr(self._context, "person_needed", None)
        if notify is not None:
            notify(reason)

    async def resource_updated(self, uri: str) -> None:
        """Announce a changed resource to the clients that subscribe to it."""
        from toolmason_runtime.wire.resource_updates import ResourceUpdates

        await self.state(ResourceUpdates).announce(uri)

    async def elicit(self, message: str, schema: Mapping[str, Any], *, key: str = "elicit") -> dict[str, Any]:
        """Ask the user to fill in a form; return `{"action", "content"?}` as MCP defines it.

        Example:
            ```python
            schema = {"type": "object", "properties": {"branch": {"type": "string"}}}
            answer = await call.elicit("Which branch?", schema)
            if answer["action"] != "accept":
                raise ToolError("the user did not choose a branch")
            ```

        The handler may run again from its start after this, so everything before it must be safe to repeat.

        Args:
            message: the text above the form.
            schema: JSON Schema of a flat object.
            key: identity of this question; each question of one call needs its own.
        """
        params = {"mode": "form", "message": message, "requestedSchema": dict(schema)}
        return await self._context.request(key, "elicitation/create", params)

    async def elicit_url(self, message: str, url: str, *, key: str, elicitation_id: str) -> dict[str, Any]:
        """Ask the user to open a page; return `{"action"}`, where `accept` means that it is open, not what follows.

        The handler may run again from its start after this, so everything before it must be safe to repeat.

        Args:
            message: the reason for opening the page.
            url: address of the page.
            key: identity of this question; each question of one call needs its own.
            elicitation_id: identity of this question within the server; 2026-07-28 does not send it.
        """
        params = {"mode": "url", "message": message, "url": url}
        if not self._context.is_modern:
            params["elicitationId"] = elicitation_id
        return await self._context.request(key, "elicitation/create", params)

    async def sample(self, params: Mapping[str, Any], *, key: str = "sample") -> dict[str, Any]:
        """Ask the client's model; `params` and the result are those of `sampling/createMessage`."""
        return await self._context.request(key, "sampling/createMessage", params)

    async def client_roots(self, *, key: str = "roots") -> list[dict[str, Any]]:
        """Return the client's roots, each `{"uri", "name"?}`; empty without the capability. One request a call.

        `key` is the identity of the request, as for `elicit`.
        """
        if "roots" not in self.client_capabilities:
            return []
        if self._client_roots is None:
            answer = await self._context.request(key, "roots/list", {})
            self._client_roots = answer.get("roots", [])
        return list(self._client_roots)
