"""The dispatcher by itself: plain wire dicts in and out, no carrier."""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
from typing import Any

import pytest
from quiet_context import QuietContext
from sample_server.catalogue import CATALOGUE
from sample_server.server import build_dispatcher
from toolmason_runtime import MethodError
from toolmason_runtime.shared.selection import Selection

pytestmark = pytest.mark.anyio
CLASSIC = Selection("classic", all_tools=True)


async def call(name: str, arguments: Any = None, *, selection: Selection | None = CLASSIC) -> dict[str, Any]:
    dispatcher = build_dispatcher(selection)
    try:
        return await dispatcher.dispatch("tools/call", {"name": name, "arguments": arguments}, QuietContext())
    finally:
        await dispatcher.aclose()


def texts(result: dict[str, Any]) -> list[str]:
    return [block["text"] for block in result["content"]]


LEAN = """
import asyncio, sys
sys.path[:0] = {path!r}
from quiet_context import QuietContext
from sample_server.server import build_dispatcher

async def ask(method, **params):
    return await build_dispatcher().dispatch(method, params, QuietContext())

async def main():
    listed = await ask("tools/list")
    assert [tool["name"] for tool in listed["tools"]] == ["search", "call", "count_words"]
    found = await ask("tools/call", name="search", arguments={{"query": "capitals"}})
    assert "shout" in found["content"][0]["text"]

asyncio.run(main())
heavy = {{"pydantic", "mcp", "mcp_types", "anyio", "jsonschema", "sample_server.handlers"}}
print(sorted(heavy & sys.modules.keys()))
"""


def test_list_and_search_do_not_import_pydantic_the_sdk_or_a_handler() -> None:
    code = LEAN.format(path=[path for path in sys.path if path])
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)

    assert (done.stdout, done.stderr) == ("[]\n", "")


async def test_pages_join_to_the_whole_list_in_order() -> None:
    dispatcher = build_dispatcher(CLASSIC)
    names: list[str] = []
    params: dict[str, Any] = {}
    sizes = []
    while True:
        page = await dispatcher.dispatch("tools/list", params, QuietContext())
        sizes.append(len(page["tools"]))
        names += [tool["name"] for tool in page["tools"]]
        if "nextCursor" not in page:
            break
        params = {"cursor": page["nextCursor"]}

    assert sizes == [7, 7, 7, 5]
    assert names == [name for name in CATALOGUE["tools"] if name != "secret"]


@pytest.mark.parametrize("cursor", ["", "x", "dG9vbHM6", "dG9vbHM6Mw==", "dG9vbHM6MA==", "dG9vbHM6NzA=", 7, "ü", []])
async def test_cursor_that_is_not_ours_is_refused(cursor: Any) -> None:
    with pytest.raises(MethodError) as refused:
        await build_dispatcher(CLASSIC).dispatch("tools/list", {"cursor": cursor}, QuietContext())

    assert (refused.value.code, refused.value.message) == (-32602, "Invalid cursor")


async def test_other_methods_are_not_found() -> None:
    with pytest.raises(MethodError) as refused:
        await build_dispatcher().dispatch("prompts/list", {}, QuietContext())

    assert refused.value.code == -32601


@pytest.mark.parametrize("params", [{}, {"name": 1}, {"name": "raw", "arguments": []}, {"name": "raw", "arguments": 1}])
async def test_call_without_a_name_or_with_other_arguments_is_refused(params: dict[str, Any]) -> None:
    with pytest.raises(MethodError) as refused:
        await build_dispatcher(CLASSIC).dispatch("tools/call", params, QuietContext())

    assert refused.value.code == -32602


async def test_direct_and_indirect_calls_answer_the_same() -> None:
    arguments = {"text": "to be or", "label": None, "limit": "3", "lable": 1}
    direct = await call("count_words", arguments, selection=None)
    indirect = await call("call", {"tool_name": "count_words", "args": arguments}, selection=None)

    assert json.dumps(direct) == json.dumps(indirect)


async def test_notes_on_a_call_follow_those_of_its_tool() -> None:
    arguments = {"text": "to be or", "label": None, "lable": 1}
    plain = await call("call", {"tool_name": "count_words", "args": arguments}, selection=None)
    noted = await call("call", {"tool_name": "count_words", "args": arguments, "extra": 1}, selection=None)

    note = "Note: unknown argument 'extra' was ignored; arguments of the tool go into 'args'"
    assert noted == plain | {"content": [*plain["content"], {"type": "text", "text": note}]}


async def test_hidden_tool_does_not_answer_to_its_own_name_where_the_style_forbids_it() -> None:
    with pytest.raises(MethodError) as refused:
        await call("shout", {"text": "a"}, selection=None)
    indirect = await call("call", {"tool_name": "shout", "args": {"text": "a"}}, selection=None)

    assert refused.value.code == -32602
    assert refused.value.message == "Unknown tool `shout`: it is not listed; run it with `call`."
    assert texts(indirect) == ["A"]


