"""Work that several processes do once: each store here stands for one process, at a real Redis."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import suppress
from typing import Any

import pytest
from redis_server import Servers
from toolmason_runtime.chunks import shared_work
from toolmason_runtime.chunks.store import ChunkStore

pytestmark = pytest.mark.anyio
VARIABLE = "SAMPLE_STORE"
Process = Callable[..., ChunkStore]


@pytest.fixture(autouse=True)
def hurry(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shared_work, "BEAT_S", 0.05)
    monkeypatch.setattr(shared_work, "LEASE_S", 1.0)


@pytest.fixture
def server(redis_servers: Servers, monkeypatch: pytest.MonkeyPatch) -> Any:
    started = redis_servers()
    monkeypatch.setenv(VARIABLE, started.url)
    return started


@pytest.fixture
async def process() -> Any:
    made: list[ChunkStore] = []

    def make(state_key: str = "k" * 32) -> ChunkStore:
        made.append(ChunkStore(VARIABLE, server="sample", state_key=state_key))
        return made[-1]

    yield make
    for store in made:
        await store.aclose()


def returns(text: str, done: list[str]) -> Callable[[], Awaitable[str]]:
    async def work() -> str:
        done.append(text)
        return text

    return work


def once(
    store: ChunkStore,
    work: Callable[[], Awaitable[str]],
    key: str = "key",
    *,
    keep_s: float = 60,
    on_wanted: Callable[[], None] = lambda: None,
) -> Awaitable[str]:
    return store.once(key, work, keep_s=keep_s, on_wanted=on_wanted)


@pytest.mark.usefixtures("server")
async def test_a_stored_text_is_the_answer_in_all_processes_until_it_expires(process: Process) -> None:
    done: list[str] = []
    texts = [await once(process(), returns(text, done)) for text in ("eins \udc00", "zwei")]
    other = await once(process(), returns("other", done), "other key")
    short = [await once(process(), returns(text, done), "short", keep_s=0.001) for text in ("a",)]
    await asyncio.sleep(0.01)
    again = await once(process(), returns("b", done), "short")

    assert (texts, other, short, again) == (["eins \udc00", "eins \udc00"], "other", ["a"], "b")
    assert done == ["eins \udc00", "other", "a", "b"]


@pytest.mark.parametrize("keys", [("a" * 32, "b" * 32), ("", "")], ids=["different", "none"])
@pytest.mark.usefixtures("server")
async def test_processes_without_a_common_key_work_by_themselves(process: Process, keys: tuple[str, str]) -> None:
    texts = [await once(process(key), returns(str(number), [])) for number, key in enumerate(keys)]

    assert texts == ["0", "1"]


async def test_process_without_redis_works_by_itself(process: Process) -> None:
    assert [await once(process(), returns(text, [])) for text in "ab"] == ["a", "b"]


@pytest.mark.usefixtures("server")
async def test_other_processes_wait_for_running_work_and_its_owner_is_notified(process: Process) -> None:
    go, wanted = asyncio.Event(), asyncio.Event()
    done: list[str] = []

    async def work() -> str:
        await go.wait()
        return "text"

    first = asyncio.ensure_future(once(process(), work, on_wanted=wanted.set))
    await asyncio.sleep(shared_work.LEASE_S * 1.5)  # its lease is renewed
    others = [asyncio.ensure_future(once(process(), returns("twice", done))) for _ in range(3)]
    await wanted.wait()
    go.set()

    assert await asyncio.gather(first, *others) == ["text"] * 4
    assert done == []


@pytest.mark.parametrize("how", ["fails", "is cancelled"])
@pytest.mark.usefixtures("server")
async def test_work_that_ends_without_a_text_is_done_by_one_that_waits(process: Process, how: str) -> None:
    wanted = asyncio.Event()
    done: list[str] = []

    async def work() -> str:
        await wanted.wait()
        if how == "is cancelled":
            asyncio.current_task().cancel()  # type: ignore[union-attr]
            await asyncio.sleep(0)
        raise ValueError("no text")

    first = asyncio.ensure_future(once(process(), work, on_wanted=wanted.set))
    await asyncio.sleep(0.1)
    others = [asyncio.ensure_future(once(process(), returns("text", done))) for _ in range(3)]
    with suppress(ValueError, asyncio.CancelledError):
        await first

    assert await asyncio.gather(*others) == ["text"] * 3
    assert (first.cancelled(), done) == (how == "is cancelled", ["text"])


async def test_no_text_is_lost_when_redis_ends(server: Any, process: Process) -> None:
    async def work() -> str:
        server.end()
        return "text"

    assert await once(process(), work) == "text"
    assert await once(process(), returns("other", [])) == "other"


@pytest.mark.usefixtures("server")
async def test_text_that_is_too_long_for_redis_is_returned(process: Process, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shared_work, "MAX_SHARED_BYTES", 3)

    assert [await once(process(), returns(text, [])) for text in ("long", "text")] == ["long", "text"]
