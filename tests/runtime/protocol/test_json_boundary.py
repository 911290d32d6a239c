"""Values that JSON text can hold and that cannot be passed on are refused once, for both transports."""

from __future__ import annotations

import json
import math
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from mcp.types import JSONRPCRequest
from toolmason_runtime.protocol.json_boundary import problems_of, refused_arguments
from toolmason_runtime.transports.framing import receive
from toolmason_runtime.transports.messages import MalformedError

WHOLE = r"send the complete pair, such as `\ud83d\ude00`, or remove it"


def call(arguments: str) -> dict[str, Any]:
    """The parameters of a call with these arguments, as they come out of the boundary."""
    line = f'{{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{{"name":"n","arguments":{arguments}}}}}'
    message = receive(line.encode()).message
    assert isinstance(message, JSONRPCRequest)
    return message.params or {}


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        ('{"ratio": NaN}', "Argument 'ratio' must be a finite number; got nan"),
        ('{"ratio": -Infinity}', "Argument 'ratio' must be a finite number; got -inf"),
        ('{"ratio": 1e999}', "Argument 'ratio' must be a finite number; got inf"),
        (f'{{"ratio": -{"9" * 210}e99}}', "Argument 'ratio' must be a finite number; got -inf"),
        (
            r'{"label": "a\ud83d"}',
            rf"Argument 'label' contains the unpaired surrogate `\ud83d` at character 2; {WHOLE}",
        ),
        (
            r'{"files": [{"path": "\udc00"}]}',
            rf"Argument 'files[0].path' contains the unpaired surrogate `\udc00` at character 1; {WHOLE}",
        ),
        (
            r'{"weights": {"\udc00": 1}}',
            rf"Argument 'weights' has a name with the unpaired surrogate `\udc00`; {WHOLE}",
        ),
        (r'{"\udc00": 1}', rf"The arguments have a name with the unpaired surrogate `\udc00`; {WHOLE}"),
    ],
)
def test_flawed_arguments_are_taken_out_and_the_reason_is_passed_on(arguments: str, problem: str) -> None:
    params = call(arguments)

    assert refused_arguments(params) == [problem]
    assert params["arguments"] == {}


@pytest.mark.parametrize("arguments", ['{"a": "1e999 NaN"}', r'{"a": "\ud83d\ude00"}', '{"a": 1e308}', '{"a": "e123"}'])
def test_sound_arguments_pass_as_they_are(arguments: str) -> None:
    params = call(arguments)

    assert refused_arguments(params) == []
    assert params["arguments"] == json.loads(arguments)


@pytest.mark.parametrize("number", ["NaN", "1e999", "-Infinity"])
def test_number_that_is_not_finite_elsewhere_refuses_the_message(number: str) -> None:
    with pytest.raises(MalformedError, match="numbers must be finite") as caught:
        receive(f'{{"jsonrpc":"2.0","id":7,"method":"ping","params":{{"a":{number}}}}}'.encode())

    assert caught.value.answer is not None
    assert caught.value.answer["id"] == 7


def test_reported_flaws_are_limited_in_number() -> None:
    assert len(refused_arguments(call(json.dumps({"a": ["\ud800"] * 1000})))) == 20


def test_text_of_json_in_an_argument_is_held_to_the_same() -> None:
    deep: Any = []
    for _ in range(5000):
        deep = [deep]

    assert problems_of({"a": math.nan}, ("args",)) == ["Argument 'args.a' must be a finite number; got nan"]
    assert problems_of(deep, ("args",)) == ["Argument 'args' is nested too deeply"]


VALUES = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats()
    | st.text(st.characters(codec=None, categories=["L", "Cs"])),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(st.characters(categories=["L", "Cs"])), inner),
)


@given(st.dictionaries(st.text(st.characters(categories=["L", "Cs"])), VALUES, max_size=4))
def test_whatever_passes_can_be_written_as_json_in_utf_8(arguments: dict[str, Any]) -> None:
    json.dumps(call(json.dumps(arguments)), allow_nan=False, ensure_ascii=False).encode()