@pytest.mark.parametrize("name", ["shout", "old_shout"])
async def test_refusal_of_a_hidden_tool_does_not_name_it_as_nearest_to_itself(name: str) -> None:
    with pytest.raises(MethodError, match="it is not listed; run it with") as refused:
        await call(name, {"text": "a"}, selection=Selection("search-call", all_tools=True))

    assert refused.value.data is None


async def test_hidden_tool_answers_to_its_own_name_where_the_style_permits_it() -> None:
    assert texts(await call("shout", {"text": "a"}, selection=Selection("list-describe"))) == ["A"]


async def test_tool_of_another_tier_is_unknown() -> None:
    with pytest.raises(MethodError, match=r"Unknown tool `rare`\. Nearest names: "):
        await call("rare", selection=Selection("classic"))


async def test_unknown_tool_names_three_others_and_never_more() -> None:
    with pytest.raises(MethodError) as refused:
        await call("coutn_wrods")

    assert refused.value.code == -32602
    assert refused.value.data["nearest"][0] == "count_words"
    assert len(refused.value.data["nearest"]) == 3
    assert refused.value.message.startswith("Unknown tool `coutn_wrods`. Nearest names: `count_words`, `")
    assert refused.value.message.count("`") == 8


async def test_disabled_tool_is_reported() -> None:
    said = {"content": [{"type": "text", "text": "Tool secret is disabled on this server"}], "isError": True}

    for style in ("classic", "list-describe", "discover-schema"):
        assert await call("secret", selection=Selection(style)) == said
    assert await call("call", {"tool_name": "secret"}, selection=None) == said


@pytest.mark.parametrize("style", ["classic", "search-call"])
async def test_disabled_tool_of_a_toolset_that_is_not_served_is_unknown(style: str) -> None:
    with pytest.raises(MethodError, match=r"Unknown tool `secret`\. Nearest names"):
        await call("secret", selection=Selection(style, toolsets=("text",)))


async def test_disabled_tool_is_unknown_by_its_own_name_where_hidden_tools_are() -> None:
    with pytest.raises(MethodError, match="it is not listed, and disabled on this server"):
        await call("secret", selection=None)


async def test_tool_answers_to_the_name_it_once_had() -> None:
    old = await call("tally", {"text": "a b", "label": None})

    assert old["structuredContent"]["words"] == 2


async def test_deprecated_tool_works_and_names_its_replacement() -> None:
    assert texts(await call("old_shout", {"text": "a"})) == [
        "Note: old_shout is deprecated: since 2.0; use `shout`; It will go.",
        "A",
    ]


