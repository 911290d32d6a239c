"""What a program gets and answers: functions, values, output, mistakes before the first call, and limits."""

from __future__ import annotations

import json
import re
import time
from typing import Any

import pytest
from command_sample import text_of
from program_desk import Asker, Desk
from toolmason_runtime.code_mode import limits
from toolmason_runtime.code_mode.values import value_of
from toolmason_runtime.discovery.functions import Functions
from toolmason_runtime.shared.placeholders import placeholders_of
from toolmason_runtime.shared.tokens import estimate_tokens

pytestmark = pytest.mark.anyio


async def test_a_program_answers_with_its_output_and_its_last_value(desk: Desk) -> None:
    code = 'r = await git_log(max_count=1)\nprint("one")\n{"lines": len(r.splitlines()), "ok": True}'

    first, value = (await desk.run(code)).split("\n")

    assert first == "one"
    assert json.loads(value)["ok"] is True


async def test_functions_are_named_by_tool_and_by_category(desk: Desk) -> None:
    code = "a = await git_log(max_count=1)\nb = await vcs.git_log(max_count=1)\na == b"

    assert await desk.run(code) == "true"


async def test_positional_arguments_come_in_the_order_of_the_signature(desk: Desk) -> None:
    await desk.run('await send(FILE, "GET")')

    assert desk.record() == ["GET"]


async def test_gather_runs_calls_at_the_same_time(desk: Desk) -> None:
    client = Asker()
    code = "import asyncio\nawait asyncio.gather(*[echo_hello() for _ in range(6)])"

    answer = json.loads(await desk.run(code, client))

    assert len(answer) == 6
    assert client.shown[-1] == (6.0, 6.0, "6 of 6 calls: echo_hello")
    assert [done for done, _, _ in client.shown] == sorted({done for done, _, _ in client.shown})


@pytest.mark.parametrize(
    ("code", "answer"),
    [
        ("async def main():\n    return 7\nimport asyncio\nasyncio.run(main())", "7"),
        ("return 5", "5"),
        ('"text\\nof two lines"', "text\nof two lines"),
        ('{"a": (1, 2), 3: None, "s": {1}}', '{"a":[1,2],"3":null,"s":[1]}'),
        ("x = 1", "(no output: end the program with a value)"),
        ('float("nan")', '"nan"'),
        ("[1, [2]]", "[1,[2]]"),
        ("x = 'é'; y = await vcs.git_log(max_count=1)\r\nlen(y) > 3", "true"),
        ("git_log = 5\ngit_log", "5"),
        ("vcs = {'log': 3}\nvcs['log']", "3"),
    ],
)
async def test_values_are_text_or_json(desk: Desk, code: str, answer: str) -> None:
    assert await desk.run(code) == answer


async def test_an_error_of_a_tool_is_an_exception_with_its_code_and_advice(desk: Desk) -> None:
    code = 'try:\n    await git_show(commit="no-such-commit")\nexcept Exception as error:\n    print(error)'

    answer = await desk.run(code)

    assert re.match(r"[A-Z_]+: \S", answer), answer


async def test_an_exception_shows_its_line_and_the_calls_that_wrote(desk: Desk) -> None:
    code = 'await send(FILE, "PUT")\nx = {}\nx["a"]'

    failure = await desk.failure(code, Asker("accept"))

    assert 'program:3:1: KeyError: a\n    x["a"]\n    ^^^^^^' in failure
    assert failure.endswith("Calls that wrote before: send. They are not undone.")


