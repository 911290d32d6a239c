"""HTTP tools of a generated server against a real HTTP server."""

from __future__ import annotations

import base64
import gzip
import json
import logging
import subprocess
import sys
import threading
from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from pathlib import Path
from typing import Any

import pytest
from mcp import Client
from mcp.types import CallToolResult, ElicitResult, TextContent
from toolmason_runtime.apis.client import Answer
from toolmason_runtime.apis.request import Request
from toolmason_runtime.apis.result import MAX_ERROR_CHARS, check_status
from toolmason_runtime.apis.settings import load_settings
from toolmason_runtime.programs import ProgramSettings
from toolmason_runtime.shared.errors import ToolError
from toolmason_runtime.shared.specs.request import Api, Auth

from .conftest import TOKEN, Reply, Tracker

pytestmark = pytest.mark.anyio

Talk = Callable[..., AbstractAsyncContextManager[Client]]
ISSUE = {"number": 7, "title": "Leak", "labels": ["bug"], "body": "a member that the type does not declare"}


def text_of(result: CallToolResult) -> str:
    """Return all texts of a result."""
    return "\n".join(block.text for block in result.content if isinstance(block, TextContent))


async def call(talking: Talk, tool: str, arguments: dict[str, Any] | None = None, **options: Any) -> CallToolResult:
    async with talking(**options) as client:
        return await client.call_tool(tool, arguments or {})


async def test_arguments_are_placed_in_the_request_and_the_answer_is_converted(tracker: Tracker, talking: Talk) -> None:
    tracker.answer("/projects/a%20b%2Fc/issues/7", ISSUE)

    result = await call(talking, "get_issue", {"project": "a b/c", "number": 7, "trace": "t-1"})

    assert result.structured_content == {"number": 7, "title": "Leak", "labels": ["bug"]}
    (seen,) = tracker.seen
    assert (seen.method, seen.path) == ("GET", "/projects/a%20b%2Fc/issues/7?full=1")
    sent = {name: seen.headers[name] for name in ("authorization", "x-client", "x-trace", "user-agent", "accept")}
    assert sent == {
        "authorization": f"Bearer {TOKEN}",
        "x-client": "tests",
        "x-trace": "t-1",
        "user-agent": "toolmason",
        "accept": "application/json, */*;q=0.5",
    }


async def test_a_write_is_approved_with_its_request_and_sent_once(tracker: Tracker, talking: Talk) -> None:
    tracker.answer("/issues", ISSUE, status=201)
    questions = []

    async def accept(_: Any, params: Any) -> ElicitResult:
        questions.append(params.message)
        return ElicitResult(action="accept", content={})

    arguments = {"title": "Leak\u202e", "labels": ["bug", "ui"], "owner": None}
    result = await call(talking, "create_issue", arguments, elicitation_callback=accept)

    assert result.structured_content == {"number": 7, "title": "Leak", "labels": ["bug"]}
    (seen,) = tracker.seen
    assert json.loads(seen.body) == {"title": "Leak\u202e", "tags": ["bug", "ui"], "owner": None}
    assert seen.headers["content-type"] == "application/json"
    (question,) = questions
    assert question.splitlines()[0] == 'Create the issue "Leak\\u202e"?'
    assert f"POST {tracker.url}/issues" in question
    assert '{"title":"Leak\\u202e","tags":["bug","ui"],"owner":null}' in question
    assert TOKEN not in question


@pytest.mark.parametrize("action", ["decline", "cancel"])
async def test_a_write_that_is_not_approved_sends_nothing(tracker: Tracker, talking: Talk, action: Any) -> None:
    async def refuse(_: Any, __: Any) -> ElicitResult:
        return ElicitResult(action=action)

    result = await call(talking, "delete_issue", {"number": 7}, elicitation_callback=refuse)

    assert result.is_error
    assert "Not run" in text_of(result)
    assert tracker.seen == []


