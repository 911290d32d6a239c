"""Run the calls of a server as tasks, and answer `tasks/get`, `tasks/update` and `tasks/cancel`.

A process that runs tasks has a heartbeat in the store. So another process can answer for them, pass on a
cancellation, and report a task as lost if its process is dead.
"""

from __future__ import annotations

import asyncio
import json
import logging
import re
import secrets
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from enum import Enum, auto
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from toolmason_runtime.calls.call import Context
from toolmason_runtime.calls.dispatcher import WatchedTasks
from toolmason_runtime.calls.page import PAGE_DATA
from toolmason_runtime.calls.principal import identity_of
from toolmason_runtime.calls.request_context import missing_tasks
from toolmason_runtime.calls.sealing import Seal
from toolmason_runtime.discovery.results import error_result, time_limit_result
from toolmason_runtime.shared.errors import INTERNAL_ERROR, INVALID_PARAMS, MethodError, ToolError
from toolmason_runtime.tasks import limits
from toolmason_runtime.tasks.context import TaskContext
from toolmason_runtime.tasks.record import INTERRUPTED, Record, decode, encode, new_record
from toolmason_runtime.tasks.store import FileStore, Heartbeats, MemoryStore, RedisStore, Store
from toolmason_runtime.wire.answers import is_answer_to
from toolmason_runtime.wire.requests import declares_tasks

if TYPE_CHECKING:
    from toolmason_runtime.chunks.store import Shared

Result = dict[str, Any]
Run = Callable[[Mapping[str, Any], Context], Awaitable[Result]]
"""Answers a `tools/call`: its parameters and context to its result."""
_ID: Final = re.compile(r"task_[0-9a-f]{32}")
_ATTEMPTS: Final = 10
"""Maximum attempts to change a task that other processes change at the same time."""
_log = logging.getLogger(__name__)


class _Reason(Enum):
    """The reason for the end of a task's work."""

    CLIENT = auto()
    """The client has cancelled it."""
    CALL_LIMIT = auto()
    """It exceeded the maximum time of a call."""
    EXPIRED = auto()
    """The task has expired."""
    SHUTDOWN = auto()
    """The server is shutting down."""


@dataclass(eq=False, slots=True)
class _Running:
    """A task that this process runs."""

    record: Record
    client: str
    """The client whose limit it counts against."""
    context: TaskContext
    work: asyncio.Task[Result]
    started: float = field(default_factory=time.monotonic)
    reason: _Reason | None = None
    """The reason why it was ended."""

    def end(self, reason: _Reason) -> None:
        """Cancel the work, once: a second cancellation would interrupt its cleanup."""
        if self.reason is None:
            self.reason = reason
            self.work.cancel()

    @property
    def is_over_time(self) -> bool:
        """Whether it has exceeded the maximum time of a call."""
        limit_s = self.context.call_timeout_s
        return limit_s is not None and time.monotonic() - self.started >= limit_s


