"""Lines and JSON-RPC messages, decoded with the standard library and with the SDK."""

from __future__ import annotations

import json
from collections.abc import Callable
from tempfile import TemporaryFile
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from malformed import NO_JSON, REFUSED, UNANSWERED
from mcp.types import JSONRPCMessage, JSONRPCRequest
from toolmason_runtime.transports.framing import receive
from toolmason_runtime.transports.messages import (
    EDGE_BYTES,
    MAX_DEPTH,
    MAX_MESSAGE_BYTES,
    MalformedError,
    decode,
    lines,
)

JSON_LEAVES = st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5) | st.just("2.0")
NAMES = st.sampled_from(["jsonrpc", "id", "method", "params", "result", "error", "other"])


def members(inner: st.SearchStrategy[Any]) -> st.SearchStrategy[dict[str, Any]]:
    return st.dictionaries(NAMES, inner, max_size=5)


def as_line(value: Any) -> bytes:
    return json.dumps(value).encode()


@given(st.lists(st.binary(max_size=8) | st.sampled_from([b"\n", b"\r\n", b"[", b"x" * 70_000]), max_size=12))
def test_lines_are_those_of_the_input_whatever_pieces_they_come_in(pieces: list[bytes]) -> None:
    data = b"".join(pieces)
    with TemporaryFile() as source:
        source.write(data)
        source.seek(0)
        found = list(lines(source.fileno()))

    assert found == [line for line in data.split(b"\n") if line.strip()]


def test_line_that_is_too_long_is_passed_over_whole_and_those_about_it_are_kept() -> None:
    with TemporaryFile() as source:
        source.write(b"before\n" + b"x" * MAX_MESSAGE_BYTES + b"\n" + b"y" * (3 * MAX_MESSAGE_BYTES) + b"\nafter")
        source.seek(0)
        found = list(lines(source.fileno()))

    assert found == [b"before", b"x" * MAX_MESSAGE_BYTES, b"y" * (MAX_MESSAGE_BYTES + EDGE_BYTES), b"after"]


def read_or_refused(line: bytes) -> JSONRPCMessage | MalformedError:
    try:
        return receive(line).message
    except MalformedError as malformed:
        return malformed


@given(st.binary() | st.recursive(JSON_LEAVES, lambda inner: st.lists(inner) | members(inner)).map(as_line))
def test_every_line_is_a_message_or_refused(line: bytes) -> None:
    match read_or_refused(line):
        case MalformedError(answer=None):
            pass
        case MalformedError(answer=answer):
            assert answer is not None
            assert answer["error"]["code"] in (-32700, -32600)
        case JSONRPCRequest(id=found):
            assert isinstance(found, int | str)


def outcome(parse: Callable[[bytes], Any], line: bytes) -> Any:
    """The message, or the two errors for it."""
    try:
        return parse(line)
    except MalformedError as malformed:
        return malformed.answer, malformed.response_error


def by_the_sdk(line: bytes) -> Any:
    return receive(line).message.model_dump(by_alias=True, exclude_unset=True)


@pytest.mark.parametrize("line", [*NO_JSON, *(line for line, _ in REFUSED), *filter(bytes.strip, UNANSWERED)])
def test_both_parsers_refuse_a_line_with_the_same_errors(line: bytes) -> None:
    assert outcome(decode, line) == outcome(by_the_sdk, line)


IDS = st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=3)
VALUES = st.recursive(JSON_LEAVES, lambda inner: st.lists(inner, max_size=3) | members(inner), max_leaves=8)
REQUESTS = st.fixed_dictionaries(
    {"jsonrpc": st.just("2.0"), "id": IDS, "method": st.text(max_size=3)},
    optional={"params": st.dictionaries(st.text(max_size=3), VALUES, max_size=3)},
)
RESPONSES = st.fixed_dictionaries(
    {"jsonrpc": st.just("2.0"), "id": IDS},
    optional={"result": st.dictionaries(st.text(max_size=3), VALUES, max_size=3) | VALUES},
)


@given((REQUESTS | RESPONSES | members(VALUES)).map(as_line))
def test_both_parsers_get_the_same_from_a_line(line: bytes) -> None:
    found, expected = outcome(decode, line), outcome(by_the_sdk, line)
    if isinstance(expected, dict):
        # The SDK drops unknown members of the message.
        found = {name: found[name] for name in expected}
    assert json.dumps(found) == json.dumps(expected)


@pytest.mark.parametrize("depth", range(MAX_DEPTH - 4, MAX_DEPTH + 3))
@pytest.mark.parametrize(("opening", "leaf", "closing"), [("[", "", "]"), ("[", "1", "]"), ('{"a":', "{}", "}")])
def test_both_parsers_have_the_same_maximum_depth(depth: int, opening: str, leaf: str, closing: str) -> None:
    value = (opening * depth + leaf + closing * depth).encode()
    line = b'{"jsonrpc":"2.0","id":1,"method":"ping","params":{"a":%b}}' % value
    assert outcome(decode, line) == outcome(by_the_sdk, line)


@pytest.mark.parametrize("number", ["1e400", "-1e400", "NaN", "-Infinity", f"{10**400}.0", "[1.5, 1E999]"])
@pytest.mark.parametrize("about", [" {}", "{}\r", "\t{}  "], ids=["before", "carriage return", "both"])
def test_a_number_that_is_not_finite_is_refused_wherever_it_is(number: str, about: str) -> None:
    message = f'{{"jsonrpc":"2.0","id":1,"method":"ping","params":{{"a":{number}}}}}'
    with pytest.raises(MalformedError, match="numbers must be finite"):
        decode(about.format(message).encode())


@pytest.mark.parametrize("number", ["1e300", "1.5", "-0.0", f"{10**400}", "12345678901234567890"])
def test_other_numbers_are_exact(number: str) -> None:
    message = f'{{"jsonrpc":"2.0","id":1,"method":"ping","params":{{"a":{number}}}}}'
    assert decode(message.encode())["params"]["a"] == json.loads(number)
