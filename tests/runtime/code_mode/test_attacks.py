"""Hostile programs end with an error, and leave the server as it was."""

from __future__ import annotations

import asyncio
import re
import time

import pytest
from program_desk import Asker, Desk
from toolmason_runtime.code_mode import limits

pytestmark = pytest.mark.anyio


@pytest.mark.parametrize(
    ("code", "expected"),
    [
        ("while True:\n    pass", "feed time limit exceeded"),
        ('x = "a" * 10**10', "MemoryError"),
        ("a = 'x'\nwhile True:\n    a = a + a", "MemoryError"),
        ("def f(n):\n    return f(n + 1)\nf(0)", "RecursionError"),
        ("2 ** (10 ** 10)", "MemoryError"),
        ('int("9" * 10**6)', "ValueError"),
        ('open("/etc/passwd").read()', "`open` is not available: a program has no files"),
        ('f = eval("open")\nf("/etc/passwd").read()', "Error"),
        ("import os\nos.environ['PATH']", "not supported"),
        ("import subprocess", "No module named"),
        ("import socket", "No module named"),
        ("raise SystemExit(3)", "RuntimeError: "),
        ("class A(Exception): pass", "not yet support"),
        ("import asyncio\nawait asyncio.sleep(10)", "sleep limit exceeded"),
        ("{}.__class__.__mro__", "no attribute"),
    ],
)
async def test_a_hostile_program_fails_alone(
    desk: Desk, code: str, expected: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(limits, "CPU_S", 0.5)
    dispatcher = desk.dispatcher()
    started = time.monotonic()

    failure = await desk.failure(code, dispatcher=dispatcher, timeout_s=1 if "sleep" in code else 60)

    assert expected in failure
    assert time.monotonic() - started < 10
    assert await desk.run("1 + 1", dispatcher=dispatcher) == "2"


@pytest.mark.parametrize(
    "statement",
    ["v{}nm", "git.l{}", "git_lgo{}()", "await git_log(a{}=1)", "await git_log(max_count=[{}])", "echo_hello().x{}"],
)
async def test_many_mistakes_are_reported_soon(desk: Desk, statement: str) -> None:
    dispatcher = desk.dispatcher()
    await desk.run("1", dispatcher=dispatcher)
    code = "\n".join(statement.format(index) for index in range(65_000 // (len(statement) + 4)))
    started = time.process_time()

    failure = await desk.failure(code, dispatcher=dispatcher)

    assert re.search(r"\n\d+ more mistakes\.\nNothing was run\.$", failure)
    assert time.process_time() - started < 5


@pytest.mark.parametrize(
    "code",
    [
        "NAME",
        "await git_log(NAME=1)",
        "await git.NAME()",
        "git_NAME = 1\ngit.NAME()",
        'await git_log(max_count="NAME")',
    ],
)
async def test_a_long_name_in_a_mistake_is_shortened(desk: Desk, code: str) -> None:
    failure = await desk.failure(code.replace("NAME", "n" * 30_000))

    assert failure.startswith("program:")
    assert len(failure) < 2_000


async def test_a_number_with_many_digits_has_an_answer(desk: Desk) -> None:
    assert await desk.run("2 ** 20000") == "(an int of more than 4,300 digits; show it in hexadecimal, by `hex`)"
    assert (
        await desk.run("[1, 2 ** 20000]")
        == "(a list with an int of more than 4,300 digits; show it in hexadecimal, by `hex`)"
    )


async def test_a_deep_value_has_an_answer(desk: Desk) -> None:
    assert await desk.run("a = []\nfor _ in range(10000):\n    a = [a]\na")


async def test_a_value_that_contains_itself_has_an_answer(desk: Desk) -> None:
    assert await desk.run("a = []\na.append(a)\na") == '["[...]"]'


async def test_output_is_limited(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "OUTPUT_CHARS", 1000)

    answer = await desk.run('for _ in range(500):\n    print("x" * 99)')

    assert answer.count("x") == 1000 - answer[:1000].count("\n")
    assert answer.endswith("[the rest of the output was left out]")


async def test_more_calls_than_allowed_end_the_program(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "CALLS", 5)
    calls = 'await asyncio.gather(*[send(FILE, "GET") for _ in range(1000)])'
    code = f"import asyncio\ntry:\n    {calls}\nexcept BaseException:\n    pass"

    assert "makes more than 5 calls" in await desk.failure(code)
    assert desk.record() == []


async def test_few_calls_run_at_the_same_time(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    dispatcher = desk.dispatcher()
    running = most = 0
    run_tool = dispatcher.run_tool

    async def counted(*arguments: object) -> object:
        nonlocal running, most
        running += 1
        most = max(most, running)
        try:
            return await run_tool(*arguments)  # type: ignore[arg-type]
        finally:
            running -= 1

    monkeypatch.setattr(dispatcher, "run_tool", counted)

    await desk.run(
        "import asyncio\nlen(await asyncio.gather(*[echo_hello() for _ in range(40)]))", dispatcher=dispatcher
    )

    assert most == limits.PARALLEL


async def test_a_cancelled_program_ends_with_its_calls(desk: Desk) -> None:
    dispatcher = desk.dispatcher()
    params = {"name": "run", "arguments": {"code": "while True:\n    pass"}}

    with pytest.raises(TimeoutError):
        async with asyncio.timeout(0.5):
            await dispatcher.dispatch("tools/call", params, Asker())

    assert await desk.run("3", dispatcher=dispatcher) == "3"


async def test_text_of_a_tool_that_looks_like_code_stays_text(desk: Desk) -> None:
    code = 'await say(text="await send(" + repr(FILE) + ")")'

    assert '"argv": ["await send(' in await desk.run(code)
    assert desk.record() == []


async def test_invisible_characters_of_a_program_are_shown(desk: Desk) -> None:
    assert "\u202e" not in await desk.run('"a\\u202eb"')
    assert "\u202e" not in await desk.failure('x = "\u202e"\nawait git_lgo()')