class Tasks:
    """The tasks of one server.

    Args:
        run: answers a `tools/call`.
        directory: the directory of the tasks in files, which is created.
        shared: the store that replaces it; None keeps files.
        key: the key of all processes of the server; empty for that of the directory.
        start_s: seconds after which a call becomes a task.
        store: the store itself, for tests.
    """

    def __init__(
        self,
        run: Run,
        directory: Path,
        *,
        shared: Shared | None = None,
        key: str = "",
        start_s: float = limits.START_S,
        store: Store | None = None,
    ) -> None:
        self._run = run
        self._start_s = start_s
        self._seal = Seal(directory, "tasks", key=key)
        self._use(store or (RedisStore(shared) if shared else FileStore(directory)))
        self._process = secrets.token_hex(16)
        self._has_stored = False
        """Whether the store has a task of this process."""
        self._running: dict[str, _Running] = {}
        """The calls that are tasks, or will be in a moment."""
        self._resuming: dict[str, str] = {}
        """Tasks whose answers are stored and whose work has not started yet -> the client with the limit."""
        self._pages: dict[str, Any] = {}
        """The data for the pages of ended tasks: it may be a secret of this process, so it is never stored."""
        self._supervising: set[asyncio.Task[None]] = set()
        self._changed = asyncio.Condition()
        self._is_closing = False

    async def call(self, params: Mapping[str, Any], context: Context, *, at_once: bool) -> Result:
        """Answer a `tools/call` of a client that declares the extension: with its result, or with a task.

        Args:
            params: those of the request.
            context: that of the request.
            at_once: whether the call becomes a task before it starts.

        Raises:
            MethodError: the request is invalid, or has to become a task and cannot.
        """
        client = _client_of(context)
        if not self._has_room(client):
            if at_once:
                raise MethodError(INTERNAL_ERROR, "too many tasks are running; call again after a task has ended")
            return await self._run(params, context)
        record = new_record(
            params,
            owner=_owner_of(context),
            capabilities=context.capabilities,
            client_name=context.client_name,
            process=self._process,
        )
        answers = getattr(context, "responses_so_far", lambda: "{}")()
        running = self._start(record, client, context, answers, params, is_task=at_once)
        try:
            if not at_once:
                await asyncio.wait([running.work], timeout=self._start_s)
                if running.work.done():
                    return running.work.result()
            return await self._to_task(running)
        except asyncio.CancelledError:
            running.work.cancel()
            await asyncio.wait([running.work])
            raise

    async def answer(self, method: str, params: Mapping[str, Any], context: Context) -> Result:
        """Answer a request about a task.

        Raises:
            MethodError: the client does not declare the extension, has no such task, or the request is invalid.
        """
        require_tasks(context)
        record = await self._stored(params["taskId"], context)
        if method == "tasks/get":
            return self._wire(record)
        with _store_errors():
            if method == "tasks/update":
                await self._update(record, params["inputResponses"], context)
            else:
                await self._cancel(record)
        return {"resultType": "complete"}

    async def watch(self, identities: Iterable[str], context: Context) -> WatchedTasks:
        """See `DispatcherProtocol.watch_tasks`."""
        require_tasks(context)
        known: list[str] = []
        for identity in dict.fromkeys(identities):
            try:
                await self._stored(identity, context)
            except MethodError as error:
                if error.code != INVALID_PARAMS:
                    raise
            else:
                known.append(identity)
        return WatchedTasks(known, self._changes(known, context))

    async def aclose(self) -> None:
        """End all running tasks; later requests about them return the status `failed`."""
        self._is_closing = True
        for running in self._running.values():
            running.end(_Reason.SHUTDOWN)
        if self._supervising:
            await asyncio.wait(self._supervising)

    def _has_room(self, client: str) -> bool:
        clients = [*(running.client for running in self._running.values()), *self._resuming.values()]
        has_own_room = clients.count(client) < limits.OWNER_TASKS
        return has_own_room and len(clients) < limits.PROCESS_TASKS and not self._is_closing

    def _start(
        self,
        record: Record,
        client: str,
        context: Context,
        answers: str,
        params: Mapping[str, Any],
        *,
        is_task: bool,
    ) -> _Running:
        def on_progress(message: str) -> None:
            record.message = message[: limits.MESSAGE_CHARS]

        own = TaskContext(
            context,
            capabilities=record.capabilities,
            client_name=record.client_name,
            answers=answers,
            on_progress=on_progress,
        )
        if is_task:
            own.detach()

        async def work() -> Result:
            return await self._run(params, own)

        return _Running(record, client, own, asyncio.create_task(work()))

    async def _to_task(self, running: _Running) -> Result:
        """Store a running call as a task, and return it; without room or a store, return its result later."""
        if not self._has_room(running.client):
            return await running.work
        self._running[running.record.id] = running  # it counts for the limits while it is stored
        try:
            await self._create(running.record)
        except BaseException as error:
            del self._running[running.record.id]
            if not isinstance(error, OSError | ToolError):
                raise
            _log.warning("a call does not become a task, because it cannot be stored: %s", error)
            return await running.work
        running.context.detach()
        created = running.record.created_wire()
        self._supervise(running)
        return created

    async def _create(self, record: Record) -> None:
        data = self._sealed(record)
        if len(data) > limits.RECORD_BYTES:
            raise OSError(f"its arguments have {len(data):,} bytes")
        try:
            await self._heartbeats.beat(self._process)
            await self._store.put(record.id, data, record.expires)
            self._has_stored = True
        except OSError as error:
            if self._has_stored or not isinstance(self._store, FileStore):
                raise  # the tasks in files must not be lost
            _log.warning("tasks are only in memory: %s", error.strerror or type(error).__name__)
            self._use(MemoryStore())
            await self._create(record)

    def _use(self, store: Store) -> None:
        self._store = store
        self._heartbeats = Heartbeats(store)

    def _supervise(self, running: _Running) -> None:
        self._running[running.record.id] = running
        supervising = asyncio.create_task(self._watch_over(running))
        self._supervising.add(supervising)
        supervising.add_done_callback(self._supervising.discard)

    async def _watch_over(self, running: _Running) -> None:
        """Run a task to its end: store its messages, check for a cancellation, and store its outcome."""
        identity = running.record.id
        try:
            while not (await asyncio.wait([running.work], timeout=limits.BEAT_S))[0]:
                if running.is_over_time:
                    running.end(_Reason.CALL_LIMIT)
                with suppress(OSError, ToolError):
                    await self._heartbeats.beat(self._process)
                    stored = await self._read(identity)
                    if stored is None:
                        running.end(_Reason.EXPIRED)
                    elif stored[0].is_cancelling:
                        running.end(_Reason.CLIENT)
                    elif stored[0].message != running.record.message:
                        stored[0].report(running.record.message)
                        await self._replace(*stored)
            await self._store_outcome(running)
        except Exception:  # noqa: BLE001  the client learns that the task is lost
            _log.exception("the outcome of a task is lost")
        finally:
            self._running.pop(identity, None)

    async def _store_outcome(self, running: _Running) -> None:
        for attempt in range(_ATTEMPTS):
            try:
                stored = await self._read(running.record.id)
                if stored is None or stored[0].is_terminal:
                    return
                self._conclude(stored[0], running)
                if await self._replace(*stored):
                    return
            except (OSError, ToolError) as error:
                _log.warning("the outcome of a task cannot be stored yet: %s", error)
                if self._is_closing:
                    return
                await asyncio.sleep(min(attempt, 5))

    def _conclude(self, record: Record, running: _Running) -> None:
        """Store the outcome of the work in a record."""
        work = running.work
        if work.cancelled():
            match running.reason:
                case _Reason.CLIENT:
                    record.cancel()
                case _Reason.CALL_LIMIT:
                    record.complete(time_limit_result(running.context.call_timeout_s))
                case _Reason.SHUTDOWN:
                    record.fail(INTERNAL_ERROR, "The server was stopped before the task had ended: repeat the call")
                case _:
                    record.fail(INTERNAL_ERROR, "The work was cancelled inside the server")
        elif isinstance(error := work.exception(), MethodError):
            record.fail(error.code, error.message, error.data)
        elif error is not None:
            _log.error("the call of a task failed", exc_info=error)
            record.fail(INTERNAL_ERROR, "Internal server error")
        elif work.result().get("resultType") != "input_required":
            record.complete(self._without_page(record.id, work.result()))
        elif record.is_cancelling or running.reason is _Reason.CLIENT:
            record.cancel()  # nobody answers a question of a call that the client has cancelled
        else:
            record.ask(work.result()["inputRequests"])
        if excess := _excess(record):
            record.error = None
            record.complete(error_result(f"The result {excess}: request less"))

    def _without_page(self, identity: str, result: Result) -> Result:
        """Keep the data for the page of a result, and return the rest."""
        meta = dict(result.get("_meta", {}))
        if PAGE_DATA not in meta:
            return result
        self._pages[identity] = meta.pop(PAGE_DATA)
        if len(self._pages) > limits.RECORDS:
            del self._pages[next(iter(self._pages))]
        return {**result, "_meta": meta}

    def _wire(self, record: Record) -> Result:
        """Return the `DetailedTask`; the result has the data for its page if this process made it."""
        task = record.wire()
        if record.result is not None and record.id in self._pages:
            meta = {**record.result.get("_meta", {}), PAGE_DATA: self._pages[record.id]}
            task["result"] = {**record.result, "_meta": meta}
        return task

    async def _update(self, record: Record, responses: Mapping[str, Any], context: Context) -> None:
        for _ in range(_ATTEMPTS):
            known = {key: value for key, value in responses.items() if key in record.requests}
            for key, value in known.items():
                if not is_answer_to(record.requests[key]["method"], value):
                    reason = f"inputResponses.{key} is not an answer to {record.requests[key]['method']}"
                    raise MethodError(INVALID_PARAMS, reason)
            if not known:
                return  # answered before, or never asked (SEP-2663)
            seen = await self._read(record.id)
            if seen is None:
                raise unknown_task()
            stored, data = seen
            if not known.keys() <= stored.requests.keys():
                record = stored
                continue
            stored.answer(known, self._process)
            if excess := _excess(stored):
                raise MethodError(INVALID_PARAMS, f"The task with these answers {excess}: send shorter answers")
            if await self._store_answers(stored, data, context):
                return
            record = stored
        raise MethodError(INTERNAL_ERROR, "The task changes too often: send the answer again")

    async def _store_answers(self, record: Record, seen: bytes, context: Context) -> bool:
        """Store the answers of a client; continue after the last one. Return False if another process was faster."""
        if record.status != "working":
            return await self._replace(record, seen)
        client = _client_of(context)
        if not self._has_room(client):
            raise MethodError(INTERNAL_ERROR, "too many tasks are running; send the answer again after one has ended")
        self._resuming[record.id] = client
        try:
            await self._heartbeats.beat(self._process)
            is_stored = await self._replace(record, seen)
            if is_stored:
                self._resume(record, context)
        finally:
            self._resuming.pop(record.id, None)
        return is_stored

    def _resume(self, record: Record, context: Context) -> None:
        answers = json.dumps(record.answers)
        running = self._start(record, _client_of(context), context, answers, record.params, is_task=True)
        self._supervise(running)

    async def _cancel(self, record: Record) -> None:
        if (running := self._running.get(record.id)) is not None:
            running.end(_Reason.CLIENT)
            return
        for _ in range(_ATTEMPTS):
            stored = await self._read(record.id)
            if stored is None or stored[0].is_terminal:
                return
            if stored[0].status == "working" and await self._heartbeats.is_alive(stored[0].process):
                stored[0].is_cancelling = True
            else:
                stored[0].cancel()
            if await self._replace(*stored):
                return

    async def _stored(self, identity: Any, context: Context) -> Record:
        """Return a task of the client.

        Raises:
            MethodError: it has none with this identity.
        """
        with _store_errors():
            stored = await self._read(identity)
            if stored is None or stored[0].owner != _owner_of(context):
                raise unknown_task()
            record, data = stored
            if record.status == "working" and not await self._is_running(record):
                record.fail(INTERNAL_ERROR, INTERRUPTED)
                if not await self._replace(record, data):
                    again = await self._read(identity)
                    record = again[0] if again else record
        return record

    async def _is_running(self, record: Record) -> bool:
        if record.process == self._process:
            return record.id in self._running or record.id in self._resuming
        return await self._heartbeats.is_alive(record.process)

    async def _changes(self, identities: list[str], context: Context) -> AsyncIterator[Result]:
        seen: dict[str, Result] = {identity: {} for identity in identities}
        while seen:
            for identity, before in list(seen.items()):
                try:
                    record = await self._stored(identity, context)
                except MethodError as error:
                    if error.code == INVALID_PARAMS:
                        del seen[identity]
                    continue  # the store may answer later
                task = self._wire(record)
                state = {**task, "pollIntervalMs": 0}
                if state != before:
                    seen[identity] = state
                    # The parameters of `notifications/tasks`.
                    yield {name: value for name, value in task.items() if name != "resultType"}
                if record.is_terminal:
                    del seen[identity]
            async with self._changed:
                with suppress(TimeoutError):
                    await asyncio.wait_for(self._changed.wait(), limits.BEAT_S)

    async def _read(self, identity: str) -> tuple[Record, bytes] | None:
        """Return a record and its sealed form; None if it does not exist or its signature is wrong."""
        data = await self._store.get(identity) if _ID.fullmatch(identity) else None
        body = self._seal.open(identity, data) if data else None
        if data is None or body is None:
            return None
        try:
            record = decode(body)
        except ValueError:
            return None
        return (record, data) if record.expires > time.time() else None

    async def _replace(self, record: Record, seen: bytes) -> bool:
        is_replaced = await self._store.replace(record.id, seen, self._sealed(record), record.expires)
        if is_replaced:
            async with self._changed:
                self._changed.notify_all()
        return is_replaced

    def _sealed(self, record: Record) -> bytes:
        return self._seal.close(record.id, encode(record))


