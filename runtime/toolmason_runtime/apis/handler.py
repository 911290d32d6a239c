"""Handler of tools with `api`: from the arguments of a call to the result of an HTTP request."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import anyio
from toolmason_runtime.apis.registry import Apis
from toolmason_runtime.apis.spec import HttpTool
from toolmason_runtime.chunks.store import ChunkStore
from toolmason_runtime.programs.approval import approve_handler, fill_question, shorten_middle
from toolmason_runtime.programs.settings import ProgramSettings
from toolmason_runtime.protocol.binding import Binding, load_model
from toolmason_runtime.protocol.call import ToolCall
from toolmason_runtime.protocol.content import Reply
from toolmason_runtime.protocol.errors import ToolError
from toolmason_runtime.protocol.wording import disabled

if TYPE_CHECKING:
    from pydantic import BaseModel
    from toolmason_runtime.apis.client import Answer, ApiClient
    from toolmason_runtime.apis.request import Request


def http_tool(params: type[BaseModel] | str | None, tool: HttpTool, *, result: str = "") -> Binding:
    """Bind a tool to its request.

    `params` validates the arguments (see `Binding`). `result` is a reference to the model of the result, such as
    `books.models:FindResult`; empty for text.
    """
    return Binding(params, HttpRun(tool, result))


@dataclass(frozen=True, slots=True)
class HttpRun:
    """The handler of one tool."""

    tool: HttpTool
    result: str = ""

    async def __call__(self, params: BaseModel | dict[str, Any], call: ToolCall) -> Reply | BaseModel:
        """Check policy and approval, then send the request and read its answer.

        Raises:
            ToolError: the call is not allowed or not approved, or it failed; the message contains no secrets.
        """
        # Imported at the first call, because they import the HTTP client.
        from toolmason_runtime.apis.request import build_request, effective_values

        tool = self.tool
        policy = (call.find_state(ProgramSettings) or ProgramSettings()).policy
        if not policy.is_enabled(tool.name):
            raise ToolError(f"Not allowed by the policy of this server: {disabled(tool.name)}", code="POLICY")
        client = call.state(Apis).client(tool.api)
        arguments = sent_arguments(params)
        request = build_request(tool, arguments, client.settings.base_url)
        await approve_handler(
            call,
            tool=tool.name,
            risk=tool.risk,
            question=client.settings.mask(self._question(request, effective_values(tool, arguments))),
            key=f"request-{_digest(request)}",
            advice="Send shorter arguments",
        )
        timeout_s = tool.timeout_s or tool.api.timeout_s
        with anyio.move_on_after(timeout_s):
            return await self._run(client, request, call, anyio.current_time() + timeout_s)
        may_have_run = "" if tool.is_repeatable else ": it may have processed the request, check before you repeat it"
        raise ToolError(f"The API {tool.api.name} did not answer within {timeout_s:g} s{may_have_run}", code="TIMEOUT")

    def _question(self, request: Request, values: Mapping[str, Any]) -> str:
        tool = self.tool
        head = fill_question(tool.confirm, values) or f"Send this request? Its risk is: {tool.risk.value}."
        lines = [head, "", f"{request.method} {request.url}"]
        lines += [f"{name}: {value}" for name, value in request.headers.items()]
        if request.content:
            lines += ["", shorten_middle(request.content.decode("utf-8", "replace"))]
        return "\n".join(lines)

    async def _run(self, client: ApiClient, request: Request, call: ToolCall, deadline: float) -> Reply | BaseModel:
        from toolmason_runtime.apis.result import is_json, json_reply, parse_json, reply, structured
        from toolmason_runtime.apis.select import select

        tool, store, has_more = self.tool, call.state(ChunkStore), False
        if tool.pagination:
            value, has_more = await self._pages(client, request, deadline)
        else:
            answer = await self._send(client, request, deadline)
            if not (self.result or tool.select or (is_json(answer) and answer.body)):
                return await reply(answer, client.settings, store, method=request.method)
            value = parse_json(answer, client.settings)
        # jq can decode a secret, for example from base64.
        values = client.settings.masked(await select(tool.select, value)) if tool.select else [value]
        if self.result:
            model = await anyio.to_thread.run_sync(load_model, self.result)
            return structured(tool, values, model, client.settings, has_more=has_more)
        return await json_reply(values, store, has_more=has_more)

    async def _send(self, client: ApiClient, request: Request, deadline: float) -> Answer:
        from toolmason_runtime.apis.result import check_status

        answer = await client.send(
            request, is_repeatable=self.tool.is_repeatable, retries=self.tool.api.retries, deadline=deadline
        )
        check_status(answer, request, client.settings)
        return answer

    async def _pages(self, client: ApiClient, request: Request, deadline: float) -> tuple[Any, bool]:
        """Return the pages of an answer as one, and whether more exist."""
        from toolmason_runtime.apis.client import MAX_BODY_BYTES
        from toolmason_runtime.apis.pagination import items_of, joined, next_request
        from toolmason_runtime.apis.result import parse_json

        pagination = self.tool.pagination
        assert pagination is not None  # noqa: S101  checked by the caller
        pages: list[Any] = []
        size = 0
        following: Request | None = request
        while following is not None and len(pages) < pagination.max_pages and size <= MAX_BODY_BYTES:
            if not client.settings.allows(following.url):
                raise client.not_allowed("links its next page", following.url)
            answer = await self._send(client, following, deadline)
            page = parse_json(answer, client.settings)
            if items_of(pagination, page) is None:
                message = f"The answer of the API {self.tool.api.name} has no array of items at "
                raise ToolError(f"{message}`{pagination.items or '.'}`, as `paginate` requires", code="API_ANSWER")
            pages.append(page)
            size += len(answer.body)
            following = next_request(pagination, following, page, url=answer.url, headers=answer.headers)
        items_only = self.tool.returns_list and not self.tool.select
        return joined(pagination, pages, items_only=items_only), following is not None


def sent_arguments(params: BaseModel | dict[str, Any]) -> dict[str, Any]:
    """Return the sent arguments as JSON values by their manifest names. A dict has them already."""
    if isinstance(params, dict):
        return dict(params)
    return params.model_dump(mode="json", by_alias=True, exclude_unset=True)


def _digest(request: Request) -> str:
    parts = [request.method, request.url, repr(sorted(request.headers.items())), repr(request.content)]
    return hashlib.sha256("\0".join(parts).encode()).hexdigest()[:32]
