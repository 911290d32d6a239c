"""A server in a process of its own, spoken to line by line, in both protocol eras and with both engines."""

from __future__ import annotations

import json
import signal
import subprocess
from typing import Any

import pytest
from malformed import NO_JSON, REFUSED, UNANSWERED, nested
from oracle import ERAS, LEGACY, MODERN
from stdio_peer import PATIENCE_S, Peer, sample, talking
from toolmason_runtime.transports.messages import MAX_MESSAGE_BYTES

pytestmark = pytest.mark.usefixtures("each_engine")
both_eras = pytest.mark.parametrize("version", ERAS)
SIGNALS = [signal.SIGINT, signal.SIGTERM, signal.SIGHUP]
HANDSHAKE = {"protocolVersion": LEGACY, "capabilities": {}, "clientInfo": {"name": "deaf", "version": "0"}}
CALL_FLOOD = {"method": "tools/call", "params": {"name": "flood", "arguments": {}}}


def test_handshake_contains_server_info_and_instructions() -> None:
    peer = Peer(sample(), LEGACY)
    try:
        opened = peer.open()
    finally:
        peer.close()

    about = opened["serverInfo"]
    assert (about["name"], about["title"], about["version"]) == ("sample", "Sample", "1.2.3")
    assert about["description"] == "A server for tests."
    assert about["websiteUrl"] == "https://example.org/sample"
    assert opened["instructions"] == "Count before you shout."
    assert opened["capabilities"].keys() == {"tools", "logging"}


def test_discovery_contains_server_info_and_may_be_cached() -> None:
    peer = Peer(sample(), MODERN)
    try:
        found = peer.open()
    finally:
        peer.close()

    assert found["supportedVersions"] == [MODERN]
    assert found["instructions"] == "Count before you shout."
    assert found["ttlMs"] > 0
    assert found["cacheScope"] == "private"
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
    assert len(names) == len(set(names)) == 26
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
def test_other_calls_go_on_while_a_plain_function_blocks(version: str) -> None:
    with talking(version) as peer:
        number = peer.send("tools/call", name="hold", arguments={}, meta={"progressToken": "t"})
        assert peer.notification()["params"]["message"] == "holding"
        assert peer.call("shout", {"text": "meanwhile"})["content"][0]["text"] == "MEANWHILE"
        released = peer.send("tools/call", name="release", arguments={})
        answers = {message["id"]: message["result"] for message in (peer.next_message(), peer.next_message())}

    assert answers.keys() == {number, released}
    assert answers[number]["content"][0]["text"] == "released in another thread"


@both_eras
def test_plain_function_can_end_when_its_call_is_cancelled(version: str) -> None:
    with talking(version) as peer:
        number = peer.send("tools/call", name="hold_until_cancelled", arguments={}, meta={"progressToken": "t"})
        assert peer.notification()["params"]["message"] == "holding"
        peer.notify("notifications/cancelled", requestId=number, reason="enough")
        peer.wait_for_stderr(b"the thread was cancelled\n")
        assert peer.call("shout", {"text": "next"})["content"][0]["text"] == "NEXT"
        peer.end_of_input()
        assert peer.rest() == []


@both_eras
def test_thread_that_blocks_for_ever_does_not_keep_the_server(version: str) -> None:
    with talking(version) as peer:
        peer.send("tools/call", name="hold", arguments={}, meta={"progressToken": "t"})
        peer.notification()
        peer.end_of_input()

        assert peer.exit_status() == 0
        assert peer.stderr() == ""


