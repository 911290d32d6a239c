"""Tasks of one server and of several processes, in each store; the calls are plain functions."""

# ruff: noqa: ARG001, ARG002, ASYNC110, ASYNC240  calls get more than they need; tasks are polled; directories are small

from __future__ import annotations

import asyncio
import errno
import json
import os
import re
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from redis_server import Servers
from toolmason_runtime.calls.call import Context, InputRequired
from toolmason_runtime.calls.page import PAGE_DATA
from toolmason_runtime.calls.principal import Principal
from toolmason_runtime.calls.request_context import RequestContext
from toolmason_runtime.chunks.store import ChunkStore
from toolmason_runtime.shared.errors import MethodError, ToolError
from toolmason_runtime.tasks import limits
from toolmason_runtime.tasks.engine import Tasks
from toolmason_runtime.tasks.record import decode, new_record
from toolmason_runtime.tasks.store import FileStore, MemoryStore, Store
from toolmason_runtime.wire.requests import TASKS

pytestmark = pytest.mark.anyio
Call = Callable[[Mapping[str, Any], Context], Awaitable[dict[str, Any]]]
START_S = 0.01
CAPABILITIES: dict[str, Any] = {"elicitation": {}, "extensions": {TASKS: {}}}
FORM = {"mode": "form", "message": "Sure?", "requestedSchema": {"type": "object", "properties": {}}}


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


class Request(RequestContext):
    """One request of 2026-07-28."""

    is_local = False
    has_progress_token = False

    def __init__(
        self, *, subject: str = "", capabilities: Mapping[str, Any] = CAPABILITIES, call_timeout_s: float | None = None
    ) -> None:
        super().__init__({}, "info", is_modern=True)
        self._declared = capabilities
        self.client_name = "probe"
        self.call_timeout_s = call_timeout_s
        self.principal = Principal(subject=subject) if subject else None

    @property
    def capabilities(self) -> Mapping[str, Any]:
        return self._declared

    async def progress(self, progress: float, total: float | None, message: str | None) -> None:
        raise AssertionError("a task has no progress notifications")

    async def _send_log(self, level: Any, data: Any, logger: str | None) -> None:
        raise AssertionError("a task has no log notifications")

    async def _send_request(self, method: str, params: Mapping[str, Any]) -> dict[str, Any]:
        raise AssertionError(method)


class Server:
    """A server with one store; `process` starts one of its processes."""

    def __init__(self, directory: Path, url: str, monkeypatch: pytest.MonkeyPatch, store: Store | None) -> None:
        monkeypatch.setenv("TASKS_STORE", url)
        self.directory = directory
        self._shared = bool(url)
        self._store = store
        self._opened: list[tuple[Tasks, ChunkStore]] = []

    def process(self, call: Call, **options: Any) -> Tasks:
        chunks = ChunkStore("TASKS_STORE", server="sample")
        shared = chunks.shared if self._shared else None
        options = {"start_s": START_S, "key": "k" * 32, **options}
        tasks = Tasks(call, self.directory, shared=shared, store=self._store, **options)
        self._opened.append((tasks, chunks))
        return tasks

    async def aclose(self) -> None:
        for tasks, chunks in self._opened:
            await tasks.aclose()
            await chunks.aclose()


