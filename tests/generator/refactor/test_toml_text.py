"""Edits of TOML text: the change of one key or value, and nothing else."""

from __future__ import annotations

import tomllib
from collections.abc import Callable
from typing import Any

import pytest
import tomli_w
from hypothesis import given
from hypothesis import strategies as st

from toolmason.refactor.toml_text import TomlText, quoted_toml


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("[a.old]\nx = 1 # note\n", "[a.new]\nx = 1 # note\n"),
        ("[ a . old . b ]\n", "[ a . new . b ]\n"),
        ("[[a.old.rows]]\nx = 1\n\n[[a.old.rows]]\n", "[[a.new.rows]]\nx = 1\n\n[[a.new.rows]]\n"),
        ("a.old.x = 1\na.old.y = 2\n", "a.new.x = 1\na.new.y = 2\n"),
        ("a = { old = { x = 1 } }\n", "a = { new = { x = 1 } }\n"),
        ('[a."old"]\r\nx = 1\r\n', '[a."new"]\r\nx = 1\r\n'),
        ("[a.'old']\n", "[a.'new']\n"),
        ("[a]\nold.x = 'old'\n[b]\nold = 1\n", "[a]\nnew.x = 'old'\n[b]\nold = 1\n"),
    ],
)
def test_a_key_is_renamed_in_every_form(text: str, expected: str) -> None:
    toml = TomlText(text)
    toml.rename_key(("a", "old"), "new")
    assert toml.result() == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("[a]\nx = 1\n\n[b]\n", '[a]\nx = 1\nk = "v"\n\n[b]\n'),
        ("[a] # why\n", '[a] # why\nk = "v"\n'),
        (
            "[a]\nx = [\n  1, # one\n] # end\n# last\n\n[a.b]\ny = 2\n",
            '[a]\nx = [\n  1, # one\n] # end\nk = "v"\n# last\n\n[a.b]\ny = 2\n',
        ),
        ("[a]\r\n  x = 1\r\n", '[a]\r\n  x = 1\r\n  k = "v"\r\n'),
        ("[a]\nx = 1", '[a]\nx = 1\nk = "v"'),
        ("a = { x = 1 }\n", 'a = { x = 1, k = "v" }\n'),
        ("a = {}\n", 'a = { k = "v" }\n'),
        ("a = { x = '}' } # }\n", "a = { x = '}', k = \"v\" } # }\n"),
        ("a.x = 1\na.y = 2 # two\n\nb = 3\n", 'a.x = 1\na.y = 2 # two\na.k = "v"\n\nb = 3\n'),
        ('a = "shared"\n', 'a = { use = "shared", k = "v" }\n'),
        ('[a]\ns = """\n[b]\n# no comment\n"""\n', '[a]\ns = """\n[b]\n# no comment\n"""\nk = "v"\n'),
    ],
)
def test_a_key_is_added_in_the_style_of_its_table(text: str, expected: str) -> None:
    toml = TomlText(text)
    toml.add_keys(("a",), {"k": '"v"'})
    assert toml.result() == expected
    tomllib.loads(toml.result())


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a = []\n", 'a = ["v"]\n'),
        ("a = ['x']\n", "a = ['x', \"v\"]\n"),
        ("a = ['x',]\n", "a = ['x', \"v\",]\n"),
        ("a = [\n  'x', # ex\n  'y', # why\n]\n", "a = [\n  'x', # ex\n  'y', # why\n  \"v\",\n]\n"),
        ("a = [\n  'x', # ex\n  'y' # why\n]\n", "a = [\n  'x', # ex\n  'y', # why\n  \"v\"\n]\n"),
        ("a = [\n  'x' # ex\n  , # odd\n]\n", "a = [\n  'x', # ex\n  \"v\"\n  , # odd\n]\n"),
        ("a = [\r\n  'x', # ex\r\n]\r\n", "a = [\r\n  'x', # ex\r\n  \"v\",\r\n]\r\n"),
        ("a = [[1, 2], { b = ']' }]\n", "a = [[1, 2], { b = ']' }, \"v\"]\n"),
    ],
)
def test_an_item_is_added_to_an_array(text: str, expected: str) -> None:
    toml = TomlText(text)
    toml.add_item(("a",), '"v"')
    assert toml.result() == expected
    assert tomllib.loads(toml.result())["a"][-1] == "v"


@pytest.mark.parametrize("index", [0, 1, 2])
@pytest.mark.parametrize("text", ["a = ['x', 'y', 'z']\n", "a = [\n 'x', # 1\n 'y', # 2\n 'z', # 3\n]\n"])
def test_an_item_is_removed_from_an_array(text: str, index: int) -> None:
    toml = TomlText(text)
    toml.remove_item(("a",), index)
    assert tomllib.loads(toml.result())["a"] == [item for place, item in enumerate("xyz") if place != index]


