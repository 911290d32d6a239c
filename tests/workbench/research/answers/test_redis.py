"""Answers in Redis: shared, bounded in time, and not lost if it fails."""

from __future__ import annotations

import asyncio
import json
import logging
import os
import subprocess
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from redis import Redis
from toolmason_runtime import ToolError
from workbench_handlers.answers.memory import MemoryStore
from workbench_handlers.answers.redis_store import PREFIX, RedisStore
from workbench_handlers.answers.store import AnswerStore, open_store

pytestmark = pytest.mark.anyio

PATIENCE_S = 30.0
SECRET = "correct%2Fhorse"
READABLE = "correct/horse"
OTHER_PROCESS = """
import asyncio, json, sys
from workbench_handlers.answers.store import open_store

async def main():
    store = open_store(sys.argv[1])
    part = await store.get(sys.argv[2], 2)
    kept = await store.put(["from", "there"])
    await store.aclose()
    print(json.dumps([part.content, part.total, part.expires_at.isoformat(), kept.key]))

asyncio.run(main())
"""

Servers = Callable[..., Any]


async def read_in_the_end(store: AnswerStore, key: str) -> str:
    async with asyncio.timeout(PATIENCE_S):
        while True:
            with suppress(ToolError):
                return (await store.get(key, 1)).content
            await asyncio.sleep(0)


async def test_another_process_has_the_same_answers(redis: str) -> None:
    store = open_store(redis)
    kept = await store.put(["here: ", "漢字"])
    command = [sys.executable, "-c", OTHER_PROCESS, redis, kept.key]
    run = await asyncio.to_thread(subprocess.run, command, capture_output=True, text=True, encoding="utf-8", check=True)
    content, total, expires_at, key = json.loads(run.stdout)
    theirs = [(await store.get(key, index)).content for index in (1, 2)]
    await store.aclose()

    assert (content, total, expires_at) == ("漢字", 2, kept.expires_at.isoformat())
    assert theirs == ["from", "there"]


async def test_closing_one_store_leaves_the_answers_to_the_others(redis: str) -> None:
    one, other = open_store(redis), open_store(redis)
    kept = await one.put(["a"])
    await one.aclose()

    assert (await other.get(kept.key, 1)).content == "a"
    await other.aclose()


async def test_redis_lets_answers_expire_and_holds_nothing_else(redis: str) -> None:
    store = open_store(redis)
    kept = await store.put(["a", "b"])
    with Redis(unix_socket_path=redis.removeprefix("unix://")) as client:
        names = client.keys()
        life_ms = client.pttl(PREFIX + kept.key)
    await store.aclose()

    assert names == [(PREFIX + kept.key).encode()]
    assert isinstance(life_ms, int)
    assert 3_500_000 < life_ms <= 3_600_000


async def test_closing_leaves_no_connection(redis: str) -> None:
    with Redis(unix_socket_path=redis.removeprefix("unix://")) as client:
        before = len(client.client_list())
        store = open_store(redis)
        await asyncio.gather(*(store.put(["a"]) for _ in range(20)))
        opened = len(client.client_list()) - before
        await store.aclose()
        ends = time.monotonic() + PATIENCE_S
        while len(client.client_list()) > before:
            assert time.monotonic() < ends

    assert 1 <= opened <= 8


async def test_answer_survives_that_redis_was_started_again(redis_servers: Servers) -> None:
    server = redis_servers()
    store = open_store(server.url)
    first = await store.put(["a"])
    server.end()
    server.start()
    second = await store.put(["b"])

    assert (await store.get(second.key, 1)).content == "b"
    assert second.warnings == ()
    with pytest.raises(ToolError, match="expired"):
        await store.get(first.key, 1)
    await store.aclose()


