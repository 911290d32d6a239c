"""Translation of patterns from other engines to ECMA 262."""

from __future__ import annotations

import pytest

from toolmason.schema import advertise
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


GRAPH_TIME = (
    "^[0-9]{4,}-(0[1-9]|1[012])-(0[1-9]|[12][0-9]|3[01])T([01][0-9]|2[0-3]):[0-5][0-9]:[0-5][0-9]"
    "([.][0-9]{1,12})?(Z|[+-][0-9][0-9]:[0-9][0-9])$"
)
ZOD_DAY = (
    r"(?:(?:\d\d[2468][048]|\d\d[13579][26]|\d\d0[48]|[02468][048]00|[13579][26]00)-02-29|\d{4}-(?:(?:0[13578]|1[02])-"
    r"(?:0[1-9]|[12]\d|3[01])|(?:0[469]|11)-(?:0[1-9]|[12]\d|30)|(?:02)-(?:0[1-9]|1\d|2[0-8])))"
)
ZOD_TIME = rf"^{ZOD_DAY}T(?:(?:[01]\d|2[0-3]):[0-5]\d(?::[0-5]\d(?:\.\d+)?)?"
UUID = "^[0-9a-fA-F]{8}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{12}$"
BYTE = "(?:25[0-5]|2[0-4][0-9]|1[0-9][0-9]|[1-9]?[0-9])"


@pytest.mark.parametrize(
    ("pattern", "name"),
    [
        (GRAPH_TIME, "date-time"),
        (rf"{ZOD_TIME}(?:Z|([+-](?:[01]\d|2[0-3]):[0-5]\d)))$", "date-time"),
        (rf"^{ZOD_DAY}$", "date"),
        (UUID, "uuid"),
        (f"^({UUID[1:-1]}|00000000-0000-0000-0000-000000000000|ffffffff-ffff-ffff-ffff-ffffffffffff)$", "uuid"),
        (rf"^(?:{BYTE}\.){{3}}{BYTE}$", "ipv4"),
        (
            r"^(?!\.)(?!.*\.\.)([A-Za-z0-9_'+\-\.]*)[A-Za-z0-9_+-]@([A-Za-z0-9][A-Za-z0-9\-]*\.)+[A-Za-z]{2,}$",
            "email",
        ),
        (r"^P(?:(\d+W)|(?!.*W)(?=\d|T\d)(\d+Y)?(\d+M)?(\d+D)?(T(?=\d)(\d+H)?(\d+M)?(\d+([.,]\d+)?S)?)?)$", "duration"),
    ],
)
def test_a_pattern_that_defines_its_format_is_omitted(pattern: str, name: str) -> None:
    value = {"type": "string", "format": name, "pattern": pattern}
    projection = advertise({"type": "object", "properties": {"a": value}})

    assert projection.schema["properties"]["a"] == {
        "type": "string",
        "description": f"Format: {name}.",
        "format": name,
    }
    assert [found.pattern for found in projection.findings if found.pointer] == ["pattern"]


@pytest.mark.parametrize(
    ("pattern", "name"),
    [
        (rf"{ZOD_TIME}(?:Z))$", "date-time"),  # only UTC
        (GRAPH_TIME.replace("[0-9]{4,}", "2026"), "date-time"),  # only one year
        (GRAPH_TIME[1:], "date-time"),  # it may begin with anything
        (GRAPH_TIME, "time"),  # of another format
        (f"^({UUID[1:-1]}|none)$", "uuid"),
        (r"^[A-Za-z0-9_'+\-\.]*[A-Za-z0-9_+-]@([A-Za-z0-9][A-Za-z0-9\-]*\.)*example\.com$", "email"),
        (GRAPH_TIME, "timestamp"),
        (r"^\d{4}-\d\d-\d\d$", "date"),  # short enough for a model
    ],
)
def test_a_pattern_that_says_more_than_its_format_is_kept(pattern: str, name: str) -> None:
    value = {"type": "string", "format": name, "pattern": pattern}

    assert advertise({"type": "object", "properties": {"a": value}}).schema["properties"]["a"]["pattern"] == pattern