async def test_a_write_runs_headless_if_the_server_approves_it(tracker: Tracker, talking: Talk) -> None:
    tracker.answer("/issues/7", Reply(204, b"", {}))

    refused = await call(talking, "delete_issue", {"number": 7})
    result = await call(talking, "delete_issue", {"number": 7}, commands=ProgramSettings(headless_approve=True))

    assert "does not support MCP elicitation" in text_of(refused)
    assert not result.is_error
    assert text_of(result) == "204 No Content"
    assert [seen.method for seen in tracker.seen] == ["DELETE"]


async def test_hints_follow_from_the_method_and_the_risk(talking: Talk) -> None:
    async with talking() as client:
        tools = {tool.name.partition("_")[2]: tool.annotations for tool in (await client.list_tools()).tools}

    def hints(name: str) -> tuple[bool | None, ...]:
        hints = tools[name]
        assert hints is not None
        return hints.read_only_hint, hints.destructive_hint, hints.idempotent_hint, hints.open_world_hint

    assert hints("get_issue") == (True, None, None, True)
    assert hints("create_issue") == (None, False, None, True)
    assert hints("delete_issue") == (None, True, True, True)
    assert hints("login") == (True, None, None, True)


async def test_bodies_are_json_forms_and_files(tracker: Tracker, talking: Talk) -> None:
    for path in ("/issues", "/files", "/form"):
        tracker.answer(path, {"ok": True})
    async with talking() as client:
        await client.call_tool("import_issues", {"issues": [{"title": "a"}, {"title": "b", "owner": "Ada"}]})
        await client.call_tool("upload", {"note": "x", "file": "AAH/"})
        await client.call_tool("login", {"user": "a&b", "scope": ["r", "w"]})
        refused = await client.call_tool("upload", {"note": "x", "file": "?"})

    whole, parts, form = tracker.seen
    assert json.loads(whole.body) == [{"title": "a"}, {"title": "b", "owner": "Ada"}]
    boundary = parts.headers["content-type"].partition("boundary=")[2].encode()
    head = b"\r\nContent-Disposition: form-data; name="
    assert parts.body.split(b"--" + boundary) == [
        b"",
        head + b'"note"\r\n\r\nx\r\n',
        head + b'"file"; filename="file"\r\nContent-Type: application/octet-stream\r\n\r\n\x00\x01\xff\r\n',
        b"--\r\n",
    ]
    assert form.body == b"user=a%26b&scope=r&scope=w"
    assert "must be base64" in text_of(refused)


async def test_pages_are_joined_up_to_their_limit(tracker: Tracker, talking: Talk) -> None:
    def page(number: int) -> Reply:
        link = f'<{tracker.url}/issues?p={number - 1}>; rel="prev", <?p={number + 1}>; title="a, b"; rel="last next"'
        body = json.dumps([{"number": number, "title": None}]).encode()
        return Reply(body=body, headers={"content-type": "application/json", "link": link})

    tracker.answer("/issues", *[page(number) for number in range(1, 9)])

    result = await call(talking, "list_issues", {"labels": ["a,b", "c"]})

    items = [{"number": number, "title": None} for number in (1, 2, 3)]
    assert result.structured_content == {"items": items, "has_more": True}
    assert [seen.path for seen in tracker.seen] == [
        "/issues?labels=a%2Cb,c&state=open",
        "/issues?p=2",
        "/issues?p=3",
    ]
    assert all(seen.headers["authorization"] == f"Bearer {TOKEN}" for seen in tracker.seen)