def test_plain_function_asks_the_client_in_either_era() -> None:
    with talking(MODERN, capabilities={"elicitation": {}}) as peer:
        first = peer.call("ask_in_a_thread")
        answer = {"name": {"action": "accept", "content": {"name": "Ada"}}}
        last = peer.call("ask_in_a_thread", inputResponses=answer, requestState=first["requestState"])
    with talking(LEGACY, capabilities={"elicitation": {}}) as peer:
        peer.answers["elicitation/create"] = lambda _: {"action": "decline"}
        declined = peer.call("ask_in_a_thread")

    assert (first["resultType"], list(first["inputRequests"])) == ("input_required", ["name"])
    assert last["content"][0]["text"] == "Ada"
    assert declined["isError"] is True
    assert declined["content"][0]["text"] == "no name: accept the question"


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
def test_output_of_handlers_and_their_children_goes_to_stderr(version: str) -> None:
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
def test_invalid_line_is_answered_and_logged_and_the_next_is_read(version: str) -> None:
    expected = [(-32700, None) for _ in NO_JSON] + [(-32600, found) for _, found in REFUSED]
    with talking(version) as peer:
        answers = []
        for line in [*NO_JSON, *(line for line, _ in REFUSED)]:
            peer.write(line)
            answers.append(peer.next_message())
        result = peer.call("shout", {"text": "still here"})
        peer.end_of_input()
        assert peer.rest() == []
        logged = [json.loads(line) for line in peer.stderr().splitlines()]

    assert [(answer["error"]["code"], answer["id"]) for answer in answers] == expected
    assert result["content"][0]["text"] == "STILL HERE"
    assert len(logged) == len(expected)
    assert {(line["level"], line["logger"]) for line in logged} == {("warn", "toolmason_runtime.transports.stdio")}
    assert all(line["message"].startswith("ignored invalid input line: ") for line in logged)


@both_eras
def test_malformed_notification_or_response_is_never_answered(version: str) -> None:
    with talking(version) as peer:
        for line in UNANSWERED:
            peer.write(line)
        result = peer.call("shout", {"text": "still here"})
        peer.end_of_input()
        assert peer.rest() == []
        logged = peer.stderr().splitlines()

    assert result["content"][0]["text"] == "STILL HERE"
    assert len(logged) == len([line for line in UNANSWERED if line.strip()])


def test_first_line_of_a_connection_may_be_malformed() -> None:
    peer = Peer(sample(), LEGACY)
    try:
        peer.write(b"{bad")
        assert peer.next_message()["error"]["code"] == -32700
        assert peer.open()["serverInfo"]["name"] == "sample"
    finally:
        peer.close()


def test_reason_does_not_repeat_the_message() -> None:
    with talking(LEGACY) as peer:
        peer.write(b'{"jsonrpc":"2.0","id":7,"method":"ping","params":["password 12345"]}')
        refused = peer.next_message()["error"]["message"]
        peer.write(b"x" * (MAX_MESSAGE_BYTES + 1))
        too_long = peer.next_message()["error"]["message"]
        peer.end_of_input()
        said = peer.stderr()

    assert refused == "Invalid Request: params must be an object"
    assert too_long == "Invalid Request: message exceeds the limit of 4194304 bytes"
    assert "password" not in said


@both_eras
def test_half_a_character_is_refused_in_arguments_and_replaced_elsewhere(version: str) -> None:
    with talking(version) as peer:
        refused = peer.call("shout", {"text": "a \ud800 b \U0001f600"})
        unknown = peer.call("shout", {"text": "a", "\ud800": 1})
        nowhere = peer.response(peer.send("tools/call", name="a\ud800", arguments={}))

    assert refused["isError"] is True
    assert refused["content"][0]["text"].startswith(
        r"Argument 'text' contains the unpaired surrogate `\ud800` at character 3"
    )
    assert unknown["content"][0]["text"].startswith(r"The arguments have a name with the unpaired surrogate `\ud800`")
    assert "`a?`" in nowhere["error"]["message"]


@both_eras
def test_request_that_is_not_utf_8_is_refused_to_who_waits_for_it(version: str) -> None:
    with talking(version) as peer:
        line = json.dumps(peer.message("tools/call", name="shout", arguments={"text": "HERE"})).encode()
        peer.write(line.replace(b"HERE", b"\xed\xa0\x80"))
        refused = peer.next_message()

    assert (refused["id"], refused["error"]["code"]) == (json.loads(line)["id"], -32600)
    assert refused["error"]["message"] == f"Invalid Request: not UTF-8 at byte {line.index(b'HERE') + 1}"


@both_eras
@pytest.mark.parametrize("length", [MAX_MESSAGE_BYTES, 3 * MAX_MESSAGE_BYTES])
def test_request_that_is_too_long_is_refused_under_its_id(version: str, length: int) -> None:
    with talking(version) as peer:
        identity = peer.send("tools/call", name="shout", arguments={"text": "x" * length})
        refused = peer.next_message()
        result = peer.call("shout", {"text": "still here"})

    assert refused["id"] == identity
    assert refused["error"] == {
        "code": -32600,
        "message": "Invalid Request: message exceeds the limit of 4194304 bytes",
    }
    assert result["content"][0]["text"] == "STILL HERE"