def _excess(record: Record) -> str:
    """Return what is too large about a record, without its subject; empty if it can be stored."""
    size, limit = len(encode(record)), limits.RECORD_BYTES
    return f"has {size:,} bytes, more than the {limit:,} of a task" if size > limit else ""


@contextmanager
def _store_errors() -> Iterator[None]:
    """Raise a failure of the store as the error of the request."""
    try:
        yield
    except ToolError as error:
        raise MethodError(INTERNAL_ERROR, error.message) from None
    except OSError as error:
        reason = error.strerror or type(error).__name__
        raise MethodError(INTERNAL_ERROR, f"The task cannot be read or stored: {reason}") from None


def require_tasks(context: Context) -> None:
    """Raise MethodError if the client does not declare the extension in this request."""
    if not declares_tasks(context.capabilities):
        raise missing_tasks("This request")


def unknown_task() -> MethodError:
    """Return the error for a task that is not stored, or belongs to another client."""
    reason = "Task not found: it has expired, its id is wrong, or it belongs to another client. Repeat its tools/call"
    return MethodError(INVALID_PARAMS, reason)


def tasks_of(directory: Path, server: str) -> Path:
    """Return the directory of the tasks of a server."""
    return directory / "toolmason" / "tasks" / "".join(c if c.isalnum() or c in "-_" else "_" for c in server)


def _owner_of(context: Context) -> str:
    """Return the owner of a task: a client over stdio, or the owner of an access token over HTTP."""
    return f"{'stdio' if context.is_local else 'http'}\0{identity_of(context.principal)}"


def _client_of(context: Context) -> str:
    """Return the client whose limit a call counts against: the owner of the access token, otherwise the address."""
    origin: Mapping[str, Any] = getattr(context, "origin", {})
    return identity_of(context.principal) or str(origin.get("address") or "")
