import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import PurePosixPath
from typing import Any, Literal

import pytest

from toolmason.diagnostics import Diagnostics
from toolmason.manifest.document import Document
from toolmason.manifest.table_reader import MAX_DEPTH, Here, read
from toolmason.manifest.tables import Free, Table, at_most, key, matching


@dataclass(frozen=True, slots=True, kw_only=True)
class Part(Table):
    label: str
    size: int = key({"minimum": 1}, default=1)


@dataclass(frozen=True, slots=True, kw_only=True)
class Whole(Table):
    text: str = key(at_most(5), {"min_length": 2}, default="text")
    name: str = key(matching(r"[a-z]+", "lower-case letters"), default="name")
    import_: str = key(name="import", default="")
    flag: bool | None = None
    ratio: int | float | None = None
    count: int | None = None
    mode: Literal["fast", "thorough"] = "fast"
    words: tuple[str, ...] = ()
    free: Free = None
    many_free: tuple[Free, ...] = ()
    part: Part | None = None
    parts: tuple[Part, ...] = ()
    by_name: Mapping[str, Part] = key(default={})
    ext: Mapping[str, Free] = key(default={})


def document(text: str) -> Document:
    return Document(path=PurePosixPath("manifest.toml"), text=text, data=tomllib.loads(text))


def told(text: str, table: type[Table] = Whole) -> list[tuple[str, int, int, str, str]]:
    diagnostics = Diagnostics()
    read(table, document(text), diagnostics=diagnostics)
    assert diagnostics.has_errors
    return [(each.code, each.location.line, each.location.column, each.message, each.hint) for each in diagnostics]


def test_what_is_wrong_in_one_of_many_leaves_the_others_to_be_read() -> None:
    diagnostics = Diagnostics()
    whole = read(Whole, document('by_name.a.label = 1\nby_name.b.label = "y"\n'), diagnostics=diagnostics)

    assert [each.code for each in diagnostics] == ["TM204"]
    assert whole is not None
    assert list(whole.by_name) == ["b"]


def test_every_kind_of_value_reaches_its_field() -> None:
    text = """
        text = "five"
        import = "os"
        flag = true
        ratio = 2
        count = 0
        mode = "thorough"
        words = ["a", "b"]
        free = { deep = [1, 2.5, "x", true] }
        many_free = [1, "a"]
        part = { label = "p" }
        parts = [{ label = "q", size = 2 }]
        [by_name."odd name"]
        label = "r"
        [ext]
        any = [[]]
    """
    diagnostics = Diagnostics()

    whole = read(Whole, document(text), diagnostics=diagnostics)

    assert not diagnostics
    assert whole == Whole(
        text="five",
        import_="os",
        flag=True,
        ratio=2,
        count=0,
        mode="thorough",
        words=("a", "b"),
        free={"deep": [1, 2.5, "x", True]},
        many_free=(1, "a"),
        part=Part(label="p", at=("part",)),
        parts=(Part(label="q", size=2, at=("parts", 0)),),
        by_name={"odd name": Part(label="r", at=("by_name", "odd name"))},
        ext={"any": [[]]},
    )


def test_what_is_left_out_has_its_default() -> None:
    assert read(Whole, document(""), diagnostics=Diagnostics()) == Whole()


