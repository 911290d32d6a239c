"""Edits on bytes: each mode, each error, and no change outside of the replaced text."""

from __future__ import annotations

import codecs
import re
from collections.abc import Callable, Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st
from toolmason_runtime import ToolError

from workbench_handlers.editing.text.apply import Proposal, apply_request
from workbench_handlers.editing.text.file_text import read_text
from workbench_handlers.editing.text.request import (
    APPEND,
    CREATE,
    MAX_MATCH_CHARS,
    OVERWRITE,
    Edit,
    EditRequest,
    parse_request,
)

NO_FINAL_NEWLINE = "the file has no final newline; the text was appended to its last line"
WESTERN = "the file is not UTF-8; its text is read and written as windows-1252"


def edited(current: bytes | None, *edits: Edit, bypass: bool = False, encoding: str = "") -> Proposal:
    request = parse_request(
        match_text=None,
        new_string=None,
        edits=edits,
        expected_replacements=None,
        bypass_match_text_limit=bypass,
        encoding=encoding,
    )
    return apply_request(request, current, "notes.md")


def replaced(current: bytes | None, match_text: str, new_string: str, count: int = 1) -> bytes:
    return edited(current, Edit(match_text, new_string, count)).data


def result(work: Callable[[], bytes]) -> bytes | str:
    """The result of some work, or the code of its error."""
    try:
        return work()
    except ToolError as error:
        return error.code


@pytest.mark.parametrize(
    ("current", "edits", "data", "notes"),
    [
        (None, [Edit(CREATE, "a\r\nb\n")], b"a\r\nb\n", ()),
        (None, [Edit(CREATE, "")], b"", ()),
        (b"", [Edit(CREATE, "ä")], "ä".encode(), ()),
        (codecs.BOM_UTF8, [Edit(CREATE, "a")], codecs.BOM_UTF8 + b"a", ()),
        (codecs.BOM_UTF8, [Edit(CREATE, "\ufeffa")], codecs.BOM_UTF8 + b"a", ()),
        (codecs.BOM_UTF8 + b"x\r\n", [Edit(OVERWRITE, "\ufeffa\n")], codecs.BOM_UTF8 + b"a\r\n", ()),
        (codecs.BOM_UTF16_LE + b"x\0", [Edit(OVERWRITE, "\ufeffa")], codecs.BOM_UTF16_LE + b"a\0", ()),
        (b"x", [Edit(OVERWRITE, "\ufeffa")], codecs.BOM_UTF8 + b"a", ()),
        (codecs.BOM_UTF16_LE, [Edit(CREATE, "a")], codecs.BOM_UTF16_LE + b"a\0", ()),
        (None, [Edit(OVERWRITE, "a\n")], b"a\n", ("the file did not exist and is created",)),
        (b"", [Edit(OVERWRITE, "a\n")], b"a\n", ()),
        (b"x\r\ny\r\n", [Edit(OVERWRITE, "a\nb")], b"a\r\nb", ()),
        (b"x\ny\r\nz\n", [Edit(OVERWRITE, "x\ny\nq\n")], b"x\ny\r\nq\n", ()),
        (b"caf\xe9", [Edit(OVERWRITE, "é")], b"\xe9", (WESTERN,)),
        (b"a\n", [Edit(APPEND, "b\n")], b"a\nb\n", ()),
        (b"", [Edit(APPEND, "b")], b"b", ()),
        (b"a", [Edit(APPEND, "b")], b"ab", (NO_FINAL_NEWLINE,)),
        (b"x\r\na", [Edit(APPEND, "\nb\n")], b"x\r\na\r\nb\r\n", (NO_FINAL_NEWLINE,)),
        (b"x\r\ny\r\na\n", [Edit(APPEND, "b\n")], b"x\r\ny\r\na\nb\r\n", ()),
        (b"a\r", [Edit(APPEND, "b\n")], b"a\rb\r", ()),
        (
            b"a\nb",
            [Edit("a", "x"), Edit(APPEND, "c"), Edit("bc", "y")],
            b"x\ny",
            (f"edit 2 of 3: {NO_FINAL_NEWLINE}",),
        ),
        (b"a", [Edit("a", "b"), Edit("b", "c")], b"c", ()),
        (b"a b", [Edit("a", "b"), Edit("b", "c", 2)], b"c c", ()),
    ],
)
def test_each_mode_gives_the_bytes_and_the_notes(
    current: bytes | None, edits: list[Edit], data: bytes, notes: tuple[str, ...]
) -> None:
    proposal = edited(current, *edits)

    assert (proposal.data, proposal.notes) == (data, notes)


