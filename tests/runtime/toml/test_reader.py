import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, ClassVar, Literal

import pytest
from toolmason_runtime.toml.document import TomlDocument
from toolmason_runtime.toml.json_values import MAX_DEPTH
from toolmason_runtime.toml.problems import Kind, Problem
from toolmason_runtime.toml.reader import TableCheck, TableContext, read
from toolmason_runtime.toml.tables import (
    Idiom,
    JsonValue,
    Table,
    advised,
    at_most,
    converted,
    key,
    matching,
    not_empty,
    one_line,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Part(Table):
    label: str
    size: int = key({"minimum": 1}, default=1)


@dataclass(frozen=True, slots=True, kw_only=True)
class Whole(Table):
    text: str = key(at_most(5), default="text")
    name: str = key(matching(r"[a-z]+", "lower-case letters"), default="name")
    import_: str = key(name="import", default="")
    flag: bool | None = None
    ratio: int | float | None = None
    count: int | None = None
    mode: Literal["fast", "thorough"] = "fast"
    words: tuple[str, ...] = ()
    free: JsonValue = None
    many_free: tuple[JsonValue, ...] = ()
    part: Part | None = None
    parts: tuple[Part, ...] = ()
    by_name: Mapping[str, Part] = key(default={})
    ext: Mapping[str, JsonValue] = key(default={})


def document(text: str) -> TomlDocument:
    return TomlDocument(text=text, data=tomllib.loads(text))


def result_of(text: str, table: type[Table] = Whole, checks: Mapping[type[Table], TableCheck] = {}) -> Any:
    """Return the table, which must have no problems."""
    problems: list[Problem] = []
    result = read(table, document(text), report=problems.append, checks=checks)
    assert problems == []
    return result


def problems_of(text: str, table: type[Table] = Whole) -> list[Problem]:
    problems: list[Problem] = []
    read(table, document(text), report=problems.append)
    assert problems
    return sorted(problems, key=lambda problem: problem.position)


def test_an_invalid_table_among_many_is_dropped_alone() -> None:
    problems: list[Problem] = []
    whole = read(Whole, document('by_name.a.label = 1\nby_name.b.label = "y"\n'), report=problems.append)

    assert [problem.kind for problem in problems] == [Kind.TYPE]
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
    whole = result_of(text)

    assert (whole.part.at, whole.parts[0].at) == (("part",), ("parts", 0))
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


def test_a_missing_key_has_its_default() -> None:
    assert result_of("") == Whole()


@pytest.mark.parametrize(
    ("text", "kind", "column", "message", "hint"),
    [
        ("txet = 1", Kind.UNKNOWN_KEY, 1, "unknown key `txet` at the top level", "did you mean `text`?"),
        ("import_ = 1", Kind.UNKNOWN_KEY, 1, "unknown key `import_` at the top level", "did you mean `import`?"),
        ("byName = 1", Kind.UNKNOWN_KEY, 1, "unknown key `byName` at the top level", "did you mean `by_name`?"),
        (
            "part = { label = 'x', at = 1 }",
            Kind.UNKNOWN_KEY,
            23,
            "unknown key `at` in [part]",
            "valid keys: label, size",
        ),
        ("part = {}", Kind.MISSING_KEY, 1, "missing key `label` in [part]", 'add `label = "..."`'),
        ("parts = [{}]", Kind.MISSING_KEY, 10, "missing key `label` in [[parts]]", 'add `label = "..."`'),
        ("text = 5", Kind.TYPE, 8, "`text` at the top level must be a string, not an integer", "put it in quotes"),
        ("flag = 1", Kind.TYPE, 8, "`flag` at the top level must be a boolean, not an integer", ""),
        ("count = true", Kind.TYPE, 9, "`count` at the top level must be an integer, not a boolean", ""),
        ("count = 1.0", Kind.TYPE, 9, "`count` at the top level must be an integer, not a float", ""),
        ("ratio = false", Kind.TYPE, 9, "`ratio` at the top level must be a number, not a boolean", ""),
        (
            "ratio = '1.5'",
            Kind.TYPE,
            9,
            "`ratio` at the top level must be a number, not a string",
            "leave out the quotes: `ratio = 1.5`",
        ),
        (
            "words = 'a'",
            Kind.TYPE,
            9,
            "`words` at the top level must be an array, not a string",
            'put it in brackets: `words = ["a"]`',
        ),
        (
            "words = ['a', 2]",
            Kind.TYPE,
            15,
            "item 2 of `words` at the top level must be a string, not an integer",
            "put it in quotes",
        ),
        ("mode = 1", Kind.TYPE, 8, "`mode` at the top level must be a string, not an integer", "put it in quotes"),
        ("part = 1", Kind.TYPE, 8, "`part` at the top level must be a table, not an integer", ""),
        (
            "[[part]]",
            Kind.TYPE,
            1,
            "`part` at the top level must be a table, not an array",
            "write `[part]` with single brackets",
        ),
        ("by_name = []", Kind.TYPE, 11, "`by_name` at the top level must be a table, not an array", ""),
        ("ext = 07:32:00", Kind.TYPE, 7, "`ext` at the top level must be a table, not a time", ""),
        (
            "text = 'sixsix'",
            Kind.LENGTH,
            8,
            "`text` at the top level has 6 characters: at most 5 are allowed",
            "leave out 1 or more",
        ),
        ("name = 'A'", Kind.PATTERN, 8, "`A` does not fit `name` at the top level: expected lower-case letters", ""),
        (
            'name = "a\\n"',
            Kind.PATTERN,
            8,
            "`a\n` does not fit `name` at the top level: expected lower-case letters",
            "",
        ),
        (
            "mode = 'fats'",
            Kind.CHOICE,
            8,
            "`fats` is not a valid `mode`; use `fast` or `thorough`",
            "did you mean `fast`?",
        ),
        ("part = { label = 'x', size = 0 }", Kind.MINIMUM, 30, "`size` in [part] is 0: it must be at least 1", ""),
        ("part = { label = ' ' }", Kind.EMPTY, 18, "`label` in [part] is empty", ""),
        ("free = 2026-01-31", Kind.NOT_JSON, 8, "`free` at the top level is a date", "put it in quotes"),
        ("free = 2026-01-31 07:32:00", Kind.NOT_JSON, 8, "`free` at the top level is a date-time", "put it in quotes"),
        ("many_free = [1, nan]", Kind.NOT_JSON, 17, "item 2 of `many_free` at the top level is no finite number", ""),
        (
            "ext.a = { b = [07:32:00] }",
            Kind.NOT_JSON,
            16,
            "`a` in [ext] contains a time",
            "put it in quotes",
        ),
        ("ratio = inf", Kind.NOT_JSON, 9, "`ratio` at the top level is no finite number", ""),
        (
            f"count = 0x{'f' * 5000}",
            Kind.NOT_JSON,
            9,
            "`count` at the top level is an integer of more than 64 bits",
            "",
        ),
        (
            f"free = {'[' * (MAX_DEPTH + 1)}{']' * (MAX_DEPTH + 1)}",
            Kind.NOT_JSON,
            8,
            "`free` at the top level contains more than 64 levels of arrays and tables",
            "flatten it",
        ),
    ],
)
def test_a_problem_has_a_kind_a_position_and_a_hint(
    text: str, kind: Kind, column: int, message: str, hint: str
) -> None:
    (problem,) = problems_of(text)
    assert (problem.kind, problem.position, problem.message, problem.hint) == (kind, (1, column), message, hint)


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
def test_values_at_their_limits_are_accepted(text: str) -> None:
    assert result_of(text) is not None


def test_all_mistakes_are_reported_at_once() -> None:
    problems = problems_of(
        "text = 1\ncount = 'x'\nmode = 'x'\n[parts]\n[by_name.a]\nlabel = 1\nsize = -1\n[by_name.b]\n[other]\n"
    )

    assert [(problem.kind, problem.position.line) for problem in problems] == [
        (Kind.TYPE, 1),
        (Kind.TYPE, 2),
        (Kind.CHOICE, 3),
        (Kind.TYPE, 4),
        (Kind.TYPE, 6),
        (Kind.MINIMUM, 7),
        (Kind.MISSING_KEY, 8),
        (Kind.UNKNOWN_KEY, 9),
    ]


def test_a_misspelt_key_is_not_missing_as_well() -> None:
    assert [problem.kind for problem in problems_of("lable = 'x'", Part)] == [Kind.UNKNOWN_KEY]


def test_a_long_or_odd_key_is_shortened_and_not_compared() -> None:
    (problem,) = problems_of(f"{'text' * 30000} = 1")

    assert problem.kind == Kind.UNKNOWN_KEY
    assert len(problem.message) < 120
    assert problem.hint.startswith("valid keys: text, name, import,")


def test_checks_see_raw_values_even_beside_problems() -> None:
    seen: list[Mapping[str, Any]] = []

    def check(here: TableContext) -> None:
        seen.append(here.data)
        here.error("odd", "label is wrong", "label")
        here.error("odd", "part is wrong")
        here.missing("label", '"..."')
        here.missing("size", "1")

    problems: list[Problem] = []
    text = "[part]\nlabel = 'x'\nsice = 'big'\n"
    assert read(Whole, document(text), report=problems.append, checks={Part: check}) is None

    assert seen == [{"label": "x", "sice": "big"}]
    assert sorted((problem.position, str(problem.kind)) for problem in problems) == [
        ((1, 2), "odd"),
        ((2, 9), "odd"),
        ((3, 1), "unknown-key"),
    ]


class Colour(StrEnum):
    RED = "red"


def odd(number: int) -> str:
    if number % 2:
        return f"{number} is odd"
    raise ValueError(f"is even: {number}")


@dataclass(frozen=True, slots=True, kw_only=True)
class Rules(Table):
    idioms: ClassVar[Mapping[str, Idiom]] = {"tint": Idiom("write `colour`", "colour"), "size": Idiom("no sizes")}
    colour: Colour = Colour.RED
    odd: str = key(converted(int, odd), default="")
    line: str = key(one_line("one line"), default="")
    items: tuple[int, ...] = key(not_empty("add one"), default=())
    type: str = key(advised(lambda value: "write one of them" if isinstance(value, list) else ""), default="")


def test_values_are_converted() -> None:
    assert result_of("colour = 'red'\nodd = 3", Rules) == Rules(colour=Colour.RED, odd="3 is odd")


@pytest.mark.parametrize(
    ("text", "message", "hint"),
    [
        ("colour = 'rde'", "`rde` is not a valid `colour`; use `red`", "did you mean `red`?"),
        ("odd = 2", "`odd` at the top level is even: 2", ""),
        ("odd = 'x'", "`odd` at the top level must be an integer, not a string", ""),
        ('line = "a\\nb"', "`line` at the top level contains a line break", "one line"),
        ('line = "a\\u0007b"', "`line` at the top level contains the control character U+0007", "leave it out"),
        ("items = []", "`items` at the top level is empty", "add one"),
        ("type = ['a']", "`type` at the top level must be a string, not an array", "write one of them"),
        ("type = 1", "`type` at the top level must be a string, not an integer", "put it in quotes"),
        ("tint = 1", "unknown key `tint` at the top level", "write `colour`"),
        ("size = 1", "unknown key `size` at the top level", "no sizes"),
    ],
)
def test_a_rule_of_a_key_has_its_own_hint(text: str, message: str, hint: str) -> None:
    assert [(problem.message, problem.hint) for problem in problems_of(text, Rules)] == [(message, hint)]


def test_the_name_of_a_table_deep_down_is_shortened() -> None:
    (problem,) = problems_of(f"[by_name.{'x' * 5000}]\nlabel = 1\n")

    assert problem.message.startswith("`label` in [by_name.xxx")
    assert len(problem.message) < 200


@dataclass(frozen=True, slots=True, kw_only=True)
class WithSet(Table):
    values: set[str] = field(default_factory=set)


@dataclass(frozen=True, slots=True, kw_only=True)
class WithMixture(Table):
    value: int | str = 0


@pytest.mark.parametrize("table", [WithSet, WithMixture])
def test_a_type_that_cannot_be_read_is_our_own_mistake(table: type[Table]) -> None:
    with pytest.raises(TypeError, match="no reader for"):
        result_of("", table)
