"""Further questions about the same files send, or at least pay, a fraction."""

from __future__ import annotations

import asyncio
from typing import Any, cast

import pytest
from provider_apis import Fail, GeminiApi, Pause, Say
from rigs import Rig, part

from workbench_research.backends import gemini_caches
from workbench_research.backends.breakpoints import MAX_MARKS, Breakpoints
from workbench_research.backends.gemini import GeminiBackend
from workbench_research.backends.protocol import Part


def file(number: int, version: int = 1, lines: int = 120) -> Part:
    text = "".join(f"{line}: value_{number}_{version}_{line} = {line}\n" for line in range(lines))
    return part(f"src/module_{number:03}.py", text)


FILES = tuple(file(number) for number in range(40))


def test_the_tenth_question_pays_a_quarter_at_most(rig: Rig) -> None:
    answers = [rig.answer(f"Question {number}?", *FILES) for number in range(10)]

    costs = [answer.usage.cost or 0.0 for answer in answers]
    assert costs[9] < 0.25 * costs[0]
    assert answers[9].usage.cached > 0.9 * answers[0].usage.sent
    assert answers[9].usage.cached_now == 0
    if rig.name == "gemini":  # the others send the files again
        assert rig.api.asked[9].size < 0.1 * rig.api.asked[0].size


@pytest.mark.parametrize("changed", [39, 30, 21])
def test_a_changed_file_keeps_those_before_it(rig: Rig, changed: int) -> None:
    for number in range(3):
        rig.answer(f"Question {number}?", *FILES)
    files = (*FILES[:changed], file(changed, version=2), *FILES[changed + 1 :])

    usage = rig.answer("And now?", *files).usage

    before = sum(len(item.text) for item in FILES[:changed]) / sum(len(item.text) for item in FILES)
    if rig.name == "gemini":  # a new cache is made of the files that stayed
        assert usage.cached > 0.9 * (usage.sent - usage.cached_now)
    else:
        # A mark is at most a quarter of the files before the changed one.
        assert usage.cached > (before - 0.3) * usage.sent


@pytest.mark.parametrize("rig", ["anthropic", "bedrock"], indirect=True)
def test_a_changed_file_is_cached_again(rig: Rig) -> None:
    for number in range(3):
        rig.answer(f"Question {number}?", *FILES)
    files = (*FILES[:35], file(35, version=2), *FILES[36:])
    rig.answer("And now?", *files)

    usage = rig.answer("And again?", *files).usage

    assert usage.cached > 0.9 * usage.sent
    assert usage.cached_now == 0


@pytest.mark.parametrize("rig", ["openai"], indirect=True)
def test_questions_about_the_same_files_have_the_same_cache_key(rig: Rig) -> None:
    rig.answer("A?", *FILES)
    rig.answer("B?", *FILES[:3])
    rig.answer("C?", FILES[5])

    first, second, third = (request.body["prompt_cache_key"] for request in rig.api.asked)
    assert first == second != third


@pytest.mark.parametrize("count", [1, 2, 3, 4, 5, 40, 200])
def test_at_most_four_blocks_are_marked_and_the_last_is_one(count: int) -> None:
    texts = [f"text {number} " * (1 + number % 7) for number in range(count)]
    breakpoints = Breakpoints()

    first = breakpoints.choose(texts)
    breakpoints.remember(texts, first)
    second = breakpoints.choose([*texts, "another"])

    assert len(first) <= MAX_MARKS
    assert first[-1] == count - 1
    assert count - 1 in second  # the longest known prefix
    assert second[-1] == count
    assert breakpoints.choose([]) == ()


# Gemini: caches by name


@pytest.fixture
def gemini(rig: Rig) -> Rig:
    return rig


only_gemini = pytest.mark.parametrize("rig", ["gemini"], indirect=True)


def stub(rig: Rig) -> GeminiApi:
    assert isinstance(rig.api, GeminiApi)
    return rig.api


@only_gemini
def test_a_cache_is_made_at_the_second_question(gemini: Rig) -> None:
    counts = []
    for number in range(4):
        usage = gemini.answer(f"Question {number}?", *FILES).usage
        counts.append((stub(gemini).created, usage.cached_now > 0, usage.cached > 0))

    assert counts == [(0, False, False), (1, True, True), (1, False, True), (1, False, True)]
    assert any("has stored" in report for report in gemini.reports)
    assert gemini.api.asked[3].body["cachedContent"] == "cachedContents/c1"