@pytest.mark.parametrize(
    ("current", "match_text", "new_string", "data"),
    [
        (b"a b c", "b", "x", b"a x c"),
        (b"a b c", " b", "", b"a c"),
        (b"a\r\nb\r\nc", "a\nb", "a\nx\nb", b"a\r\nx\r\nb\r\nc"),
        (b"a\r\nb\r\nc", "a\r\nb", "a\r\nx", b"a\r\nx\r\nc"),
        (b"a\r\nb", "\n", "", b"ab"),
        (b"a\r\nb", "\n", "\n\n", b"a\r\n\r\nb"),
        (b"a\nb\n", "a\r\nb", "x\r\ny", b"x\ny\n"),
        (b"a\rb\r", "a\nb", "x\ny\nz", b"x\ry\rz\r"),
        (b"a\rb\n", "a\rb", "a\rc", b"a\rc\n"),
        (b"a\r\nb\nc\r\nd\n", "a\nb\nc\nd", "a\nb\nC\nd", b"a\r\nb\nC\r\nd\n"),
        (b"a\r\nb\nc\nd\ne\r\n", "a\nb", "x\ny", b"x\r\ny\nc\nd\ne\r\n"),
        (b"a\nb\nc\nd\r\n", "d\n", "d\ne\n", b"a\nb\nc\nd\r\ne\r\n"),
        (b"a", "a", "b\r\nc\n", b"b\r\nc\n"),
        (b"\xef\xbb\xbfa b", "a", "x", b"\xef\xbb\xbfx b"),
        (
            codecs.BOM_UTF16_BE + "ä\r\n😀".encode("utf-16-be"),
            "ä\n",
            "€\n",
            codecs.BOM_UTF16_BE + "€\r\n😀".encode("utf-16-be"),
        ),
        (b"caf\xe9 \xff\n", "café", "thé", b"th\xe9 \xff\n"),
        (b"\xef\xbb\xbf\xff\xfe a", "a", "ä", b"\xef\xbb\xbf\xff\xfe \xc3\xa4"),
    ],
)
def test_only_the_matched_part_changes(current: bytes, match_text: str, new_string: str, data: bytes) -> None:
    assert replaced(current, match_text, new_string) == data


@pytest.mark.parametrize(
    ("current", "match_text", "new_string", "expected", "note"),
    [
        ("x\nit\u2019s", "it's", "it is", "x\nit is", "matched typographic quotes at line 2"),
        ("it's", "it\u2019s", "it\u2019s so", "it's so", "matched typographic quotes at line 1"),
        ("“a” b", '"a" b', '"a" c', "“a” c", "matched typographic quotes at line 1"),
        ("wait… now", "wait... now", "wait... then", "wait… then", "matched typographic ellipses at line 1"),
        ("wait...", "wait…", "wait.", "wait.", "matched typographic ellipses at line 1"),
        ("a…", "a...", "a..!", "a..!", "matched typographic ellipses at line 1"),
        ("a…b", "a...b", "a.!.b", "a.!.b", "matched typographic ellipses at line 1"),
        ("10\u00a0kg\r\n", "10 kg\n", "11 kg\n", "11\u00a0kg\r\n", "matched typographic spaces at line 1"),
        ("1\u20132 — 3", "1-2 - 3", "1-2 - 4", "1\u20132 — 4", "matched typographic dashes at line 1"),
        (
            "\u2018a\u2019 \u2013 “b”…",
            "'a' - \"b\"...",
            "x",
            "x",
            "matched typographic quotes, ellipses and dashes at line 1",
        ),
        ("…\r\n…\r\nit\u2019s", "it's", "x", "…\r\n…\r\nx", "matched typographic quotes at line 3"),
    ],
)
def test_a_unique_match_with_other_typography_is_used_and_reported(
    current: str, match_text: str, new_string: str, expected: str, note: str
) -> None:
    proposal = edited(current.encode(), Edit(match_text, new_string))

    assert (proposal.data, proposal.notes) == (expected.encode(), (note,))


@pytest.mark.parametrize(
    ("current", "edit"),
    [
        ("it\u2019s it\u2019s", Edit("it's", "x")),
        ("it\u2019s it\u2019s", Edit("it's", "x", 2)),
        ("\u2013\u2013\u2013", Edit("--", "x")),
        ("it\u2019s", Edit("it's", "x", 2)),
        ("wait…", Edit("wait.", "x")),
        ("a…b", Edit(".b", "x")),
        ("IT'S", Edit("it's", "x")),
        ("a  b", Edit("a b", "x")),
    ],
)
def test_ambiguous_or_partial_typography_does_not_match(current: str, edit: Edit) -> None:
    with pytest.raises(ToolError) as error:
        edited(current.encode(), edit)

    assert error.value.code == "NO_MATCH"


