"""A server in a process of its own, spoken to line by line, in both protocol eras."""

from __future__ import annotations

import json
import signal
import subprocess
from typing import Any

import pytest
from oracle import ERAS, LEGACY, MODERN
from stdio_peer import PATIENCE_S, SAMPLE, Peer, talking

both_eras = pytest.mark.parametrize("version", ERAS)
SIGNALS = [signal.SIGINT, signal.SIGTERM, signal.SIGHUP]
HANDSHAKE = {"protocolVersion": LEGACY, "capabilities": {}, "clientInfo": {"name": "deaf", "version": "0"}}
CALL_FLOOD = {"method": "tools/call", "params": {"name": "flood", "arguments": {}}}


def test_handshake_says_who_the_server_is() -> None:
    peer = Peer(SAMPLE, LEGACY)
    try:
        opened = peer.open()
    finally:
        peer.close()

    about = opened["serverInfo"]
    assert (about["name"], about["title"], about["version"]) == ("sample", "Sample", "1.2.3")
    assert about["websiteUrl"] == "https://example.org/sample"
    assert opened["instructions"] == "Count before you shout."
    assert opened["capabilities"].keys() == {"tools", "logging"}


def test_discovery_says_who_the_server_is_and_may_be_cached() -> None:
    peer = Peer(SAMPLE, MODERN)
    try:
        found = peer.open()
    finally:
        peer.close()

    assert found["supportedVersions"] == [MODERN]
    assert found["instructions"] == "Count before you shout."
    assert found["ttlMs"] > 0
    assert found["cacheScope"] == "public"
    assert found["_meta"]["io.modelcontextprotocol/serverInfo"]["name"] == "sample"


@both_eras
def test_list_is_given_page_by_page(version: str) -> None:
    with talking(version) as peer:
        names: list[str] = []
        page: dict[str, Any] = peer.result("tools/list")
        while True:
            names += [tool["name"] for tool in page["tools"]]
            if "nextCursor" not in page:
                break
            page = peer.result("tools/list", cursor=page["nextCursor"])

    assert names[0] == "count_words"
    assert names[-1] == "show_state"
    assert len(names) == len(set(names)) == 20
    assert "secret" not in names


@both_eras
def test_call_answers_as_structure_and_as_text(version: str) -> None:
    with talking(version) as peer:
        result = peer.call("count_words", {"text": "to be", "label": None})

    assert result["structuredContent"] == {"words": 2, "longest": "to", "shortest": "to"}
    assert [block["text"] for block in result["content"]] == ['{"words":2,"longest":"to","shortest":"to"}']
    assert "isError" not in result or result["isError"] is False


@both_eras
def test_null_that_the_output_schema_allows_survives_and_others_are_left_out(version: str) -> None:
    with talking(version) as peer:
        result = peer.call("count_words", {"text": "", "label": None})

    assert result["structuredContent"] == {"words": 0, "shortest": None}


@both_eras
def test_unknown_argument_is_noted_after_the_result(version: str) -> None:
    with talking(version) as peer:
        result = peer.call("count_words", {"text": "a", "label": "", "limt": 3})

    assert result["content"][-1]["text"] == "Note: unknown argument 'limt' was ignored; did you mean 'limit'?"


@both_eras
def test_wrong_arguments_are_an_error_result_of_text_alone(version: str) -> None:
    with talking(version) as peer:
        result = peer.call("count_words", {"text": "a", "label": "", "format": "xml"})

    assert result["isError"] is True
    assert "structuredContent" not in result
    assert "Argument 'format' must be one of: json, text, csv" in result["content"][0]["text"]


@both_eras
def test_unknown_tool_is_refused_with_the_nearest_names(version: str) -> None:
    with talking(version) as peer:
        error = peer.response(peer.send("tools/call", name="count_word"))["error"]

    assert error["code"] == -32602
    assert error["message"].startswith("Unknown tool `count_word`. Nearest names: `count_words`, ")
    assert error["data"]["nearest"][0] == "count_words"
    assert len(error["data"]["nearest"]) == 3


@both_eras
def test_exception_does_not_leak_its_text_but_is_logged(version: str) -> None:
    with talking(version) as peer:
        result = peer.call("crash")
        peer.end_of_input()
        said = peer.stderr()

    assert result["content"] == [{"type": "text", "text": "Error executing tool crash"}]
    assert "RuntimeError: password 12345" in said
    assert "password" not in str(peer.oracle.seen)


@both_eras
def test_cancelled_call_stops_and_is_never_answered(version: str) -> None:
    with talking(version) as peer:
        number = peer.send("tools/call", name="wait", arguments={}, meta={"progressToken": "t"})
        assert peer.notification()["method"] == "notifications/progress"
        peer.notify("notifications/cancelled", requestId=number, reason="enough")
        result = peer.call("shout", {"text": "next"})
        peer.end_of_input()
        assert peer.rest() == []
        said = peer.stderr()

    assert result["content"][0]["text"] == "NEXT"
    assert "the wait was cancelled" in said


