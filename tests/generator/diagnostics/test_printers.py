import json
import re
from pathlib import PurePosixPath

import pytest
from hypothesis import given
from hypothesis import strategies as st

from toolmason.diagnostics import Diagnostic, Location, Severity
from toolmason.diagnostics.printers import MAX_COLUMNS, report
from toolmason.diagnostics.terminal import LAYOUTS

ANSI = re.compile(r"\x1b\[[0-9;]*m")
MANIFEST = PurePosixPath("manifest/catalog.toml")

UNKNOWN = Diagnostic(
    code="TM203",
    message="unknown key `sumary` in [tools.search]",
    location=Location(MANIFEST, 6, 1),
    hint="did you mean `summary`?",
    source='sumary = "Search the catalog by title or author."',
)
UNFOUND = Diagnostic(
    code="TM501",
    message="100% of `search`: nothing, found",
    location=Location(PurePosixPath("manifest/a,b:c.toml"), 12, 3),
    severity=Severity.WARNING,
    source="  [tools.search]",
)
UNREADABLE = Diagnostic(code="TM101", message="there is no such file", location=Location(MANIFEST))


def about(source: str, column: int, message: str = "wrong", hint: str = "") -> Diagnostic:
    location = Location(MANIFEST, 1, column)
    return Diagnostic(code="TM203", message=message, location=location, hint=hint, source=source)


def test_text_shows_place_line_marker_hint_and_count() -> None:
    assert (
        report([UNKNOWN])
        == """\
manifest/catalog.toml:6:1: error[TM203]: unknown key `sumary` in [tools.search]
  |
6 | sumary = "Search the catalog by title or author."
  | ^
  = hint: did you mean `summary`?

1 error. Nothing was written.
"""
    )


def test_text_keeps_gutters_even_and_counts_by_severity() -> None:
    assert (
        report([UNKNOWN, UNFOUND, UNREADABLE])
        == """\
manifest/catalog.toml:6:1: error[TM203]: unknown key `sumary` in [tools.search]
  |
6 | sumary = "Search the catalog by title or author."
  | ^
  = hint: did you mean `summary`?

manifest/a,b:c.toml:12:3: warning[TM501]: 100% of `search`: nothing, found
   |
12 |   [tools.search]
   |   ^

manifest/catalog.toml:1:1: error[TM101]: there is no such file

2 errors, 1 warning. Nothing was written.
"""
    )


def test_warnings_alone_do_not_say_that_nothing_was_written() -> None:
    assert report([UNFOUND, UNFOUND]).endswith("\n\n2 warnings.\n")


@pytest.mark.parametrize(
    ("source", "column", "shown", "marker"),
    [
        pytest.param("\ta = 1", 2, "1 | \ta = 1", "  | \t^", id="tab"),
        pytest.param("漢字 = 1", 4, "1 | 漢字 = 1", "  |      ^", id="wide"),
        pytest.param("e\u0301 = 1", 4, "1 | e\u0301 = 1", "  |   ^", id="combining"),
        pytest.param("\x1b[2J = 1", 6, "1 | \ufffd[2J = 1", "  |      ^", id="escape sequence"),
        pytest.param("a\u202eb = 1", 5, "1 | a\ufffdb = 1", "  |     ^", id="turned direction"),
        pytest.param("a = ", 5, "1 | a =", "  |     ^", id="end of the line"),
    ],
)
def test_the_marker_is_under_its_character(source: str, column: int, shown: str, marker: str) -> None:
    assert report([about(source, column)]).split("\n")[2:4] == [shown, marker]


@pytest.mark.parametrize("column", [1, 100, 5000, 9999, 10000])
def test_of_a_very_long_line_the_part_at_the_marker_is_shown(column: int) -> None:
    source = "".join(chr(ord("a") + index % 26) for index in range(10000))
    _, _, shown, marker, *_ = report([about(source, column)]).split("\n")

    assert len(shown) <= MAX_COLUMNS + len("1 | ……")
    assert shown[len(marker) - 1] == source[column - 1]


def test_unseen_characters_in_messages_are_spelt_out() -> None:
    text = report([about("", 1, message="unknown key `\x1b[31m\n\u202e`", hint="did you mean `\x07`?")])

    assert "unknown key `\\u001b[31m\\u000a\\u202e`" in text
    assert "did you mean `\\u0007`?" in text


