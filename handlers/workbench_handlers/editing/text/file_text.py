"""Decode a file for editing and encode the edited text, without changing another byte."""

from __future__ import annotations

import codecs
from dataclasses import dataclass
from typing import Final

from toolmason_runtime import ToolError

from workbench_handlers.editing.text.lines import compare_lines, split_lines
from workbench_handlers.workspace import encodings
from workbench_handlers.workspace.decode import SAMPLE_BYTES, find_mark, sniff_encoding

MARK: Final = "\ufeff"
"""The character of a BOM."""
_MARKS: Final = {
    "utf-8": codecs.BOM_UTF8,
    "utf-16-le": codecs.BOM_UTF16_LE,
    "utf-16-be": codecs.BOM_UTF16_BE,
    "utf-32-le": codecs.BOM_UTF32_LE,
    "utf-32-be": codecs.BOM_UTF32_BE,
}
_WITH_MARK: Final = frozenset({"utf-8-sig", "utf-8-bom"})
"""Names of UTF-8 with a BOM in a new file."""
_LINE_BREAKS: Final = {"": "none", "\n": "LF", "\r\n": "CRLF", "\r": "CR"}


@dataclass(frozen=True, slots=True)
class FileText:
    r"""The text of a file and its format.

    `newline` is the most frequent line break, `\n` or `\r\n`; it is `\r` if no line ends in `\n`, and empty in a text
    without line breaks. Each byte that the codec cannot decode, or would encode as another one, is a surrogate, as PEP
    383 describes; UTF-16 and UTF-32 have no such bytes.
    """

    text: str
    codec: str = "utf-8"
    bom: bytes = b""
    newline: str = ""

    @property
    def encoding(self) -> str:
        """The name of the encoding, for messages."""
        return encodings.shown(self.codec) + (" with BOM" if self.bom and self.codec == "utf-8" else "")

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
            data = text.encode(self.codec, _errors(self.codec))
        except UnicodeEncodeError as error:
            character = text[error.start]
            shown = f" (`{character}`)" if character.isprintable() else ""
            message = f"the encoding of the file, {self.encoding}, lacks the character U+{ord(character):04X}{shown}"
            message += ": use other characters, or ask the user to convert the file to UTF-8"
            raise ToolError(message, code="NOT_ENCODABLE") from None
        if self.codec != "utf-8" and _decode(data, self.codec) != text:  # a lone byte would pair with the next one
            message = f"the change touches bytes that are invalid in {self.encoding}: edit other lines"
            raise ToolError(message, code="NOT_ENCODABLE")
        return self.bom + data

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


def read_text(data: bytes, shown: str, encoding: str = "", *, charset: str = "") -> FileText:
    """Return the text of a file. `encode(text)` of the result returns `data`.

    Args:
        data: the bytes of the file.
        shown: its name in errors.
        encoding: the name that a call has for its encoding; empty to detect it.
        charset: that of `.editorconfig`, for text that does not show its encoding.

    Raises:
        ToolError: NOT_TEXT, the file is binary or not in this encoding; UNKNOWN_ENCODING, it is not certain;
            INVALID_ARGUMENT, `encoding` is unknown or contradicts the byte order mark.
    """
    named = encodings.codec_of(encoding) if encoding else ""
    default = _known_codec(charset)
    mark, _ = find_mark(data)
    if mark:
        codec = _codec_of_mark(mark)
        if named not in {"", codec} and not (named[:6] == codec[:6] == encoding.strip().lower()):
            message = f"`{shown}` has a BOM of {encodings.shown(codec)}, not of {encodings.shown(named)}: leave "
            raise ToolError(f"{message}`encoding` out", code="INVALID_ARGUMENT")
    elif named or (data.isascii() and default and b"\0" not in data):
        codec = named or default
        if data and not named and encodings.is_wide(codec):
            codec = "utf-8"  # ASCII without NUL bytes is not UTF-16
        wants_mark = encodings.is_wide(codec) or (encoding or charset).strip().lower() in _WITH_MARK
        mark = _MARKS[codec] if wants_mark and not data else b""
        if named and not encodings.is_wide(codec):
            _check_valid(data, codec, shown)
        return _with_format(_checked(data, codec, shown), codec, mark)
    else:
        found = sniff_encoding(data[:SAMPLE_BYTES], charset=lambda: default)
        if found is None:
            message = f"`{shown}` is not a text file (it contains NUL bytes and has no BOM)"
            raise ToolError(f"{message}: only text files can be edited", code="NOT_TEXT")
        if not found.is_certain:
            message = f"the encoding of `{shown}` is not certain, so it is not edited"
            raise ToolError(f"{message}: {encodings.advice(found.possible)}", code="UNKNOWN_ENCODING")
        codec = found.codec
    return _with_format(_checked(data[len(mark) :], codec, shown, has_mark=bool(mark)), codec, mark)


