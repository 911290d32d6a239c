"""Formatting of manifests: the layout, the order of keys, and comments that stay with their keys."""

from __future__ import annotations

import tomllib
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from toolmason_runtime.shared.toml.problems import Problem

from toolmason.formatting import format as formatting
from toolmason.formatting.format import FormatError, format_toml
from toolmason.formatting.order import FREE, differs
from toolmason.manifest.editor_schema import manifest_schema
from toolmason.manifest.tables import ManifestTables

REPOSITORY = Path(__file__).parents[3]
MANIFESTS = sorted(
    path
    for pattern in ("manifest/**/*.toml", "examples/*/manifest/*.toml", "tests/golden/*/*.toml", "pyproject.toml")
    for path in REPOSITORY.glob(pattern)
)


def formatted(text: str) -> str:
    result = format_toml(text.encode())
    assert isinstance(result, bytes), result
    return result.decode()


def comments(text: str) -> Counter[str]:
    return Counter(line.strip() for line in text.splitlines() if line.strip().startswith("#"))


def test_keys_have_the_order_of_the_reference_and_comments_move_along() -> None:
    text = """\
#:schema ../generated/schemas/manifest.schema.json
# Licence of the file.

edition=1
[tools.read_book]   # the most important one
# Ids have digits only.
params.id = {description = 'Id',type="string"}
handler = "books:read"
summary="Read a book" # shown in lists

[server]
package = "books_server"
name="books"
# version = "2"

[[tools.read_book.examples]]
arguments = {id="1"}
description = "First"
# end
"""
    assert (
        formatted(text)
        == """\
#:schema ../generated/schemas/manifest.schema.json
# Licence of the file.

edition = 1

[tools.read_book]   # the most important one
summary = "Read a book" # shown in lists
handler = "books:read"
# Ids have digits only.
params.id = { type = "string", description = 'Id' }

[[tools.read_book.examples]]
description = "First"
arguments = { id = "1" }
# end

[server]
name = "books"
package = "books_server"
# version = "2"
"""
    )


def test_nothing_moves_across_a_heading_or_a_blank_line() -> None:
    text = """\
# ---- Books ----

[tools.b]
handler = "x:b"

summary = "B"

# ---- Loans ----

[types.Loan]
fields.x = { type = "string" }

[tools.b.params.id]
type = "string"

# The end.
"""
    assert formatted(text) == text


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        pytest.param("a=[1,2 , 3,]", "a = [1, 2, 3]\n", id="array-on-one-line"),
        pytest.param("a = [\n1,\n\n\n2 ]", "a = [\n    1,\n\n    2,\n]\n", id="array-on-several-lines"),
        pytest.param("a = [ 1, 2,\n3]", "a = [\n    1, 2,\n    3,\n]\n", id="items-share-a-line"),
        pytest.param("a = [ # why\n1 # one\n,2]", "a = [ # why\n    1, # one\n    2,\n]\n", id="comments-in-an-array"),
        pytest.param("a = [1  # one\n]", "a = [\n    1,  # one\n]\n", id="comment-of-the-first-item"),
        pytest.param("a = [\n# none yet\n]", "a = [\n    # none yet\n]\n", id="array-with-only-a-comment"),
        pytest.param("a = [\n]", "a = []\n", id="empty-array"),
        pytest.param(
            "a = [[1,\n2], {b=[\n3]}]",
            "a = [[\n    1,\n    2,\n], { b = [\n    3,\n] }]\n",
            id="nested",
        ),
        pytest.param("a = [\n'x', # 1\n'yy',# 2\n]", "a = [\n    'x', # 1\n    'yy', # 2\n]\n", id="gap-of-a-comment"),
        pytest.param(
            "a = [\n'x',  # 1\n'yy', # 2\n]", "a = [\n    'x',  # 1\n    'yy', # 2\n]\n", id="aligned-comments"
        ),
        pytest.param("a={}", "a = {}\n", id="empty-inline-table"),
        pytest.param("a . 'b'.\"c d\" = 1", "a.'b'.\"c d\" = 1\n", id="dotted-key"),
        pytest.param("[ a . b ]\n[[ c ]]", "[a.b]\n\n[[c]]\n", id="headers"),
        pytest.param("'ключ' = 1\n\"clé\" = 2", "'ключ' = 1\n\"clé\" = 2\n", id="unicode-keys"),
        pytest.param("a = '''\n# no comment\n[x]\n'''", "a = '''\n# no comment\n[x]\n'''\n", id="literal-text"),
        pytest.param('a = """\n # no\\\n  """ # yes', 'a = """\n # no\\\n  """ # yes\n', id="text-of-several-lines"),
        pytest.param("a = 1979-05-27 07:32:00 # x", "a = 1979-05-27 07:32:00 # x\n", id="date"),
        pytest.param("a = [-0.0, nan, +inf, 1e6]", "a = [-0.0, nan, +inf, 1e6]\n", id="floats"),
        pytest.param("a = [0xDEAD_beef, 1_000]", "a = [0xDEAD_beef, 1_000]\n", id="integers"),
        pytest.param("  # x\n\n\n\t# y  \n", "# x\n\n# y\n", id="comments-alone"),
        pytest.param("", "", id="empty"),
        pytest.param("\n\n", "", id="blank"),
    ],
)
def test_layout(text: str, expected: str) -> None:
    assert formatted(text) == expected
    assert formatted(expected) == expected


