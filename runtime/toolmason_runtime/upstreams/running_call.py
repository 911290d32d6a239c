"""One call of an upstream's tool, from its start to its result, with the questions of the upstream.

Invariants of the concurrent code:

1. The call runs in a task of its own. `follow` runs in the request of the client, and passes questions on there: a
   request of 2026-07-28 ends with a question, and the next `follow` of the same call brings the answer.
2. A question is in `_questions` until its answer is set, or the upstream withdraws it. `follow` returns no result while
   there is one.
3. The time limit is paused while a question is open.
4. A call that no request follows is cancelled after `ANSWER_S`.
5. Only `follow` sends progress and log messages, in their order and before the result, so none comes after it.
"""

from __future__ import annotations

import asyncio
import logging
import math
from collections import Counter, deque
from collections.abc import Awaitable, Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any, Final, Protocol
from uuid import uuid4

import anyio
from mcp import MCPError, types
from toolmason_runtime.calls.call import InputRequired, ToolCall
from toolmason_runtime.programs.search_path import project_directories
from toolmason_runtime.shared.errors import ToolError
from toolmason_runtime.shared.specs.upstream import Upstream, UpstreamTool
from toolmason_runtime.upstreams.changed_tools import approve_change, missing_error
from toolmason_runtime.upstreams.connection import Connection, Send, current, error_text, first_error
from toolmason_runtime.upstreams.foreign_text import label
from toolmason_runtime.upstreams.log_budget import LogBudget
from toolmason_runtime.upstreams.questions import MAX_QUESTIONS, QuestionRefusedError

MAX_WAITING_MESSAGES: Final = 100
"""Progress and log messages that wait for a client that reads slowly; further progress is dropped."""

ANSWER_S: Final = 900.0
"""Seconds in which a client of 2026-07-28 must repeat a call with the answer to a question."""

KEY_PREFIX: Final = "upstream"
"""Start of the key of a question of an upstream: `upstream-CALL-NUMBER`."""


_Message = Callable[[ToolCall], Awaitable[None]]
_log = logging.getLogger(__name__)


class Registry(Protocol):
    """The upstreams of the server; see `registry.Upstreams`."""

    def connection(self, upstream: Upstream, call: ToolCall, roots: tuple[str, ...] = ()) -> Connection:
        """Return the open connection to an upstream."""
        ...

    def keep(self, waiting: RunningCall) -> None:
        """Keep a call until the client repeats it with the answer to its question."""
        ...

    def forget(self, waiting: RunningCall) -> None:
        """Drop a call that nobody has repeated."""
        ...

    def start(self, task: asyncio.Task[Any]) -> None:
        """Keep a reference to a task until it is done."""
        ...


class UpstreamEndedError(Exception):
    """The upstream ended during the call."""


@dataclass(slots=True, eq=False)
class _Question:
    """A request of the upstream to the client."""

    key: str
    send: Send
    answer: asyncio.Future[dict[str, Any]] = field(default_factory=lambda: asyncio.get_running_loop().create_future())


