"""Diffs for people: they apply, show every character and state changes of the format."""

from __future__ import annotations

import codecs
import re
import unicodedata
from itertools import pairwise
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from workbench_handlers.editing.text.diff import NO_NEWLINE, DiffRow, diff_rows, reveal, unified_diff
from workbench_handlers.editing.text.lines import Block, compare_lines, hunks, split_lines


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        (b"a\n", b"a\n", ""),
        (None, None, ""),
        (None, b"a\n", "--- /dev/null\n+++ f (after)\n@@ -0,0 +1,1 @@\n+a\n"),
        (None, codecs.BOM_UTF16_LE, "--- /dev/null\n+++ f (after)\n"),
        (None, b"", "--- /dev/null\n+++ f (after)\n"),
        (b"a\n", None, "--- f (before)\n+++ /dev/null\n@@ -1,1 +0,0 @@\n-a\n"),
        (b"a", b"a\n", f"--- f (before)\n+++ f (after)\n@@ -1,1 +1,1 @@\n-a\n{NO_NEWLINE}\n+a\n"),
        (b"a\r\nb\r\n", b"a\r\nc\r\n", "--- f (before)\n+++ f (after)\n@@ -1,2 +1,2 @@\n a\n-b\n+c\n"),
        (
            b"a\r\nb\n",
            b"a\nb\n",
            "line breaks: LF and CRLF -> LF\n--- f (before)\n+++ f (after)\n@@ -1,2 +1,2 @@\n-a\\r\n+a\n b\n",
        ),
        (
            b"a\rb\r",
            b"a\nb\n",
            "line breaks: CR -> LF\n--- f (before)\n+++ f (after)\n@@ -1,2 +1,2 @@\n-a\\r\n-b\\r\n+a\n+b\n",
        ),
        (b"a\rb", b"a\rc", f"--- f (before)\n+++ f (after)\n@@ -1,2 +1,2 @@\n a\n-b\n{NO_NEWLINE}\n+c\n{NO_NEWLINE}\n"),
        (
            b"x\na\r",
            b"x\nb\r",
            f"--- f (before)\n+++ f (after)\n@@ -1,2 +1,2 @@\n x\n-a\\r\n{NO_NEWLINE}\n+b\\r\n{NO_NEWLINE}\n",
        ),
        (codecs.BOM_UTF8 + b"a\n", b"a\n", "encoding: UTF-8 with BOM -> UTF-8\n--- f (before)\n+++ f (after)\n"),
        (
            b"caf\xe9\n",
            "café\n".encode("utf-16"),
            "encoding: windows-1252 -> UTF-16 LE\n--- f (before)\n+++ f (after)\n",
        ),
        (b"a\0", b"a\n", "--- f (before)\n+++ f (after)\nBinary files differ: 2 bytes -> 2 bytes\n"),
        (None, b"\0" * 1000, "--- /dev/null\n+++ f (after)\nBinary files differ: no file -> 1,000 bytes\n"),
        (b"\ta \xff\n", b"\ta \xfe\n", "--- f (before)\n+++ f (after)\n@@ -1,1 +1,1 @@\n-\ta ÿ\n+\ta þ\n"),
        (
            b"a\n",
            "a\u202eb\x1b\u200b\u00a0\n".encode(),
            "--- f (before)\n+++ f (after)\n@@ -1,1 +1,1 @@\n-a\n+a\\u202eb\\x1b\\u200b\\xa0\n",
        ),
    ],
)
def test_a_diff_shows_the_change(old: bytes | None, new: bytes | None, expected: str) -> None:
    assert unified_diff(old, new, "f") == expected


def test_the_name_and_the_labels_are_in_the_head_and_visible() -> None:
    diff = unified_diff(b"a\n", b"b\n", "a\n\u202etxt", labels=("agent proposal", "user feedback"))

    assert diff.splitlines()[:2] == ["--- a\\n\\u202etxt (agent proposal)", "+++ a\\n\\u202etxt (user feedback)"]


def applied(diff: str, old: list[str]) -> list[str]:
    """Apply a unified diff of lines without line breaks."""
    result: list[str] = []
    position = 0
    for line in diff.splitlines()[2:]:
        if head := re.fullmatch(r"@@ -(\d+),(\d+) \+(\d+),(\d+) @@", line):
            start = int(head[1]) - (head[2] != "0")
            result += old[position:start]
            position = start
            assert int(head[3]) - (head[4] != "0") == len(result)
        elif line[0] == "+":
            result.append(line[1:])
        else:
            assert old[position] == line[1:]
            position += 1
            result += [line[1:]] if line[0] == " " else []
    return result + old[position:]


LINES = st.lists(st.text("abc", min_size=1, max_size=1), max_size=40)


@given(LINES, LINES)
def test_a_diff_applies_to_the_old_text_and_gives_the_new_one(old: list[str], new: list[str]) -> None:
    before, after = ("".join(f"{line}\n" for line in lines).encode() for lines in (old, new))

    assert applied(unified_diff(before, after, "f"), old) == new


@given(LINES, LINES, st.integers(0, 3))
def test_rows_have_every_line_once_or_in_a_gap(old: list[str], new: list[str], context: int) -> None:
    before, after = ("".join(f"{line}\n" for line in lines).encode() for lines in (old, new))

    rows = diff_rows(before, after, context=context)

    gaps = sum(int(row.old.partition(" ")[0]) for row in rows if row.kind == "gap")
    left = [(row.old_number, row.old) for row in rows if row.old_number is not None]
    right = [(row.new_number, row.new) for row in rows if row.new_number is not None]
    assert all(old[number - 1] == text for number, text in left)
    assert all(new[number - 1] == text for number, text in right)
    assert (len(left) + gaps, len(right) + gaps) == (len(old), len(new))
    assert left == sorted(left, key=lambda line: line[0])
    assert all((row.old == row.new) for row in rows if row.kind == "same")


