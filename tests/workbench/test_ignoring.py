from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pathspec import GitIgnoreSpec

from workbench_handlers.workspace.ignore import MAX_RULE_BYTES, MAX_RULES, parse_gitignore


def shown(room: Any) -> list[str]:
    found: list[str] = room.call("search_files", path=".", pattern="*.txt").data["paths"]
    return found


@pytest.mark.parametrize(
    ("rule", "path"),
    [
        ("*a" * 20 + "b", "a" * 120),
        ("/x/" + "*a" * 20 + "b/c", "x/" + "a" * 250 + "/c"),
        ("*?" * 40 + "[!a]", "a" * 250),
        ("**/a/" * 40 + "b", "a/" * 300 + "c"),
        ("a/**/" * 40 + "b", "a/" * 300 + "c"),
        ("**/*a*a/" * 30 + "b", "aaaaaaaa/" * 200 + "c"),
        ("*" * 900 + "b", "a" * 250),
    ],
)
def test_no_rule_takes_for_ever(rule: str, path: str) -> None:
    assert parse_gitignore(rule).check_file(path).include is None


SEGMENT = st.text("ab*?", min_size=1, max_size=6) | st.sampled_from(["**", "*", "a", "[ab]*", "*[!a]", r"\*a*"])
RULE = st.tuples(
    st.sampled_from(["", "!", "/", "!/"]), st.lists(SEGMENT, min_size=1, max_size=5), st.sampled_from(["", "/"])
).map(lambda each: f"{each[0]}{'/'.join(each[1])}{each[2]}")
PATH = st.tuples(
    st.lists(st.text("ab*", min_size=1, max_size=5), min_size=1, max_size=6), st.sampled_from(["", "/"])
).map(lambda each: f"{'/'.join(each[0])}{each[1]}")


@given(rules=st.lists(RULE, min_size=1, max_size=3), path=PATH)
def test_rules_match_as_in_git(rules: list[str], path: str) -> None:
    assert (
        parse_gitignore("\n".join(rules)).check_file(path).include
        == GitIgnoreSpec.from_lines(rules).check_file(path).include
    )


@pytest.mark.parametrize("rule", ["!", "a\\", "[b-a]", "[a", "a" * 1001])
def test_an_invalid_or_long_rule_is_skipped_and_the_others_apply(room: Any, rule: str) -> None:
    room.write(".gitignore", f"{rule}\nb.txt\n")
    room.write("a.txt", "")
    room.write("b.txt", "")
    assert shown(room) == ["a.txt"]


def test_rules_beyond_the_most_are_left_out_and_logged(room: Any, caplog: pytest.LogCaptureFixture) -> None:
    room.write("a.txt", "")
    room.write("b.txt", "")
    room.write(".gitignore", "x\n" * (MAX_RULES - 1) + "b.txt\n")
    assert shown(room) == ["a.txt"]
    assert "rules" not in caplog.text
    room.write(".gitignore", "x\n" * MAX_RULES + "b.txt\n")
    assert shown(room) == ["a.txt", "b.txt"]
    assert "skipped 1 rules" in caplog.text


def test_comments_do_not_count_as_rules(room: Any, caplog: pytest.LogCaptureFixture) -> None:
    room.write("b.txt", "")
    room.write(".gitignore", "#\n\n" * MAX_RULES + "# " + "x" * 2000 + "\nb.txt\n")
    assert shown(room) == []
    assert "rules" not in caplog.text


def test_a_rule_that_was_cut_with_its_file_does_not_count(room: Any) -> None:
    room.write("a.txt", "")
    room.write(".gitignore", "#" * (MAX_RULE_BYTES - 3) + "\n*.none\n")
    assert shown(room) == ["a.txt"]
