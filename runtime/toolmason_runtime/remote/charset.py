"""Decode the body of an answer with the charset of its media type: only charsets that take linear time are allowed."""

from __future__ import annotations

import codecs
import re
from encodings import normalize_encoding
from encodings.aliases import aliases
from functools import cache
from typing import Final

MAX_NAME: Final = 40
"""Maximum characters of the name of a charset."""
_PIECE: Final = 64 * 1024
"""Bytes decoded at once. Decoding holds the interpreter's lock, and 64 kB of invalid bytes take up to 30 ms."""
_CHARSET: Final = re.compile(r"""charset\s{0,9}=\s{0,9}["']?([^\s;,"']+)""", re.IGNORECASE)
_BOMS: Final = {
    codecs.BOM_UTF8: "utf_8",
    codecs.BOM_UTF32_LE: "utf_32_le",  # begins like that of UTF-16
    codecs.BOM_UTF16_LE: "utf_16_le",
    codecs.BOM_UTF16_BE: "utf_16_be",
    codecs.BOM_UTF32_BE: "utf_32_be",
}
_SINGLE_BYTE: Final = frozenset(
    {
        "ascii",
        "latin_1",
        *(f"iso8859_{part}" for part in (*range(1, 12), *range(13, 17))),
        *(f"cp125{page}" for page in range(9)),
        *("cp437", "cp720", "cp737", "cp775", "cp850", "cp852", "cp855", "cp857", "cp858", "cp860", "cp861", "cp862"),
        *("cp863", "cp864", "cp865", "cp866", "cp869", "cp874", "cp1125", "koi8_r", "koi8_t", "koi8_u", "kz1048"),
        *("mac_cyrillic", "mac_greek", "mac_iceland", "mac_latin2", "mac_roman", "mac_turkish", "ptcp154", "tis_620"),
    }
)
_MULTIBYTE: Final = frozenset(
    {
        *("utf_8", "utf_16_be", "utf_16_le", "utf_32_be", "utf_32_le"),
        *("big5", "big5hkscs", "cp932", "cp949", "cp950", "euc_jis_2004", "euc_jisx0213", "euc_jp", "euc_kr"),
        *("gb18030", "gb2312", "gbk", "johab", "shift_jis", "shift_jis_2004", "shift_jisx0213"),
    }
)
"""Modules of `encodings` in linear time, measured with seven invalid patterns each. Not allowed are those with escape
sequences (`hz`, `iso2022_*`, `utf_7`), which hide text from filters, and all that are not charsets of documents, such
as `idna`, `punycode` (quadratic), `unicode_escape`, `rot_13` and `zlib_codec`.
"""
_LABELS: Final = {
    "x_sjis": "cp932",
    "windows_31j": "cp932",
    "x_gbk": "gbk",
    "x_euc_jp": "euc_jp",
    "x_mac_roman": "mac_roman",
    "x_cp1251": "cp1251",
    "x_cp1252": "cp1252",
    "unicode": "utf_16_le",
    "utf8mb4": "utf_8",
    "iso_8859_8_i": "iso8859_8",
}
"""Names of charsets on the web that Python lacks: https://encoding.spec.whatwg.org/#names-and-labels"""

_UNMARKED: Final = {"utf_8_sig": "utf_8", "utf_16": "utf_16_le", "utf_32": "utf_32_le"}
"""Charsets of a body without byte order mark."""


def decode(body: bytes, content_type: str) -> str:
    """Return a body as text without byte order mark. Invalid bytes become U+FFFD.

    A byte order mark counts more than the charset of the media type `content_type`; a charset that is missing, unknown
    or not allowed counts as UTF-8. The time is linear in the size of the body.
    """
    for mark, name in _BOMS.items():
        if body.startswith(mark):
            return _decode(body[len(mark) :], name)
    return _decode(body, charset(content_type)).removeprefix("\ufeff")


def charset(content_type: str) -> str:
    """Return the module in `encodings` for the charset of a media type; `utf_8` without an allowed one."""
    match = _CHARSET.search(content_type)
    if match is None or len(match[1]) > MAX_NAME or not match[1].isascii() or not match[1].isprintable():
        return "utf_8"
    # Not `codecs.lookup`, which imports a module and keeps every unknown name.
    name = normalize_encoding(match[1]).lower()
    name = _LABELS.get(name) or aliases.get(name, name)
    name = _UNMARKED.get(name, name)
    return name if name in _SINGLE_BYTE or name in _MULTIBYTE else "utf_8"


def _decode(body: bytes, name: str) -> str:
    if name in _SINGLE_BYTE:
        # With the error handler `replace`, each byte without a character takes 0.4 us.
        return codecs.charmap_decode(body, "strict", _table(name))[0]
    if len(body) <= _PIECE:
        return body.decode(name, "replace")
    decoder = codecs.getincrementaldecoder(name)("replace")
    pieces = [decoder.decode(body[start : start + _PIECE]) for start in range(0, len(body), _PIECE)]
    return "".join([*pieces, decoder.decode(b"", final=True)])


@cache
def _table(name: str) -> str:
    """Return the characters of all bytes in a charset of one byte a character."""
    return bytes(range(256)).decode(name, "replace")
