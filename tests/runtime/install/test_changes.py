"""The changes that `install` shows are those of difflib, also in a file with very many lines."""

from __future__ import annotations

import difflib

from hypothesis import given
from hypothesis import strategies as st
from toolmason_runtime.install.changes import changes, masked

TEXTS = st.lists(st.sampled_from("abc"), max_size=8).map("\n".join)


@given(before=TEXTS, after=TEXTS)
def test_the_changes_lead_from_one_text_to_the_other(before: str, after: str) -> None:
    lines = list(changes(before, after, "file"))
    assert lines == [] if before == after else lines[1] == "+++ file"
    old, new, at = before.splitlines(), list[str](), 0
    for line in lines[2:]:
        if line.startswith("@@"):
            _, removed, _, _ = line.split(" ")
            start, _, count = removed[1:].partition(",")
            begin = int(start) if count == "0" else int(start) - 1
            new += old[at:begin]
            at = begin
        elif line[0] == "+":
            new.append(line[1:])
        else:
            assert old[at] == line[1:]
            new += [line[1:]] if line[0] == " " else []
            at += 1
    assert new + old[at:] == after.splitlines()


def test_a_change_in_a_large_file_is_that_of_difflib() -> None:
    before = [str(number % 7) for number in range(500_000)]
    after = [*before[:-1], "new", before[-1]]
    expected = difflib.unified_diff(before[-5:], after[-6:], "file", "file", n=1, lineterm="")
    shown = list(changes("\n".join(before), "\n".join(after), "file"))
    assert shown[3:] == list(expected)[3:]
    assert shown[2] == "@@ -499999,2 +499999,3 @@"


def test_only_known_strings_are_shown() -> None:
    json_text = '{"key": "sk-\\"1", "a": ["tok", "known"], "n": 1} // \x1b[2J\u202e\r\n'
    shown = '{"key": "***", "a": ["***", "known"], "n": 1} // \\x1b[2J\\u202e\r\n'
    assert masked(json_text, ["known"]) == shown
    toml_text = """a = 'sk' # 1\n"b c" = "sk"\nd = \'\'\'\nsk\'\'\'\n"""
    assert masked(toml_text, []) == 'a = "***" # 1\n"b c" = "***"\nd = "***"\n\n'