def test_an_exact_match_precedes_one_with_other_typography() -> None:
    assert replaced("it\u2019s it's".encode(), "it's", "x") == "it\u2019s x".encode()


@pytest.mark.parametrize(
    ("current", "edits", "code", "message"),
    [
        (b"abc", [Edit("xyz", "")], "NO_MATCH", "match_text does not occur in `notes.md`"),
        (b"", [Edit("a", "b")], "NO_MATCH", '`notes.md` is empty: send match_text=""'),
        (
            b"a\nb\na\r\na",
            [Edit("a", "b")],
            "MATCH_COUNT",
            "found 3 matches at lines 1, 3, 4 of `notes.md`; expected 1: add context until only the intended places",
        ),
        (
            b"a\nb\na\r\na",
            [Edit("a", "b")],
            "MATCH_COUNT",
            "until only the intended places match, or set expected_replacements=3",
        ),
        (b"aaa", [Edit("aa", "X")], "MATCH_COUNT", "of match_text in `notes.md` overlap (line 1): add context until"),
        (b"x\n---", [Edit("--", "X", 2)], "MATCH_COUNT", "overlap (line 2)"),
        (b"aaaa", [Edit("aa", "X", 2)], "MATCH_COUNT", "overlap (line 1)"),
        (b"}\n}\n}\n", [Edit("}\n}\n", "X")], "MATCH_COUNT", "overlap (lines 1, 2)"),
        (b"a", [Edit("a", "b", 2)], "MATCH_COUNT", "found 1 match at line 1 of `notes.md`; expected 2"),
        (b"x\n" * 54, [Edit("\n", "y")], "MATCH_COUNT", "10 and 44 more of `notes.md`"),
        (b"x\n" * 54, [Edit("\n", "y")], "MATCH_COUNT", 'To add text at the end of the file, send match_text="APPEND'),
        (b"a", [Edit(CREATE, "b")], "FILE_EXISTS", 'exists and is not empty: send match_text="OVERWRITE_FILE"'),
        (b"\n", [Edit(CREATE, "b")], "FILE_EXISTS", "APPEND_TO_FILE"),
        (None, [Edit("a", "b")], "NOT_FOUND", '`notes.md` does not exist: send match_text="" with the whole text'),
        (None, [Edit(APPEND, "b")], "NOT_FOUND", "does not exist"),
        (None, [Edit("a", "b"), Edit(APPEND, "b")], "NOT_FOUND", "does not exist"),
        (b"a", [Edit("a", "a")], "NO_CHANGE", "has this text already"),
        (b"a\r\n", [Edit(OVERWRITE, "a\n")], "NO_CHANGE", "has this text already"),
        (b"a", [Edit(APPEND, "")], "NO_CHANGE", "has this text already"),
        (b"", [Edit(CREATE, "")], "NO_CHANGE", "has this text already"),
        (b"ab", [Edit("a", "b"), Edit("bb", "ab")], "NO_CHANGE", "has this text already"),
        (b"\0", [Edit(OVERWRITE, "a")], "NOT_TEXT", "only text files can be edited"),
        (b"caf\xe9", [Edit("é", "\u0119")], "NOT_ENCODABLE", "U+0119"),
        (b"ab", [Edit("a", "x"), Edit("a", "y")], "NO_MATCH", "edit 2 of 2: match_text does not occur"),
        (b"ab", [Edit("a", "b"), Edit("b", "y")], "MATCH_COUNT", "edit 2 of 2: found 2 matches"),
    ],
)
def test_an_edit_that_does_not_apply_is_explained(
    current: bytes | None, edits: list[Edit], code: str, message: str
) -> None:
    with pytest.raises(ToolError) as error:
        edited(current, *edits)

    assert (error.value.code, message in error.value.message) == (code, True), error.value.message


@pytest.mark.parametrize("others", [[], [Edit("b", "c")]])
def test_exactly_2000_characters_match_and_one_more_needs_the_bypass(others: list[Edit]) -> None:
    fits, exceeds = "ä" * MAX_MATCH_CHARS, "ä" * (MAX_MATCH_CHARS + 1)
    current = f"{exceeds}b".encode()

    assert replaced(f"{fits}b".encode(), fits, "x") == b"xb"
    with pytest.raises(
        ToolError, match=r"match_text has 2,001 characters; .* or bypass_match_text_limit=true"
    ) as error:
        edited(current, Edit(exceeds, "x"), *others)
    assert error.value.code == "MATCH_TOO_LONG"
    assert edited(current, Edit(exceeds, "x"), *others, bypass=True).data == (b"xc" if others else b"xb")