@pytest.mark.parametrize(
    ("style", "params"),
    [
        ("classic", {"name": "old_shout", "arguments": {"text": "a"}}),
        ("search-call", {"name": "call", "arguments": {"tool_name": "old_shout", "args": {"text": "a"}}}),
    ],
)
@pytest.mark.parametrize(("until", "has_ended"), [("2001-02-03", True), ("9999-12-31", False)])
async def test_a_deprecated_tool_works_until_its_last_day(
    style: str, params: dict[str, Any], until: str, has_ended: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(CATALOGUE["tools"]["old_shout"]["deprecated"], "until", until)
    dispatcher = build_dispatcher(Selection(style))
    result = await dispatcher.dispatch("tools/call", params, QuietContext())
    await dispatcher.aclose()
    text = texts(result)[0]
    if has_ended:
        assert result["isError"]
        assert text == "Tool old_shout was removed after 2001-02-03: use `shout`. It will go."
    else:
        assert text.startswith("Note: old_shout is deprecated: since 2.0; works until 9999-12-31; use `shout`;")
    assert ("old_shout" in dispatcher.listed) == (style == "classic" and not has_ended)


async def test_argument_that_gemini_forwards_is_dropped_everywhere() -> None:
    direct = await call("shout", {"text": "a", "wait_for_previous": True})
    raw = await call("raw", {"depth": 1, "wait_for_previous": True})
    meta = await call("search", {"query": "capitals", "wait_for_previous": False}, selection=None)

    assert texts(direct) == ["A"]
    assert texts(raw) == ['{"depth": 1}']
    assert "isError" not in meta
    assert len(texts(meta)) == 1


async def test_tool_error_gives_its_text_and_nothing_else() -> None:
    assert await call("refuse", {"text": "x"}) == {
        "content": [{"type": "text", "text": "cannot take 'x': send 'reply'"}],
        "isError": True,
    }


async def test_failure_carries_the_note_on_an_ignored_argument() -> None:
    result = await call("refuse", {"text": "x", "txet": "y"})

    assert result["isError"] is True
    assert texts(result)[0].startswith("Note: unknown argument 'txet' was ignored")
    assert texts(result)[1] == "cannot take 'x': send 'reply'"


async def test_reply_may_be_marked_as_a_failure() -> None:
    result = await call("refuse", {"text": "reply"})

    assert (texts(result), result["isError"]) == (["refused in a reply"], True)


@pytest.fixture
def json_errors(monkeypatch: pytest.MonkeyPatch) -> None:
    for category in CATALOGUE["categories"].values():
        monkeypatch.setitem(category, "errors", "json")


@pytest.mark.usefixtures("json_errors")
async def test_a_category_may_tell_its_errors_as_json() -> None:
    result = await call("refuse", {"text": "x"})

    assert result["isError"] is True
    assert json.loads(texts(result)[0]) == {
        "error": {"code": "NOT_TAKEN", "message": "cannot take 'x': send 'reply'", "details": {"length": 1}}
    }


@pytest.mark.usefixtures("json_errors")
@pytest.mark.parametrize("selection", [CLASSIC, Selection("search-call", all_tools=True)])
async def test_errors_as_json_are_the_same_through_call(selection: Selection) -> None:
    if selection == CLASSIC:
        result = await call("shout", {"text": 1.5})
    else:
        result = await call("call", {"tool_name": "shout", "args": {"text": 1.5}}, selection=selection)

    error = json.loads(texts(result)[0])["error"]
    assert (error["code"], error.keys()) == ("INVALID_ARGUMENT", {"code", "message"})
    assert "'text'" in error["message"]


@pytest.mark.usefixtures("json_errors")
async def test_a_bug_is_reported_as_json_without_its_text() -> None:
    result = await call("crash")

    error = json.loads(texts(result)[0])["error"]
    assert error["code"] == "INTERNAL"
    assert error["message"].startswith("Error executing tool crash: internal server error")
    assert "12345" not in error["message"]


async def test_errors_of_several_tasks_are_all_reported() -> None:
    result = await call("crash_together")

    assert sorted(texts(result)[0].split("\n")) == ["first", "second"]


async def test_exception_is_logged_and_not_shown(caplog: pytest.LogCaptureFixture) -> None:
    result = await call("crash")

    assert texts(result) == ["Error executing tool crash"]
    assert result["isError"] is True
    assert "password 12345" in caplog.text


async def test_result_that_was_not_promised_is_our_mistake(caplog: pytest.LogCaptureFixture) -> None:
    result = await call("lie")

    assert texts(result) == ["Error executing tool lie"]
    assert "structuredContent" not in result
    assert "$.words: 'many' is not of type 'integer'" in caplog.text


async def test_content_of_every_kind_becomes_its_block() -> None:
    result = await call("mixed")

    assert [block["type"] for block in result["content"]] == [
        "text",
        "text",
        "image",
        "audio",
        "resource",
        "resource",
        "resource_link",
    ]


async def test_text_that_utf_8_cannot_carry_is_made_to_fit() -> None:
    result = await call("odd_text")

    assert result["structuredContent"] == {"name?": "file?.txt", "none": None}
    assert json.loads(texts(result)[0]) == result["structuredContent"]


async def test_question_to_the_client_is_a_result_and_the_handler_runs_again_with_the_answer() -> None:
    dispatcher = build_dispatcher(CLASSIC)
    params = {"name": "ask", "arguments": {}}
    name = {"action": "accept", "content": {"name": "Ada"}}
    city = {"action": "accept", "content": {"city": "London"}}
    first = await dispatcher.dispatch("tools/call", params, QuietContext())
    second = await dispatcher.dispatch("tools/call", params, QuietContext({"name": name}))
    last = await dispatcher.dispatch("tools/call", params, QuietContext({"name": name, "city": city}))
    await dispatcher.aclose()

    assert (first["resultType"], list(first["inputRequests"])) == ("input_required", ["name"])
    assert list(second["inputRequests"]) == ["city"]
    assert texts(last) == ["Ada of London"]


async def test_question_passes_through_a_meta_tool() -> None:
    result = await call("call", {"tool_name": "ask"}, selection=None)

    assert list(result["inputRequests"]) == ["name"]


async def test_refusal_of_a_request_stays_one_behind_a_meta_tool() -> None:
    with pytest.raises(MethodError) as refused:
        await call("call", {"tool_name": "sample"}, selection=None)

    assert refused.value.code == -32021


async def test_cancellation_passes_through() -> None:
    dispatcher = build_dispatcher(CLASSIC)
    context = QuietContext()
    task = asyncio.create_task(dispatcher.dispatch("tools/call", {"name": "wait"}, context))
    await context.progressed.wait()
    task.cancel()

    with pytest.raises(asyncio.CancelledError):
        await task
    await dispatcher.aclose()


def test_unknown_toolset_is_refused_at_once() -> None:
    with pytest.raises(ValueError, match="unknown toolset `texts`"):
        build_dispatcher(Selection("classic", toolsets=("texts",)))
