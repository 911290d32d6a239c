"""Detect the encoding and the media type of a file from its first bytes, and decode text."""

from __future__ import annotations

import codecs
import mimetypes
from dataclasses import dataclass
from typing import Final

SAMPLE_BYTES: Final = 65_536
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
    """The codec of a text file. `note` is empty for UTF-8."""

    codec: str
    note: str = ""


def sniff_encoding(sample: bytes) -> Encoding | None:
    """Return the encoding of a file from its first `SAMPLE_BYTES`; None if it is binary."""
    for mark, codec in _MARKS:
        if sample.startswith(mark):
            return Encoding(codec, "" if codec == "utf-8-sig" else codec.upper())
    if b"\0" in sample:
        return None
    decoder = codecs.getincrementaldecoder("utf-8")()
    try:
        decoder.decode(sample, final=len(sample) < SAMPLE_BYTES)
    except UnicodeDecodeError:
        return Encoding("latin-1", "not UTF-8, shown as Latin-1")
    return Encoding("utf-8")


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