@both_eras
def test_progress_is_sent_only_with_a_token(version: str) -> None:
    with talking(version) as peer:
        peer.call("report", meta={"progressToken": 7})
        with_token = [each for each in peer.notifications if each["method"] == "notifications/progress"]
        peer.notifications.clear()
        peer.call("report")
        without = [each for each in peer.notifications if each["method"] == "notifications/progress"]

    assert [each["params"] for each in with_token] == [
        {"progressToken": 7, "progress": 0.5, "total": 1, "message": "half"}
    ]
    assert without == []


def logged(peer: Peer) -> list[str]:
    levels = [each["params"]["level"] for each in peer.notifications if each["method"] == "notifications/message"]
    peer.notifications.clear()
    return levels


def test_log_level_is_set_once_for_a_connection_with_handshake() -> None:
    with talking(LEGACY) as peer:
        peer.call("report")
        before = logged(peer)
        peer.result("logging/setLevel", level="critical")
        peer.call("report")
        after = logged(peer)

    assert before == ["info", "notice", "warning", "error", "critical", "alert", "emergency"]
    assert after == ["critical", "alert", "emergency"]


def test_log_level_is_asked_for_with_each_modern_request() -> None:
    with talking(MODERN) as peer:
        peer.call("report", meta={"io.modelcontextprotocol/logLevel": "alert"})
        asked = logged(peer)
        peer.call("report")
        unasked = logged(peer)

    assert asked == ["alert", "emergency"]
    assert unasked == []


@both_eras
def test_what_handlers_and_their_children_print_is_no_protocol(version: str) -> None:
    with talking(version) as peer:
        result = peer.call("chatter")
        peer.end_of_input()
        assert peer.rest() == []
        said = peer.stderr()

    assert result["content"][0]["text"] == "done"
    assert "printed by the handler" in said
    assert "printed by a child" in said
    assert said.rstrip().endswith("''") or "''" in said, "a child reads an empty input"


@both_eras
def test_lines_that_are_no_messages_are_passed_over(version: str) -> None:
    with talking(version) as peer:
        for line in (b"", b"not json", b"[]", b"{}", b'{"jsonrpc":"2.0"}', b"\xff\xfe", b'{"a":' + b"[" * 3000):
            peer.write(line)
        result = peer.call("shout", {"text": "still here"})

    assert result["content"][0]["text"] == "STILL HERE"


@both_eras
def test_large_messages_pass_whole(version: str) -> None:
    text = "größe " * 200_000

    with talking(version) as peer:
        result = peer.call("shout", {"text": text})

    assert result["content"][0]["text"] == text.upper()


@both_eras
def test_end_of_input_ends_the_server_silently(version: str) -> None:
    with talking(version) as peer:
        peer.call("shout", {"text": "a"})
        peer.end_of_input()
        assert peer.rest() == []

        assert peer.exit_status() == 0
        assert peer.stderr() == ""


@both_eras
@pytest.mark.parametrize("number", SIGNALS, ids=lambda number: number.name)
def test_signal_ends_the_server_silently_though_input_stays_open(version: str, number: signal.Signals) -> None:
    with talking(version) as peer:
        peer.call("shout", {"text": "a"})
        peer.process.send_signal(number)

        assert peer.exit_status() == 0
        assert peer.stderr() == ""


@both_eras
@pytest.mark.parametrize("number", SIGNALS, ids=lambda number: number.name)
def test_signal_just_after_the_first_answer_ends_the_server_silently(version: str, number: signal.Signals) -> None:
    with talking(version) as peer:
        peer.process.send_signal(number)

        assert peer.exit_status() == 0
        assert peer.stderr() == ""


@both_eras
@pytest.mark.parametrize("ending", ["end of input", "signal"])
def test_call_in_flight_is_cancelled_when_the_server_ends(version: str, ending: str) -> None:
    with talking(version, "--farewell", "state is closed") as peer:
        peer.send("tools/call", name="wait", arguments={}, meta={"progressToken": "t"})
        peer.notification()
        if ending == "signal":
            peer.process.send_signal(signal.SIGTERM)
        else:
            peer.end_of_input()

        assert peer.exit_status() == 0
        assert peer.stderr() == "the wait was cancelled\nstate is closed\n"