@pytest.mark.parametrize(
    ("text", "code", "column", "message", "hint"),
    [
        ("txet = 1", "TM203", 1, "unknown key `txet` at the top level", "did you mean `text`?"),
        ("import_ = 1", "TM203", 1, "unknown key `import_` at the top level", "did you mean `import`?"),
        ("byName = 1", "TM203", 1, "unknown key `byName` at the top level", "did you mean `by_name`?"),
        ("part = { label = 'x', at = 1 }", "TM203", 23, "unknown key `at` in [part]", "known here: label, size"),
        ("part = {}", "TM202", 1, "missing key `label` in [part]", 'add `label = "..."`'),
        ("parts = [{}]", "TM202", 10, "missing key `label` in [[parts]]", 'add `label = "..."`'),
        ("text = 5", "TM204", 8, "`text` at the top level must be a string, not an integer", "put it in quotes"),
        ("flag = 1", "TM204", 8, "`flag` at the top level must be a boolean, not an integer", ""),
        ("count = true", "TM204", 9, "`count` at the top level must be an integer, not a boolean", ""),
        ("count = 1.0", "TM204", 9, "`count` at the top level must be an integer, not a float", ""),
        ("ratio = false", "TM204", 9, "`ratio` at the top level must be a number, not a boolean", ""),
        (
            "ratio = '1.5'",
            "TM204",
            9,
            "`ratio` at the top level must be a number, not a string",
            "leave out the quotes: `ratio = 1.5`",
        ),
        (
            "words = 'a'",
            "TM204",
            9,
            "`words` at the top level must be an array, not a string",
            'put it in brackets: `words = ["a"]`',
        ),
        (
            "words = ['a', 2]",
            "TM204",
            15,
            "item 2 of `words` at the top level must be a string, not an integer",
            "put it in quotes",
        ),
        ("mode = 1", "TM204", 8, "`mode` at the top level must be a string, not an integer", "put it in quotes"),
        ("part = 1", "TM204", 8, "`part` at the top level must be a table, not an integer", ""),
        (
            "[[part]]",
            "TM204",
            1,
            "`part` at the top level must be a table, not an array",
            "write `[part]` with single brackets",
        ),
        ("by_name = []", "TM204", 11, "`by_name` at the top level must be a table, not an array", ""),
        ("ext = 07:32:00", "TM204", 7, "`ext` at the top level must be a table, not a time", ""),
        (
            "text = 'sixsix'",
            "TM205",
            8,
            "`text` at the top level has 6 characters: at most 5 are allowed",
            "leave out 1 or more",
        ),
        ("text = 'x'", "TM205", 8, "`text` at the top level has 1 characters: expected at least 2", ""),
        ("name = 'A'", "TM206", 8, "`A` does not fit `name` at the top level: expected lower-case letters", ""),
        ('name = "a\\n"', "TM206", 8, "`a\n` does not fit `name` at the top level: expected lower-case letters", ""),
        ("mode = 'fats'", "TM207", 8, "`fats` is no `mode`: expected `fast` or `thorough`", "did you mean `fast`?"),
        ("part = { label = 'x', size = 0 }", "TM208", 30, "`size` in [part] is 0: it must be at least 1", ""),
        ("part = { label = ' ' }", "TM209", 18, "`label` in [part] is empty", ""),
        ("free = 2026-01-31", "TM214", 8, "`free` at the top level is a date", "put it in quotes"),
        ("free = 2026-01-31 07:32:00", "TM214", 8, "`free` at the top level is a date-time", "put it in quotes"),
        ("many_free = [1, nan]", "TM214", 17, "item 2 of `many_free` at the top level is no finite number", ""),
        (
            "ext.a = { b = [07:32:00] }",
            "TM214",
            16,
            "`a` in [ext] holds a time",
            "put it in quotes",
        ),
        ("ratio = inf", "TM214", 9, "`ratio` at the top level is no finite number", ""),
        (
            f"count = 0x{'f' * 5000}",
            "TM214",
            9,
            "`count` at the top level is an integer of more than 64 bits",
            "",
        ),
        (
            f"free = {'[' * (MAX_DEPTH + 1)}{']' * (MAX_DEPTH + 1)}",
            "TM214",
            8,
            "`free` at the top level holds more than 64 levels of arrays and tables",
            "flatten it",
        ),
    ],
)
def test_a_mistake_is_told_with_its_place(text: str, code: str, column: int, message: str, hint: str) -> None:
    assert told(text) == [(code, 1, column, message, hint)]


@pytest.mark.parametrize(
    "text",
    [
        "text = 'fifth'",
        "part = { label = 'x', size = 1 }",
        f"count = {2**63 - 1}",
        f"count = -{2**63}",
        f"free = {'[' * MAX_DEPTH}{']' * MAX_DEPTH}",
        f"free = {'{a=' * MAX_DEPTH}1{'}' * MAX_DEPTH}",
    ],
)
def test_what_just_fits_is_accepted(text: str) -> None:
    assert read(Whole, document(text), diagnostics=Diagnostics()) is not None


def test_all_mistakes_are_told_at_once() -> None:
    found = told(
        "text = 1\ncount = 'x'\nmode = 'x'\n[parts]\n[by_name.a]\nlabel = 1\nsize = -1\n[by_name.b]\n[other]\n"
    )

    assert [(code, line) for code, line, *_ in found] == [
        ("TM204", 1),
        ("TM204", 2),
        ("TM207", 3),
        ("TM204", 4),
        ("TM204", 6),
        ("TM208", 7),
        ("TM202", 8),
        ("TM203", 9),
    ]


def test_a_misspelt_key_is_not_missing_as_well() -> None:
    assert [code for code, *_ in told("lable = 'x'", Part)] == ["TM203"]


def test_a_long_or_odd_key_is_shortened_and_not_compared() -> None:
    ((code, _, _, message, hint),) = told(f"{'text' * 30000} = 1")

    assert code == "TM203"
    assert len(message) < 120
    assert hint.startswith("known here: text, name, import,")


def test_rules_see_raw_values_even_beside_mistakes() -> None:
    seen: list[Mapping[str, Any]] = []

    def rule(here: Here) -> None:
        seen.append(here.data)
        here.error("TM299", "label is wrong", "label")
        here.error("TM299", "part is wrong")

    diagnostics = Diagnostics()
    text = "[part]\nlabel = 'x'\nsize = 'big'\n"
    assert read(Whole, document(text), diagnostics=diagnostics, rules={Part: rule}) is None

    assert seen == [{"label": "x", "size": "big"}]
    assert [(each.code, each.location.line, each.location.column) for each in diagnostics] == [
        ("TM299", 1, 2),
        ("TM299", 2, 9),
        ("TM204", 3, 8),
    ]


def test_the_name_of_a_table_deep_down_is_shortened() -> None:
    ((_, _, _, message, _),) = told(f"[by_name.{'x' * 5000}]\nlabel = 1\n")

    assert message.startswith("`label` in [by_name.xxx")
    assert len(message) < 200


@dataclass(frozen=True, slots=True, kw_only=True)
class WithSet(Table):
    values: set[str] = field(default_factory=set)


@dataclass(frozen=True, slots=True, kw_only=True)
class WithMixture(Table):
    value: int | str = 0


@pytest.mark.parametrize("table", [WithSet, WithMixture])
def test_a_type_that_cannot_be_read_is_our_own_mistake(table: type[Table]) -> None:
    with pytest.raises(TypeError, match="no reader for"):
        read(table, document(""), diagnostics=Diagnostics())
