"""A manifest parsed in pieces equals one that is parsed whole."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from toolmason.manifest.parsed_tools import parse_with_store

MANIFEST = Path(__file__).parents[3] / "manifest" / "workbench.toml"
LINES = st.sampled_from(
    [
        "[tools.a]",
        "[tools.b]",
        "[tools.a.params.x]",
        "[[tools.a.examples]]",
        "[[tools.b]]",
        " [tools.c]",
        "[ tools.a ]",
        '[tools."a"]',
        "[tools]",
        "[[tools]]",
        "[types.T]",
        "[server]",
        "tools = 1",
        "tools.a.k = 1",
        "k = 1",
        "l = [",
        "[1, 2],",
        "]",
        'm = """',
        '"""',
        "n = '''",
        "'''",
        "o = 2026-01-01",
        "p = inf",
        "# [tools.a]",
        "",
        "\\",
        "q = { r = [] }",
    ]
)


def outcome(parse: Any, text: str) -> str:
    """Return the parsed tables in their order, or the error."""
    try:
        return repr(parse(text))
    except (ValueError, RecursionError) as error:
        return f"{type(error)} {error}"


def assert_equal(text: str, store: dict[str, str]) -> None:
    expected = outcome(tomllib.loads, text)
    for _ in range(2):
        assert outcome(lambda text: parse_with_store(text, store=store), text) == expected


SHARED: dict[str, str] = {}
"""The store of all examples, as that of many earlier runs."""


@settings(deadline=None, max_examples=400)
@given(st.lists(LINES, max_size=12).map("\n".join))
@example("[tools.a]\nk = 1\n[types.T]\n[[tools.a.examples]]\n")
@example("k = 1\n[server]\n[tools.a]\nm = 1\n[types.T]\n[tools.b]\no = 2026-01-01\n[server.x]")
@example('[tools.a]\nm = """\n[tools.b]\n"""\n[tools.c]\nk = 1')
@example("[tools.a]\nk = 1\n[tools]\n")
def test_pieces_give_the_tables_and_errors_of_the_whole_text(text: str) -> None:
    assert_equal(text, SHARED)


@settings(deadline=None, max_examples=40)
@given(st.data())
def test_edits_of_our_manifest_give_the_same_tables_and_errors(data: st.DataObject) -> None:
    text = MANIFEST.read_text(encoding="utf-8")
    start = data.draw(st.integers(0, len(text)))
    end = start + data.draw(st.integers(0, 40))
    inserted = data.draw(st.sampled_from(["", "x", '"', '"""', "[", "]", "\n[tools.a]\n", "\n[server]\n", "\n"]))
    assert_equal(text[:start] + inserted + text[end:], SHARED)


@pytest.mark.parametrize(
    ("edit", "parsed"),
    [({}, 0), ({"old": "new"}, 1)],
    ids=["nothing edited", "one tool edited"],
)
def test_only_edited_tools_are_parsed(edit: Mapping[str, str], parsed: int) -> None:
    text = "".join(f'[tools.{name}]\nsummary = "old {name}"\nparams.x.type = "string"\n\n' for name in "abc")
    store: dict[str, str] = {}
    parse_with_store(text, store=store)
    count = len(store)
    for old, new in edit.items():
        text = text.replace(old, new, 1)
    parse_with_store(text, store=store)
    assert count == 3
    assert len(store) - count == parsed
