"""Translation of patterns from other engines to ECMA 262."""

from __future__ import annotations

import pytest

from toolmason.schema.patterns import is_anchored, matches_name, to_ecma_pattern


@pytest.mark.parametrize(
    "pattern",
    [
        "",
        "^[a-z]+$",
        r"^\+?[1-9]\d{1,14}$",
        r"[\w\-.]+?@[^\]\\]{2,}",
        r"(?=a)(?!b)(?<=c+)(?<!d)(?:e|f)*",
        r"(?<year>\d{4})-\k<year>-(x)\2",
        r"\p{Lu}[\p{L}\p{N}]\u{1F600}\u4e00\x00\cA\/",
        r"[^][\b]",
        "(" * 5_000,
    ],
)
def test_a_valid_ecma_262_pattern_is_unchanged(pattern: str) -> None:
    assert to_ecma_pattern(pattern) == pattern


@pytest.mark.parametrize(
    ("written", "spelled"),
    [
        (r"(?P<year>\d{4})-(?P=year)", r"(?<year>\d{4})-\k<year>"),
        (r"\A\d+\Z", r"^\d+$"),
        (r"\d+\z", r"\d+$"),
        (r"a\-b\_\@\"\ c", 'a-b_@" c'),
        (r"[\_\-\@\']", r"[_\-@']"),
        (r"[\w-.]", r"[\w\-.]"),
        (r"[\\d-z\w-]", r"[\\d-z\w-]"),
        ("{id}]", r"\{id\}\]"),
    ],
)
def test_another_spelling_is_translated_to_ecma_262(written: str, spelled: str) -> None:
    assert to_ecma_pattern(written) == spelled
    assert to_ecma_pattern(spelled) == spelled


@pytest.mark.parametrize(
    "pattern",
    [
        "([",
        "*",
        "a{2}{3}",
        "(?i)abc",
        "(?i:a)",
        "(?>a)",
        "(?#a)",
        "(?P>a)",
        "(?P<a",
        "a*+",
        "a{,5}",
        "[]a]",
        "[[:alpha:]]",
        r"\N{DASH}",
        r"\a",
        r"[\A]",
        r"\07",
        r"(a)\2",
        r"\k<a>",
        "a\\",
        "(" * 1_000,
    ],
)
def test_a_pattern_outside_ecma_262_returns_none(pattern: str) -> None:
    assert to_ecma_pattern(pattern) is None


@pytest.mark.parametrize(
    ("pattern", "name", "does"),
    [
        ("^a", "a1", True),
        ("^a", "ba", False),
        ("^[a-z_]+$", "first_name", True),
        (r"^x-", "x-order", True),
        (r"^\d{3}$", "404", True),
        (r"^\d{3}$", "\u0664\u0660\u0664", False),
        ("", "a", True),
        (".*", "a", True),
        ("^(a|b)$", "a", None),
        ("^a*a*b$", "ab", None),
        (r"^\p{L}$", "a", None),
        ("([", "a", None),
        ("a" * 101, "a", None),
    ],
)
def test_a_name_is_tried_where_that_is_sure_and_soon_done(pattern: str, name: str, does: bool | None) -> None:
    assert matches_name(pattern, name) is does


@pytest.mark.parametrize(
    ("pattern", "is_whole"),
    [
        ("^a$", True),
        ("^$", True),
        ("^(a|b)$", True),
        ("^[|^$]$", True),
        (r"^\|\^a$", True),
        ("a", False),
        ("^", False),
        ("^a", False),
        (r"^a\$", False),
        ("^a|b$", False),
        ("^a$|^b$", False),
        ("^(^a|b)$", False),
        ("^[a$", False),
    ],
)
def test_a_pattern_with_one_anchor_at_each_end_is_about_the_whole_value(pattern: str, *, is_whole: bool) -> None:
    assert is_anchored(pattern) is is_whole