def test_line_ends_stay_and_a_byte_order_mark_is_removed() -> None:
    text = '\ufeffa=1\r\nb="""\r\nx\r\n"""\r\n'
    assert format_toml(text.encode()) == b'a = 1\r\nb = """\r\nx\r\n"""\r\n'
    assert format_toml(b"a=1\nb=2\r\n") == b"a = 1\nb = 2\n"


def test_names_that_the_author_chose_keep_their_order() -> None:
    text = """\
[categories.b]
summary = "B"

[categories.a]
summary = "A"

[tools.x.ext.later]
k = 1

[tools.x.ext]
earlier = 2

[tools.x]
summary = "X"
params.z = "z"
params.a = "a"
"""
    result = formatted(text)
    data = tomllib.loads(result)
    assert list(data["categories"]) == ["b", "a"]
    assert list(data["tools"]["x"]["ext"]) == ["later", "earlier"]
    assert list(data["tools"]["x"]["params"]) == ["z", "a"]
    assert result.index("[tools.x]") < result.index("[tools.x.ext.later]") < result.index("[tools.x.ext]")


def test_files_without_keys_of_manifests_keep_their_order() -> None:
    text = '[tool.b]\nz = 1\na = 2\n\n[project]\nversion = "1"\nname = "x"\n\n[tool.a]\n'
    assert formatted(text) == text


def test_the_first_error_of_the_syntax_is_returned() -> None:
    result = format_toml(b"a = 1\nb = \n")
    assert isinstance(result, Problem)
    assert result.position.line == 2


def test_a_result_with_another_meaning_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(formatting, "_formatted", lambda _text, _root, **_: "a = 2\n")
    with pytest.raises(FormatError, match="another meaning"):
        format_toml(b"a = 1\n")
    monkeypatch.setattr(formatting, "_formatted", lambda _text, _root, **_: "a = \n")
    with pytest.raises(FormatError, match="invalid"):
        format_toml(b"a = 1\n")


@pytest.mark.parametrize(
    ("old", "new", "hint"),
    [
        ({"a": 1}, {"a": True}, FREE),
        ({"a": 1}, {"a": 1.0}, FREE),
        ({"a": 0.0}, {"a": -0.0}, FREE),
        ({"a": [1, 2]}, {"a": [2, 1]}, FREE),
        ({"a": 1, "b": 2}, {"b": 2, "a": 1}, FREE),
        ({"tools": {"a": {}, "b": {}}}, {"tools": {"b": {}, "a": {}}}, ManifestTables),
        ({"server": {}}, {"server": {}, "edition": 1}, ManifestTables),
    ],
)
def test_differences_are_found(old: Any, new: Any, hint: Any) -> None:
    assert differs(old, new, hint)
    assert not differs(old, old, hint)


def test_the_order_of_declared_keys_is_no_difference() -> None:
    old = {"edition": 1, "tools": {"a": {"summary": "A", "handler": "x:a"}}}
    assert not differs(old, {"tools": {"a": {"handler": "x:a", "summary": "A"}}, "edition": 1}, ManifestTables)


def test_every_table_has_the_order_of_its_reference() -> None:
    definitions = manifest_schema()["definitions"]
    for table, prefix in (("ToolTable", "tools.x"), ("ServerTable", "server"), ("ParamTable", "tools.x.params.p")):
        keys = list(definitions[table]["properties"])
        text = f"[{prefix}]\n" + "".join(f"{key} = 1\n" for key in reversed(keys))
        assert [line.partition(" ")[0] for line in formatted(text).splitlines()[1:]] == keys