def test_rows_pair_changed_lines_and_name_the_size_of_gaps() -> None:
    old = "".join(f"{i}\n" for i in range(1, 21))
    new = old.replace("10\n", "ten\nX\n").removesuffix("\n")

    rows = diff_rows(old.encode(), new.encode(), context=1)

    assert rows == [
        DiffRow(None, "8 equal lines", None, "8 equal lines", "gap"),
        DiffRow(9, "9", 9, "9", "same"),
        DiffRow(10, "10", 10, "ten", "changed"),
        DiffRow(None, "", 11, "X", "added"),
        DiffRow(11, "11", 12, "11", "same"),
        DiffRow(None, "7 equal lines", None, "7 equal lines", "gap"),
        DiffRow(19, "19", 20, "19", "same"),
        DiffRow(20, "20", 21, f"20\n{NO_NEWLINE}", "changed"),
    ]
    assert diff_rows(None, b"a\n") == [DiffRow(None, "", 1, "a", "added")]
    assert diff_rows(b"a\n", b"") == [DiffRow(1, "a", None, "", "removed")]
    assert diff_rows(b"\0", b"a") == [DiffRow(None, "binary, 1 bytes", None, "binary, 1 bytes", "changed")]


@given(st.text(), st.text(), st.text())
def test_nothing_invisible_is_printed(old: str, new: str, shown: str) -> None:
    sides = old.encode("utf-8", "surrogatepass"), new.encode("utf-8", "surrogatepass")

    diff = unified_diff(*sides, shown)
    cells = "".join(row.old + row.new for row in diff_rows(*sides))

    for character in diff + cells:
        assert character in "\n\t" or unicodedata.category(character) not in {"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"}


@given(st.text(), st.sampled_from(["", "\n", "\n\t"]))
def test_visible_text_is_unchanged(text: str, keep: str) -> None:
    visible = "".join(character for character in text if character.isascii() and character.isprintable())

    assert reveal(visible, keep) == visible
    assert reveal(f"{visible}{keep}ä", keep) == f"{visible}{keep}ä"
    assert not any(
        character in reveal(text, keep)
        for character in {"\x00", "\r", "\u202e", "\u200b", "\ufe0f"} | (set("\n\t") - set(keep))
    )


@given(st.lists(st.sampled_from("abc")), st.lists(st.sampled_from("abc")))
def test_blocks_cover_both_sides_and_alternate(old: list[str], new: list[str]) -> None:
    blocks = compare_lines(old, new)

    assert [old[i] for block in blocks for i in range(block.old_start, block.old_end)] == old
    assert [new[j] for block in blocks for j in range(block.new_start, block.new_end)] == new
    assert all(a.is_equal != b.is_equal for a, b in pairwise(blocks))
    assert all(old[b.old_start : b.old_end] == new[b.new_start : b.new_end] for b in blocks if b.is_equal)
    assert list(hunks(blocks, 1)) == [] or old != new


NUMBERS = [str(i) for i in range(20_000)]
SHUFFLED = Random(3).sample(NUMBERS, len(NUMBERS))
MIXED = [line if i % 2 else "x" for i, line in enumerate(NUMBERS)]


@pytest.mark.parametrize(
    ("old", "new"),
    [
        (NUMBERS, ["x", *NUMBERS[:9_000], "y", *NUMBERS[9_010:], "z"]),
        (NUMBERS, SHUFFLED),
        (["x"] * 20_000, ["y", *["x"] * 19_000]),
        (MIXED, [f"q{line}" if line != "x" else line for line in MIXED]),
        (Random(1).choices("xy", k=20_000), Random(2).choices("xy", k=20_000)),
    ],
    ids=["edited", "shuffled", "equal lines", "alternating", "random"],
)
def test_large_texts_are_compared_at_lines_that_occur_once(old: list[str], new: list[str]) -> None:
    blocks = compare_lines(old, new)

    assert [new[j] for block in blocks for j in range(block.new_start, block.new_end)] == new
    assert all(old[b.old_start : b.old_end] == new[b.new_start : b.new_end] for b in blocks if b.is_equal)


def test_very_large_texts_without_common_ends_count_as_changed() -> None:
    lines = [str(i) for i in range(300_000)]
    new = ["x", *lines[1:-1], "y"]

    assert compare_lines(lines, new) == [Block(False, 0, len(lines), 0, len(new))]
    assert len(compare_lines(lines[:200_000], ["x", *lines[1:199_999], "y"])) == 3


def test_distant_edits_of_a_large_file_are_separate_hunks() -> None:
    new = ["x", *NUMBERS[:9_000], "y", *NUMBERS[9_010:], "z"]

    diff = unified_diff("\n".join(NUMBERS).encode(), "\n".join(new).encode(), "f")

    assert diff.count("@@ -") == 3
    assert len(diff.splitlines()) < 50


def test_a_hunk_has_three_lines_before_and_after() -> None:
    old = "".join(f"{i}\n" for i in range(11))

    diff = unified_diff(old.encode(), old.replace("5\n", "five\n").encode(), "f")

    assert diff.splitlines()[2:] == ["@@ -3,7 +3,7 @@", " 2", " 3", " 4", "-5", "+five", " 6", " 7", " 8"]


@given(st.text(st.sampled_from("ab\r\n\u2028\x0b")))
def test_split_lines_join_to_the_text(text: str) -> None:
    lines = split_lines(text)

    assert "".join(lines) == text
    assert len(lines) == text.count("\n") + (not text.endswith("\n") and bool(text)) or "\n" not in text