@pytest.fixture(params=["memory", "files", "redis"])
async def server(
    request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> AsyncIterator[Server]:
    servers: Servers | None = request.getfixturevalue("redis_servers") if request.param == "redis" else None
    store = MemoryStore() if request.param == "memory" else None
    opened = Server(tmp_path / "tasks", servers().url if servers else "", monkeypatch, store)
    yield opened
    await opened.aclose()


async def text(params: Mapping[str, Any], context: Context) -> dict[str, Any]:
    """Answer at once."""
    return {"content": [{"type": "text", "text": str(params["arguments"])}]}


class Work:
    """A call that waits for `gate`, and reports its progress."""

    def __init__(self) -> None:
        self.gate = asyncio.Event()
        self.ended: list[str] = []

    async def __call__(self, params: Mapping[str, Any], context: Context) -> dict[str, Any]:
        try:
            while not getattr(context, "is_task", False):
                await asyncio.sleep(0.001)
            await context.progress(1, 2, "half of it")
            await context.log("info", "nobody reads it", None)
            await self.gate.wait()
        except asyncio.CancelledError:
            self.ended.append("cancelled")
            raise
        self.ended.append("done")
        return await text(params, context)


async def asking(params: Mapping[str, Any], context: Context) -> dict[str, Any]:
    """Ask two questions at once, then a third one."""
    while not getattr(context, "is_task", False):
        await asyncio.sleep(0.001)
    missing: dict[str, Any] = {}
    answers = {}
    for key in ("first", "second"):
        try:
            answers[key] = await context.request(key, "elicitation/create", FORM)
        except InputRequired as pending:
            missing |= pending.requests
    if missing:
        return {"resultType": "input_required", "inputRequests": missing}
    try:
        answers["third"] = await context.request("third", "elicitation/create", FORM)
    except InputRequired as pending:
        return {"resultType": "input_required", "inputRequests": pending.requests}
    return {"content": [{"type": "text", "text": json.dumps({key: each["action"] for key, each in answers.items()})}]}


def params(**arguments: Any) -> dict[str, Any]:
    return {"name": "slow", "arguments": arguments, "_meta": {"progressToken": 1}}


async def get(tasks: Tasks, identity: str, request: Request | None = None) -> dict[str, Any]:
    return await tasks.answer("tasks/get", {"taskId": identity}, request or Request())


async def until(tasks: Tasks, identity: str, *statuses: str) -> dict[str, Any]:
    end = time.monotonic() + 20
    while time.monotonic() < end:
        state = await get(tasks, identity)
        if state["status"] in statuses:
            return state
        await asyncio.sleep(0.02)
    raise AssertionError(state)


async def update(tasks: Tasks, identity: str, **responses: Any) -> dict[str, Any]:
    return await tasks.answer("tasks/update", {"taskId": identity, "inputResponses": responses}, Request())


async def cancel(tasks: Tasks, identity: str, request: Request | None = None) -> dict[str, Any]:
    return await tasks.answer("tasks/cancel", {"taskId": identity}, request or Request())


async def test_a_fast_call_returns_its_result(server: Server) -> None:
    tasks = server.process(text, start_s=5.0)

    assert await tasks.call(params(a=1), Request(), at_once=False) == await text(params(a=1), Request())


@pytest.mark.parametrize("at_once", [True, False])
async def test_a_slow_call_becomes_a_task_with_its_progress_and_its_result(server: Server, at_once: bool) -> None:
    work = Work()
    tasks = server.process(work)
    created = await tasks.call(params(a=1), Request(), at_once=at_once)
    working = await get(tasks, created["taskId"])
    end = time.monotonic() + 20
    while "statusMessage" not in working and time.monotonic() < end:
        await asyncio.sleep(0.05)
        working = await get(tasks, created["taskId"])
    work.gate.set()
    done = await until(tasks, created["taskId"], "completed")

    assert re.fullmatch(r"task_[0-9a-f]{32}", created["taskId"])
    assert (created["resultType"], created["status"], created["ttlMs"]) == ("task", "working", 3_600_000)
    assert created["pollIntervalMs"] == 500
    assert (working["resultType"], working["status"], working["statusMessage"]) == ("complete", "working", "half of it")
    assert done["result"] == {"resultType": "complete", **await text(params(a=1), Request())}
    assert not {"error", "inputRequests", "requestState"} & done.keys()


async def test_a_call_that_fails_is_a_failed_task_and_an_error_for_the_model_is_a_result(server: Server) -> None:
    async def fail(params: Mapping[str, Any], context: Context) -> dict[str, Any]:
        match params["arguments"]["by"]:
            case "request":
                raise MethodError(-32602, "no such thing", {"nearest": []})
            case "bug":
                raise ZeroDivisionError
        return {"content": [], "isError": True}

    tasks = server.process(fail)
    outcomes = {}
    for by in ("request", "bug", "tool"):
        created = await tasks.call(params(by=by), Request(), at_once=True)
        outcomes[by] = await until(tasks, created["taskId"], "completed", "failed")

    assert outcomes["request"]["error"] == {"code": -32602, "message": "no such thing", "data": {"nearest": []}}
    assert outcomes["bug"]["error"] == {"code": -32603, "message": "Internal server error"}
    assert outcomes["tool"]["status"] == "completed"
    assert outcomes["tool"]["result"]["isError"] is True


async def test_questions_are_answered_one_after_another_and_by_any_process(server: Server) -> None:
    first, second = server.process(asking), server.process(asking)
    identity = (await first.call(params(), Request(), at_once=False))["taskId"]
    asked = await until(second, identity, "input_required")
    assert list(asked["inputRequests"]) == ["first", "second"]
    assert asked["inputRequests"]["first"] == {"method": "elicitation/create", "params": FORM}

    assert await update(second, identity, first={"action": "accept"}, stranger={"a": 1}) == {"resultType": "complete"}
    assert list((await get(first, identity))["inputRequests"]) == ["second"]
    # It was answered before: nothing changes.
    await update(first, identity, first={"action": "decline"})
    await first.aclose()
    await update(second, identity, second={"action": "decline"})
    asked = await until(second, identity, "input_required")
    assert list(asked["inputRequests"]) == ["third"]
    await update(second, identity, third={"action": "accept", "content": {}})
    done = await until(second, identity, "completed")
    assert json.loads(done["result"]["content"][0]["text"]) == {
        "first": "accept",
        "second": "decline",
        "third": "accept",
    }
    assert await update(second, identity, third={"action": "decline"}) == {"resultType": "complete"}


async def test_a_malformed_answer_is_refused_and_the_question_stays(server: Server) -> None:
    tasks = server.process(asking)
    identity = (await tasks.call(params(), Request(), at_once=True))["taskId"]
    await until(tasks, identity, "input_required")

    with pytest.raises(MethodError, match=r"inputResponses\.first is not an answer to elicitation/create"):
        await update(tasks, identity, first={"action": 5}, second={"action": "accept"})
    assert list((await get(tasks, identity))["inputRequests"]) == ["first", "second"]


async def test_an_answer_that_two_processes_get_continues_the_work_once(server: Server) -> None:
    begun = []

    async def ask(params: Mapping[str, Any], context: Context) -> dict[str, Any]:
        begun.append(context)
        return await asking(params, context)

    processes = [server.process(ask) for _ in range(4)]
    identity = (await processes[0].call(params(), Request(), at_once=True))["taskId"]
    await until(processes[0], identity, "input_required")
    answers = {"first": {"action": "accept"}, "second": {"action": "accept"}}
    await asyncio.gather(*(update(each, identity, **answers) for each in processes))
    await until(processes[0], identity, "input_required")

    assert len(begun) == 2


async def test_a_cancelled_task_ends_its_work_and_can_be_cancelled_again(server: Server) -> None:
    work = Work()
    tasks = server.process(work)
    identity = (await tasks.call(params(), Request(), at_once=False))["taskId"]

    assert await cancel(tasks, identity) == {"resultType": "complete"}
    assert (await until(tasks, identity, "cancelled"))["statusMessage"] == "Cancelled by the client"
    assert await cancel(tasks, identity) == {"resultType": "complete"}
    assert work.ended == ["cancelled"]


async def test_another_process_cancels_work_and_a_question(server: Server) -> None:
    work = Work()
    first, second = server.process(work), server.process(asking)
    working = (await first.call(params(), Request(), at_once=False))["taskId"]
    waiting = (await second.call(params(), Request(), at_once=True))["taskId"]
    await until(second, waiting, "input_required")
    await cancel(second, working)
    await cancel(first, waiting)

    assert "inputRequests" not in await until(first, waiting, "cancelled")
    await until(second, working, "cancelled")
    assert work.ended == ["cancelled"]


async def test_the_task_of_a_dead_process_is_reported_as_lost(server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "BEAT_S", 60.0)
    monkeypatch.setattr("toolmason_runtime.tasks.store.ALIVE_S", 3.0)
    dead, alive = server.process(Work()), server.process(text)
    lost = (await dead.call(params(), Request(), at_once=False))["taskId"]
    cancelled = (await dead.call(params(), Request(), at_once=False))["taskId"]
    assert (await get(alive, lost))["status"] == "working"
    state = await until(alive, lost, "failed")
    await cancel(alive, cancelled)

    assert (state["status"], state["error"]["code"]) == ("failed", -32603)
    assert "repeat the call" in state["error"]["message"]
    assert (await get(alive, cancelled))["status"] in {"failed", "cancelled"}


async def test_a_server_that_ends_reports_its_tasks_as_lost(server: Server) -> None:
    work = Work()
    tasks, other = server.process(work), server.process(text)
    identity = (await tasks.call(params(), Request(), at_once=False))["taskId"]
    await tasks.aclose()

    assert work.ended == ["cancelled"]
    assert "The server was stopped" in (await get(other, identity))["error"]["message"]


@pytest.mark.parametrize(
    "identity", ["", "task_", f"task_{'0' * 32}", "../key", "key", "process_1", "task_\u0660" + "0" * 31, "x" * 10_000]
)
async def test_an_unknown_id_is_an_invalid_parameter(server: Server, identity: str) -> None:
    tasks = server.process(text)
    for answer in (get(tasks, identity), update(tasks, identity), cancel(tasks, identity)):
        with pytest.raises(MethodError, match="Task not found") as error:
            await answer
        assert error.value.code == -32602


async def test_a_task_belongs_to_its_owner(server: Server) -> None:
    tasks = server.process(Work())
    owner, other = Request(subject="ada"), Request(subject="eve")
    identity = (await tasks.call(params(), owner, at_once=False))["taskId"]
    for request in (other, Request()):
        with pytest.raises(MethodError, match="Task not found"):
            await get(tasks, identity, request)
        with pytest.raises(MethodError, match="Task not found"):
            await cancel(tasks, identity, request)

    assert (await get(tasks, identity, owner))["status"] == "working"


async def test_a_request_without_the_extension_is_refused(server: Server) -> None:
    tasks = server.process(text)
    with pytest.raises(MethodError, match="extensions") as error:
        await get(tasks, "task_a", Request(capabilities={"elicitation": {}}))

    assert error.value.code == -32021
    assert error.value.data == {"requiredCapabilities": {"extensions": {TASKS: {}}}}


async def test_a_task_expires(server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("toolmason_runtime.tasks.record.TTL_S", 0.5)
    monkeypatch.setattr("toolmason_runtime.tasks.record.RESULT_S", 0.5)
    monkeypatch.setattr(limits, "BEAT_S", 0.1)
    work = Work()
    tasks = server.process(work)
    working = await tasks.call(params(), Request(), at_once=False)
    assert working["ttlMs"] == 500
    end = time.monotonic() + 20
    while not work.ended and time.monotonic() < end:
        await asyncio.sleep(0.05)

    assert work.ended == ["cancelled"]
    with pytest.raises(MethodError, match="Task not found"):
        await get(tasks, working["taskId"])


async def test_a_client_with_many_tasks_gets_results(server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "OWNER_TASKS", 2)
    work = Work()
    tasks = server.process(work)
    for _ in range(2):
        await tasks.call(params(), Request(subject="ada"), at_once=False)
    assert (await tasks.call(params(), Request(subject="eve"), at_once=False))["resultType"] == "task"
    with pytest.raises(MethodError, match="too many tasks"):
        await tasks.call(params(), Request(subject="ada"), at_once=True)
    with pytest.raises(TimeoutError):  # no task: the request waits
        await asyncio.wait_for(tasks.call(params(), Request(subject="ada"), at_once=False), 0.2)


async def test_a_result_that_is_too_large_is_an_error_for_the_model(server: Server) -> None:
    async def large(params: Mapping[str, Any], context: Context) -> dict[str, Any]:
        return {"content": [{"type": "text", "text": "x" * limits.RECORD_BYTES}]}

    tasks = server.process(large)
    created = await tasks.call(params(), Request(), at_once=True)
    done = await until(tasks, created["taskId"], "completed")

    assert done["result"]["isError"] is True
    assert "request less" in done["result"]["content"][0]["text"]


async def test_the_time_limit_of_calls_holds_for_tasks(server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "BEAT_S", 0.05)
    work = Work()
    tasks = server.process(work)
    created = await tasks.call(params(), Request(call_timeout_s=0.2), at_once=False)
    done = await until(tasks, created["taskId"], "completed")

    assert "cancelled after 0.2 s" in done["result"]["content"][0]["text"]
    assert work.ended == ["cancelled"]


async def test_a_request_that_is_cancelled_early_leaves_no_work(server: Server) -> None:
    work = Work()
    tasks = server.process(work, start_s=60.0)
    waiting = asyncio.create_task(tasks.call(params(), Request(), at_once=False))
    await asyncio.sleep(0.05)
    waiting.cancel()
    with pytest.raises(asyncio.CancelledError):
        await waiting

    assert work.ended == ["cancelled"]


@asynccontextmanager
async def watching(tasks: Tasks, *identities: str) -> AsyncIterator[tuple[list[str], list[dict[str, Any]]]]:
    watched = await tasks.watch(identities, Request())
    states: list[dict[str, Any]] = []

    async def note() -> None:
        async for state in watched.changes:
            states.append(state)  # noqa: PERF401  the test reads them while they come

    noting = asyncio.create_task(note())
    try:
        yield watched.known, states
        await asyncio.wait_for(noting, 20)
    finally:
        noting.cancel()


async def test_changes_are_announced_also_those_of_another_process(server: Server) -> None:
    work = Work()
    first, second = server.process(work), server.process(text)
    identity = (await first.call(params(), Request(), at_once=False))["taskId"]
    async with watching(second, identity, "task_unknown", identity) as (known, states):
        while not states:
            await asyncio.sleep(0.02)
        work.gate.set()

    assert known == [identity]
    assert states[0]["status"] == "working"
    assert (states[-1]["status"], states[-1]["taskId"]) == ("completed", identity)
    assert "resultType" not in states[-1]
    assert states[-1]["result"]["content"]


async def test_a_changed_file_is_not_used(tmp_path: Path) -> None:
    tasks = Tasks(Work(), tmp_path, start_s=START_S)
    identity = (await tasks.call(params(), Request(), at_once=False))["taskId"]
    path = tmp_path / identity
    assert path.stat().st_mode & 0o077 == 0
    path.write_bytes(path.read_bytes().replace(b'"slow"', b'"evil"'))

    with pytest.raises(MethodError, match="Task not found"):
        await get(tasks, identity)
    await tasks.aclose()


async def test_a_directory_that_cannot_be_written_leaves_tasks_in_memory(tmp_path: Path) -> None:
    work = Work()
    (tmp_path / "file").write_text("", encoding="utf-8")
    tasks = Tasks(work, tmp_path / "file" / "tasks", start_s=START_S)
    identity = (await tasks.call(params(), Request(), at_once=False))["taskId"]
    work.gate.set()

    assert (await until(tasks, identity, "completed"))["result"]["content"]
    await tasks.aclose()


async def test_a_call_is_answered_directly_while_redis_does_not_answer(
    redis_servers: Servers, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    redis = redis_servers()
    server = Server(tmp_path, redis.url, monkeypatch, None)
    redis.end()

    async def slow(params: Mapping[str, Any], context: Context) -> dict[str, Any]:
        await asyncio.sleep(0.1)
        return await text(params, context)

    tasks = server.process(slow)
    assert "content" in await tasks.call(params(), Request(), at_once=False)
    with pytest.raises(MethodError) as error:
        await get(tasks, f"task_{'0' * 32}")
    assert error.value.code == -32603
    await server.aclose()


@given(st.lists(st.lists(st.sampled_from(["name", "city", "name#2", "a#3"]), min_size=1, unique=True), max_size=6))
def test_no_key_of_a_question_is_used_twice(rounds: list[list[str]]) -> None:
    record = new_record(params(), owner="", capabilities={}, client_name="", process="p")
    seen: list[str] = []
    for keys in rounds:
        record.ask({key: {"method": "elicitation/create", "params": FORM} for key in keys})
        assert [record.asked[key] for key in record.requests] == keys
        seen += record.requests
        record.answer({key: {"action": "accept"} for key in list(record.requests)}, "p")
        assert record.status == "working"

    assert len(seen) == len(set(seen))


async def test_the_limit_of_a_client_holds_for_calls_that_start_together(
    server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(limits, "OWNER_TASKS", 2)
    tasks = server.process(Work())
    outcomes = await asyncio.gather(
        *(tasks.call(params(), Request(), at_once=True) for _ in range(8)), return_exceptions=True
    )

    assert sum(isinstance(each, dict) for each in outcomes) == 2
    assert all("too many tasks" in str(each) for each in outcomes if not isinstance(each, dict))


async def test_the_limit_of_a_client_holds_for_answers(server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "OWNER_TASKS", 1)
    gate = asyncio.Event()

    async def ask_then_wait(params: Mapping[str, Any], context: Context) -> dict[str, Any]:
        try:
            await context.request("sure", "elicitation/create", FORM)
        except InputRequired as pending:
            return {"resultType": "input_required", "inputRequests": pending.requests}
        await gate.wait()
        return await text(params, context)

    tasks = server.process(ask_then_wait)
    identities = []
    for _ in range(2):
        identities.append((await tasks.call(params(), Request(), at_once=True))["taskId"])
        await until(tasks, identities[-1], "input_required")
    await update(tasks, identities[0], sure={"action": "accept"})
    with pytest.raises(MethodError, match="send the answer again"):
        await update(tasks, identities[1], sure={"action": "accept"})
    assert (await get(tasks, identities[1]))["status"] == "input_required"
    gate.set()
    await until(tasks, identities[0], "completed")
    await update(tasks, identities[1], sure={"action": "accept"})
    await until(tasks, identities[1], "completed")


async def test_an_answer_beyond_the_size_of_a_task_is_refused_and_the_question_stays(server: Server) -> None:
    tasks = server.process(asking)
    identity = (await tasks.call(params(), Request(), at_once=True))["taskId"]
    await until(tasks, identity, "input_required")
    large = {"action": "accept", "content": {"text": "x" * limits.RECORD_BYTES}}

    with pytest.raises(MethodError, match="more than the 4,194,304 of a task"):
        await update(tasks, identity, first=large, second={"action": "accept"})
    assert list((await get(tasks, identity))["inputRequests"]) == ["first", "second"]


async def test_a_task_that_is_cancelled_while_it_asks_has_no_question(
    server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(limits, "BEAT_S", 60.0)
    gate = asyncio.Event()

    async def ask(params: Mapping[str, Any], context: Context) -> dict[str, Any]:
        await gate.wait()
        return await asking(params, context)

    first, second = server.process(ask), server.process(text)
    identity = (await first.call(params(), Request(), at_once=True))["taskId"]
    await cancel(second, identity)
    gate.set()

    assert "inputRequests" not in await until(second, identity, "cancelled", "input_required")
    assert (await get(second, identity))["status"] == "cancelled"


async def test_a_failed_write_loses_no_earlier_task(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    work = Work()
    tasks = Tasks(work, tmp_path, start_s=START_S)
    identity = (await tasks.call(params(a=1), Request(), at_once=False))["taskId"]

    def full(*_: object, **__: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    with monkeypatch.context() as patch:
        for name in ("create_private", "replace_private"):
            patch.setattr(f"toolmason_runtime.tasks.store.{name}", full)
        direct = asyncio.create_task(tasks.call(params(a=2), Request(), at_once=True))
        await asyncio.sleep(0.1)
        for answer in (cancel(tasks, f"task_{'0' * 32}"), update(tasks, identity)):
            with suppress(MethodError):
                await answer
    work.gate.set()

    assert "content" in await direct
    assert (await until(tasks, identity, "completed"))["result"]["content"]
    await tasks.aclose()


async def test_a_failed_read_ends_no_work(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "BEAT_S", 0.05)
    work = Work()
    tasks = Tasks(work, tmp_path, start_s=START_S)
    identity = (await tasks.call(params(), Request(), at_once=False))["taskId"]
    path = tmp_path / identity
    path.rename(tmp_path / "aside.tmp")
    path.mkdir()  # a file that cannot be read, for root as well
    await asyncio.sleep(0.3)
    with pytest.raises(MethodError, match="cannot be read") as error:
        await get(tasks, identity)
    assert error.value.code == -32603
    path.rmdir()
    (tmp_path / "aside.tmp").rename(path)
    work.gate.set()

    assert (await until(tasks, identity, "completed", "failed"))["status"] == "completed"
    await tasks.aclose()


async def test_old_tasks_go_before_heartbeats_and_locks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("toolmason_runtime.tasks.store.RECORDS", 3)
    store, now = FileStore(tmp_path), time.time()
    await store.put("process_other", b"alive", now + limits.ALIVE_S)
    (tmp_path / "task_held.lock").touch()
    for index in range(5):
        await store.put(f"task_{index}", b"", now + 600 + index)
    await FileStore(tmp_path).put("task_5", b"", now + 700)

    names = {path.name for path in tmp_path.iterdir()}
    assert names == {"process_other", "task_held.lock", "task_2", "task_3", "task_4", "task_5"}


async def test_only_the_lock_of_a_killed_process_is_taken(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("toolmason_runtime.tasks.store._LOCK_S", 0.5)
    store, seen, expires = FileStore(tmp_path), b"0" * 40, time.time() + 600
    await store.put("task_a", seen, expires)
    lock = tmp_path / "task_a.lock"
    replacing = asyncio.create_task(store.replace("task_a", seen, b"1" * 40, expires))
    for _ in range(12):  # other processes hold it, one after another
        lock.touch()
        os.utime(lock)
        await asyncio.sleep(0.1)
    assert not replacing.done()

    assert await asyncio.wait_for(replacing, 20)  # the last one was killed
    assert not lock.exists()


async def test_changes_continue_after_redis_did_not_answer(
    redis_servers: Servers, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(limits, "BEAT_S", 0.1)
    redis = redis_servers()
    server = Server(tmp_path, redis.url, monkeypatch, None)
    work = Work()
    tasks = server.process(work)
    identity = (await tasks.call(params(), Request(), at_once=False))["taskId"]
    read, is_down = tasks._read, True

    async def failing(name: str) -> Any:
        if is_down:
            raise ToolError("Redis does not answer", code="STORE")
        return await read(name)

    async with watching(tasks, identity) as (_, states):
        while not states:
            await asyncio.sleep(0.02)
        monkeypatch.setattr(tasks, "_read", failing)
        await asyncio.sleep(0.4)
        is_down = False
        work.gate.set()
    assert states[-1]["status"] == "completed"
    await server.aclose()


@pytest.mark.parametrize("body", [b"[]", b"5", b"null", b"{", b'{"id": "a", "colour": 1}', b"\xff"])
def test_a_record_of_another_version_is_a_value_error(body: bytes) -> None:
    with pytest.raises(ValueError):  # noqa: PT011  of several libraries
        decode(body)


async def test_data_for_a_page_is_never_stored(server: Server) -> None:
    async def show(params: Mapping[str, Any], context: Context) -> dict[str, Any]:
        return {"content": [], "_meta": {"own": 1, PAGE_DATA: {"token": "s3cret"}}}

    first, second = server.process(show), server.process(text)
    identity = (await first.call(params(), Request(), at_once=True))["taskId"]
    async with watching(first, identity) as (_, states):
        pass
    done = await until(first, identity, "completed")

    assert done["result"]["_meta"] == states[-1]["result"]["_meta"] == {"own": 1, PAGE_DATA: {"token": "s3cret"}}
    assert (await get(second, identity))["result"]["_meta"] == {"own": 1}
    assert b"s3cret" not in (await first._store.get(identity) or b"s3cret")
