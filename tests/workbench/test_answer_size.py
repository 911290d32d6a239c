"""No answer is larger than what every client shows whole, whatever stands in the files."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from toolmason_runtime.shared.answer_size import (
    DEFAULT_SIZE,
    MAX_SIZE,
    VARIABLE,
    fitting_length,
    max_answer_size,
    size_of,
)
from toolmason_runtime.shared.selection import Selection
from toolmason_runtime.shared.tokens import estimate_tokens

MAX_TOKENS = 10_000
CLASSIC = Selection(style="classic")
LINES = {
    "plain": "a plain line of a log file, as there are many",
    "quotes": '"' * 80,
    "backslashes": "\\\\" * 80,
    "accents": "é" * 80,
    "han": "漢字" * 40,
    "emoji": "😀" * 40,
    "control": "\x01" * 40,
    "bars": "|" * 80,
    "short words": "a b c d e f g h " * 5,
}


def is_shown_whole(result: dict[str, Any]) -> bool:
    """Whether the result fits as JSON. Where there is a structure, a client shows it or the text, not both."""
    shown = json.dumps({"content": result["content"]}, ensure_ascii=False)
    return len(shown) <= DEFAULT_SIZE and estimate_tokens(shown) <= MAX_TOKENS


@pytest.mark.parametrize("line", LINES.values(), ids=LINES)
@pytest.mark.parametrize("sent_through", ["", "call_read"], ids=["directly", "through call_read"])
def test_every_long_answer_is_shown_whole(room: Any, line: str, sent_through: str) -> None:
    lines = [f"{line}\n"] * 3000
    room.write("a.txt", "".join(lines))
    room.write("a.json", json.dumps([line] * 3000, ensure_ascii=False))
    room.write("b.json", json.dumps({"one": line * 3000}))
    log = [f"### [LOG-{n}] - [{line}{n}] - {line} - Task: {line}{n}\n**Date:** x\n" for n in range(600)]
    room.write("WORK.md", "".join([*(f"## {line}{n}\n" for n in range(300)), *log, *("### LOG-1\n" * 200)]))
    for number in range(400):
        name = "".join(letter for letter in line if letter.isprintable() and letter not in "/\\")[:30]
        room.write(f"many/{number % 10}/{name}{number}", "")
        room.write(f"flat/{name}{number}", "")
    calls: list[tuple[str, dict[str, Any]]] = [
        ("read_files", {"files": [{"path": "a.txt"}, {"path": "a.txt", "tail": 3000}, {"path": "no/" * 900}]}),
        ("grep_content", {"pattern": ".", "search_path": "a.txt", "context_lines": 10}),
        ("query_json", {"file_path": "a.json", "jq_expression": ".[]"}),
        ("query_json", {"file_path": "b.json", "jq_expression": ".one"}),
        ("query_yaml", {"file_path": "a.json", "yq_expression": "."}),
        ("analyze_work_log", {"file_path": "WORK.md"}),
        ("analyze_work_log", {"file_path": "WORK.md", "output_format": "table"}),
        ("directory_tree", {"path": "."}),
        ("list_directory_with_sizes", {"path": "flat"}),
        ("search_files", {"path": ".", "pattern": "*"}),
    ]
    for tool, arguments in calls:
        sent = arguments | {"surplus": 1}
        name, given_arguments = (sent_through, {"tool_name": tool, "args": sent}) if sent_through else (tool, sent)
        style = Selection(style="search-call") if sent_through else CLASSIC
        answer = room.request("tools/call", {"name": name, "arguments": given_arguments}, style)
        assert is_shown_whole(answer), (tool, len(json.dumps(answer["content"], ensure_ascii=False)))
        assert len(json.dumps(answer["content"])) > 4_000, (tool, answer)


def test_long_answers_may_be_longer_where_a_client_shows_them(room: Any) -> None:
    listed = room.request("tools/list", {}, CLASSIC)["tools"]
    key = "anthropic/maxResultSizeChars"
    assert {tool["name"]: tool["_meta"][key] for tool in listed if key in tool.get("_meta", {})} == dict.fromkeys(
        (
            "list_directory_with_sizes",
            "directory_tree",
            "read_files",
            "search_files",
            "grep_content",
            "query_json",
            "query_yaml",
            "query_toml",
            "analyze_work_log",
        ),
        MAX_SIZE,
    )


@pytest.mark.parametrize(
    ("value", "size"),
    [
        ("", DEFAULT_SIZE),
        ("50000", 50_000),
        (" 4000 ", 4_000),
        ("3999", DEFAULT_SIZE),
        ("500001", DEFAULT_SIZE),
        ("-1", DEFAULT_SIZE),
        ("many", DEFAULT_SIZE),
        ("1" * 5000, DEFAULT_SIZE),
    ],
)
def test_the_setting_is_a_number_in_range_or_counts_as_not_set(value: str, size: int) -> None:
    assert max_answer_size({VARIABLE: value}) == size
    assert max_answer_size({}) == DEFAULT_SIZE <= MAX_SIZE


@given(text=st.text(max_size=2000), budget=st.integers(0, 3000))
def test_the_fitting_part_of_a_text_fits_and_hardly_more_would(text: str, budget: int) -> None:
    length = fitting_length(text, budget)

    assert size_of(text[:length]) <= budget + 4  # a piece of 256 characters ends where a token may not
    assert length == len(text) or sum(map(size_of, text[: length + 1])) > budget


def test_a_note_is_before_text_and_after_json(room: Any) -> None:
    room.write("a.txt", "word\n")
    room.write("a.json", "[1]")

    def blocks(tool: str, **arguments: Any) -> list[str]:
        return list(room.call(tool, **arguments).texts)

    text = blocks("grep_content", pattern="word", search_pth="a.txt")
    assert text[0] == "Note: unknown argument 'search_pth' was ignored; did you mean 'search_path'?"
    assert text[1].startswith("[1 matching line]\n")
    whole = blocks("query_json", file_path="a.json", jq_expression=".", surplus=1)
    assert whole[0] == "[1]"
    assert whole[1].startswith("Note: unknown argument 'surplus'")
    structured = blocks("search_files", pattern="a.txt", path=".", surplus=1)
    assert structured[0] == '{"paths":["a.txt"]}'
    assert structured[1].startswith("Note: ")


def test_a_note_names_args_for_misplaced_arguments(room: Any) -> None:
    params = {"name": "call_read", "arguments": {"tool_name": "read_files", "files": [{"path": "a.txt"}]}}
    result = room.request("tools/call", params, Selection(style="search-call"))

    assert "unknown argument 'files' was ignored; arguments of the tool go into 'args'" in json.dumps(result)