@pytest.mark.parametrize(
    ("code", "expected"),
    [
        ("await git_lgo()", "program:1:7: `git_lgo` is not defined; nearest: `git_log`"),
        ("await vcs.git_lgo()", "program:1:7: `vcs` has no function `git_lgo`; nearest: `vcs.git_log`"),
        ("await git_log(max_cout=1)", "program:1:15: `git_log` has no argument `max_cout`; nearest: `max_count`"),
        ('x = 1\nawait git_log(max_count="many")', "program:2:7: Argument 'max_count' must be"),
        ("git_log()", "program:1:1: the call of `git_log` is not awaited: write `await` before it"),
        ('r = git_log()\nr["a"]', "program:2:1: the result of a function that is not awaited"),
        ("await send()", "program:1:7: Argument 'record' is required: a string"),
        ('m = "GET"\nawait send(method=m)', "program:2:7: No argument provided for required parameter `record`"),
        ("def f(:\n  pass", "program:1:7: syntax: "),
        ("print(nothing)", "program:1:7: `nothing` is not defined"),
        ("x = vcs\nx", "program:1:5: `vcs` is a category, not a value"),
        ("x = 1\r\ny = 2\rawait git_lgo()", "program:3:7: `git_lgo` is not defined"),
        ("x = 'a\0b'", "program:1:7: a program cannot contain NUL characters"),
        ("# \ud800", "program:1:3: a program cannot contain unpaired surrogates"),
        ("é = 1; await git_lgo()", "program:1:14: `git_lgo` is not defined"),
        ("x = " + "(" * 5000 + ")" * 5000, "program:1:"),
    ],
)
async def test_a_mistake_is_reported_before_the_first_call(desk: Desk, code: str, expected: str) -> None:
    failure = await desk.failure(f'{code}\nawait send(FILE, "GET")')

    assert expected in failure
    assert failure.endswith("Nothing was run.")
    assert desk.record() == []


async def test_all_mistakes_are_reported_up_to_a_limit(desk: Desk) -> None:
    code = "\n".join(f"await git_lgo{index}()" for index in range(limits.PROBLEMS + 2))

    failure = await desk.failure(code)

    assert failure.count("is not defined") == limits.PROBLEMS
    assert "2 more mistakes." in failure


async def test_a_value_whose_form_is_not_certain_is_no_mistake(desk: Desk) -> None:
    code = "import re\nm = re.search('a', 'ba')\nx = None\nfor c in ['z']:\n    x = c\nm.group(0) + x[0]"

    assert await desk.run(code) == "az"


async def test_a_program_that_reads_may_not_write(desk: Desk) -> None:
    failure = await desk.failure('await git_commit(message="x")', meta="run_read")

    assert "`git_commit` is not read-only: run the program with `run`" in failure


async def test_a_function_that_writes_is_refused_by_any_name(desk: Desk) -> None:
    code = "f = eval('git_commit')\ntry:\n    await f(message='x')\nexcept Exception as error:\n    print(error)"

    answer = await desk.run(code, meta="run_read")

    assert answer.startswith("NOT_READ_ONLY: git_commit")


async def test_a_long_answer_continues_in_a_program_with_fetch_chunk(desk: Desk) -> None:
    dispatcher = desk.dispatcher()
    params = {"name": "run", "arguments": {"code": '"\\n".join(str(n) * 9 for n in range(20000))'}}
    first = text_of(await dispatcher.dispatch("tools/call", params, Asker()))
    following = re.search(r"\[part 1 of \d+: (\w+)\(code=(\".*\")\) returns the next\]", first)
    assert following is not None

    params = {"name": following[1], "arguments": {"code": json.loads(following[2])}}
    second = text_of(await dispatcher.dispatch("tools/call", params, Asker()))
    await dispatcher.aclose()

    last = first.rpartition("\n[part 1")[0].splitlines()[-1]
    assert int(second.splitlines()[0]) // (int(last) // int(last[:1])) or second[0].isdecimal()
    assert "[next: run" in second


@pytest.mark.parametrize(
    ("code", "expected"),
    [("", "`code` is required"), ("x" * 70_000, "`code` may have 65,536 characters")],
)
async def test_a_program_has_a_size(desk: Desk, code: str, expected: str) -> None:
    assert expected in await desk.failure(code)


async def test_a_call_that_is_not_awaited_does_not_run(desk: Desk) -> None:
    answer = await desk.run('calls = [send(FILE, "GET")]\nlen(calls)')

    assert answer == "1\nNote: line 1 does not await send, which did not run"
    assert desk.record() == []


