import tomllib
import tracemalloc
from collections.abc import Iterator
from typing import Any

import pytest
import tomli_w
from hypothesis import given
from hypothesis import strategies as st
from toolmason_runtime.toml.positions import MAX_KEY_PARTS, KeyPath, Position, find_long_key, key_positions, scan_keys

KEYS = st.one_of(
    st.sampled_from(
        ["a", "b", "name", "lim-it", "1", "a b", "", "é", "漢字", "a.b", 'say "x"', "tab\t", "\x1b", "it's"]
    ),
    st.text(max_size=5),
)
SCALARS = st.one_of(
    st.text(max_size=8),
    st.sampled_from(
        ["# no comment", "[x]", "a = 1", "one\ntwo\n", '"""', "'''", "\\", '""', 'ends in "', "]", "}", ","]
    ),
    st.integers(-(2**40), 2**40),
    st.floats(allow_nan=False),
    st.booleans(),
    st.datetimes(),
    st.dates(),
    st.times(),
)
VALUES = st.recursive(
    SCALARS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(KEYS, inner, max_size=3),
    max_leaves=12,
)
TABLES = st.dictionaries(KEYS, VALUES, max_size=5)

TRICKY = {
    "comments between all things": "# a\na = 1 # b = 2\n[ t ] # c\n# [u]\nb = [ # d\n 1, # e]\n 2 ]\n",
    "dotted and quoted keys": 'a . "b.c" . \'d\' = 1\n"\\u0061b" = 2\n\'l"it\' = 3\n"" = 4\n',
    "strings that look like structure": "a = '''\n[x]\nb = 1'''\nc = \"\"\"\\\"\"\"\n[y] \"\"\"\"\"\nd = '''''x'''''\n",
    "empty strings of every kind": "a = \"\"\nb = ''\nc = \"\"\"\"\"\"\nd = ''''''\n[e]\nf = 1\n",
    "inline tables in arrays in inline tables": "a = { b = [ { c = 1, d.e = 2 }, { c = [ [3], [ ] ] } ], f = {} }\n",
    "rows within rows": "[[a]]\nb = 1\n[[a.c]]\nd = 1\n[[a.c]]\nd = 2\n[a.c.e]\nf = 3\n[[a]]\n[[a.c]]\nd = 4\n",
    "parents after children": "[a.b.c]\nx = 1\n[a]\ny = 2\n[a.b]\nz = 3\n",
    "dates and times": "a = 1979-05-27 07:32:00Z # x\nb = [ 1979-05-27 , 07:32:00 ]\nc = 1979-05-27 \n",
    "CRLF": 'a = 1\r\n[b]\r\nc = """\r\nx\r\n"""\r\nd = [\r\n 1,\r\n]\r\n',
    "no newline at the end": "[a]\nb = [1, 2,]",
    "wide characters before a key": 'a = { "漢字" = "😀é", b = 1 }\n',
}


def paths_of(value: Any, at: KeyPath = ()) -> Iterator[KeyPath]:
    if at:
        yield at
    items: Any = ()
    if isinstance(value, dict):
        items = value.items()
    elif isinstance(value, list):
        items = enumerate(value)
    for name, inner in items:
        yield from paths_of(inner, (*at, name))


def rest_of_line(text: str, place: Position) -> str:
    return text.split("\n")[place.line - 1][place.column - 1 :]


def written_key(text: str, place: Position) -> str:
    """Read the first part of the key at `place` with tomllib itself, by making it the only one of a document."""
    rest = rest_of_line(text, place)
    for end in range(len(rest), 0, -1):
        try:
            data = tomllib.loads(f"{rest[:end]} = 0")
        except tomllib.TOMLDecodeError:
            continue
        return next(iter(data))
    raise AssertionError(f"no key at {place}")


def check_spans(text: str) -> None:
    data = tomllib.loads(text)
    spans = key_positions(text)
    assert spans.keys() == set(paths_of(data))
    for path, span in spans.items():
        if isinstance(path[-1], str):
            assert written_key(text, span.key) == path[-1]


@given(TABLES)
def test_every_key_that_tomllib_knows_has_its_place(data: dict[str, Any]) -> None:
    check_spans(tomli_w.dumps(data))


