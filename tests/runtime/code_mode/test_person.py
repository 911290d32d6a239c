"""A person in the middle of a program: what is asked, what is stored, and how the program goes on."""

from __future__ import annotations

import re
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from command_sample import text_of
from program_desk import Asker, Desk, Modern
from toolmason_runtime import ToolError
from toolmason_runtime.chunks.redis import RedisStore
from toolmason_runtime.code_mode import limits
from toolmason_runtime.code_mode.suspended import Suspended, SuspendedPrograms, Waiting, new_id

pytestmark = pytest.mark.anyio
Stored = Callable[[], list[Path]]
TWO = 'a = await send(FILE, "GET")\nb = await send(FILE, "PUT")\nc = await send(FILE, "DELETE")\n[a, b, c]'


async def test_a_client_answers_in_the_middle_of_a_program(desk: Desk, stored: Stored) -> None:
    client = Asker("accept")

    answer = await desk.run(TWO, client)

    assert answer == '["GET done","PUT done","DELETE done"]'
    assert desk.record() == ["GET", "PUT", "DELETE"]
    assert client.asked[0].startswith("Line 2 of a program: send(")
    assert "$ " in client.asked[0]
    assert len(client.asked) == 2
    assert stored() == []


async def test_a_program_cannot_catch_a_refusal_and_try_again(desk: Desk) -> None:
    client = Asker("decline")
    code = 'for _ in range(3):\n    try:\n        await send(FILE, "PUT")\n    except BaseException:\n        pass'

    failure = await desk.failure(code, client)

    assert "the user declined" in failure
    assert "The program ended at line 3." in failure
    assert len(client.asked) == 1
    assert desk.record() == []


async def modern(desk: Desk, code: str, answers: dict[str, str]) -> dict[str, Any]:
    return await desk.answer(code, Modern(answers))


async def test_a_modern_client_sends_the_call_again_and_no_call_runs_twice(desk: Desk, stored: Stored) -> None:
    answers: dict[str, str] = {}
    asked = []
    while (result := await modern(desk, TWO, answers)).get("resultType") == "input_required":
        [(key, request)] = result["inputRequests"].items()
        asked.append(request["params"]["message"])
        assert len(stored()) == 1
        answers[key] = "accept"

    assert text_of(result) == '["GET done","PUT done","DELETE done"]'
    assert desk.record() == ["GET", "PUT", "DELETE"]
    assert len(asked) == 2
    assert stored() == []


async def test_answers_that_were_used_start_nothing(desk: Desk) -> None:
    answers: dict[str, str] = {}
    while (result := await modern(desk, TWO, answers)).get("resultType") == "input_required":
        answers |= dict.fromkeys(result["inputRequests"], "accept")

    again = await modern(desk, TWO, answers)

    assert "no program waits under this name" in text_of(again)
    assert desk.record() == ["GET", "PUT", "DELETE"]


async def test_equal_calls_are_asked_one_by_one(desk: Desk) -> None:
    client = Asker("accept")

    await desk.run('for _ in range(3):\n    await send(FILE, "PUT")', client)

    assert len(client.asked) == 3


async def test_one_question_covers_calls_that_wait_at_the_same_time(desk: Desk) -> None:
    client = Asker("accept")
    code = 'import asyncio\nawait asyncio.gather(*[send(FILE, m) for m in ("PUT", "GET", "DELETE")])'

    answer = await desk.run(code, client)

    assert answer == '["PUT done","GET done","DELETE done"]'
    [question] = client.asked
    assert question.startswith("The program asks for 2 calls of send. Accepting approves all of them.")
    assert question.count("\n$ ") == 2