class RunningCall:
    """A call of `tool` with its original `arguments`."""

    def __init__(self, upstreams: Registry, tool: UpstreamTool, arguments: Mapping[str, Any], call: ToolCall) -> None:
        self.id = uuid4().hex
        self.tool = tool
        self.arguments = dict(arguments)
        self._upstreams = upstreams
        self._call: ToolCall | None = call
        self.refusals: list[str] = []
        """The reasons of refused questions, for the result of the call."""
        self._questions: list[_Question] = []
        self._asked: Counter[str] = Counter()
        self._logs = LogBudget(tool.upstream.name)
        self._messages: deque[_Message] = deque()
        """Progress and log messages that wait for `follow`."""
        self._last_progress = -math.inf
        self._changed = asyncio.Event()
        self._expiry: asyncio.TimerHandle | None = None
        self._limit = anyio.CancelScope()
        self._left_s = math.inf
        self._task = asyncio.create_task(self._run(call))
        self._task.add_done_callback(self._note_end)
        upstreams.start(self._task)

    async def follow(self, call: ToolCall) -> types.CallToolResult:
        """Return the result; pass the questions of the upstream to the client of `call`.

        Raises:
            ToolError: the call failed.
            InputRequired: the client must answer first (2026-07-28); `Upstreams.run` then finds this call.
        """
        self._call = call
        if self._expiry is not None:
            self._expiry.cancel()
        try:
            while True:
                await self._send_messages(call)
                if self._questions:
                    await self._pass_on(self._questions[0], call)
                elif self._task.done():
                    return self._task.result()
                else:
                    await self._change()
        except ToolError as error:
            raise ToolError("\n".join([error.message, *self.refusals]), code=error.code) from error
        except InputRequired:
            self._upstreams.keep(self)
            self._expiry = asyncio.get_running_loop().call_later(ANSWER_S, self._expire)
            raise
        except asyncio.CancelledError:
            self._task.cancel()
            raise
        finally:
            self._call = None

    async def ask(self, send: Send, kind: str = "question") -> dict[str, Any]:
        """Ask the client, in the request that follows this call; return its result.

        Raises:
            ToolError: the client refused, or cannot answer.
            QuestionRefusedError: the upstream has asked too many questions of a `kind` in this call.
        """
        if self._asked[kind] >= MAX_QUESTIONS:
            raise QuestionRefusedError(f"it asked more than {MAX_QUESTIONS} times in one call")
        self._asked[kind] += 1
        question = _Question(f"{KEY_PREFIX}-{self.id}-{self._asked.total()}", send)
        if not self._questions:
            self._left_s, self._limit.deadline = self._limit.deadline - anyio.current_time(), math.inf
        self._questions.append(question)
        self._changed.set()
        try:
            return await question.answer
        finally:
            self._questions.remove(question)
            if not self._questions:
                self._limit.deadline = anyio.current_time() + self._left_s
            self._changed.set()

    def log(self, level: str, data: Any, logger: str) -> bool:
        """Accept a log message; return False if the call has ended, or has used up its budget."""
        if self._task.done():
            return False
        if (message := self._logs.accepted(level, data, logger)) is None:
            return False
        self._add_message(lambda call: call.log(*message))
        return True

    def note_refusal(self, reason: str) -> None:
        """Log the refusal of a question, and add it to the result."""
        name = self.tool.upstream.name
        note = f'[refused a question of the MCP server "{name}": {reason}. Do not ask this question yourself.]'
        if note not in self.refusals:
            _log.warning("upstream %s: refused a question: %s", name, reason)
            self.refusals.append(note)

    async def _progress(self, progress: float, total: float | None, message: str | None) -> None:
        """Accept progress that increases; `Traffic` has limited its frequency."""
        if progress > self._last_progress and len(self._messages) < MAX_WAITING_MESSAGES and not self._task.done():
            self._last_progress = progress
            text = message if message is None else label(message)
            self._add_message(lambda call: call.progress(progress, total, text))

    def _add_message(self, message: _Message) -> None:
        self._messages.append(message)
        self._changed.set()

    async def _send_messages(self, call: ToolCall) -> None:
        """Send the waiting messages, and at the end of the call the number of dropped ones."""
        while self._messages:
            await self._messages.popleft()(call)
        if self._task.done() and (note := self._logs.dropped_note()):
            await call.log(*note)

    async def _pass_on(self, question: _Question, call: ToolCall) -> None:
        """Send a question to the client, until it answers or the upstream withdraws the question."""

        async def send() -> dict[str, Any]:
            return await question.send(call, question.key)

        sending = asyncio.create_task(send())
        for future in (sending, question.answer):
            future.add_done_callback(lambda _: self._changed.set())
        try:
            while True:
                await self._send_messages(call)
                if sending.done() or question.answer.done():
                    break
                await self._change()
            if not question.answer.done():
                self._settle(question, sending)
        finally:
            sending.cancel()
        while question in self._questions:  # until `ask` has taken the answer
            await self._change()

    async def _change(self) -> None:
        """Wait until a question is added or removed, or the call has ended."""
        self._changed.clear()
        await self._changed.wait()

    def _settle(self, question: _Question, sending: asyncio.Task[dict[str, Any]]) -> None:
        error = sending.exception()
        if error is None:
            question.answer.set_result(sending.result())
        elif isinstance(error, Exception):
            question.answer.set_exception(error)
        else:
            raise error

    async def _run(self, call: ToolCall) -> types.CallToolResult:
        current.set(self)
        # Over HTTP, several clients share the upstream: the roots of one must not become those of all.
        roots = await project_directories(call) if call.is_local and self.tool.upstream.uses_roots else ()
        for is_last in (False, True):
            connection = self._upstreams.connection(self.tool.upstream, call, roots)
            connection.calls.append(self)
            try:
                return await self._call_tool(connection)
            except UpstreamEndedError:
                await connection.closed()
                if is_last or not self.tool.is_repeatable:
                    raise self._ended_error(connection, was_repeated=is_last) from None
            finally:
                connection.calls.remove(self)
        raise AssertionError("unreachable")

    async def _call_tool(self, connection: Connection) -> types.CallToolResult:
        client = await connection.client()
        await approve_change(self.tool, self.arguments, connection, self.ask)
        limit_s = self.tool.timeout_s or self.tool.upstream.timeout_s
        while self._questions:  # such as that for the roots, which some servers need before a call
            await self._change()
        with anyio.CancelScope(deadline=anyio.current_time() + limit_s) as self._limit:
            try:
                result = await client.call_tool(self.tool.original, self.arguments, progress_callback=self._progress)
            except (Exception, BaseExceptionGroup) as error:
                await self._explain(connection, first_error(error))
                raise
            if result.is_error and not await connection.has_tool(self.tool.original):
                raise missing_error(self.tool)
            return result
        message = f"The call took more than {limit_s:g} seconds and was cancelled: ask for less"
        raise ToolError(message, code="UPSTREAM_TIMEOUT")

    async def _explain(self, connection: Connection, error: BaseException) -> None:
        """Raise the error for the model; an upstream that has ended may be started again first."""
        if isinstance(error, ToolError):
            raise error
        if connection.is_lost(error):
            connection.leave()
            raise UpstreamEndedError from error
        with suppress(MCPError):
            if isinstance(error, MCPError) and not await connection.has_tool(self.tool.original):
                raise missing_error(self.tool) from error
        message = f"The MCP server '{self.tool.upstream.name}' failed: {error_text(error)}. "
        message += "Check the arguments, or tell the user."
        raise ToolError(message, code="UPSTREAM_ERROR") from error

    def _ended_error(self, connection: Connection, *, was_repeated: bool) -> ToolError:
        times = "twice " if was_repeated else ""
        reason = connection.why_it_ended()
        message = f"The MCP server '{self.tool.upstream.name}' ended {times}during this call{reason}. "
        if was_repeated:
            message += "Do not retry; tell the user."
        else:
            message += (
                "The call may have had an effect: check it before you repeat the call, which starts the server again."
            )
        return ToolError(message, code="UPSTREAM_ENDED")

    def _note_end(self, task: asyncio.Task[types.CallToolResult]) -> None:
        if not task.cancelled():
            task.exception()  # marks it as retrieved: the client may have gone
        self._changed.set()

    def _expire(self) -> None:
        self._upstreams.forget(self)
        self._task.cancel()