def test_a_hint_of_several_lines_stays_one_block() -> None:
    lines = report([about("a", 1, hint="add this\n\n    def a(): ...")]).split("\n")

    assert lines[4:7] == ["  = hint: add this", "", "              def a(): ..."]


@given(st.lists(st.builds(about, st.text(max_size=200), st.integers(1, 250), st.text(), st.text()), max_size=3))
def test_colour_changes_nothing_but_colour(found: list[Diagnostic]) -> None:
    plain = report(found)

    assert ANSI.sub("", report(found, colour=True)) == plain
    assert "\x1b" not in plain


def test_colour_is_there_when_asked_for() -> None:
    text = report([UNKNOWN], colour=True)

    assert "\x1b[1;31merror[TM203]:\x1b[0m" in text
    assert "\x1b[1;31m^\x1b[0m" in text


def test_json_is_one_object_a_line() -> None:
    first, second = report([UNKNOWN, UNFOUND], "json").splitlines()

    assert json.loads(first) == {
        "severity": "error",
        "code": "TM203",
        "message": "unknown key `sumary` in [tools.search]",
        "hint": "did you mean `summary`?",
        "path": "manifest/catalog.toml",
        "line": 6,
        "column": 1,
    }
    assert json.loads(second)["severity"] == "warning"


def test_github_gets_escaped_workflow_commands() -> None:
    note = Diagnostic(code="TM502", message="a\r\nb", location=Location(MANIFEST, 2, 1), severity=Severity.NOTE)

    assert report([UNKNOWN, UNFOUND, note], "github").splitlines() == [
        (
            "::error file=manifest/catalog.toml,line=6,col=1,title=TM203::"
            "unknown key `sumary` in [tools.search]%0Adid you mean `summary`?"
        ),
        "::warning file=manifest/a%2Cb%3Ac.toml,line=12,col=3,title=TM501::100%25 of `search`: nothing, found",
        "::notice file=manifest/catalog.toml,line=2,col=1,title=TM502::a\\u000d\\u000ab",
    ]


def test_sarif_is_one_document_with_its_rules() -> None:
    odd = Diagnostic(code="TM000", message="x", location=Location(PurePosixPath("a b/ü.toml")), severity=Severity.NOTE)
    document = json.loads(report([UNKNOWN, odd, UNREADABLE], "sarif"))

    assert document["version"] == "2.1.0"
    (run,) = document["runs"]
    assert run["columnKind"] == "unicodeCodePoints"
    driver = run["tool"]["driver"]
    assert driver["name"] == "toolmason"
    assert [rule["id"] for rule in driver["rules"]] == ["TM000", "TM101", "TM203"]
    assert driver["rules"][2]["shortDescription"]["text"] == "Unknown key"
    assert run["results"][0] == {
        "ruleId": "TM203",
        "ruleIndex": 2,
        "level": "error",
        "message": {"text": "unknown key `sumary` in [tools.search]\ndid you mean `summary`?"},
        "locations": [
            {
                "physicalLocation": {
                    "artifactLocation": {"uri": "manifest/catalog.toml"},
                    "region": {"startLine": 6, "startColumn": 1},
                }
            }
        ],
    }
    assert [result["level"] for result in run["results"]] == ["error", "note", "error"]
    assert run["results"][1]["locations"][0]["physicalLocation"]["artifactLocation"]["uri"] == "a%20b/%C3%BC.toml"


def test_nothing_found_prints_nothing_but_an_empty_sarif_document() -> None:
    assert [report([], layout) for layout in ("text", "json", "github")] == ["", "", ""]
    assert json.loads(report([], "sarif"))["runs"][0]["results"] == []


@given(st.text(), st.text(), st.text())
def test_every_layout_ends_with_a_newline_and_can_be_encoded(message: str, hint: str, source: str) -> None:
    for layout in LAYOUTS:
        text = report([about(source, 1, message, hint)], layout)
        assert text.endswith("\n")
        text.encode("utf-8", "backslashreplace")
        if layout == "github":
            assert text.count("\n") == 1
