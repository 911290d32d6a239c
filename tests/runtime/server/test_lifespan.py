"""The state of a server: made once, late, and ended in the task that made it."""

from __future__ import annotations

import asyncio

import anyio
import pytest
from mcp import Client
from odd_lifespans import Pair
from quiet_context import QuietContext
from sample_server.handlers import OPENED, Notebook
from sample_server.server import build_dispatcher, build_server
from toolmason_runtime import ToolError
from toolmason_runtime.protocol.selection import Selection
from toolmason_runtime.server.lifespan import Lifespan

pytestmark = pytest.mark.anyio
CLASSIC = Selection("classic")


@pytest.fixture(autouse=True)
def nothing_opened() -> None:
    OPENED.clear()


async def test_nothing_is_entered_before_the_first_call_of_a_tool() -> None:
    dispatcher = build_dispatcher(CLASSIC)
    await dispatcher.dispatch("tools/list", {}, QuietContext())
    await dispatcher.aclose()

    assert OPENED == []


async def test_state_is_made_once_for_calls_at_the_same_time_and_ended_with_the_server() -> None:
    dispatcher = build_dispatcher(CLASSIC, options={"farewell": ""})
    params = {"name": "show_state", "arguments": {}}
    await asyncio.gather(*(dispatcher.dispatch("tools/call", params, QuietContext()) for _ in range(5)))
    were_open = [each.is_open for each in OPENED]
    await dispatcher.aclose()

    assert were_open == [True]
    assert [each.is_open for each in OPENED] == [False]


async def test_cancelling_the_first_call_leaves_the_state_to_the_others() -> None:
    lifespan = Lifespan("sample_server.handlers:lifespan", {})
    with anyio.move_on_after(0):
        await lifespan.state()
    (notebook,) = await lifespan.state()
    assert isinstance(notebook, Notebook)
    was_open = notebook.is_open
    await lifespan.aclose()

    assert was_open
    assert len(OPENED) == 1
    assert not notebook.is_open


async def test_state_of_an_embedder_is_available_to_handlers() -> None:
    mine = Notebook({"mine": "yes"})
    async with Client(build_server(CLASSIC, state=[mine])) as client:
        result = await client.call_tool("show_state", {})

    assert '"mine": "yes"' in str(result.content)


async def test_state_ends_with_the_last_of_two_connections() -> None:
    server = build_server(CLASSIC)
    async with Client(server, mode="legacy") as first:
        async with Client(server, mode="2026-07-28") as second:
            await second.call_tool("show_state", {})
            await first.call_tool("show_state", {})
        between = [each.is_open for each in OPENED]

    assert between == [True]
    assert [each.is_open for each in OPENED] == [False]


async def test_server_can_be_served_again_after_its_end() -> None:
    server = build_server(CLASSIC)
    for _ in range(2):
        async with Client(server) as client:
            await client.call_tool("show_state", {})

    assert [each.is_open for each in OPENED] == [False, False]


async def test_failure_to_enter_reaches_the_caller_and_the_next_one_tries_again() -> None:
    options: dict[str, str | tuple[str, ...]] = {"key": ""}
    lifespan = Lifespan("sample_server.handlers:choosy_lifespan", options)
    with pytest.raises(ToolError, match="set a key"):
        await lifespan.state()
    options["key"] = "given"
    state = await lifespan.state()
    await lifespan.aclose()

    assert state == ("given",)


@pytest.mark.parametrize(
    ("name", "yielded"),
    [
        ("yields_one", [Pair("a", "b")]),
        ("yields_a_tuple", [Pair("a", "b"), "c"]),
        ("yields_nothing", []),
    ],
)
async def test_lifespan_yields_one_object_or_a_tuple_of_them(name: str, yielded: list[object]) -> None:
    lifespan = Lifespan(f"odd_lifespans:{name}", {})
    state = await lifespan.state()
    await lifespan.aclose()

    assert list(state) == yielded


@pytest.mark.parametrize(
    ("name", "reason"),
    [
        ("is_not_decorated", "TypeError: it must return an async context manager, not async_generator; decorate it"),
        ("is_not_there", "AttributeError: module 'odd_lifespans' has no attribute 'is_not_there'"),
        ("takes_nothing", "TypeError: takes_nothing() takes 0 positional arguments but 1 was given"),
        ("raises", "OSError: no database at a-secret-place"),
    ],
)
async def test_lifespan_that_fails_is_named_in_one_line_and_its_text_is_not_shown(
    name: str, reason: str, caplog: pytest.LogCaptureFixture
) -> None:
    lifespan = Lifespan(f"odd_lifespans:{name}", {})
    with pytest.raises(ToolError) as raised:
        await lifespan.state()

    assert raised.value.message == f"The server's lifespan `odd_lifespans:{name}` failed"
    [record] = caplog.records
    assert record.getMessage().startswith(f"lifespan `odd_lifespans:{name}` failed: {reason}")
    assert "\n" not in record.getMessage()


async def test_lifespan_that_fails_while_closing_is_named(caplog: pytest.LogCaptureFixture) -> None:
    lifespan = Lifespan("odd_lifespans:fails_late", {})
    await lifespan.state()
    await lifespan.aclose()

    assert [record.getMessage() for record in caplog.records] == [
        "lifespan `odd_lifespans:fails_late` failed while closing: OSError: still locked"
    ]


async def test_server_without_a_lifespan_has_no_state() -> None:
    lifespan = Lifespan("", {})

    assert await lifespan.state() == ()
    await lifespan.aclose()


def test_state_ends_with_its_event_loop_and_is_made_anew_in_the_next() -> None:
    lifespan = Lifespan("sample_server.handlers:lifespan", {})
    for _ in range(2):
        asyncio.run(lifespan.state())

    assert [each.is_open for each in OPENED] == [False, False]