def read_version(data: bytes, codec: str) -> FileText:
    """Return the text of a version of a file whose codec is known; invalid bytes become surrogates or U+FFFD."""
    mark, _ = find_mark(data)
    codec = _codec_of_mark(mark) if mark else codec
    try:
        return _with_format(_decode(data[len(mark) :], codec), codec, mark)
    except UnicodeDecodeError:
        return _with_format(data[len(mark) :].decode(codec, "replace"), codec, mark)


def read_shown(data: bytes, codec: str = "") -> FileText:
    """Return the text of a version for people: as Latin-1 if its encoding is not certain.

    `codec` is empty to detect it.

    Raises:
        ToolError: NOT_TEXT, it is binary.
    """
    if codec:
        return read_version(data, codec)
    try:
        return read_text(data, "")
    except ToolError as error:
        if error.code != "UNKNOWN_ENCODING":
            raise
        return read_version(data, "latin-1")


def _codec_of_mark(mark: bytes) -> str:
    return next(codec for codec, bom in _MARKS.items() if bom == mark)


def _known_codec(charset: str) -> str:
    try:
        return encodings.codec_of(charset) if charset else ""
    except ToolError:
        return ""


def _check_valid(data: bytes, codec: str, shown: str) -> None:
    try:
        data.decode(codec)
    except UnicodeDecodeError as error:
        raise _invalid_error(shown, codec, error.start) from None


def _checked(data: bytes, codec: str, shown: str, *, has_mark: bool = False) -> str:
    try:
        return _decode(data, codec)
    except UnicodeDecodeError as error:
        raise _invalid_error(shown, codec, error.start, has_mark=has_mark) from None


def _invalid_error(shown: str, codec: str, start: int, *, has_mark: bool = False) -> ToolError:
    name = encodings.shown(codec)
    if has_mark:
        start += len(_MARKS[codec])
        message = f"`{shown}` has a BOM of {name} and is invalid at byte {start:,}: only text files can be edited"
    else:
        message = f"`{shown}` is not {name}: it is invalid at byte {start:,}; send another `encoding`, or none"
    return ToolError(message, code="NOT_TEXT")


def _errors(codec: str) -> str:
    return "strict" if encodings.is_wide(codec) else "surrogateescape"


def _decode(data: bytes, codec: str) -> str:
    """Decode so that encoding gives the same bytes: lines that it would change become surrogates.

    Raises:
        UnicodeDecodeError: UTF-16 or UTF-32 is invalid.
    """
    text = data.decode(codec, _errors(codec))
    if encodings.is_wide(codec) or codec == "utf-8" or text.encode(codec, "surrogateescape") == data:
        return text
    return "".join(_decode_line(line, codec) for line in data.splitlines(keepends=True))


def _decode_line(line: bytes, codec: str) -> str:
    text = line.decode(codec, "surrogateescape")
    return text if text.encode(codec, "surrogateescape") == line else line.decode("ascii", "surrogateescape")


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