@given(TABLES)
def test_multi_line_strings_do_not_lead_astray(data: dict[str, Any]) -> None:
    check_spans(tomli_w.dumps(data, multiline_strings=True, indent=1))


@given(TABLES)
def test_values_at_their_positions_equal_those_of_tomllib(data: dict[str, Any]) -> None:
    text = tomli_w.dumps({"root": data}) if not data else tomli_w.dumps(data)
    parsed = tomllib.loads(text)
    spans = key_positions(text)
    for key, value in parsed.items():
        if isinstance(value, str | int):
            line = rest_of_line(text, spans[(key,)].value)
            assert tomllib.loads(f"key = {line}") == {"key": value}


@pytest.mark.parametrize("text", TRICKY.values(), ids=TRICKY.keys())
def test_hand_made_forms_are_found_too(text: str) -> None:
    check_spans(text)


@given(st.text(alphabet="ab.=[]{}\"'\\#, \n\t1é", max_size=60))
def test_any_text_at_all_is_scanned_without_failing(text: str) -> None:
    scan_keys(text)
    try:
        tomllib.loads(text)
    except tomllib.TOMLDecodeError:
        return
    check_spans(text)


@pytest.mark.parametrize(
    ("text", "path", "key", "value"),
    [
        pytest.param("a = 1", ("a",), (1, 1), (1, 5), id="pair"),
        pytest.param("  a.b  =   1", ("a", "b"), (1, 5), (1, 12), id="dotted"),
        pytest.param("[x.y]\n", ("x", "y"), (1, 4), (1, 1), id="header"),
        pytest.param("[x.y]\n", ("x",), (1, 2), (1, 2), id="parent in a header"),
        pytest.param("[x.y]\n[x]\n", ("x",), (2, 2), (2, 1), id="own header wins"),
        pytest.param("[[x]]\n[[x]]\n", ("x", 1), (2, 3), (2, 1), id="row"),
        pytest.param("[[x]]\n[[x]]\n", ("x",), (1, 3), (1, 1), id="rows"),
        pytest.param("a = [\n  1,\n  'x' ]", ("a", 1), (3, 3), (3, 3), id="array item"),
        pytest.param("a = { '漢' = 1, b = 2 }", ("a", "b"), (1, 16), (1, 20), id="columns are characters"),
    ],
)
def test_places_are_lines_and_columns(text: str, path: KeyPath, key: Position, value: Position) -> None:
    assert key_positions(text)[path] == (key, value)


def test_the_scan_ends_at_a_key_of_too_many_parts() -> None:
    text = "first = 1\n" + ".".join("a" * (MAX_KEY_PARTS + 1)) + " = 1\nlast = 1\n"

    assert set(key_positions(text)) == {("first",)}
    assert find_long_key(text) == len("first = 1\n")
    assert find_long_key(".".join("a" * MAX_KEY_PARTS) + " = 1") is None


@pytest.mark.parametrize("text", ["a = " + "[" * 30_000, "a = " + "{a=" * 30_000, "a = " + "{a.b=[" * 30_000])
def test_memory_does_not_grow_with_the_square_of_the_depth(text: str) -> None:
    tracemalloc.start()
    try:
        assert len(scan_keys(text)) <= 2 * MAX_KEY_PARTS
        assert tracemalloc.get_traced_memory()[1] < 20_000_000
    finally:
        tracemalloc.stop()


def test_paths_of_very_many_parts_are_noted_up_to_a_limit() -> None:
    key = ".".join("a" * MAX_KEY_PARTS)

    assert max(map(len, key_positions(f"[{key}]\n{key} = 1"))) == MAX_KEY_PARTS


@pytest.mark.parametrize("text", ['"\\q" = 1', "a", "[a", "a = 'x", "= 1"])
def test_the_scan_ends_at_invalid_toml(text: str) -> None:
    assert [mention.path for mention in scan_keys(f"first = 1\n{text}\nlast = 1\n")][:1] == [("first",)]
    assert ("last",) not in {mention.path for mention in scan_keys(f"first = 1\n{text}\nlast = 1\n")}