async def test_search_answers_with_signatures_in_python(desk: Desk) -> None:
    dispatcher = desk.dispatcher()
    result = await desk.sample.call(dispatcher, "search", query="send a request to a desk")

    assert text_of(result).splitlines()[:2] == [
        'send(record: str, method: Literal["GET", "PUT", "DELETE"] = "GET") -> str',
        "    # Send a request to a desk, which keeps a record of each. (writes)",
    ]


async def test_one_search_answers_several_queries(desk: Desk) -> None:
    result = await desk.sample.call(desk.dispatcher(), "search", query="send a request; git log; zzz qqq; send")

    signatures = [line for line in text_of(result).splitlines() if not line.startswith((" ", "#"))]
    names = [line.partition("(")[0] for line in signatures]
    assert {"send", "git_log"} <= set(names)
    assert len(names) == len(set(names))
    assert "Nothing matches zzz qqq." in text_of(result)


async def test_the_sentences_about_the_style_are_short(desk: Desk) -> None:
    dispatcher = desk.dispatcher()
    result = await dispatcher.dispatch("tools/list", {}, Asker())
    await dispatcher.aclose()

    assert [tool["name"] for tool in result["tools"]] == ["search", "run", "run_read"]
    assert estimate_tokens(placeholders_of(desk.sample.catalogue, "code").text_of("discovery")) <= 150


def test_data_of_an_upstream_is_a_value_and_its_text_is_text() -> None:
    entry: Any = {"tool": {"name": "x", "inputSchema": {}}, "upstream": "u"}

    def value(text: str) -> Any:
        return value_of(entry, {"content": [{"type": "text", "text": text}]})[0]

    assert value('{"a": [1]}') == {"a": [1]}
    assert value("[not json") == "[not json"
    assert value("12") == "12"
    command: Any = {"tool": entry["tool"], "cli": "c"}
    assert value_of(command, {"content": [{"type": "text", "text": "{}"}]})[0] == "{}"


def test_functions_have_valid_names() -> None:
    tools: Any = {
        name: {"tool": {"name": name, "inputSchema": {}}, "category": category, "aliases": aliases}
        for name, category, aliases in (
            ("pull-request", "git-hub", ["pr"]),
            ("class", "json", []),
            ("2fa", "git-hub", []),
            ("git_hub_log", "git-hub", []),
        )
    }
    functions = Functions(tools, {})

    assert set(functions.by_name) == {"pull_request", "class_", "_2fa", "git_hub_log", "pr"}
    assert functions.by_category["git_hub"]["log"] == "git_hub_log"
    assert "json" not in functions.by_category


@pytest.mark.parametrize(
    ("code", "expected"),
    [
        ("import asyncio\nawait asyncio.sleep(0.05, 7)", "7"),
        ("import time\ntime.sleep(0.05)\n2", "2"),
        ("import asyncio\nawait asyncio.gather(echo_hello(), *[asyncio.sleep(0.3, n) for n in range(20)])\n3", "3"),
        ("import asyncio\nfor _ in range(3):\n    await echo_hello()\n    await asyncio.sleep(0)\n4", "4"),
        ("import asyncio\nawait asyncio.sleep(-1)\n5", "5"),
        ("import asyncio\nasyncio.sleep(5)\n6", "6"),
    ],
)
async def test_a_program_can_wait(desk: Desk, code: str, expected: str) -> None:
    started = time.monotonic()

    assert await desk.run(code) == expected
    assert time.monotonic() - started < 5


@pytest.mark.parametrize("seconds", ["float('nan')", "float('inf')", "10**400", "1e300", "None", "'1'", "3601"])
async def test_an_odd_time_to_wait_is_an_answer(desk: Desk, seconds: str) -> None:
    started = time.monotonic()

    await desk.answer(f"import asyncio\nawait asyncio.sleep({seconds})", timeout_s=1)

    assert time.monotonic() - started < 5