@only_gemini
def test_few_files_are_not_cached(gemini: Rig) -> None:
    for number in range(4):
        gemini.answer(f"Question {number}?", FILES[0])

    assert stub(gemini).created == 0


@only_gemini
def test_a_replaced_cache_is_deleted(gemini: Rig) -> None:
    for number in range(3):
        gemini.answer(f"Question {number}?", *FILES)
    for number in range(3):
        gemini.answer(f"Question {number}?", *FILES[20:], *(file(number) for number in range(50, 80)))

    assert stub(gemini).created == 2
    assert list(stub(gemini).caches) == ["cachedContents/c2"]
    asyncio.run(cast("GeminiBackend", gemini.backend).delete_caches())
    assert stub(gemini).caches == {}


@only_gemini
def test_a_lost_cache_is_not_used_again(gemini: Rig) -> None:
    for number in range(3):
        gemini.answer(f"Question {number}?", *FILES)
    stub(gemini).caches.clear()

    answer = gemini.answer("And now?", *FILES)

    assert (answer.text, answer.attempts) == ("Done.", 2)
    assert gemini.answer("And again?", *FILES).attempts == 1


@only_gemini
def test_a_cache_with_which_a_question_failed_is_deleted(gemini: Rig) -> None:
    for number in range(2):
        gemini.answer(f"Question {number}?", *FILES)
    gemini.api.will(Fail(400))
    gemini.answer("And now?", *FILES)

    assert "cachedContents/c1" not in stub(gemini).caches


@only_gemini
def test_a_cache_that_expires_soon_is_not_used(gemini: Rig, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(gemini_caches, "TTL_S", 20)
    for number in range(3):
        gemini.answer(f"Question {number}?", *FILES)

    assert stub(gemini).created == 2


@only_gemini
def test_without_caches_the_question_is_still_asked(gemini: Rig, monkeypatch: pytest.MonkeyPatch) -> None:
    refused = Fail(400, message="Model does not support caching.")
    from provider_apis import JsonReply

    monkeypatch.setattr(stub(gemini), "_cache", lambda _: JsonReply(400, stub(gemini).error(refused)))

    assert [gemini.answer(f"Question {number}?", *FILES).usage.cached for number in range(3)] == [0, 0, 0]


@only_gemini
def test_a_cache_in_use_is_deleted_after_its_last_question(gemini: Rig) -> None:
    for number in range(2):
        gemini.answer(f"Question {number}?", *FILES)
    other = (*FILES[20:], *(file(number) for number in range(50, 80)))

    async def both() -> list[Any]:
        gemini.api.will(Say("slow"), Pause(1.5))
        slow = asyncio.create_task(gemini.ask("Slow?", *FILES))
        await asyncio.sleep(0.7)
        quick = [await gemini.ask(f"Quick {number}?", *other) for number in range(3)]
        kept = dict(stub(gemini).caches)
        return [await slow, *quick, kept]

    slow, *_, kept = asyncio.run(both())
    assert slow.text == "slow"
    assert "cachedContents/c1" in kept or slow.attempts == 1
    gemini.answer("Last?", *other)
    assert list(stub(gemini).caches) == ["cachedContents/c2"]


# Counting


def test_tokens_are_counted_by_the_api_or_not_underestimated(rig: Rig) -> None:
    counted = asyncio.run(rig.backend.count_tokens("Why?", FILES, rig.models[0]))

    rig.answer("Why?", *FILES)
    real = rig.api.asked[0].text
    if rig.name in ("gemini", "anthropic"):
        assert counted == len(real.encode()) // 4
    else:
        assert len(real.encode()) // 4 < counted < len(real.encode()) // 2


@pytest.mark.parametrize("rig", ["gemini", "anthropic"], indirect=True)
def test_without_the_counter_tokens_are_estimated(rig: Rig, monkeypatch: pytest.MonkeyPatch) -> None:
    from provider_apis import JsonReply

    monkeypatch.setattr(rig.api, "other", lambda _: JsonReply(500, {}))

    assert asyncio.run(rig.backend.count_tokens("Why?", FILES, rig.models[0])) > 10_000
