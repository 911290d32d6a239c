"""Placeholders for names of tools in texts of a manifest."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from toolmason_runtime.shared.placeholders import (
    Placeholders,
    escape_placeholders,
    has_placeholders,
    placeholders_in,
)
from toolmason_runtime.shared.styles import CLASSIC, STYLES

READ_ONLY = {"read_files": True, "git_log": True, "write_file": False}


def names(style: str = "search-call", *, prefix: str = "", split: bool = True, pinned: str = "") -> Placeholders:
    """Return the placeholders of a server with three tools."""

    def is_listed(name: str) -> bool:
        return style == CLASSIC or name == pinned

    return Placeholders(
        style,
        meta_name=lambda name: prefix + name.format(""),
        shown_name=lambda name: prefix + name if is_listed(name) else name,
        is_listed=is_listed,
        is_read_only=READ_ONLY.get,
        split_calls=split,
    )


@pytest.mark.parametrize(
    ("style", "text", "filled"),
    [
        ("search-call", "`{search}`, `{describe}`, `{call}`, `{call_read}`", "`search`, `search`, `call`, `call_read`"),
        (
            "list-describe",
            "{search}, {describe}, {call}, {call_read}",
            "list_available_tools, get_tool_description, call_tool, call_tool",
        ),
        ("discover-schema", "{search}, {describe}, {call}", "discover_tools, get_tool_schema, call_tool"),
        ("classic", "Read `{tool:read_files}`. Find it with `{search}`. Then write.", "Read `read_files`. Then write."),
        ("classic", "{discovery}\n\nPaths are relative.", "Paths are relative."),
        ("classic", "Paths are relative.\n\n{discovery}", "Paths are relative."),
        ("classic", "First.\n\n{discovery}\n\nLast.", "First.\n\nLast."),
        ("classic", "Steps:\n1. Call `{search}`.\n2. Read.\n", "Steps:\n2. Read.\n"),
        ("classic", "- Use {call}, e.g. `{call}`.\n- Read.", "- Read."),
        ("classic", "- Use {call}. Then read.\n- Read.", "- Then read.\n- Read."),
        ("classic", "Text.\n\nCall it with `{call}`.\n", "Text.\n"),
        ("classic", "Wo? Mit `{search}`. 二。", "Wo? 二。"),
        ("classic", "{calling:read_files}", ""),
        ("search-call", "{calling:read_files}", "Call unlisted tools with `call_read`."),
        (
            "search-call",
            "{calling:read_files,write_file}",
            "Call unlisted tools with `call_read`, but `write_file` with `call`.",
        ),
        ("list-describe", "{calling:read_files,write_file}", "Call unlisted tools with `call_tool`."),
        ("search-call", "{calling:unknown}", ""),
        ("search-call", "A `{{search}}`, a {{tool:read_files}}.", "A `{search}`, a {tool:read_files}."),
        ("search-call", "{{{search}}} {{{{call}}}}", "{{search}} {{{call}}}"),
        ("search-call", '{"a": {search}}', '{"a": search}'),
        ("search-call", "{arguments} {{args}} {other} {} {search", "{arguments} {{args}} {other} {} {search"),
        ("search-call", "{searches} {call-read} {tool:} {Search}", "{searches} {call-read} {tool:} {Search}"),
    ],
)
def test_a_placeholder_becomes_a_name_or_its_sentence_is_left_out(style: str, text: str, filled: str) -> None:
    assert names(style).fill(text) == filled


@pytest.mark.parametrize("style", STYLES)
def test_the_sentences_about_discovery_name_the_meta_tools_of_the_style(style: str) -> None:
    text = names(style, prefix="desk_").fill("{discovery}")

    metas = {"desk_" + name.format("") for name in (STYLES[style].describe, STYLES[style].call) if name}
    assert all(f"`{name}`" in text for name in metas)
    assert bool(text) is (style != CLASSIC)


def test_listed_names_have_the_prefix_and_others_stay() -> None:
    text = "`{tool:read_files}` and `{tool:git_log}` by `{call_read}`"

    assert names(prefix="desk_", pinned="git_log").fill(text) == "`read_files` and `desk_git_log` by `desk_call_read`"
    assert names(CLASSIC, prefix="desk_").fill("`{tool:git_log}`") == "`desk_git_log`"


def test_without_split_calls_one_meta_tool_calls_all() -> None:
    assert names(split=False).fill("{call_read}: {discovery}").startswith("call: Most tools")
    assert "`call_read`" not in names(split=False).fill("{discovery} {calling:read_files}")


def test_values_win_and_are_not_searched_for_placeholders() -> None:
    values = {"search": "{call}", "empty": ""}

    assert names().fill("Find {search}. By {call}.{empty}", values) == "Find {call}. By call."
    assert names().fill("Literally {{search}}.", values) == "Literally {search}."
    assert names(CLASSIC).fill("Find {search}.", values) == "Find {call}."


def test_only_texts_of_a_schema_are_filled() -> None:
    schema = {
        "description": "by {search}",
        "properties": {
            "default": {"type": "string", "description": "as {tool:git_log}", "default": "{search}"},
            "description": {"enum": ["{call}"], "items": [{"description": "{call}"}]},
        },
        "examples": [{"description": "{call}"}],
    }

    assert names().fill_schema(schema) == {
        "description": "by search",
        "properties": {
            "default": {"type": "string", "description": "as git_log", "default": "{search}"},
            "description": {"enum": ["{call}"], "items": [{"description": "call"}]},
        },
        "examples": [{"description": "{call}"}],
    }


PIECES = st.sampled_from(
    ["{", "}", "{search}", "{{call}}", "{tool:a}", "{calling:a,b}", "{x}", "`", ". ", "A", "\n\n", "- ", "search"]
)


@given(st.lists(PIECES, max_size=12).map("".join), st.sampled_from(sorted(STYLES)))
def test_an_escaped_text_stays_as_it_was(text: str, style: str) -> None:
    escaped = escape_placeholders(text)

    assert list(placeholders_in(escaped)) == []
    assert escape_placeholders(escaped) == escaped
    assert bool(list(placeholders_in(text))) is (escaped != text)
    if "{{" not in text:
        assert names(style).fill(escaped) == text
    if not has_placeholders(text):
        assert names(style).fill(text) == text
