"""Decode a file for editing and encode the edited text, without changing another byte."""

from __future__ import annotations

import codecs
from dataclasses import dataclass
from typing import Final

from toolmason_runtime import ToolError

from workbench_handlers.editing.text.lines import compare_lines, split_lines
from workbench_handlers.workspace.decode import SAMPLE_BYTES, sniff_encoding

MARK: Final = "\ufeff"
"""The character of a BOM."""
_MARKS: Final = (
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF32_LE, "utf-32-le"),  # starts like UTF-16 LE, so it precedes it
    (codecs.BOM_UTF32_BE, "utf-32-be"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)
_ENCODINGS: Final = {
    "utf-8": "UTF-8",
    "utf-16-le": "UTF-16 LE",
    "utf-16-be": "UTF-16 BE",
    "utf-32-le": "UTF-32 LE",
    "utf-32-be": "UTF-32 BE",
    "latin-1": "Latin-1",
}
_LINE_BREAKS: Final = {"": "none", "\n": "LF", "\r\n": "CRLF", "\r": "CR"}


@dataclass(frozen=True, slots=True)
class FileText:
    r"""The text of a file and its format.

    `newline` is the most frequent line break, `\n` or `\r\n`; it is `\r` if no line ends in `\n`, and empty in a text
    without line breaks. In UTF-8, each invalid byte is a surrogate, as PEP 383 describes.
    """

    text: str
    codec: str = "utf-8"
    bom: bytes = b""
    newline: str = ""

    @property
    def encoding(self) -> str:
        """The name of the encoding, for messages."""
        return _ENCODINGS[self.codec] + (" with BOM" if self.bom and self.codec == "utf-8" else "")

    @property
    def line_breaks(self) -> str:
        """The names of the line breaks, for messages: "LF", "LF and CRLF", "none"."""
        return " and ".join(_LINE_BREAKS[mark] for mark in line_breaks(self.text)) or _LINE_BREAKS[""]

    def encode(self, text: str) -> bytes:
        """Return the bytes of a text in the encoding of the file, with its BOM.

        Raises:
            ToolError: NOT_ENCODABLE, the encoding lacks a character.
        """
        try:
            return self.bom + text.encode(self.codec, "surrogateescape" if self.codec == "utf-8" else "strict")
        except UnicodeEncodeError as error:
            character = text[error.start]
            shown = f" (`{character}`)" if character.isprintable() else ""
            message = f"the encoding of the file, {self.encoding}, lacks the character U+{ord(character):04X}{shown}"
            message += ": use other characters, or ask the user to convert the file to UTF-8"
            raise ToolError(message, code="NOT_ENCODABLE") from None

    def with_newlines(self, text: str) -> str:
        r"""Return the new text of the whole file with the line breaks of the file.

        `\n` and `\r\n` of `text` become the file's line break. In a file with several kinds, each unchanged line keeps
        its own and other lines get the most frequent one. A file without line breaks takes those of `text`.
        A file with a BOM has it once, also if `text` begins with one.
        """
        if self.bom and not self.text.startswith(MARK):
            text = text.removeprefix(MARK)
        if len(line_breaks(self.text)) < 2:
            return in_style(text, self.newline)
        old, new = split_lines(self.text), split_lines(in_style(text, "\n"))
        result: list[str] = []
        for block in compare_lines([line.rstrip("\r\n") for line in old], [line.rstrip("\r\n") for line in new]):
            for offset, line in enumerate(new[block.new_start : block.new_end]):
                previous = old[block.old_start + offset] if block.is_equal else ""
                keeps = line.endswith("\n") and previous.endswith("\n")
                result.append(previous if keeps else in_style(line, self.newline))
        return "".join(result)


def read_text(data: bytes, shown: str) -> FileText:
    """Return the text of a file. `encode(text)` of the result returns `data`.

    The encoding is the one that `read_files` shows: text that is not UTF-8 is Latin-1. Invalid bytes behind the part
    that decides are kept as surrogates.

    Raises:
        ToolError: NOT_TEXT, the file is binary.
    """
    encoding = sniff_encoding(data[:SAMPLE_BYTES])
    if encoding is None:
        message = f"`{shown}` is not a text file (it contains NUL bytes and has no BOM): only text files can be edited"
        raise ToolError(message, code="NOT_TEXT")
    if encoding.codec in {"utf-8", "latin-1"}:
        return _with_format(data.decode(encoding.codec, "surrogateescape"), encoding.codec, b"")
    bom, codec = next(pair for pair in _MARKS if data.startswith(pair[0]))
    try:
        text = data[len(bom) :].decode(codec, "surrogateescape" if codec == "utf-8" else "strict")
    except UnicodeDecodeError as error:
        message = f"`{shown}` has a BOM of {_ENCODINGS[codec]} and is invalid at byte {len(bom) + error.start:,}"
        raise ToolError(f"{message}: only text files can be edited", code="NOT_TEXT") from None
    return _with_format(text, codec, bom)


def line_breaks(text: str) -> tuple[str, ...]:
    r"""Return the kinds of line breaks of a text, the most frequent first. `\r` counts only in a text without `\n`."""
    feeds = text.count("\n")
    if not feeds:
        return ("\r",) if "\r" in text else ()
    pairs = text.count("\r\n")
    counts = {"\n": feeds - pairs, "\r\n": pairs}
    return tuple(sorted((mark for mark in counts if counts[mark]), key=lambda mark: -counts[mark]))


def in_style(text: str, newline: str) -> str:
    r"""Return a text with `newline` for each `\n` and `\r\n`; unchanged if `newline` is empty."""
    if not newline:
        return text
    text = text.replace("\r\n", "\n")
    return text if newline == "\n" else text.replace("\n", newline)


def _with_format(text: str, codec: str, bom: bytes) -> FileText:
    return FileText(text, codec, bom, next(iter(line_breaks(text)), ""))