async def test_pages_end_where_a_number_has_no_items_or_a_cursor_is_missing(tracker: Tracker, talking: Talk) -> None:
    one, two = {"number": 1, "title": "a"}, {"number": 2, "title": "b"}
    tracker.answer("/pages", {"data": [one], "total": 2}, {"data": [two], "total": 2}, {"data": [], "total": 2})
    tracker.answer("/scroll", {"data": [one], "meta": {"next": "x y"}}, {"data": [two], "meta": {"next": ""}})
    async with talking() as client:
        paged = await client.call_tool("page_issues", {"start": 4})
        scrolled = await client.call_tool("scroll_issues", {})
        tracker.answer("/scroll", {"data": [one], "meta": {"next": 5}})
        listed = await client.call_tool("scroll_list", {})

    assert paged.structured_content == {"data": [one, two], "total": 2}
    assert scrolled.structured_content == {"data": [one, two]}
    assert listed.structured_content == {"items": [one], "has_more": True}
    assert [seen.path for seen in tracker.seen] == [
        *("/pages?page=4", "/pages?page=5", "/pages?page=6"),
        *("/scroll", "/scroll?after=x%20y", "/scroll"),
    ]


async def test_pages_follow_the_last_item_and_the_number_of_items(tracker: Tracker, talking: Talk) -> None:
    one, two, three = [{"number": number, "title": None} for number in (1, 2, 3)]
    tracker.answer("/walk", {"data": [one, two], "has_more": True}, {"data": [three], "has_more": False})
    tracker.answer("/skip", [one, two], [three], [])
    async with talking() as client:
        walked = await client.call_tool("walk_issues", {})
        skipped = await client.call_tool("skip_issues", {})

    assert walked.structured_content == {"data": [one, two, three]}
    assert skipped.structured_content == {"items": [one, two, three], "has_more": False}
    assert [seen.path for seen in tracker.seen] == [
        *("/walk", "/walk?starting_after=2"),
        *("/skip", "/skip?skip=2", "/skip?skip=3"),
    ]


async def test_a_repeated_page_is_the_last_one(tracker: Tracker, talking: Talk) -> None:
    one = {"number": 1, "title": None}
    tracker.answer("/skip", [one])

    result = await call(talking, "skip_issues")

    assert result.structured_content == {"items": [one], "has_more": False}
    assert [seen.path for seen in tracker.seen] == ["/skip", "/skip?skip=1"]


async def test_select_reduces_an_answer_in_a_child_process(tracker: Tracker, talking: Talk) -> None:
    tracker.answer("/issues", [{"number": number, "title": f"t{number}", "body": "long"} for number in (1, 2, 3)])

    result = await call(talking, "titles")

    items = [{"number": 2, "title": "t2"}, {"number": 3, "title": "t3"}]
    assert result.structured_content == {"items": items}


async def test_select_keeps_every_character(tracker: Tracker, talking: Talk) -> None:
    title = "a\u2028b\u0085c\x1cd\ne"
    tracker.answer("/issues", [{"number": 2, "title": title}, {"number": 2**53 + 1, "title": ""}])

    result = await call(talking, "titles")

    shown = "a\\u2028b\\u0085c\u241cd\ne"
    assert result.structured_content == {"items": [{"number": 2, "title": shown}, {"number": 2**53 + 1, "title": ""}]}


async def test_select_cannot_decode_a_secret(tracker: Tracker, talking: Talk) -> None:
    tracker.answer("/issues", [base64.b64encode(f"key: {TOKEN}".encode()).decode()])

    assert text_of(await call(talking, "decoded")) == '"key: [secret]"'