async def test_without_redis_the_answer_is_kept_here_and_said_so(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    store = open_store(f"unix://{tmp_path}/none")

    kept = await store.put(["a", "b"])

    assert [(await store.get(kept.key, index)).content for index in (1, 2)] == ["a", "b"]
    [warning] = kept.warnings
    assert "cannot be reached: only the server process that gave this answer has its other chunks" in warning
    assert "kept in the memory of this process" in caplog.text
    assert await store.check() == (
        f"WORKBENCH_STORE: unix://{tmp_path}/none cannot be reached. "
        "Meanwhile long answers are kept in the memory of this process alone"
    )
    await store.aclose()


async def test_without_redis_other_answers_are_not_called_expired(redis_servers: Servers) -> None:
    server = redis_servers()
    store = open_store(server.url)
    kept = await store.put(["a"])
    server.end()

    with pytest.raises(ToolError, match="try again") as caught:
        await store.get(kept.key, 1)
    await store.aclose()

    assert caught.value.code == "INTERNAL"


@pytest.mark.parametrize(
    "wrong",
    [
        *({"total": each} for each in ("abc", "", "-5", "0", "1_0", "9" * 5000, "\u00b2", "1.0")),
        *({"expires": each} for each in ("nan", "1e400", "inf", "-inf", "", "soon", "1e300", "9" * 5000)),
        {"1": b"\xff\xfe"},
    ],
    ids=repr,
)
async def test_what_others_wrote_into_redis_is_no_answer(
    redis: str, wrong: dict[str, Any], caplog: pytest.LogCaptureFixture
) -> None:
    store = open_store(redis)
    kept = await store.put(["a", "b"])
    with Redis(unix_socket_path=redis.removeprefix("unix://")) as client:
        client.hset(PREFIX + kept.key, mapping=wrong)
        with pytest.raises(ToolError, match="Run the original query again") as caught:
            await store.get(kept.key, 1)
    await store.aclose()

    assert caught.value.code == "CACHE_EXPIRED"
    [record] = caplog.records
    assert len(record.getMessage()) < 200


async def test_a_part_that_redis_has_lost_is_not_said_never_to_have_been(redis: str) -> None:
    store = open_store(redis)
    kept = await store.put(["a", "b"])
    with Redis(unix_socket_path=redis.removeprefix("unix://")) as client:
        client.hdel(PREFIX + kept.key, "2")
        client.hset(PREFIX + kept.key, "3", "from elsewhere")
        codes = []
        for index in (2, 3):
            with pytest.raises(ToolError) as caught:
                await store.get(kept.key, index)
            codes.append(caught.value.code)
    await store.aclose()

    assert codes == ["CACHE_EXPIRED", "INVALID_CHUNK_INDEX"]


async def test_redis_that_hangs_is_not_waited_for(redis_servers: Servers) -> None:
    server = redis_servers()
    writer = open_store(server.url)
    before = await writer.put(["before"])
    await writer.aclose()
    store = RedisStore(server.url, shown="redis", timeout_s=0.3)
    server.stop()
    kept = await asyncio.gather(*(store.put([f"{number}"]) for number in range(20)))
    with pytest.raises(ToolError, match="does not answer in time"):
        await store.get(before.key, 1)
    server.resume()

    # Late replies of Redis must not be taken for those of other questions.
    assert [(await store.get(each.key, 1)).content for each in kept] == [f"{number}" for number in range(20)]
    assert await read_in_the_end(store, before.key) == "before"
    await store.aclose()

    assert {"does not answer in time" in warning for each in kept for warning in each.warnings} == {True}, kept


async def test_cancelled_call_does_not_mix_up_the_next(redis: str) -> None:
    store = open_store(redis)
    kept = [await store.put([f"{number}" * 100_000]) for number in range(8)]
    for patience in range(40):
        tasks = [asyncio.ensure_future(store.get(each.key, 1)) for each in kept]
        for _ in range(patience):
            await asyncio.sleep(0)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    assert [(await store.get(each.key, 1)).content[0] for each in kept] == list("01234567")
    await store.aclose()


async def test_full_redis_costs_no_answer(redis_servers: Servers) -> None:
    server = redis_servers("--maxmemory", "3mb", "--maxmemory-policy", "noeviction")
    store = open_store(server.url)
    parts = ["x" * 1_000_000] * 4
    kept = [await store.put(parts) for _ in range(3)]

    assert [(await store.get(each.key, 4)).content for each in kept] == [parts[3]] * 3
    assert "has no memory left" in kept[-1].warnings[0]
    await store.aclose()


async def test_redis_may_drop_old_answers_for_new_ones(redis_servers: Servers) -> None:
    server = redis_servers("--maxmemory", "8mb", "--maxmemory-policy", "volatile-lru")
    store = open_store(server.url)
    kept = [await store.put(["x" * 1_000_000]) for _ in range(20)]

    results = await asyncio.gather(*(store.get(each.key, 1) for each in kept), return_exceptions=True)
    codes = {result.code if isinstance(result, ToolError) else "" for result in results}

    assert codes == {"CACHE_EXPIRED", ""}
    assert not any(each.warnings for each in kept)
    await store.aclose()


async def test_password_opens_and_is_never_shown(redis_servers: Servers, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    server = redis_servers("--requirepass", READABLE)
    right = open_store(f"unix://:{SECRET}@{server.path}")
    kept = await right.put(["a"])
    wrong = open_store(f"unix://:{SECRET}x@{server.path}")
    fallen = await wrong.put(["b"])
    with pytest.raises(ToolError, match="refuses the user, or the password") as caught:
        await wrong.get(kept.key, 1)
    problem = await wrong.check()
    said = [
        kept,
        fallen,
        caught.value,
        caught.value.details,
        caught.value.__cause__,
        problem,
        right,
        wrong,
        caplog.text,
    ]
    await right.aclose()
    await wrong.aclose()

    assert kept.warnings == ()
    assert f"unix://{server.path} refuses the user, or the password" in problem
    assert not any(secret in f"{each} {each!r}" for each in said for secret in ("correct", "horse"))


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
async def test_bad_url_is_told_without_repeating_it(url: str, caplog: pytest.LogCaptureFixture) -> None:
    store = open_store(url)
    kept = await store.put(["a", "b"])
    problem = await store.check()
    await store.aclose()

    assert problem.startswith("WORKBENCH_STORE is no URL of a Redis: give redis://HOST:PORT/DB")
    assert kept.warnings == (problem,)
    assert [record.getMessage() for record in caplog.records] == [problem]
    assert "hun" not in problem


@pytest.mark.parametrize("options", ["db=hunter2", "hunter2=1", "socket_timeout=hunter2"])
async def test_bad_options_of_a_url_are_told_without_repeating_them(redis: str, options: str) -> None:
    store = open_store(f"{redis}?{options}")
    kept = await store.put(["a"])
    problem = await store.check()

    assert (await store.get(kept.key, 1)).content == "a"
    assert "cannot be used" in problem
    assert "hunter2" not in f"{problem} {kept}"
    await store.aclose()


async def test_host_that_cannot_be_is_told() -> None:
    store = open_store(f"redis://{'x' * 70}.invalid:1/0")

    assert "cannot be reached" in await store.check()
    await store.aclose()


@pytest.mark.parametrize("url", ["", "  \n"])
async def test_no_url_is_memory_and_nothing_is_wrong(url: str) -> None:
    store = open_store(url)

    assert isinstance(store, MemoryStore)
    assert await store.check() == ""
    await store.aclose()


def test_opening_a_store_does_not_import_the_client() -> None:
    program = """
import sys
from workbench_handlers.answers.store import open_store
open_store("redis://:secret@localhost:1/0")
sys.exit("redis" in sys.modules)
"""
    subprocess.run([sys.executable, "-c", program], check=True, env=os.environ)


def test_missing_package_names_the_extra() -> None:
    program = """
import asyncio, importlib.util, sys
real = importlib.util.find_spec
importlib.util.find_spec = lambda name, *more: None if name == "redis" else real(name, *more)
from workbench_handlers.answers.store import open_store
print(asyncio.run(open_store("redis://localhost/0").check()))
"""
    run = subprocess.run([sys.executable, "-c", program], check=True, capture_output=True, text=True, encoding="utf-8")

    assert "pip install 'toolmason[workbench]'" in run.stdout
