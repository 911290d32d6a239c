"""Handler of tools with `api`: from the arguments of a call to the result of an HTTP request."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

import anyio
from toolmason_runtime.apis.document import Document, Work
from toolmason_runtime.apis.fields import fields_of
from toolmason_runtime.apis.registry import Apis
from toolmason_runtime.calls.binding import Binding, load_model
from toolmason_runtime.calls.call import ToolCall
from toolmason_runtime.chunks.store import ChunkStore
from toolmason_runtime.programs.approval import approve_handler, fill_question, shorten_middle
from toolmason_runtime.programs.settings import ProgramSettings
from toolmason_runtime.remote.parse import RemoteDataError
from toolmason_runtime.shared.budget import ANSWER
from toolmason_runtime.shared.errors import ToolError
from toolmason_runtime.shared.extras import APIS, USERS, missing_extra
from toolmason_runtime.shared.specs.program import Risk
from toolmason_runtime.shared.specs.request import HttpTool
from toolmason_runtime.shared.values.wording import disabled
from toolmason_runtime.wire.content import Noted, Reply

if TYPE_CHECKING:
    from pydantic import BaseModel
    from toolmason_runtime.apis.client import Answer, ApiClient
    from toolmason_runtime.apis.request import Request
    from toolmason_runtime.apis.settings import ApiSettings


def http_tool(params: type[BaseModel] | str | None, tool: HttpTool, *, result: str = "") -> Binding:
    """Bind a tool to its request.

    `params` validates the arguments (see `Binding`). `result` is a reference to the model of the result, such as
    `books.models:FindResult`; empty for text.
    """
    return Binding(params, HttpRun(tool, result))


@dataclass(frozen=True, slots=True)
class HttpRun:
    """The handler of one tool."""

    is_foreign: ClassVar[bool] = True
    """Its results are content of others."""

    tool: HttpTool
    result: str = ""

    async def __call__(self, params: BaseModel | dict[str, Any], call: ToolCall) -> Reply | BaseModel | Noted:
        """Check policy and approval, then send the request and read its answer.

        Raises:
            ToolError: the call is not allowed or not approved, or it failed; the message contains no secrets.
        """
        if problem := missing_extra(USERS[APIS], APIS):
            raise ToolError(problem, code="NOT_INSTALLED")
        # Imported at the first call, because they import the HTTP client.
        from toolmason_runtime.apis.files import check_new, directories_of, has_files, with_files
        from toolmason_runtime.apis.request import build_request, effective_values

        tool = self.tool
        policy = (call.find_state(ProgramSettings) or ProgramSettings()).policy
        if not policy.is_enabled(tool.name):
            raise ToolError(f"Not allowed by the policy of this server: {disabled(tool.name)}", code="POLICY")
        client = call.state(Apis).client(tool.api)
        arguments = sent_arguments(params)
        target = str(arguments.get(tool.save) or "")
        directories = await directories_of(call) if target or has_files(tool) else ()
        sent = arguments
        if directories:
            sent = await anyio.to_thread.run_sync(with_files, tool, arguments, directories)
        if target:
            await anyio.to_thread.run_sync(check_new, tool.save, target, directories)
        request = build_request(tool, sent, client.settings.base_url)
        await approve_handler(
            call,
            tool=tool.name,
            risk=Risk.WRITE if target and tool.risk is Risk.READ else tool.risk,
            question=client.settings.mask(self._question(request, effective_values(tool, sent), target)),
            key=f"request-{_digest(request, target)}",
            advice="Send shorter arguments",
        )
        timeout_s = tool.timeout_s or tool.api.timeout_s
        with anyio.move_on_after(timeout_s):
            deadline = anyio.current_time() + timeout_s
            if target:
                return await self._save(client, request, target, directories, deadline)
            return await self._run(client, request, call, deadline)
        may_have_run = "" if tool.is_repeatable else ": it may have processed the request, check before you repeat it"
        raise ToolError(f"The API {tool.api.name} did not answer within {timeout_s:g} s{may_have_run}", code="TIMEOUT")

    def _question(self, request: Request, values: Mapping[str, Any], target: str) -> str:
        from toolmason_runtime.apis.files import files_in

        tool = self.tool
        head = fill_question(tool.confirm, values) or f"Send this request? Its risk is: {tool.risk.value}."
        lines = [head, "", f"{request.method} {request.url}"]
        lines += [f"{name}: {value}" for name, value in request.headers.items()]
        if files := files_in(values):
            lines += ["", *(f"{name}: {file.path}, {len(file.content):,} bytes, {file.media}" for name, file in files)]
        elif request.content:
            lines += ["", shorten_middle(request.content.decode("utf-8", "replace"))]
        if target:
            lines += ["", f"The answer is saved as the new file `{target}`."]
        return "\n".join(lines)

    async def _save(
        self, client: ApiClient, request: Request, path: str, directories: Sequence[Path], deadline: float
    ) -> Reply:
        """Save the answer as a new file."""
        from toolmason_runtime.apis.files import save

        answer = await self._send(client, request, deadline)
        await anyio.to_thread.run_sync(save, self.tool.save, path, answer.body, directories)
        media = answer.headers.get("content-type", "")[:100]
        return Reply(
            client.settings.mask(f"Saved {len(answer.body):,} bytes as `{path}`. Media type: {media or 'none'}")
        )

    async def _run(
        self, client: ApiClient, request: Request, call: ToolCall, deadline: float
    ) -> Reply | BaseModel | Noted:
        from toolmason_runtime.apis.result import is_json, json_reply, partial_note, read, reply, structured

        tool, store, settings = self.tool, call.state(ChunkStore), client.settings
        model = await anyio.to_thread.run_sync(load_model, self.result) if self.result else None
        final = partial(
            Work,
            secrets=settings.secrets,
            is_structured=model is not None,
            fields=fields_of(tool, model),
            is_shown=model is None,
        )
        has_more = False
        if tool.pagination:
            document, has_more = await self._pages(client, request, deadline, final)
        else:
            answer = await self._send(client, request, deadline)
            if not (model or tool.select or (is_json(answer) and answer.body)):
                return await reply(answer, settings, store, method=request.method, save=tool.save)
            work = Work(kind="value", secrets=settings.secrets) if tool.select else final(kind="value")
            document = await read(answer, replace(work, is_graphql=bool(tool.graphql)), settings)
        errors = document.note
        if tool.select:
            document = await self._selected(document, final, settings)
        result: Reply | BaseModel
        if model is not None:
            result = structured(tool, document.as_values(), model, settings, has_more=has_more)
        else:
            result = await json_reply(document, store, has_more=has_more)
        return Noted(result, partial_note(settings, errors)) if errors else result

    async def _selected(self, document: Document, final: Callable[..., Work], settings: ApiSettings) -> Document:
        """Return the results of `select`. jq can decode a secret, for example from base64, so they are masked."""
        from toolmason_runtime.apis.result import too_much
        from toolmason_runtime.apis.select import select
        from toolmason_runtime.apis.worker import work_on

        lines = await select(self.tool.select, await anyio.to_thread.run_sync(document.as_bytes))
        try:
            return await work_on(lines, final(kind="lines"))
        except RemoteDataError as error:
            raise too_much(settings, str(error)) from None

    async def _send(self, client: ApiClient, request: Request, deadline: float) -> Answer:
        from toolmason_runtime.apis.result import check_status

        answer = await client.send(
            request, is_repeatable=self.tool.is_repeatable, retries=self.tool.api.retries, deadline=deadline
        )
        check_status(answer, request, client.settings)
        return answer

    async def _pages(
        self, client: ApiClient, request: Request, deadline: float, final: Callable[..., Work]
    ) -> tuple[Document, bool]:
        """Return the pages of an answer as one, and whether more exist."""
        from toolmason_runtime.apis.pagination import items_of, next_request
        from toolmason_runtime.apis.result import read, too_much
        from toolmason_runtime.apis.worker import work_on

        pagination, settings = self.tool.pagination, client.settings
        assert pagination is not None  # noqa: S101  checked by the caller
        work = Work(kind="value", secrets=settings.secrets, pagination=pagination)
        pages: list[bytes] = []
        size = 0
        following: Request | None = request
        while following is not None and len(pages) < pagination.max_pages and size <= ANSWER.bytes:
            if not settings.allows(following.url):
                raise client.not_allowed("links its next page", following.url)
            answer = await self._send(client, following, deadline)
            document = await read(answer, work, settings)
            if items_of(pagination, document.page) is None:
                message = f"The answer of the API {self.tool.api.name} has no array of items at "
                raise ToolError(f"{message}`{pagination.items or '.'}`, as `paginate` requires", code="API_ANSWER")
            content = document.as_bytes()
            if pages[-1:] == [content] and not (pagination.next or pagination.cursor):
                following = None  # the API repeats its last page, or ignores the parameter
                break
            pages.append(content)
            size += len(answer.body)
            following = next_request(pagination, following, document.page, url=answer.url, headers=answer.headers)
        if self.tool.select:
            joining = Work(kind="pages", pagination=pagination, secrets=settings.secrets)
        else:
            joining = final(kind="pages", pagination=pagination, items_only=self.tool.returns_list)
        try:
            return await work_on(b"\n".join(pages), joining), following is not None
        except RemoteDataError as error:
            raise too_much(settings, str(error)) from None


def sent_arguments(params: BaseModel | dict[str, Any]) -> dict[str, Any]:
    """Return the sent arguments as JSON values by their manifest names. A dict has them already."""
    if isinstance(params, dict):
        return dict(params)
    return params.model_dump(mode="json", by_alias=True, exclude_unset=True)


def _digest(request: Request, target: str) -> str:
    parts = [request.method, request.url, repr(sorted(request.headers.items())), repr(request.content), target]
    return hashlib.sha256("\0".join(parts).encode()).hexdigest()[:32]