async def test_without_elicitation_a_program_waits_and_is_resumed_by_another_server(desk: Desk, stored: Stored) -> None:
    pending = await desk.run(TWO)
    assert pending.startswith("PENDING: the program waits for a person at\nline 2: send(")
    assert desk.record() == ["GET"]
    [file] = stored()
    assert file.stat().st_mode & 0o777 == 0o600

    found = re.search(r'run \{"resume": "(program_[0-9a-f]{32})"\}', pending)
    assert found is not None
    still = await desk.run("", resume=found[1])
    assert still.startswith("PENDING")
    answer = await desk.run("", Asker("accept"), resume=found[1])

    assert answer == '["GET done","PUT done","DELETE done"]'
    assert desk.record() == ["GET", "PUT", "DELETE"]


async def suspended(desk: Desk) -> str:
    found = re.search(r"program_[0-9a-f]{32}", await desk.run(TWO))
    assert found is not None
    return found[0]


@pytest.mark.parametrize("at", [0, 40, -1])
async def test_a_changed_snapshot_is_not_loaded(desk: Desk, stored: Stored, at: int) -> None:
    identity = await suspended(desk)
    [file] = stored()
    data = bytearray(file.read_bytes())
    data[at] ^= 1
    file.write_bytes(data)

    assert "no program waits" in await desk.failure("", Asker("accept"), resume=identity)
    assert desk.record() == ["GET"]


async def test_a_snapshot_under_the_name_of_another_is_not_loaded(desk: Desk, stored: Stored) -> None:
    await suspended(desk)
    [first] = stored()
    other = first.with_name("program_" + "0" * 32)
    first.rename(other)

    assert "no program waits" in await desk.failure("", Asker("accept"), resume=other.name)


@pytest.mark.parametrize("identity", ["program_" + "1" * 32, "../key", "key", "x" * 500, "program_\n"])
async def test_an_unknown_program_is_not_resumed(desk: Desk, identity: str) -> None:
    await suspended(desk)

    assert "no program waits" in await desk.failure("", Asker("accept"), resume=identity)


async def test_a_program_of_another_owner_is_not_resumed_and_stays(desk: Desk, stored: Stored) -> None:
    identity = await suspended(desk)
    [file] = stored()
    store = SuspendedPrograms(file.parent)

    with pytest.raises(Exception, match="no program waits"):
        await store.take(identity, "someone else")

    assert (await store.take(identity, "")).done == ["send"]


async def test_a_program_expires(desk: Desk, stored: Stored) -> None:
    identity = await suspended(desk)
    [file] = stored()
    later = SuspendedPrograms(file.parent, clock=lambda: time.time() + limits.SUSPENDED_S + 1)

    with pytest.raises(Exception, match="no program waits"):
        await later.take(identity, "")


async def test_a_program_that_writes_is_not_resumed_as_one_that_reads(desk: Desk) -> None:
    identity = await suspended(desk)

    assert "resume it with `run`" in await desk.failure("", Asker("accept"), meta="run_read", resume=identity)
    assert "DELETE done" in await desk.run("", Asker("accept"), resume=identity)


@pytest.mark.skipif(sys.platform == "win32", reason="there is no redis-server for it")
async def test_processes_with_one_redis_resume_a_program_once(redis: str, tmp_path: Path) -> None:
    def opened() -> tuple[RedisStore, SuspendedPrograms]:
        shared = RedisStore(redis, variable="STORE", prefix="sample:")
        return shared, SuspendedPrograms(tmp_path / "none", shared=shared, key="of all processes")

    (first_redis, first), (second_redis, second) = opened(), opened()
    program = Suspended(
        id=new_id(),
        owner="",
        code="1",
        only_reads=True,
        timeout_s=1,
        snapshot=b"\0\xff",
        waiting=[Waiting(0, 1, "send", {"a": 1}, 0, 1)],
        output="",
        notes=[],
        done=[],
        interpreter="1",
        expires=time.time() + 60,
    )
    await first.save(program)

    assert await second.take(program.id, "") == program
    with pytest.raises(ToolError, match="no program waits"):
        await first.take(program.id, "")
    await first_redis.aclose()
    await second_redis.aclose()
    assert not (tmp_path / "none").exists()
