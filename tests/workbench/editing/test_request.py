"""The parameters of `propose_and_review`: each valid combination selects one mode, every other one is explained."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from toolmason_runtime import ToolError

from workbench_handlers.editing.text.request import (
    APPEND,
    CREATE,
    MODES,
    OVERWRITE,
    Edit,
    EditRequest,
    Mode,
    parse_request,
)

ABSENT: dict[str, Any] = {
    "match_text": None,
    "new_string": None,
    "edits": None,
    "expected_replacements": None,
    "bypass_match_text_limit": False,
}
FILLED: dict[str, Any] = {"match_text": "", "new_string": "", "edits": [], "expected_replacements": 1}
"""Every property filled, as models in strict mode do."""
ONE = Edit("a", "b")
TWO = Edit("c", "d", 2)


def parsed(**parameters: Any) -> EditRequest:
    return parse_request(**(ABSENT | parameters))


@pytest.mark.parametrize(
    ("parameters", "mode", "edits"),
    [
        ({"match_text": "a", "new_string": "b"}, "single", [ONE]),
        ({"match_text": "a", "new_string": ""}, "single", [Edit("a", "")]),
        ({"match_text": "a", "new_string": "b", "edits": []}, "single", [ONE]),
        ({"match_text": "c", "new_string": "d", "expected_replacements": 2}, "single", [TWO]),
        ({"match_text": " ", "new_string": "b"}, "single", [Edit(" ", "b")]),
        ({"match_text": "", "new_string": "b"}, "create", [Edit("", "b")]),
        (FILLED, "create", [Edit("", "")]),
        (FILLED | {"new_string": "b"}, "create", [Edit("", "b")]),
        ({"match_text": OVERWRITE, "new_string": "b"}, "overwrite", [Edit(OVERWRITE, "b")]),
        ({"match_text": OVERWRITE, "new_string": "", "expected_replacements": 0}, "overwrite", [Edit(OVERWRITE, "")]),
        ({"match_text": APPEND, "new_string": "b"}, "append", [Edit(APPEND, "b")]),
        ({"match_text": f"{APPEND} ", "new_string": "b"}, "single", [Edit(f"{APPEND} ", "b")]),
        ({"edits": [ONE]}, "batch", [ONE]),
        ({"edits": (ONE, TWO)}, "batch", [ONE, TWO]),
        (FILLED | {"edits": [ONE, TWO]}, "batch", [ONE, TWO]),
        ({"edits": [ONE], "expected_replacements": 0}, "batch", [ONE]),
        ({"edits": [ONE, Edit(APPEND, "x"), TWO]}, "batch", [ONE, Edit(APPEND, "x"), TWO]),
        ({"edits": [Edit(APPEND, "x"), Edit(APPEND, "y")]}, "batch", [Edit(APPEND, "x"), Edit(APPEND, "y")]),
        ({"edits": [ONE] * 200}, "batch", [ONE] * 200),
        ({"match_text": "a", "new_string": "b", "expected_replacements": 10_000}, "single", [Edit("a", "b", 10_000)]),
        ({"edits": [Edit(APPEND, "x")]}, "append", [Edit(APPEND, "x")]),
        ({"edits": [Edit(OVERWRITE, "x", 0)]}, "overwrite", [Edit(OVERWRITE, "x", 0)]),
        (FILLED | {"edits": [Edit(CREATE, "x")]}, "create", [Edit(CREATE, "x")]),
    ],
)
def test_parameters_select_one_mode(parameters: dict[str, Any], mode: Mode, edits: list[Edit]) -> None:
    assert parsed(**parameters) == EditRequest(mode, tuple(edits))
    assert parsed(**parameters, bypass_match_text_limit=True) == EditRequest(mode, tuple(edits), bypass_limit=True)


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({}, "match_text, new_string and edits are missing"),
        ({"edits": []}, "match_text, new_string and edits are missing"),
        ({"new_string": "b"}, "match_text is missing"),
        ({"match_text": "a"}, 'the mode single takes match_text and new_string; send new_string="" to delete'),
        ({"match_text": "a", "edits": []}, "new_string is missing"),
        ({"match_text": ""}, 'the mode create takes match_text="" and new_string'),
        ({"match_text": OVERWRITE}, 'the mode overwrite takes match_text="OVERWRITE_FILE" and new_string'),
        ({"match_text": APPEND}, 'the mode append takes match_text="APPEND_TO_FILE" and new_string'),
        ({"match_text": "a", "new_string": "b", "edits": [ONE]}, "match_text and edits cannot be combined"),
        ({"match_text": "a", "edits": [ONE]}, "match_text and edits cannot be combined"),
        ({"new_string": "b", "edits": [ONE]}, "new_string and edits cannot be combined"),
        (
            {"match_text": APPEND, "new_string": "b", "edits": [ONE]},
            'without match_text and new_string\n- append: match_text="APPEND_TO_FILE" and new_string',
        ),
        ({"edits": [ONE], "expected_replacements": 2}, "put it into the edit that it belongs to"),
        ({"edits": [ONE, Edit(OVERWRITE, "x")]}, "edit 2 of 2: OVERWRITE_FILE replaces the whole file"),
        (
            {"edits": [Edit(CREATE, "x"), ONE]},
            "edit 1 of 2: match_text is empty: send the text to replace, or match_te",
        ),
        (
            {"edits": [ONE, Edit("c", "d", 0)]},
            "edit 2 of 2: expected_replacements is 0: send 1 to 10,000, or leave it out",
        ),
        ({"match_text": "a", "new_string": "b", "expected_replacements": 0}, "expected_replacements is 0: send 1 to"),
        ({"match_text": "a", "new_string": "b", "expected_replacements": -1}, "expected_replacements is -1"),
        ({"match_text": "a", "new_string": "b", "expected_replacements": 10_001}, "expected_replacements is 10001"),
        ({"edits": [ONE] * 201}, "there are 201 edits; one call takes at most 200: send the rest later"),
        ({"match_text": "a", "new_string": "\0"}, "new_string contains U+0000"),
        ({"match_text": "\ud83d", "new_string": "b"}, "match_text contains U+D83D"),
        ({"edits": [Edit("a", "\udc80")]}, "edit 1 of 1: new_string contains U+DC80"),
        (
            {"edits": [Edit("a", "\0"), ONE, Edit("", "x"), Edit("c", "d", 20_000)]},
            "which a text file cannot contain: remove it\nedit 3 of 4: match_text is empty",
        ),
    ],
)
def test_an_invalid_combination_is_explained(parameters: dict[str, Any], message: str) -> None:
    with pytest.raises(ToolError) as error:
        parsed(**parameters)

    assert error.value.code == "INVALID_ARGUMENT"
    assert message in error.value.message


def test_a_call_without_a_mode_lists_all_five_with_the_batch_first() -> None:
    with pytest.raises(ToolError) as error:
        parsed()

    listed = error.value.message.splitlines()[1:]
    assert [line.removeprefix("- ").partition(":")[0] for line in listed] == list(MODES)
    assert next(iter(MODES)) == "batch"
    assert len(listed) == 5


TEXTS = st.one_of(st.sampled_from([CREATE, OVERWRITE, APPEND, "a", " ", "\n", "\0", "\ud800"]), st.text())
EDITS = st.lists(st.builds(Edit, TEXTS, TEXTS, st.integers(-2, 3)), max_size=4)


@given(
    match_text=st.none() | TEXTS,
    new_string=st.none() | TEXTS,
    edits=st.none() | EDITS,
    expected_replacements=st.none() | st.integers(),
    bypass_match_text_limit=st.booleans(),
)
def test_every_call_selects_a_mode_or_gets_an_error_with_a_code(**parameters: Any) -> None:
    code = ""
    try:
        request = parse_request(**parameters)
    except ToolError as error:
        code = error.code
    if code:
        assert code == "INVALID_ARGUMENT"
        return

    assert request.mode in MODES
    sent = parameters["edits"] or [Edit(parameters["match_text"], parameters["new_string"])]
    assert [(edit.match_text, edit.new_string) for edit in request.edits] == [
        (edit.match_text, edit.new_string) for edit in sent
    ]
    assert request.mode == "batch" or len(request.edits) == 1