@pytest.mark.parametrize("ending", ["end of input", "signal", "two signals"])
def test_handler_that_blocks_the_loop_does_not_keep_the_server(ending: str) -> None:
    with talking(LEGACY) as peer:
        peer.send("tools/call", name="stubborn", arguments={})
        peer.wait_for_stderr(b"blocking\n")
        if ending == "end of input":
            peer.end_of_input()
        else:
            peer.process.send_signal(signal.SIGTERM)
        if ending == "two signals":
            peer.process.send_signal(signal.SIGINT)

        assert peer.exit_status() == 0
        assert peer.stderr() == "blocking\n"


@pytest.mark.parametrize("signals", [1, 2])
def test_handler_that_nobody_listens_to_does_not_keep_the_server(signals: int) -> None:
    with subprocess.Popen(SAMPLE, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as server:
        assert server.stdin is not None
        assert server.stderr is not None
        try:
            for message in ({"id": 1, "method": "initialize", "params": HANDSHAKE}, {"id": 2, **CALL_FLOOD}):
                server.stdin.write(json.dumps({"jsonrpc": "2.0", **message}).encode() + b"\n")
            server.stdin.flush()
            assert server.stderr.readline() == b"flooding\n"
            for _ in range(signals):
                server.send_signal(signal.SIGTERM)
            assert server.wait(PATIENCE_S) == 0
        finally:
            server.kill()


def test_server_ends_when_nobody_reads_its_output() -> None:
    with subprocess.Popen(SAMPLE, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as server:
        assert server.stdin is not None
        assert server.stdout is not None
        assert server.stderr is not None
        server.stdout.close()
        server.stdin.write(b'{"jsonrpc":"2.0","id":1,"method":"ping"}\n')
        server.stdin.flush()
        try:
            assert server.wait(PATIENCE_S) == 0
            assert server.stderr.read() == b""
        finally:
            server.kill()


def test_modern_client_carries_its_answers_from_round_to_round() -> None:
    with talking(MODERN, capabilities={"elicitation": {}}) as peer:
        first = peer.call("ask")
        name = {"action": "accept", "content": {"name": "Ada"}}
        second = peer.call("ask", inputResponses={"name": name}, requestState=first["requestState"])
        city = {"action": "accept", "content": {"city": "London"}}
        last = peer.call("ask", inputResponses={"city": city}, requestState=second["requestState"])

    assert (first["resultType"], list(first["inputRequests"])) == ("input_required", ["name"])
    assert first["inputRequests"]["name"]["method"] == "elicitation/create"
    assert (second["resultType"], list(second["inputRequests"])) == ("input_required", ["city"])
    assert last["content"][0]["text"] == "Ada of London"


def test_carried_state_that_was_changed_is_refused() -> None:
    with talking(MODERN, capabilities={"elicitation": {}}) as peer:
        state = peer.call("ask")["requestState"]
        forged = state[:-2] + ("AA" if state[-2:] != "AA" else "BB")
        error = peer.response(peer.send("tools/call", name="ask", arguments={}, requestState=forged))["error"]

    assert error["code"] == -32602


def test_malformed_answer_is_asked_for_again() -> None:
    with talking(MODERN, capabilities={"sampling": {}}) as peer:
        again = peer.call("sample", inputResponses={"sample": {"action": "accept"}})

    assert list(again["inputRequests"]) == ["sample"]


def test_modern_client_without_the_capability_is_told_which() -> None:
    with talking(MODERN) as peer:
        error = peer.response(peer.send("tools/call", name="sample", arguments={}))["error"]

    assert error["code"] == -32021
    assert error["data"] == {"requiredCapabilities": {"sampling": {}}}


def test_earlier_client_is_asked_in_requests_of_their_own() -> None:
    asked = {
        "Your name?": {"action": "accept", "content": {"name": "Ada"}},
        "Your city?": {"action": "accept", "content": {"city": "London"}},
    }
    with talking(LEGACY, capabilities={"elicitation": {}, "roots": {}}) as peer:
        peer.answers["elicitation/create"] = lambda params: asked[params["message"]]
        peer.answers["roots/list"] = lambda _: {"roots": [{"uri": "file:///a", "name": "a"}]}
        said = peer.call("ask")
        roots = peer.call("roots")

    assert said["content"][0]["text"] == "Ada of London"
    assert roots["content"][0]["text"] == '[{"uri": "file:///a", "name": "a"}]'


def test_earlier_client_without_the_capability_lets_the_model_know() -> None:
    with talking(LEGACY) as peer:
        result = peer.call("sample")

    assert result["isError"] is True
    assert "needs a client with sampling" in result["content"][0]["text"]


def test_options_reach_the_lifespan_from_flags_and_environment() -> None:
    with talking(LEGACY, "--farewell", "bye", env={"SAMPLE_ROOTS": "/a:/b"}) as peer:
        result = peer.call("show_state")

    assert result["content"][0]["text"] == '{"options": {"roots": ["/a", "/b"], "farewell": "bye"}, "is_open": true}'
