"""Work that several wait for, that outlives who asked for it, and that ends when nobody comes back."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field

import pytest

from workbench_research.operations import Operation, Operations, StillRunningError

LONG_S = 60.0
PATIENCE_S = 10.0


@dataclass
class Work:
    """Counts how often it was begun and how it ended; goes on until `let_go`."""

    answer: str = "the answer"
    error: Exception | None = None
    begun: int = 0
    ended: list[str] = field(default_factory=list)
    gate: asyncio.Event = field(default_factory=asyncio.Event)
    says: str = ""

    async def __call__(self, operation: Operation) -> str:
        self.begun += 1
        try:
            if self.says:
                await operation.report(self.says)
            await self.gate.wait()
        except asyncio.CancelledError:
            self.ended.append("cancelled")
            raise
        self.ended.append("done")
        if self.error:
            raise self.error
        return self.answer


async def silent(text: str) -> None:
    assert text


async def until(condition: Callable[[], bool]) -> None:
    async with asyncio.timeout(PATIENCE_S):
        while not condition():  # noqa: ASYNC110  a task elsewhere sets no event
            await asyncio.sleep(0)


def run(scenario: Callable[[], Awaitable[None]]) -> None:
    asyncio.run(scenario())  # type: ignore[arg-type]  # a coroutine function


def test_who_asks_the_same_while_it_goes_on_waits_for_the_same_answer() -> None:
    async def scenario() -> None:
        operations, work = Operations(), Work()
        both = [asyncio.create_task(operations.join_or_start("key", "t", work, silent)) for _ in range(2)]
        await until(lambda: work.begun == 1)
        work.gate.set()

        assert await asyncio.gather(*both) == ["the answer", "the answer"]
        assert (work.begun, len(operations)) == (1, 0)

    run(scenario)


def test_a_call_that_has_waited_long_enough_is_told_to_come_back_and_then_gets_the_same_work() -> None:
    async def scenario() -> None:
        operations, work = Operations(linger_s=0, wait_s=0.01), Work()
        with pytest.raises(StillRunningError) as told:
            await operations.join_or_start("key", "t", work, silent)
        assert [told.value.operation] == operations.running()
        work.gate.set()

        assert await operations.join_or_start("key", "t", work, silent) == "the answer"
        assert (work.begun, work.ended) == (1, ["done"])

    run(scenario)


def test_a_task_waits_longer_than_a_call_and_its_cancellation_ends_the_work_at_once() -> None:
    async def scenario() -> None:
        operations, work = Operations(linger_s=60, wait_s=0.01), Work()
        call = asyncio.create_task(operations.join_or_start("key", "t", work, silent, is_task=lambda: True))
        await asyncio.sleep(0.1)
        assert not call.done()
        call.cancel()
        await until(lambda: work.ended == ["cancelled"])
        work.gate.set()

        assert await operations.join_or_start("key", "t", work, silent, is_task=lambda: True) == "the answer"
        assert work.begun == 2

    run(scenario)


def test_an_answer_that_comes_between_two_calls_is_kept_for_the_second() -> None:
    async def scenario() -> None:
        operations, work = Operations(linger_s=0, wait_s=0.01), Work()
        with pytest.raises(StillRunningError):
            await operations.join_or_start("key", "t", work, silent)
        work.gate.set()
        await until(lambda: work.ended == ["done"])

        assert await operations.join_or_start("key", "t", work, silent) == "the answer"
        assert work.begun == 1

    run(scenario)


def test_who_joins_is_told_so_and_what_follows() -> None:
    async def scenario() -> None:
        operations, work = Operations(), Work()
        first, second = [], []

        async def tell(text: str) -> None:
            first.append(text)

        async def tell_too(text: str) -> None:
            second.append(text)

        one = asyncio.create_task(operations.join_or_start("key", "t", work, tell))
        await until(lambda: work.begun == 1)
        two = asyncio.create_task(operations.join_or_start("key", "t", work, tell_too))
        await until(lambda: len(second) == 1)
        (operation,) = operations.running()
        assert second[0].startswith(f"joined {operation.id}")
        await operation.report("reading a.py")
        work.gate.set()
        await asyncio.gather(one, two)

        assert (first, second[1:]) == (["reading a.py"], ["reading a.py"])

    run(scenario)


def test_other_questions_are_other_work() -> None:
    async def scenario() -> None:
        operations, work = Operations(), Work()
        tasks = [asyncio.create_task(operations.join_or_start(key, "t", work, silent)) for key in ("a", "b")]
        await until(lambda: work.begun == 2)
        work.gate.set()
        await asyncio.gather(*tasks)

    run(scenario)


def test_a_failure_fails_for_all_and_the_next_call_starts_anew() -> None:
    async def scenario() -> None:
        operations, work = Operations(), Work(error=ValueError("no"))
        both = [asyncio.create_task(operations.join_or_start("key", "t", work, silent)) for _ in range(2)]
        work.gate.set()
        said = await asyncio.gather(*both, return_exceptions=True)
        assert [str(each) for each in said] == ["no", "no"]

        work.error = None
        assert await operations.join_or_start("key", "t", work, silent) == "the answer"
        assert work.begun == 2

    run(scenario)


def test_a_cancelled_caller_does_not_end_the_work_of_another() -> None:
    async def scenario() -> None:
        operations, work = Operations(linger_s=0), Work()
        leaves, stays = (asyncio.create_task(operations.join_or_start("key", "t", work, silent)) for _ in range(2))
        await until(lambda: work.begun == 1)
        leaves.cancel()
        await asyncio.wait([leaves])
        work.gate.set()

        assert await stays == "the answer"
        assert work.ended == ["done"]

    run(scenario)


def test_work_ends_when_the_last_one_leaves_and_nobody_comes_back() -> None:
    async def scenario() -> None:
        operations, work = Operations(linger_s=0.01), Work()
        task = asyncio.create_task(operations.join_or_start("key", "t", work, silent))
        await until(lambda: work.begun == 1)
        task.cancel()
        await asyncio.wait([task])
        assert work.ended == []
        await until(lambda: work.ended == ["cancelled"])
        assert len(operations) == 0

    run(scenario)


def test_work_ends_at_once_where_it_is_not_to_linger() -> None:
    async def scenario() -> None:
        operations, work = Operations(linger_s=0), Work()
        task = asyncio.create_task(operations.join_or_start("key", "t", work, silent))
        await until(lambda: work.begun == 1)
        task.cancel()
        await asyncio.wait([task])
        await until(lambda: work.ended == ["cancelled"])

    run(scenario)


def test_who_comes_back_in_time_waits_for_the_work_that_was_begun() -> None:
    async def scenario() -> None:
        operations, work = Operations(linger_s=LONG_S), Work()
        task = asyncio.create_task(operations.join_or_start("key", "t", work, silent))
        await until(lambda: work.begun == 1)
        task.cancel()
        await asyncio.wait([task])
        again = asyncio.create_task(operations.join_or_start("key", "t", work, silent))
        await asyncio.sleep(0)
        work.gate.set()

        assert await again == "the answer"
        assert work.begun == 1

    run(scenario)


def test_an_answer_that_nobody_waited_for_is_kept_for_who_comes_back_once() -> None:
    async def scenario() -> None:
        operations, work = Operations(linger_s=LONG_S), Work()
        task = asyncio.create_task(operations.join_or_start("key", "t", work, silent))
        await until(lambda: work.begun == 1)
        task.cancel()
        await asyncio.wait([task])
        work.gate.set()
        await until(lambda: work.ended == ["done"])

        assert await operations.join_or_start("key", "t", work, silent) == "the answer"
        assert (work.begun, len(operations)) == (1, 0)
        await operations.join_or_start("key", "t", work, silent)
        assert work.begun == 2

    run(scenario)


def test_an_answer_that_nobody_fetches_is_forgotten() -> None:
    async def scenario() -> None:
        operations, work = Operations(linger_s=0.01), Work()
        task = asyncio.create_task(operations.join_or_start("key", "t", work, silent))
        await until(lambda: work.begun == 1)
        task.cancel()
        work.gate.set()
        await asyncio.wait([task])
        await until(lambda: len(operations) == 0)

    run(scenario)


def test_one_who_cannot_be_told_stops_neither_the_work_nor_the_others() -> None:
    async def scenario() -> None:
        operations, work, told = Operations(), Work(), []

        async def gone(text: str) -> None:
            raise ConnectionError(text)

        async def tell(text: str) -> None:
            told.append(text)

        tasks = [asyncio.create_task(operations.join_or_start("key", "t", work, each)) for each in (gone, tell)]
        await until(lambda: len(told) == 1)
        await operations.running()[0].report("reading")
        work.gate.set()

        assert await asyncio.gather(*tasks) == ["the answer"] * 2
        assert told[1:] == ["reading"]

    run(scenario)


@pytest.mark.parametrize("linger_s", [0, LONG_S])
def test_closing_ends_all_work_whether_somebody_waits_or_not(linger_s: float) -> None:
    async def scenario() -> None:
        operations, works = Operations(linger_s=linger_s), [Work(), Work()]
        tasks = [
            asyncio.create_task(operations.join_or_start(str(n), "t", work, silent)) for n, work in enumerate(works)
        ]
        await until(lambda: all(work.begun for work in works))
        tasks[0].cancel()
        await asyncio.wait([tasks[0]])
        await operations.aclose()
        await asyncio.wait(tasks)

        assert [work.ended for work in works] == [["cancelled"], ["cancelled"]]
        assert len(operations) == 0

    run(scenario)


def test_running_operations_are_listed_with_their_age() -> None:
    async def scenario() -> None:
        operations, work = Operations(), Work(says="reading a.py")
        task = asyncio.create_task(operations.join_or_start("key", "deep_research", work, silent))
        await until(lambda: work.begun == 1)
        (operation,) = operations.running()
        assert (operation.tool, operation.last_progress) == ("deep_research", "reading a.py")
        assert operation.id.startswith("op_")
        assert 0 <= operation.age_s < PATIENCE_S
        await operations.aclose()
        await asyncio.wait([task])

    run(scenario)


def test_who_is_being_told_that_they_join_counts_as_waiting_already() -> None:
    async def scenario() -> None:
        operations, work = Operations(linger_s=0), Work()
        told, may_go_on = asyncio.Event(), asyncio.Event()

        async def slow_to_tell(text: str) -> None:
            assert text.startswith("joined op_")
            told.set()
            await may_go_on.wait()

        first = asyncio.create_task(operations.join_or_start("key", "t", work, silent))
        await until(lambda: work.begun == 1)
        second = asyncio.create_task(operations.join_or_start("key", "t", work, slow_to_tell))
        await told.wait()
        first.cancel()
        await asyncio.wait([first])
        may_go_on.set()
        work.gate.set()

        assert await second == "the answer"
        assert (work.begun, work.ended) == (1, ["done"])

    run(scenario)


def test_who_cannot_be_told_that_they_join_waits_all_the_same() -> None:
    async def scenario() -> None:
        operations, work = Operations(), Work()

        async def gone(text: str) -> None:
            raise ConnectionError(text)

        first = asyncio.create_task(operations.join_or_start("key", "t", work, silent))
        await until(lambda: work.begun == 1)
        second = asyncio.create_task(operations.join_or_start("key", "t", work, gone))
        await until(lambda: len(operations.running()[0].listeners) == 2 or second.done())
        work.gate.set()

        assert list(await asyncio.gather(first, second)) == ["the answer", "the answer"]

    run(scenario)


@dataclass
class Programs:
    """Work that holds a place: counts how many hold one at once, and tells in which order they began."""

    operations: Operations
    begun: list[str] = field(default_factory=list)
    ended: list[str] = field(default_factory=list)
    told: list[str] = field(default_factory=list)
    most: int = 0
    slow_to_end: asyncio.Event | None = None
    gates: dict[str, asyncio.Event] = field(default_factory=dict)
    _now: int = 0

    def ask(self, name: str, places: int = 1) -> asyncio.Task[str]:
        gate = self.gates.setdefault(name, asyncio.Event())

        async def held(operation: Operation) -> None:
            async with self.operations.acquire_slot(operation):
                self.begun.append(name)
                self._now += 1
                self.most = max(self.most, self._now)
                try:
                    await gate.wait()
                finally:
                    if self.slow_to_end and not gate.is_set():
                        await self.slow_to_end.wait()
                    self._now -= 1
                    self.ended.append(name)

        async def work(operation: Operation) -> str:
            await asyncio.gather(*(held(operation) for _ in range(places)))
            return name

        async def tell(text: str) -> None:
            self.told.append(f"{name}: {text}")

        return asyncio.create_task(self.operations.join_or_start(name, "t", work, tell))

    def let_go(self, *names: str) -> None:
        for name in names:
            self.gates[name].set()

    async def begun_are(self, *expected: str) -> None:
        names = list(expected)
        await until(lambda: len(self.begun) >= len(names))
        for _ in range(20):
            await asyncio.sleep(0)
        assert self.begun == names


async def left(task: asyncio.Task[str]) -> None:
    task.cancel()
    await asyncio.wait([task])


def test_no_more_programs_than_places_run_at_once_and_the_first_in_line_comes_first() -> None:
    async def scenario() -> None:
        programs = Programs(Operations(max_programs=2))
        tasks = [programs.ask(name) for name in "abcde"]
        await programs.begun_are("a", "b")
        assert programs.told == [f"{name}: waiting for a free slot ({n} ahead)" for n, name in enumerate("cde")]
        programs.told.clear()
        programs.let_go("b")
        await programs.begun_are("a", "b", "c")
        assert programs.told == [
            "d: waiting for a free slot (0 ahead)",
            "e: waiting for a free slot (1 ahead)",
        ]
        programs.let_go(*"acde")

        assert await asyncio.gather(*tasks) == list("abcde")
        assert (programs.begun, programs.most) == (list("abcde"), 2)

    run(scenario)


def test_who_has_a_place_waits_for_another_behind_who_has_none() -> None:
    async def scenario() -> None:
        programs = Programs(Operations(max_programs=2))
        tasks = [programs.ask("a", places=5), programs.ask("b")]
        await programs.begun_are("a", "a")
        programs.let_go("a", "b")
        await asyncio.gather(*tasks)

        assert programs.begun.index("b") == 2

    run(scenario)


def test_who_leaves_the_line_lets_the_others_move_up() -> None:
    async def scenario() -> None:
        programs = Programs(Operations(max_programs=1, linger_s=0))
        a, b, c = (programs.ask(name) for name in "abc")
        await programs.begun_are("a")
        await left(b)
        await until(lambda: "c: waiting for a free slot (0 ahead)" in programs.told)
        programs.let_go("a", "c")

        assert [*await asyncio.gather(a, c)] == ["a", "c"]
        assert programs.begun == ["a", "c"]

    run(scenario)


def test_who_is_cancelled_as_it_gets_a_place_keeps_none() -> None:
    async def scenario() -> None:
        programs = Programs(Operations(max_programs=1, linger_s=0))
        a, b, c = (programs.ask(name) for name in "abc")
        await programs.begun_are("a")
        programs.let_go("a", "c")
        await asyncio.wait([a])
        for _ in range(5):
            b.cancel()
            await asyncio.sleep(0)
        programs.let_go("b")

        assert await c == "c"
        assert await programs.ask("c") == "c"

    run(scenario)


def test_lingering_work_gives_its_place_to_who_waits_what_was_left_first_before_the_rest() -> None:
    async def scenario() -> None:
        programs = Programs(Operations(max_programs=3, linger_s=LONG_S))
        a, b, c = (programs.ask(name) for name in "abc")
        await programs.begun_are("a", "b", "c")
        await left(b)
        await left(a)
        assert programs.ended == []
        d = programs.ask("d")
        await programs.begun_are("a", "b", "c", "d")
        assert programs.ended == ["b"]
        e = programs.ask("e")
        await programs.begun_are("a", "b", "c", "d", "e")
        assert programs.ended == ["b", "a"]
        f = programs.ask("f")
        programs.let_go("c", "d", "e", "f")

        assert [*await asyncio.gather(c, d, e, f)] == ["c", "d", "e", "f"]

    run(scenario)


def test_no_more_lingering_work_is_ended_than_is_needed_though_it_ends_slowly() -> None:
    async def scenario() -> None:
        slow = asyncio.Event()
        programs = Programs(Operations(max_programs=2, linger_s=LONG_S), slow_to_end=slow)
        a, b = (programs.ask(name) for name in "ab")
        await programs.begun_are("a", "b")
        await left(a)
        await left(b)
        both = [programs.ask("c"), programs.ask("c")]
        await until(lambda: any("joined" in each for each in programs.told))
        slow.set()
        await programs.begun_are("a", "b", "c")
        assert programs.ended == ["a"]
        programs.let_go("b", "c")

        assert await asyncio.gather(*both, programs.ask("b")) == ["c", "c", "b"]
        assert (programs.begun, programs.most) == (["a", "b", "c"], 2)

    run(scenario)


def test_work_that_is_left_while_others_wait_ends_at_once() -> None:
    async def scenario() -> None:
        programs = Programs(Operations(max_programs=1, linger_s=LONG_S))
        a, b = (programs.ask(name) for name in "ab")
        await programs.begun_are("a")
        await left(a)
        await programs.begun_are("a", "b")
        again = programs.ask("a")
        programs.let_go("a", "b")

        assert [*await asyncio.gather(again, b)] == ["a", "b"]

    run(scenario)


def test_lingering_work_lingers_on_where_nobody_needs_its_place() -> None:
    async def scenario() -> None:
        programs = Programs(Operations(max_programs=2, linger_s=LONG_S))
        a, b = (programs.ask(name) for name in "ab")
        await programs.begun_are("a", "b")
        await left(a)
        again = programs.ask("a")
        programs.let_go("a", "b")

        assert [*await asyncio.gather(again, b)] == ["a", "b"]
        assert programs.begun == ["a", "b"]

    run(scenario)


def test_a_client_that_does_not_listen_holds_nobody_up() -> None:
    async def scenario() -> None:
        operations = Operations(max_programs=1)
        programs = Programs(operations)
        a = programs.ask("a")
        await programs.begun_are("a")

        async def deaf(_text: str) -> None:
            await asyncio.Event().wait()

        async def work(operation: Operation) -> str:
            async with operations.acquire_slot(operation):
                return "done"

        b = asyncio.create_task(operations.join_or_start("b", "t", work, deaf))
        await asyncio.sleep(0)
        programs.let_go("a")

        assert [*await asyncio.gather(a, b)] == ["a", "done"]

    run(scenario)


def test_work_continues_without_callers_while_another_process_waits_for_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("workbench_research.operations.WANTED_S", 0.2)

    async def scenario() -> None:
        operations, work = Operations(linger_s=0), Work()
        running: list[Operation] = []

        async def begin(operation: Operation) -> str:
            running.append(operation)
            return await work(operation)

        call = asyncio.create_task(operations.join_or_start("key", "t", begin, silent))
        await until(lambda: work.begun == 1)
        running[0].want()
        call.cancel()
        await asyncio.wait([call])
        await asyncio.sleep(0)
        assert (len(operations), work.ended) == (1, [])
        await until(lambda: bool(work.ended))
        assert (len(operations), work.ended) == (0, ["cancelled"])

    run(scenario)
