"""Texts in Redis: shared, bounded in time, and not lost if Redis fails."""

from __future__ import annotations

import asyncio
import json
import logging
import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterable
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from redis import Redis
from toolmason_runtime import ToolError
from toolmason_runtime.chunks import redis as redis_store
from toolmason_runtime.chunks.redis import RedisStore
from toolmason_runtime.chunks.store import ChunkStore
from toolmason_runtime.chunks.text import LongText, write_text

pytestmark = pytest.mark.anyio

PATIENCE_S = 30.0
VARIABLE = "SAMPLE_STORE"
PREFIX = "sample:answer:"
TEN = "x" * 10
SECRET = "correct%2Fhorse"
READABLE = "correct/horse"
OTHER_PROCESS = """
import asyncio, json, sys
from toolmason_runtime.chunks.store import ChunkStore

async def main():
    store = ChunkStore("SAMPLE_STORE", server="sample", part_size=10)
    result = await store.fetch(sys.argv[1], 2)
    kept = await store.keep("y" * 15)
    await store.aclose()
    print(json.dumps([result, kept.key]))

asyncio.run(main())
"""

Servers = Callable[..., Any]
Open = Callable[..., ChunkStore]


@pytest.fixture
def opened(monkeypatch: pytest.MonkeyPatch) -> Open:
    """Opens a store at a URL."""

    def open_at(url: str, *, part_size: int = 10) -> ChunkStore:
        monkeypatch.setenv(VARIABLE, url)
        store = ChunkStore(VARIABLE, server="sample", part_size=part_size)
        assert store.kind == "redis"  # reads the variable now
        return store

    return open_at


def text_of(*parts: str) -> LongText:
    """A text with these parts, which are of one length."""
    return write_text(parts, size=100_000_000, max_bytes=len(parts[0]))


async def content(store: ChunkStore, key: str, index: int = 1) -> str:
    text: str = (await store.fetch(key, index))["chunk"]["content"]
    return text


async def read_in_the_end(store: RedisStore, key: str) -> str:
    async with asyncio.timeout(PATIENCE_S):
        while True:
            with suppress(ToolError):
                return (await store.get(key, 1)).content
            await asyncio.sleep(0)


def client_of(url: str) -> Redis:
    return Redis(unix_socket_path=url.removeprefix("unix://"))


async def test_another_process_has_the_same_texts(redis: str, opened: Open) -> None:
    store = opened(redis)
    kept = await store.keep(TEN + "\u6f22\u5b57")
    command = [sys.executable, "-c", OTHER_PROCESS, kept.key]
    run = await asyncio.to_thread(subprocess.run, command, capture_output=True, text=True, encoding="utf-8", check=True)
    result, key = json.loads(run.stdout)
    theirs = [await content(store, key, index) for index in (1, 2)]

    assert result == await store.fetch(kept.key, 2)
    assert result["chunk"] == {"index": 2, "total": 2, "content": "\u6f22\u5b57"}
    assert theirs == ["y" * 10, "y" * 5]
    await store.aclose()


async def test_closing_one_store_leaves_the_texts_to_the_others(redis: str, opened: Open) -> None:
    one, other = opened(redis), opened(redis)
    kept = await one.keep(TEN + "a")
    await one.aclose()

    assert await content(other, kept.key, 2) == "a"
    await other.aclose()


async def test_redis_lets_texts_expire_and_contains_nothing_else(redis: str, opened: Open) -> None:
    store = opened(redis)
    kept = await store.keep(TEN + "a")
    with client_of(redis) as client:
        names = client.keys()
        ttl_ms = client.pttl(PREFIX + kept.key)
    await store.aclose()

    assert names == [(PREFIX + kept.key).encode()]
    assert isinstance(ttl_ms, int)
    assert 3_500_000 < ttl_ms <= 3_600_000


async def test_closing_leaves_no_connection(redis: str, opened: Open) -> None:
    with client_of(redis) as client:
        before = len(client.client_list())
        store = opened(redis)
        await asyncio.gather(*(store.keep(TEN + "a") for _ in range(20)))
        connections = len(client.client_list()) - before
        await store.aclose()
        ends = time.monotonic() + PATIENCE_S
        while len(client.client_list()) > before:
            assert time.monotonic() < ends

    assert 1 <= connections <= 8


async def test_the_store_survives_a_restart_of_redis(redis_servers: Servers, opened: Open) -> None:
    server = redis_servers()
    store = opened(server.url)
    first = await store.keep(TEN + "a")
    server.end()
    server.start()
    second = await store.keep(TEN + "b")

    assert await content(store, second.key, 2) == "b"
    assert second.warnings == ()
    with pytest.raises(ToolError, match="expired"):
        await store.fetch(first.key, 1)
    await store.aclose()