async def test_an_endless_select_is_stopped(tracker: Tracker, talking: Talk, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("toolmason_runtime.apis.select.TIMEOUT_S", 0.5)
    tracker.answer("/issues", [])

    result = await call(talking, "busy_select")

    assert result.is_error
    assert "could not be reduced with `select`" in text_of(result)


@pytest.mark.parametrize(
    ("reply", "text"),
    [
        (Reply(body=b'{ "b": 1.5,\n "a": "\\u00e9" }'), '{"b":1.5,"a":"é"}'),
        (Reply(body="é\x1b[0m".encode("latin-1"), headers={"content-type": "text/plain; charset=latin-1"}), "é␛[0m"),
        (Reply(body=b"a\0b", headers={"content-type": "application/pdf"}), "[application/pdf of 3 bytes, which is not"),
        (
            Reply(body=gzip.compress(b"packed"), headers={"content-type": "text/plain", "content-encoding": "gzip"}),
            "packed",
        ),
        (
            Reply(status=404, body=b'{"message":"no such file"}'),
            "GET /raw/docs/a%20b.md of the API tracker returned 404 Not",
        ),
        (Reply(status=401, body=b""), "do not retry, tell the user"),
        (Reply(body=b"not JSON"), "did not answer with JSON"),
        (
            Reply(body=gzip.compress(b"x" * 20_000_000), headers={"content-encoding": "gzip"}),
            "exceeds 16,777,216 bytes",
        ),
        (Reply(body=b"no gzip", headers={"content-encoding": "gzip"}), "sent an invalid answer"),
        (Reply(body=gzip.compress(b"cut" * 99)[:-9], headers={"content-encoding": "gzip"}), "sent an invalid answer"),
        (Reply(body=gzip.compress(b"more") + b"\0", headers={"content-encoding": "gzip"}), "sent an invalid answer"),
        (Reply(body=b"[NaN, 1, -Infinity]"), "[null,1,null]"),
        (Reply(body=b"a-b", headers={"content-type": "text/plain; charset=IDNA"}), "a-b"),
        (Reply(body=b"a-b", headers={"content-type": "text/plain; charset=punycode"}), "a-b"),
    ],
)
async def test_an_answer_without_a_type_becomes_text(tracker: Tracker, talking: Talk, reply: Reply, text: str) -> None:
    tracker.answer("/raw/docs/a%20b.md", reply)

    result = await call(talking, "read_page", {"path": "docs/a b.md"})

    assert text in text_of(result)


async def test_a_long_text_is_cut_with_a_reference_to_fetch_chunk(tracker: Tracker, talking: Talk) -> None:
    lines = "".join(f"line {number}\n" for number in range(20_000))
    tracker.answer("/raw/long", Reply(body=lines.encode(), headers={"content-type": "text/plain"}))

    result = await call(talking, "read_page", {"path": "long"})

    assert text_of(result).startswith("[cut: ")
    assert "fetch_chunk" in text_of(result)


@pytest.mark.parametrize("path", ["../admin", "a/../b", "..", "a/./b", "a\\..\\b"])
async def test_a_path_value_cannot_leave_its_segment(tracker: Tracker, talking: Talk, path: str) -> None:
    async with talking() as client:
        results = [
            await client.call_tool("read_page", {"path": path}),
            await client.call_tool("get_issue", {"project": path, "number": 1}),
        ]

    assert all(result.is_error and "must not contain `.` or `..`" in text_of(result) for result in results)
    assert tracker.seen == []


@pytest.mark.parametrize("trace", ["x\r\nAuthorization: y", " x", "x\t", "\u00e9"])
async def test_a_header_value_cannot_add_lines(tracker: Tracker, talking: Talk, trace: str) -> None:
    arguments = {"project": "a", "number": 1, "trace": trace}

    result = await call(talking, "get_issue", arguments)

    assert "must be one line of ASCII" in text_of(result)
    assert tracker.seen == []


async def test_an_answer_that_does_not_fit_its_type_is_an_error(tracker: Tracker, talking: Talk) -> None:
    tracker.answer("/projects/a/issues/1", {"number": "seven"})

    result = await call(talking, "get_issue", {"project": "a", "number": 1})

    assert result.is_error
    assert "does not fit `Issue`: number: " in text_of(result)


async def test_a_slow_body_is_cancelled_and_the_next_call_works(tracker: Tracker, talking: Talk) -> None:
    gate = threading.Event()
    tracker.answer("/slow", Reply(gate=gate))
    tracker.answer("/search", {"done": True})
    async with talking() as client:
        slow = await client.call_tool("slow", {})
        gate.set()
        fast = await client.call_tool("find", {"q": "a"})

    assert "The API keyed did not answer within 1 s" in text_of(slow)
    assert text_of(fast) == '{"done":true}'


async def test_arguments_of_an_input_schema_have_default_placements(tracker: Tracker, talking: Talk) -> None:
    tracker.answer("/search", [])

    await call(talking, "find", {"q": "a+b", "filter": {"state": ["x", "y"], "by": {"name": "z"}}})

    assert tracker.seen[0].path == (
        "/search?q=a%2Bb&filter%5Bstate%5D%5B0%5D=x&filter%5Bstate%5D%5B1%5D=y&filter%5Bby%5D%5Bname%5D=z"
        "&key=s3cret%2Ftoken%2B1"
    )


async def test_no_secret_reaches_a_result_an_error_or_the_log(
    tracker: Tracker, talking: Talk, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    echo = {"sent": f"Bearer {TOKEN}", "url": "/search?key=s3cret%2Ftoken%2B1", TOKEN: [TOKEN]}
    escaped = b'{"title": "s3cret\\/token\\u002b1", "number": "' + TOKEN.encode() + b'"}'
    tracker.answer("/search", echo, Reply(status=500, body=json.dumps(echo).encode()))
    tracker.answer("/projects/a/issues/1", Reply(body=escaped))
    tracker.answer("/raw/x", Reply(body=TOKEN.encode(), headers={"content-type": "text/plain"}))
    tracker.answer("/raw/y", Reply(body=b"", headers={"x-token": TOKEN}))
    async with talking() as client:
        results = [
            await client.call_tool("find", {"q": "a"}),
            await client.call_tool("find", {"q": "b"}),
            await client.call_tool("get_issue", {"project": "a", "number": 1}),
            await client.call_tool("read_page", {"path": "x"}),
            await client.call_tool("read_page", {"path": "y"}),
        ]

    texts = "\n".join(map(text_of, results))
    assert texts.count("[secret]") >= 6
    for form in (TOKEN, "s3cret", "s3cret%2F", "token+1"):
        assert form not in texts
        assert form not in caplog.text


@pytest.mark.parametrize("shown", range(1, len(TOKEN)))
def test_an_error_that_is_cut_inside_of_a_secret_contains_no_part_of_it(shown: int) -> None:
    settings = load_settings(Api(name="api", base_url="http://h", auth=Auth(bearer="$T")), {"T": TOKEN})
    body = b"x" * (MAX_ERROR_CHARS - shown) + TOKEN.encode() + b"y" * 99
    headers = {"retry-after": "1" * 50_000}
    answer = Answer(status=500, reason="", headers=headers, body=body, url="http://h/a")

    with pytest.raises(ToolError) as raised:
        check_status(answer, Request(method="GET", url="http://h/a"), settings)

    assert TOKEN[0] + TOKEN[1] not in raised.value.message
    assert "xs" not in raised.value.message
    assert len(raised.value.message) < MAX_ERROR_CHARS + 300


async def test_a_missing_variable_is_named(talking: Talk, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TRACKER_TOKEN", "")

    result = await call(talking, "slow")

    assert "environment variable TRACKER_TOKEN, used by the API `keyed`, is not set" in text_of(result)


async def test_cookies_of_one_call_are_not_sent_with_the_next(tracker: Tracker, talking: Talk) -> None:
    tracker.answer("/search", {"a": 1}, headers={"set-cookie": "session=1; Path=/"})
    async with talking() as client:
        await client.call_tool("find", {"q": "a"})
        await client.call_tool("find", {"q": "b"})

    assert [seen.headers.get("cookie") for seen in tracker.seen] == [None, None]


def test_the_start_of_a_server_imports_no_part_of_its_http_tools(tracker_project: Path) -> None:
    code = """
import sys
from tracker_server.server import build_dispatcher
print(len(build_dispatcher().listed), *sys.modules)
"""
    result = subprocess.run(
        [sys.executable, "-c", code],
        cwd=tracker_project / "generated",
        capture_output=True,
        encoding="utf-8",
        check=True,
        timeout=60,
    )
    count, *modules = result.stdout.split()
    assert int(count) > 10
    assert not {"httpcore2", "pydantic", "jq", "toolmason_runtime.apis", "toolmason_runtime.programs.approval"} & {
        *modules
    }