@pytest.mark.uncovered
@pytest.mark.parametrize("path", MANIFESTS, ids=lambda path: f"{path.parent.name}/{path.name}")
def test_files_of_the_repository_keep_their_meaning_and_comments(path: Path) -> None:
    once = format_toml(path.read_bytes())
    if isinstance(once, Problem):
        pytest.skip("not TOML")
    text = path.read_bytes().decode("utf-8-sig")
    assert format_toml(once) == once
    assert comments(once.decode()) == comments(text)
    assert tomllib.loads(once.decode()) == tomllib.loads(text)


# Random documents -------------------------------------------------------------------------------------------------

NAMES = st.sampled_from(["a", "b_1", '"c d"', "'é'", "summary", "type", "description", "handler", "1"])
SCALARS = st.sampled_from(
    [
        "1",
        "-0.0",
        "nan",
        "true",
        '"x # y"',
        "'[z]'",
        "1979-05-27T07:32:00Z",
        "07:32:00",
        '"""\n# text\n"""',
        "'''a\n'''",
    ]
)
COMMENT = st.integers(0, 999).map(lambda number: f"# note {number}")
GAPS = st.lists(st.one_of(st.just(""), st.just("  "), COMMENT.map(lambda text: f"\t{text}")), max_size=3)
ENDS = st.one_of(st.just(""), COMMENT.map(lambda text: f"  {text}"))


@st.composite
def arrays(draw: st.DrawFn, values: st.SearchStrategy[str]) -> str:
    if not draw(st.booleans()):
        return f"[{','.join(draw(st.lists(SCALARS, max_size=3)))}]"
    text = "[" + draw(st.one_of(st.just(""), COMMENT.map(lambda comment: f"{comment}\n")))
    for value in draw(st.lists(values, max_size=3)):
        gap = "\n".join(["", *draw(GAPS), ""])
        text += f"{gap}{value}{draw(st.sampled_from([',', ' , ', chr(10) + ',']))}{draw(ENDS)}\n"
    return text + "\n".join([*draw(GAPS), "]"])


@st.composite
def inline_tables(draw: st.DrawFn, values: st.SearchStrategy[str]) -> str:
    pairs = draw(st.lists(st.tuples(NAMES, values), max_size=3, unique_by=lambda pair: pair[0]))
    return "{" + ", ".join(f"{name}={value}" for name, value in pairs) + "}"


VALUES = st.recursive(SCALARS, lambda inner: st.one_of(arrays(inner), inline_tables(inner)), max_leaves=5)


@st.composite
def documents(draw: st.DrawFn) -> str:
    lines: list[str] = []

    def body() -> None:
        for name, value in draw(st.lists(st.tuples(NAMES, VALUES), max_size=4, unique_by=lambda pair: pair[0])):
            prefix = draw(st.sampled_from(["", "params.", "hints . ", "ext."]))
            lines.extend([*draw(GAPS), f"{draw(st.sampled_from(['', '  ']))}{prefix}{name} = {value}{draw(ENDS)}"])

    if draw(st.booleans()):
        lines.append("edition = 1")
    body()
    headers = st.sampled_from(
        [
            "server",
            "server.options.x",
            "tools.b",
            "tools.a",
            "tools.a.ext",
            "tools.a.ext.z",
            "tools.b.params.q",
            "types.T",
        ]
    )
    for header in draw(st.lists(st.one_of(headers, st.just("[tools.a.examples]")), max_size=6)):
        lines.extend([*draw(GAPS), f"[{header}]{draw(ENDS)}"])
        body()
    lines.extend(draw(GAPS))
    newline = draw(st.sampled_from(["\n", "\r\n"]))
    return newline.join(lines) + draw(st.sampled_from(["", newline]))


def all_comments(text: str) -> Counter[str]:
    return Counter(part.split("\n")[0].strip() for part in text.split("# note")[1:])


@settings(max_examples=400, deadline=None)
@given(documents())
def test_meaning_and_comments_survive_and_a_second_run_changes_nothing(text: str) -> None:
    once = format_toml(text.encode())
    if isinstance(once, Problem):
        return  # a table or key twice
    assert format_toml(once) == once
    assert all_comments(once.decode()) == all_comments(text)
    assert not differs(tomllib.loads(text), tomllib.loads(once.decode()), ManifestTables)