async def test_without_redis_the_text_is_kept_here_with_a_warning(
    tmp_path: Path, opened: Open, caplog: pytest.LogCaptureFixture
) -> None:
    store = opened(f"unix://{tmp_path}/none")
    kept = await store.keep(TEN + "a")

    assert [await content(store, kept.key, index) for index in (1, 2)] == [TEN, "a"]
    [warning] = kept.warnings
    assert "cannot be reached: only the server process that gave this answer has its other chunks" in warning
    assert "kept in the memory of this process" in caplog.text
    assert await store.check() == (
        f"SAMPLE_STORE: unix://{tmp_path}/none cannot be reached. "
        "Meanwhile long texts are kept in the memory of this process alone"
    )
    await store.aclose()


async def test_a_text_that_is_too_large_to_share_is_kept_here(
    redis: str, opened: Open, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(redis_store, "MAX_SHARED_BYTES", 20)
    store = opened(redis)
    small, large = await store.keep("x" * 20), await store.keep("x" * 21)

    assert (small.warnings, await content(store, large.key, 3)) == ((), "x")
    assert "takes at most 20 bytes of one text: only the server process" in large.warnings[0]
    await store.aclose()


async def test_without_redis_other_texts_are_not_called_expired(redis_servers: Servers, opened: Open) -> None:
    server = redis_servers()
    store = opened(server.url)
    kept = await store.keep(TEN + "a")
    server.end()

    with pytest.raises(ToolError, match="try again") as caught:
        await store.fetch(kept.key, 1)
    await store.aclose()

    assert caught.value.code == "INTERNAL"


@pytest.mark.parametrize(
    "wrong",
    [
        *({"total": each} for each in ("abc", "", "-5", "0", "1_0", "9" * 5000, "\u00b2", "1.0")),
        *({"expires": each} for each in ("nan", "1e400", "inf", "-inf", "", "soon", "1e300", "1e12", "9" * 5000)),
        {"1": b"\xff\xfe"},
    ],
    ids=repr,
)
async def test_an_invalid_entry_in_redis_counts_as_expired(
    redis: str, opened: Open, wrong: dict[str, Any], caplog: pytest.LogCaptureFixture
) -> None:
    store = opened(redis)
    kept = await store.keep(TEN + "a")
    with client_of(redis) as client:
        client.hset(PREFIX + kept.key, mapping=wrong)
        with pytest.raises(ToolError, match="Run the original query again") as caught:
            await store.fetch(kept.key, 1)
    await store.aclose()

    assert caught.value.code == "CACHE_EXPIRED"
    [record] = caplog.records
    assert len(record.getMessage()) < 200


async def test_a_part_that_redis_has_lost_has_expired(redis: str, opened: Open) -> None:
    store = opened(redis)
    kept = await store.keep(TEN + "a")
    with client_of(redis) as client:
        client.hdel(PREFIX + kept.key, "2")
        client.hset(PREFIX + kept.key, "3", "from elsewhere")
        codes = []
        for index in (2, 3):
            with pytest.raises(ToolError) as caught:
                await store.fetch(kept.key, index)
            codes.append(caught.value.code)
    await store.aclose()

    assert codes == ["CACHE_EXPIRED", "INVALID_CHUNK_INDEX"]


async def test_redis_that_hangs_is_not_waited_for(redis_servers: Servers, opened: Open) -> None:
    server = redis_servers()
    writer = opened(server.url)
    before = await writer.keep(TEN + "a")
    await writer.aclose()
    store = RedisStore(server.url, variable=VARIABLE, prefix=PREFIX, timeout_s=0.3)
    server.stop()
    texts = [text_of(f"{number:02}", "yy") for number in range(20)]
    warnings = await asyncio.gather(*map(store.add, texts))
    with pytest.raises(ToolError, match="does not answer in time"):
        await store.get(before.key, 1)
    server.resume()

    # Late replies of Redis must not be taken for those of other questions.
    assert [(await store.get(text.key, 1)).content for text in texts] == [f"{number:02}" for number in range(20)]
    assert await read_in_the_end(store, before.key) == TEN
    await store.aclose()

    assert {"does not answer in time" in warning for each in warnings for warning in each} == {True}, warnings


async def test_a_cancelled_call_does_not_mix_up_the_next(redis: str) -> None:
    store = RedisStore(redis, variable=VARIABLE, prefix=PREFIX)
    texts = [text_of(f"{number}" * 100_000) for number in range(8)]
    await asyncio.gather(*map(store.add, texts))
    for patience in range(40):
        tasks = [asyncio.ensure_future(store.get(text.key, 1)) for text in texts]
        for _ in range(patience):
            await asyncio.sleep(0)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    assert [(await store.get(text.key, 1)).content[0] for text in texts] == list("01234567")
    await store.aclose()


async def test_a_full_redis_costs_no_text(redis_servers: Servers) -> None:
    server = redis_servers("--maxmemory", "3mb", "--maxmemory-policy", "noeviction")
    store = RedisStore(server.url, variable=VARIABLE, prefix=PREFIX)
    parts = ["x" * 1_000_000] * 4
    texts = [text_of(*parts) for _ in range(3)]
    warnings = [await store.add(text) for text in texts]

    assert [(await store.get(text.key, 4)).content for text in texts] == [parts[3]] * 3
    assert "has no memory left" in warnings[-1][0]
    await store.aclose()


async def test_redis_may_drop_old_texts_for_new_ones(redis_servers: Servers) -> None:
    server = redis_servers("--maxmemory", "8mb", "--maxmemory-policy", "volatile-lru")
    store = RedisStore(server.url, variable=VARIABLE, prefix=PREFIX)
    texts = [text_of("x" * 1_000_000) for _ in range(20)]
    warnings = [await store.add(text) for text in texts]

    results = await asyncio.gather(*(store.get(text.key, 1) for text in texts), return_exceptions=True)
    codes = {result.code if isinstance(result, ToolError) else "" for result in results}

    assert codes == {"CACHE_EXPIRED", ""}
    assert not any(warnings)
    await store.aclose()


async def test_a_password_opens_and_is_never_shown(
    redis_servers: Servers, opened: Open, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    server = redis_servers("--requirepass", READABLE)
    right = opened(f"unix://:{SECRET}@{server.path}")
    kept = await right.keep(TEN + "a")
    wrong = opened(f"unix://:{SECRET}x@{server.path}")
    local = await wrong.keep(TEN + "b")
    with pytest.raises(ToolError, match="refuses the user, or the password") as caught:
        await wrong.fetch(kept.key, 1)
    problem = await wrong.check()
    error = caught.value
    shown: Iterable[Any] = [kept, local, error, error.details, error.__cause__, problem, right, wrong, caplog.text]
    await right.aclose()
    await wrong.aclose()

    assert kept.warnings == ()
    assert f"unix://{server.path} refuses the user, or the password" in problem
    assert not any(secret in f"{each} {each!r}" for each in shown for secret in ("correct", "horse"))


@pytest.mark.parametrize(
    "url",
    [
        "http://hunter2@localhost/",
        "hunter2",
        "redis://",
        "redis://:hunter2",
        "redis://:hunter2@localhost:port/0",
        "redis://:hunt/er2@localhost/0",
        "redis://:hunt#hunter2@localhost/0",
        "redis://:hunt?hunter2@localhost/0",
        "redis://[hunter2/0",
        "unix://",
        "unix://:hunter2@",
    ],
)
async def test_an_invalid_url_is_reported_without_repeating_it(
    url: str, opened: Open, caplog: pytest.LogCaptureFixture
) -> None:
    store = opened(url)
    kept = await store.keep(TEN + "a")
    problem = await store.check()
    await store.aclose()

    assert problem.startswith("SAMPLE_STORE is not the URL of a Redis: use redis://HOST:PORT/DB")
    assert kept.warnings == (problem,)
    assert [record.getMessage() for record in caplog.records] == [problem]
    assert "hun" not in problem


@pytest.mark.parametrize("options", ["db=hunter2", "hunter2=1", "socket_timeout=hunter2"])
async def test_invalid_options_of_a_url_are_reported_without_repeating_them(
    redis: str, opened: Open, options: str
) -> None:
    store = opened(f"{redis}?{options}")
    kept = await store.keep(TEN + "a")
    problem = await store.check()

    assert await content(store, kept.key, 2) == "a"
    assert "cannot be used" in problem
    assert "hunter2" not in f"{problem} {kept}"
    await store.aclose()


async def test_an_impossible_host_is_reported(opened: Open) -> None:
    store = opened(f"redis://{'x' * 70}.invalid:1/0")

    assert "cannot be reached" in await store.check()
    await store.aclose()


@pytest.mark.parametrize("url", ["", "  \n"])
async def test_without_a_url_texts_are_in_memory(url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(VARIABLE, url)
    store = ChunkStore(VARIABLE)

    assert (store.kind, await store.check()) == ("memory", "")
    await store.aclose()


def test_opening_a_store_does_not_import_the_client() -> None:
    program = """
import sys
from toolmason_runtime.chunks.store import ChunkStore
ChunkStore("SAMPLE_STORE")._store
sys.exit("redis" in sys.modules)
"""
    environ = {**os.environ, VARIABLE: "redis://:secret@localhost:1/0"}
    subprocess.run([sys.executable, "-c", program], check=True, env=environ)


def test_a_missing_package_is_reported_with_the_extra() -> None:
    program = """
import asyncio, importlib.util, sys
real = importlib.util.find_spec
importlib.util.find_spec = lambda name, *more: None if name == "redis" else real(name, *more)
from toolmason_runtime.chunks.store import ChunkStore
print(asyncio.run(ChunkStore("SAMPLE_STORE").check()))
"""
    environ = {**os.environ, VARIABLE: "redis://localhost/0"}
    run = subprocess.run(
        [sys.executable, "-c", program], check=True, capture_output=True, text=True, encoding="utf-8", env=environ
    )

    assert "pip install 'toolmason[workbench]'" in run.stdout
