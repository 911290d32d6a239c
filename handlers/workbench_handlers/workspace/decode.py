"""Detect the encoding and the media type of a file from its first bytes, and decode text."""

from __future__ import annotations

import codecs
import mimetypes
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from toolmason_runtime import ToolError

from workbench_handlers.workspace import encodings
from workbench_handlers.workspace.editorconfig import charset_of
from workbench_handlers.workspace.roots import Located

SAMPLE_BYTES: Final = encodings.SAMPLE_BYTES
"""Bytes of a file that are examined."""

_MARKS: Final = (
    (codecs.BOM_UTF8, "utf-8-sig"),
    (codecs.BOM_UTF32_LE, "utf-32"),  # starts like UTF-16 LE, so it precedes it
    (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)

_SIGNATURES: Final = (
    (0, b"\x89PNG\r\n\x1a\n", "image/png"),
    (0, b"\xff\xd8\xff", "image/jpeg"),
    (0, b"GIF87a", "image/gif"),
    (0, b"GIF89a", "image/gif"),
    (8, b"WEBP", "image/webp"),
    (8, b"WAVE", "audio/wav"),
    (0, b"BM", "image/bmp"),
    (0, b"II*\0", "image/tiff"),
    (0, b"MM\0*", "image/tiff"),
    (4, b"ftypM4A", "audio/mp4"),
    (4, b"ftypavif", "image/avif"),
    (0, b"OggS", "audio/ogg"),
    (0, b"fLaC", "audio/flac"),
    (0, b"ID3", "audio/mpeg"),
    (0, b"\xff\xfb", "audio/mpeg"),
    (0, b"\xff\xf3", "audio/mpeg"),
    (0, b"%PDF-", "application/pdf"),
)


@dataclass(frozen=True, slots=True)
class Encoding:
    """The codec of a text file. `note` is empty for UTF-8.

    If the encoding is not certain, the codec is Latin-1, and `possible` are the codecs that it could be.
    """

    codec: str
    note: str = ""
    is_certain: bool = True
    possible: tuple[str, ...] = ()

    @property
    def is_legacy(self) -> bool:
        """Whether its bytes are not those of UTF-8 or UTF-16 with a byte order mark, which ripgrep searches."""
        return self.codec not in {"utf-8", "utf-8-sig", "utf-16", "utf-32"}


def find_mark(data: bytes) -> tuple[bytes, str]:
    """Return the byte order mark of a file and its codec, which decodes the mark too; empty without one."""
    return next(((mark, codec) for mark, codec in _MARKS if data.startswith(mark)), (b"", ""))


def sniff_encoding(sample: bytes, *, named: str = "", charset: Callable[[], str] = str) -> Encoding | None:
    """Return the encoding of a file from its first `SAMPLE_BYTES`; None if it is binary.

    `named` is the codec that a call requests. `charset` returns the codec of `.editorconfig`, which is used for text
    that is not UTF-8.
    """
    mark, codec = find_mark(sample)
    if mark:
        return Encoding(codec, "" if codec == "utf-8-sig" else codec.upper())
    if named:
        return Encoding(named, "" if named == "utf-8" else f"read as {encodings.shown(named)}")
    if b"\0" in sample:
        wide = encodings.guess_wide(sample)
        return Encoding(wide, f"{encodings.shown(wide)} without BOM") if wide else None
    if _is_utf8(sample):
        return Encoding("utf-8")
    if (codec := charset()) and codec != "utf-8" and not encodings.is_wide(codec):
        return Encoding(codec, f"{encodings.shown(codec)}, as .editorconfig has it")
    guess = encodings.guess(sample)
    if guess.codec:
        note = "UTF-8 with invalid bytes" if guess.codec == "utf-8" else encodings.shown(guess.codec)
        return Encoding(guess.codec, note)
    note = f"not UTF-8, shown as Latin-1: {encodings.advice(guess.possible)}"
    return Encoding("latin-1", note, is_certain=False, possible=guess.possible)


def _is_utf8(sample: bytes) -> bool:
    decoder = codecs.getincrementaldecoder("utf-8")()
    try:
        decoder.decode(sample, final=len(sample) < SAMPLE_BYTES)
    except UnicodeDecodeError:
        return False
    return True


def configured_codec(located: Located) -> str:
    """Return the codec that `.editorconfig` has for a file; empty without one, or if it is unknown."""
    try:
        name = charset_of(located)
        return encodings.codec_of(name) if name else ""
    except ToolError:
        return ""


def decode(data: bytes) -> str | None:
    """Return the text of a whole file; None if it is binary. Invalid bytes become U+FFFD."""
    encoding = sniff_encoding(data[:SAMPLE_BYTES])
    return data.decode(encoding.codec, errors="replace") if encoding else None


def sniff_media_type(sample: bytes, name: str) -> str:
    """Return the media type from a file's first bytes, or from its name if they are unknown."""
    for offset, signature, media_type in _SIGNATURES:
        if sample[offset : offset + len(signature)] == signature:
            is_riff = media_type in {"image/webp", "audio/wav"}
            if not is_riff or sample.startswith(b"RIFF"):
                return media_type
    guess, _ = mimetypes.guess_type(name)
    if guess and not guess.startswith(("image/", "audio/")):
        return guess
    if sniff_encoding(sample) is not None:
        return "image/svg+xml" if guess == "image/svg+xml" else "text/plain"
    return "application/octet-stream"