@pytest.mark.parametrize("index", [0, 1, 2])
@pytest.mark.parametrize("newline", ["\n", "\r\n"])
def test_a_removed_item_takes_its_comment_and_no_other(index: int, newline: str) -> None:
    lines = ["a = [", " 'x', # 1", " 'y', # 2", " 'z' # 3", "]", ""]
    toml = TomlText(newline.join(lines))
    toml.remove_item(("a",), index)
    assert toml.result() == newline.join(lines[: index + 1] + lines[index + 2 :])


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("b = 1\na = ['x']\nc = 2\n", "b = 1\nc = 2\n"),
        ("b = 1\r\na = [\r\n  'x', # why\r\n] # end\r\nc = 2\r\n", "b = 1\r\nc = 2\r\n"),
        ("b = 1\na = ['x',]", "b = 1"),
        ("a = ['x', ]\n", "a = []\n"),
    ],
)
def test_an_array_is_removed_with_its_only_item(text: str, expected: str) -> None:
    toml = TomlText(text)
    toml.remove_item(("a",), 0)
    assert toml.result() == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("t = { b = 1, a = ['x'] }\n", "t = { b = 1 }\n"),
        ("t = { a = ['x'], b = 1 }\n", "t = { b = 1 }\n"),
        ("t = { b = 1, a = [ 'x' ], c = 2 }\n", "t = { b = 1, c = 2 }\n"),
        ("t = { a = ['x'] }\n", "t = { a = [] }\n"),
        ("[t]\nb = 1\na = ['x']\n", "[t]\nb = 1\n"),
        ("t.b = 1\nt.a = ['x']\n", "t.b = 1\n"),
    ],
)
def test_keys_are_added_where_an_array_is_removed(text: str, expected: str) -> None:
    toml = TomlText(text)
    toml.remove_item(("t", "a"), 0)
    assert toml.result() == expected
    toml.add_keys(("t",), {"k": '"v"'})
    assert tomllib.loads(toml.result())["t"] == {**tomllib.loads(expected)["t"], "k": "v"}


def test_parts_of_strings_change_and_their_escapes_stay() -> None:
    text = 'a = "\\tgrep, grep\\ngrep \\" x"\nb = \'\\grep\'\nc = """\ngrep \\\n  grep"""\n'
    toml = TomlText(text)

    def replace(value: str) -> Any:
        start = value.find("grep")
        while start >= 0:
            yield start, start + 4, "find"
            start = value.find("grep", start + 1)

    for key in "abc":
        toml.edit_string((key,), replace)
    assert toml.result() == text.replace("grep", "find")


def test_a_literal_string_keeps_its_quotes() -> None:
    toml = TomlText("a = 'x'\nb = \"y\"\n")
    toml.set_string(("a",), "v")
    toml.set_string(("b",), "w")
    assert toml.result() == "a = 'v'\nb = \"w\"\n"


@pytest.mark.parametrize(
    ("text", "block"),
    [
        (
            "[a]\nx = 1\n\n# of b\n# too\n[b]\nx = 1 # one\n\n# inside\ny = 2\n\n[b.c]\nz = 3\n\n# of d\n[d]\n",
            "# of b\n# too\n[b]\nx = 1 # one\n\n# inside\ny = 2\n\n[b.c]\nz = 3\n",
        ),
        ("[b]\nx = 1", "[b]\nx = 1"),
        ("[[b.rows]]\nx = 1\n[[b.rows]]\n[e]\n", "[[b.rows]]\nx = 1\n[[b.rows]]\n"),
        ("b.x = 1\n", None),
        ("b = { x = 1 }\n", None),
        ("[b]\nx = 1\n[c]\n[b.d]\n", None),
    ],
)
def test_the_block_of_a_table_has_its_comments(text: str, block: str | None) -> None:
    toml = TomlText(text)
    span = toml.block(("b",))
    assert (span and text[slice(*span)]) == block


def test_removed_lines_leave_one_blank_line() -> None:
    text = "[a]\nx = 1\n\n[b]\ny = 2\n\n\n[c]\n"
    toml = TomlText(text)
    toml.remove_lines(*(toml.block(("b",)) or (0, 0)))
    assert toml.result() == "[a]\nx = 1\n\n[c]\n"
    toml = TomlText(text)
    toml.remove_lines(*(toml.block(("c",)) or (0, 0)))
    assert toml.result() == "[a]\nx = 1\n\n[b]\ny = 2\n"


_NAMES = st.text("abc_-. é", min_size=1, max_size=4)
_VALUES = st.recursive(
    st.one_of(st.integers(), st.booleans(), st.text("ab\"'\\\n#[]{}=,é", max_size=8)),
    lambda items: st.one_of(st.lists(items, max_size=3), st.dictionaries(_NAMES, items, max_size=3)),
    max_leaves=6,
)


@given(st.dictionaries(_NAMES, st.dictionaries(_NAMES, _VALUES, min_size=1, max_size=3), min_size=1, max_size=3))
def test_the_result_differs_by_the_change_alone(tables: dict[str, dict[str, Any]]) -> None:
    """Renaming and adding keys in any TOML file gives the data that the same change of the data gives."""
    first = next(iter(tables))
    edits: list[tuple[Callable[[TomlText], None], Callable[[dict[str, Any]], dict[str, Any]]]] = [
        (
            lambda toml: toml.rename_key((first,), "new name"),
            lambda data: {("new name" if key == first else key): table for key, table in data.items()},
        ),
        (
            lambda toml: toml.add_keys((first,), {"added": quoted_toml("é\n")}),
            lambda data: {**data, first: {**data[first], "added": "é\n"}},
        ),
    ]
    text = tomli_w.dumps(tables)
    for edit, expected in edits:
        toml = TomlText(text)
        edit(toml)
        assert tomllib.loads(toml.result()) == expected(tomllib.loads(text))
