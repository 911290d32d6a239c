"""Decoding for editing: every accepted file has the same bytes again, whatever its encoding and its line breaks."""

from __future__ import annotations

import codecs

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from toolmason_runtime import ToolError

from workbench_handlers.editing.text.file_text import FileText, in_style, read_text
from workbench_handlers.workspace.decode import SAMPLE_BYTES, decode

LONG = "ä".encode() * SAMPLE_BYTES
"""Valid UTF-8 that is longer than the part which decides about the encoding."""


@pytest.mark.parametrize(
    ("data", "text", "codec", "newline", "encoding"),
    [
        (b"", "", "utf-8", "", "UTF-8"),
        (b"a", "a", "utf-8", "", "UTF-8"),
        ("ä\n".encode(), "ä\n", "utf-8", "\n", "UTF-8"),
        (b"a\r\nb\r\nc\n", "a\r\nb\r\nc\n", "utf-8", "\r\n", "UTF-8"),
        (b"a\rb\r", "a\rb\r", "utf-8", "\r", "UTF-8"),
        (b"a\rb\rc\n", "a\rb\rc\n", "utf-8", "\n", "UTF-8"),
        (b"\xef\xbb\xbfa\n", "a\n", "utf-8", "\n", "UTF-8 with BOM"),
        (b"\xef\xbb\xbf\xff", "\udcff", "utf-8", "", "UTF-8 with BOM"),
        (codecs.BOM_UTF16_LE + "ä\r\n".encode("utf-16-le"), "ä\r\n", "utf-16-le", "\r\n", "UTF-16 LE"),
        (codecs.BOM_UTF16_BE + "😀\n".encode("utf-16-be"), "😀\n", "utf-16-be", "\n", "UTF-16 BE"),
        (codecs.BOM_UTF32_LE + "😀\n".encode("utf-32-le"), "😀\n", "utf-32-le", "\n", "UTF-32 LE"),
        (codecs.BOM_UTF32_BE + "😀\n".encode("utf-32-be"), "😀\n", "utf-32-be", "\n", "UTF-32 BE"),
        (b"caf\xe9\n", "café\n", "cp1252", "\n", "windows-1252"),
        (LONG + b"\xff\n", LONG.decode() + "\udcff\n", "utf-8", "\n", "UTF-8"),
    ],
)
def test_a_file_is_decoded_with_its_format(data: bytes, text: str, codec: str, newline: str, encoding: str) -> None:
    file = read_text(data, "f")

    assert (file.text, file.codec, file.newline, file.encoding) == (text, codec, newline, encoding)
    assert file.encode(file.text) == data


@pytest.mark.parametrize(
    "data",
    [b"\0", b"a\0b", codecs.BOM_UTF16_LE + b"a", codecs.BOM_UTF16_BE + b"\xd8\0", codecs.BOM_UTF32_LE + b"a\0\0"],
)
def test_a_binary_or_damaged_file_is_refused(data: bytes) -> None:
    with pytest.raises(ToolError, match="only text files can be edited") as error:
        read_text(data, "f")

    assert error.value.code == "NOT_TEXT"


MARKS = st.sampled_from([b"", codecs.BOM_UTF8, codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE, codecs.BOM_UTF32_LE])


@given(MARKS, st.binary())
@example(b"", LONG + b"\xed\xa0\x80\xff")
@example(codecs.BOM_UTF8, codecs.BOM_UTF8)
def test_the_bytes_of_an_accepted_file_are_the_same_after_decoding_and_encoding(mark: bytes, rest: bytes) -> None:
    data = mark + rest
    try:
        file = read_text(data, "f")
    except ToolError:
        return

    assert file.encode(file.text) == data
    if file.codec == "utf-8":
        assert decode(data) == file.text.encode("utf-8", "surrogateescape").decode(errors="replace")


@given(st.text(st.sampled_from("a\r\n")))
def test_the_text_of_a_file_keeps_its_line_breaks(text: str) -> None:
    file = read_text(text.encode(), "f")

    assert file.with_newlines(text) == text


@given(st.lists(st.tuples(st.text(st.sampled_from("ab"), max_size=2), st.sampled_from(["\n", "\r\n"]))), st.text("ab"))
def test_a_form_that_changes_all_line_breaks_changes_none_of_the_file(lines: list[tuple[str, str]], last: str) -> None:
    text = "".join(f"{line}{end}" for line, end in lines) + last
    file = read_text(text.encode(), "f")

    assert file.with_newlines(text.replace("\r\n", "\n")) == text
    assert file.with_newlines(in_style(text, "\r\n")) == text or not file.newline


@pytest.mark.parametrize(
    ("file", "new", "expected"),
    [
        ("a\nb\n", "a\r\nx\r\nb\r\n", "a\nx\nb\n"),
        ("a\r\nb\r\n", "a\nx\nb", "a\r\nx\r\nb"),
        ("a\rb\r", "a\nx\nb\n", "a\rx\rb\r"),
        ("a", "a\r\nb\n", "a\r\nb\n"),
        ("a\r\nb\nc\r\n", "a\nB\nb\nc\n", "a\r\nB\r\nb\nc\r\n"),
        ("a\nb\r\nc\n", "x\nb\nc\nd", "x\nb\r\nc\nd"),
        ("a\nb\r\nc", "a\nb\nc\n", "a\nb\r\nc\n"),
    ],
)
def test_new_text_gets_the_line_breaks_of_the_file(file: str, new: str, expected: str) -> None:
    assert read_text(file.encode(), "f").with_newlines(new) == expected


@pytest.mark.parametrize(
    ("data", "text", "message"),
    [
        (b"caf\xe9", "10 \u0119", "the encoding of the file, windows-1252, lacks the character U+0119 (`\u0119`)"),
        (b"caf\xe9", "a\u202e", "lacks the character U+202E: use other characters"),
        (b"a", "\ud800", "the encoding of the file, UTF-8, lacks the character U+D800"),
        (codecs.BOM_UTF16_LE, "\udc80", "the encoding of the file, UTF-16 LE, lacks the character U+DC80"),
    ],
)
def test_a_character_that_the_encoding_lacks_is_named(data: bytes, text: str, message: str) -> None:
    with pytest.raises(ToolError) as error:
        read_text(data, "f").encode(text)

    assert error.value.code == "NOT_ENCODABLE"
    assert message in error.value.message


def test_the_names_of_the_line_breaks_have_the_most_frequent_first() -> None:
    names = [FileText(text).line_breaks for text in ("a", "a\n", "a\r\n", "a\r", "a\nb\r\nc\r\n", "a\nb\rc")]

    assert names == ["none", "LF", "CRLF", "CR", "CRLF and LF", "LF"]