@both_eras
def test_message_of_exactly_the_bound_passes(version: str) -> None:
    with talking(version) as peer:
        frame = len(json.dumps(peer.message("tools/call", name="shout", arguments={"text": ""})))
        result = peer.call("shout", {"text": "x" * (MAX_MESSAGE_BYTES - frame)})

    assert len(result["content"][0]["text"]) == MAX_MESSAGE_BYTES - frame


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
    with subprocess.Popen(sample(), stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as server:
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
    with subprocess.Popen(sample(), stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as server:
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


@both_eras
@pytest.mark.parametrize("ending", ["end of input", "signal"])
def test_finished_answers_are_sent_though_the_server_ends_before_they_are_read(version: str, ending: str) -> None:
    with talking(version) as peer:
        peer.reads.clear()
        # Each answer is more than a pipe holds, so that all but the first have to wait.
        sent = {peer.send("tools/call", name="shout", arguments={"text": "x" * 100_000}) for _ in range(5)}
        for _ in range(50):
            peer.notify("notifications/nobody/knows")
        peer.send("tools/call", name="chatter", arguments={})
        peer.wait_for_stderr(b"printed by a child\n")
        if ending == "signal":
            peer.process.send_signal(signal.SIGTERM)
        else:
            peer.end_of_input()
        peer.reads.set()
        answered = {answer["id"] for answer in peer.rest()}

        assert peer.exit_status() == 0
    assert answered >= sent


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


def test_modern_client_without_a_capability_gets_its_name() -> None:
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


MALFORMED_ANSWERS = [
    (b'{"jsonrpc":"2.0","id":%d,"result":[]}', "message must be a request, a notification or a response"),
    (b'{"jsonrpc":"2.0","id":%d,"result":null}', "message must be a request, a notification or a response"),
    (b'{"jsonrpc":"2.0","id":%d,"error":"no"}', "message must be a request, a notification or a response"),
    (b'{"jsonrpc":"2.0","id":%d}', "message must be a request, a notification or a response"),
    (b'{"id":%d,"result":{"action":"accept"}}', 'jsonrpc must be "2.0"'),
    (b'{"jsonrpc":"2.0","id":%d,"result":{"a":' + nested(300) + b"}}", "nested too deeply"),
    (b'{"jsonrpc":"2.0","id":%d,"result":{"a":NaN}}', "numbers must be finite"),
]


@pytest.mark.parametrize(("line", "reason"), MALFORMED_ANSWERS)
def test_malformed_answer_of_the_client_fails_the_call_that_waits_for_it(line: bytes, reason: str) -> None:
    with talking(LEGACY, capabilities={"elicitation": {}}) as peer:
        number = peer.send("tools/call", name="ask", arguments={})
        asked = peer.next_message()
        assert asked["method"] == "elicitation/create"
        peer.write(line % asked["id"])
        said = [peer.next_message()]
        if "method" not in said[0] and "error" in said[0]:  # what may have been a request is answered as well
            said.append(peer.next_message())

    assert said[-1]["id"] == number
    assert said[-1]["result"]["isError"] is True
    text = said[-1]["result"]["content"][0]["text"]
    assert text == f"The client did not answer elicitation/create: malformed response: {reason}"


def test_options_reach_the_lifespan_from_flags_and_environment() -> None:
    with talking(LEGACY, "--farewell", "bye", env={"SAMPLE_ROOTS": "/a:/b"}) as peer:
        result = peer.call("show_state")

    state = json.loads(result["content"][0]["text"])
    assert state["is_open"] is True
    assert state["options"] == {"roots": ["/a", "/b"], "farewell": "bye", "allow": [], "color": "auto"}


@both_eras
def test_forms_of_arguments_are_taken_in_direct_and_indirect_calls(version: str) -> None:
    sent = {"text": "a b", "label": None, "ranges": '{"start": "1"}', "format": "JSON", "limit": ""}
    right = {"text": "a b", "label": None, "ranges": [{"start": 1}], "format": "json"}
    with talking(version, command=[part for part in sample() if part != "--classic"]) as peer:
        expected = peer.call("count_words", right)
        direct = peer.call("count_words", sent)
        indirect = peer.call("call", {"tool_name": "count_words", "args": json.dumps(sent)})

    assert not expected.get("isError")
    assert [direct, indirect] == [expected, expected]
