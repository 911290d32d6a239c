"""Hostile answers of APIs and upstreams cost a bounded time and memory, and other requests go on meanwhile."""

from __future__ import annotations

import json
from collections.abc import Callable

import pytest
from hostile_api import EVENTS, ROWS
from hostile_upstream import RESULTS
from toolmason_runtime.apis.worker import MAX_WORKERS

from .conftest import CALLS, TOKEN, HostilePeer, Measured

pytestmark = pytest.mark.real_start(reason="measures the memory and the processor time of a server")

MAX_PING_CPU_S = 0.5
"""Processor time of the server while a ping waits. The time that passes depends on the load of the machine."""
MAX_CPU_S = 15.0
"""Five times what the slowest kind uses on an idle machine: a busy one counts up to three times as much."""
MAX_MB = 300
MAX_CALL_S = 60.0
"""The tools have 20 seconds. A loaded machine needs more to notice that."""


def check(measured: Measured, kind: str) -> None:
    """Check the bounds that every call keeps."""
    print(f"{kind}: {measured}")  # noqa: T201  the figures, with `pytest -s`
    assert measured.ping_cpu_s < MAX_PING_CPU_S
    assert measured.cpu_s < MAX_CPU_S
    assert measured.call_s < MAX_CALL_S
    assert measured.peak_mb < MAX_MB
    assert measured.child_mb < MAX_MB
    assert "Error executing tool" not in measured.text
    assert TOKEN not in measured.text
    assert measured.result["content"]


@pytest.mark.parametrize("kind", ROWS)
def test_a_hostile_answer_of_an_api_is_bounded(hostile: HostilePeer, kind: str) -> None:
    check(hostile.call("pages" if kind.startswith("link") else "get", kind=kind), kind)


@pytest.mark.parametrize("kind", ["dicts", "strings", "commas", "small-values", "wide"])
@pytest.mark.parametrize("tool", ["typed", "reduced", "pages"])
def test_types_select_and_pages_have_the_same_bounds(hostile: HostilePeer, tool: str, kind: str) -> None:
    check(hostile.call(tool, kind=kind), f"{tool} {kind}")


@pytest.mark.parametrize("kind", [*RESULTS, "flood", "endless"])
def test_a_hostile_result_of_a_program_is_bounded(hostile: HostilePeer, kind: str) -> None:
    check(hostile.call("program", kind=kind), f"program {kind}")


# The three left out are read from JSON over HTTP as `text` is; the work that follows is the same as over stdio.
@pytest.mark.parametrize(
    "kind",
    [
        *(kind for kind in RESULTS if kind not in {"structure", "commas", "escapes"}),
        *(*EVENTS, "compressed", "event: values", "event: text", "event: fine"),
    ],
)
def test_a_hostile_result_over_http_is_bounded(hostile: HostilePeer, kind: str) -> None:
    check(hostile.call("remote", kind=kind), f"remote {kind}")


@pytest.mark.parametrize("tool", ["lists", "cursors"])
def test_lists_of_an_upstream_are_bounded(hostile: HostilePeer, tool: str) -> None:
    check(hostile.call(tool), tool)


def test_a_small_answer_starts_no_process(hostile: HostilePeer) -> None:
    assert hostile.call("get", kind="small-values").children == 0


def test_a_cancelled_call_ends_its_child(hostile: HostilePeer) -> None:
    number = hostile.start("get", "controls")
    hostile.wait_until(lambda: len(hostile.children()) == 1)

    hostile.peer.notify("notifications/cancelled", requestId=number)

    hostile.wait_until(lambda: not hostile.children())


def test_few_children_run_at_once(hostile: HostilePeer) -> None:
    numbers = [hostile.start("get", "dicts") for _ in range(5)]
    counts = []

    def are_answered() -> bool:
        counts.append(len(hostile.children()))
        return all(number in hostile.answers for number in numbers)

    hostile.wait_until(are_answered)

    assert 0 < max(counts) <= MAX_WORKERS


@pytest.mark.parametrize(
    ("tool", "kind", "text"),
    [
        ("get", "dicts", "more than 500,000 values. Ask for less"),
        ("get", "gzip", "more than 500,000 values. Ask for less"),
        ("get", "nested-a-little", "more than 200 levels"),
        ("get", "gzip-bomb", "exceeds 16,777,216 bytes: ask for less"),
        ("get", "endless", "exceeds 16,777,216 bytes: ask for less"),
        ("get", "many-headers", "headers"),
        ("get", "marked", "[1]"),
        ("get", "exponents", "null,null"),
        ("get", "invalid", "did not answer with JSON"),
        ("typed", "objects", "more than 500,000 values"),
        ("program", "values", "more than 500,000 values"),
        ("program", "structure", "was left out"),
        ("program", "too long", "exceeds the limit of 16777216 bytes"),
        ("program", "blocks", "more than 10,000 entries"),
        ("remote", "values", "more than 500,000 values"),
        ("remote", "event: values", "more than 500,000 values"),
        ("remote", "too long", "exceeds the limit of 16777216 bytes"),
        ("remote", "compressed", "compressed"),
        ("remote", "event: fine", "fine"),
        ("lists", "", "more than 10,000 entries"),
    ],
)
def test_the_error_of_a_refused_answer_has_the_reason(
    server: Callable[[], HostilePeer], tool: str, kind: str, text: str
) -> None:
    call = CALLS.get((tool, kind)) or server().call(tool, **({"kind": kind} if kind else {}))

    assert text in call.text


@pytest.mark.parametrize("tool", ["program", "remote"])
def test_content_of_an_upstream_is_neutralised(hostile: HostilePeer, tool: str) -> None:
    shown = "a␛]0;PWN␇b\\u202ec\\U000e0041d"

    hiding = hostile.call(tool, kind="hiding").result
    assert hiding["content"][0]["text"] == shown
    assert hiding["structuredContent"] == {"a": [{shown: shown}]}
    assert hostile.call(tool, kind="html image").text == "[image left out: its type is `text/html`]"
    assert hostile.call(tool, kind="invalid base64").text == "[audio left out: its content is not base64]"
    assert hostile.call(tool, kind="resource").result["content"][0]["resource"]["text"] == shown
    refused, link = hostile.call(tool, kind="links").result["content"]
    assert refused["text"] == "[link `click\\u202e` left out: its URI is `javascript:alert(1)`]"
    assert (link["uri"], link["name"]) == ("https://example.com/", "ok\\u200b")


def test_escape_sequences_of_json_text_have_the_same_value(hostile: HostilePeer) -> None:
    text = hostile.call("get", kind="short-escapes").text.partition("\n")[2]

    assert json.loads(f'"{text[2:602]}"') == "\u202e" * 100