def test_a_line_break_counts_as_one_character_of_the_limit() -> None:
    lines = "q\r\n" * (MAX_MATCH_CHARS // 2)

    assert replaced(f"{lines}b".encode(), lines, "") == b"b"
    with pytest.raises(ToolError, match=r"match_text has 2,001 characters"):
        replaced(f"{lines}b".encode(), f"{lines}b", "")


def test_a_replacement_of_excessive_size_is_refused() -> None:
    with pytest.raises(ToolError, match=r"10,000 times new_string is more than 20,000,000 characters") as error:
        replaced(b"a" * 10_000, "a", "x" * 2_001, 10_000)
    assert error.value.code == "TOO_MUCH_WORK"


def test_many_edits_of_a_large_file_are_refused_with_the_number_that_fits() -> None:
    current = b"ab\r\n" * 2_000_000 + b"0123456789"
    edits = [Edit(digit, "x") for digit in "0123456789"]

    assert edited(current, *edits[:1]).data.endswith(b"x123456789")
    with pytest.raises(ToolError, match=r"send at most 2 in one call, and the others after it") as error:
        edited(current, *edits)
    assert error.value.code == "TOO_MUCH_WORK"
    assert edited(current[-200_010:], *edits).data.endswith(b"\nxxxxxxxxxx")


def test_the_message_of_a_failed_match_names_similar_lines_and_the_next_call() -> None:
    current = b"import os\n\n\ndef load(path):\n    return open(path).read()\n"

    with pytest.raises(ToolError) as error:
        replaced(current, "def load(name):\n\treturn open(path).read()", "")

    assert error.value.message.splitlines() == [
        "match_text does not occur in `notes.md`. The nearest places are:",
        r"line 4 (87 % similar): `def load(path):\n    return open(path).read()`",
        "Re-read the lines (read_files with start_line=4 and end_line=5) and copy them exactly",
    ]


def test_adjacent_matches_are_replaced() -> None:
    assert replaced(b"abab", "ab", "b", 2) == b"bb"
    assert replaced(b"a\r\na\na\r\n", "a\n", "b\n", 3) == b"b\r\nb\nb\r\n"


LONG = Edit("x" * 2_001, "y")


@pytest.mark.parametrize(
    ("edits", "reported", "code"),
    [
        pytest.param([Edit("gone", "a"), Edit("two", "2"), Edit("lost", "b")], [1, 3], "NO_MATCH", id="two absent"),
        pytest.param([Edit("gone", "a"), LONG, Edit("one", "1")], [1, 2], "NO_MATCH", id="absent, and too long"),
        pytest.param([LONG, Edit("gone", "a"), Edit("lost", "b")], [1, 2, 3], "MATCH_TOO_LONG", id="all"),
        pytest.param([Edit("gone", "new\n"), Edit("new", "b")], [1], "NO_MATCH", id="the text of a failed edit"),
        pytest.param([Edit("gone", "a line"), Edit("a line\ntwo", "b")], [1], "NO_MATCH", id="a line of a failed edit"),
        pytest.param([Edit("gone", "x"), LONG], [1, 2], "NO_MATCH", id="the length of a text of a failed edit"),
        pytest.param([Edit("one", "1"), Edit("one", "b"), Edit("e", "E")], [2], "NO_MATCH", id="gone by an edit"),
        pytest.param([Edit("missing", "a"), Edit("o", "0")], [1, 2], "NO_MATCH", id="absent, and several matches"),
        pytest.param([Edit("gone", "o"), Edit("o", "0")], [1], "NO_MATCH", id="a count that a failed edit changes"),
        pytest.param([Edit("gone", "\n"), Edit("lost", "b")], [1, 2], "NO_MATCH", id="a failed edit of a line break"),
        pytest.param([Edit(f"gone {n}", "a") for n in range(20, 40)], list(range(1, 9)), "NO_MATCH", id="many"),
    ],
)
def test_a_batch_reports_each_edit_that_fails_without_the_others(
    edits: list[Edit], reported: list[int], code: str
) -> None:
    with pytest.raises(ToolError) as error:
        edited(b"one\ntwo\nthree\n", *edits)

    numbers = [int(number) for number in re.findall(r"^edit (\d+) of", error.value.message, re.MULTILINE)]
    assert (numbers, error.value.code) == (reported, code)
    assert error.value.message.count("No edit was applied") == 1
    assert ("12 more edits fail" in error.value.message) == (len(edits) > 10)


def test_the_error_of_a_batch_states_that_no_edit_was_applied() -> None:
    with pytest.raises(ToolError, match="edit 2 of 2: match_text does not occur") as error:
        edited(b"one", Edit("one", "two"), Edit("one", "three"))

    assert error.value.message.endswith(
        ".\nNo edit was applied. Edits apply in order, each to the text after the edits before it"
    )


ENCODINGS: dict[str, tuple[bytes, str]] = {
    "utf-8": (b"", "aäß€😀\u2019…- \t"),
    "utf-8 with BOM": (codecs.BOM_UTF8, "aäß€😀\u2019…- \t"),
    "utf-16-le": (codecs.BOM_UTF16_LE, "aäß€😀\u2019…- \t"),
    "utf-32-be": (codecs.BOM_UTF32_BE, "aäß€😀\u2019…- \t"),
    "latin-1": (b"\xff", "aäß\xa0\x85- \t"),
}
"""The first bytes of a file and characters of its text, by encoding."""


@st.composite
def split_files(draw: st.DrawFn) -> tuple[str, bytes, Sequence[str]]:
    """An encoding, the first bytes of a file, and the three parts of its text: before, matched, after."""
    name = draw(st.sampled_from(list(ENCODINGS)))
    first, characters = ENCODINGS[name]
    newlines = draw(st.sampled_from([["\n"], ["\r\n"], ["\r"], ["\n", "\r\n"]]))
    part = st.lists(st.one_of(st.text(characters, max_size=3), st.sampled_from(newlines)), max_size=6).map("".join)
    before, matched, after = draw(part), draw(part.map(lambda text: f"<{text}>")), draw(part)
    return name.removesuffix(" with BOM"), first, (before, matched, after)


@given(split_files(), st.text("ab\n<>", max_size=8))
def test_bytes_outside_of_the_match_never_change(file: tuple[str, bytes, Sequence[str]], new_string: str) -> None:
    codec, first, parts = file
    before, matched, after = (part.encode(codec) for part in parts)
    sent = parts[1].replace("\r\n", "\n") if "\n" in "".join(parts) else parts[1].replace("\r", "\n")
    encoding = "" if codec != "latin-1" else codec
    current = first + before + matched + after
    data = result(lambda: edited(current, Edit(sent, new_string), encoding=encoding).data)
    if isinstance(data, str):
        assert data == "NO_CHANGE"
        return

    assert data.startswith(first + before)
    assert data.endswith(after)
    middle = data[len(first + before) : len(data) - len(after)].decode(codec)
    assert "".join(middle.split()) == "".join(new_string.split())


LINES = st.lists(st.text("ab \u2019", max_size=3), min_size=1, max_size=5)


@given(
    LINES,
    st.sampled_from(["\n", "\r\n", "\r"]),
    st.lists(st.tuples(st.text("ab '\n", min_size=1), st.text("ab\n")), min_size=2),
)
def test_a_batch_equals_its_edits_one_after_another(
    lines: list[str], newline: str, pairs: list[tuple[str, str]]
) -> None:
    current = newline.join(["", *lines, ""]).encode()
    edits = [Edit(old, new, max(1, current.replace(newline.encode(), b"\n").count(old.encode()))) for old, new in pairs]

    data = current
    for edit in edits:
        step = result(lambda edit=edit, data=data: edited(data, edit).data)  # type: ignore[misc]
        if isinstance(step, str) and step != "NO_CHANGE":
            assert result(lambda: edited(current, *edits).data) == step
            return
        data = data if isinstance(step, str) else step
    assert result(lambda: edited(current, *edits).data) == (data if data != current else "NO_CHANGE")


@given(
    st.binary(), st.lists(st.builds(Edit, st.text("a\r\n…\u2019"), st.text("b\r\n€'"), st.integers(1, 2)), min_size=1)
)
def test_every_request_gives_an_editable_file_or_an_error_with_a_code(current: bytes, edits: list[Edit]) -> None:
    data = result(lambda: apply_request(EditRequest("batch", tuple(edits)), current, "notes.md").data)
    if isinstance(data, str):
        assert data.isupper()
        return

    assert read_text(data, "notes.md").encode(read_text(data, "notes.md").text) == data
