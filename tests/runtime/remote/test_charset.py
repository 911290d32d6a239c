"""Bodies are decoded with an allow list of charsets, in linear time; every other name counts as UTF-8."""

from __future__ import annotations

import time

import pytest
from toolmason_runtime.remote.charset import charset, decode

INVALID = (b"\xff", b"\x80", b"a", b"\x81\x30", b"\xd8\x00", b"\xe2\x82", b"\x8f\xa1", b"+AAA", b"\x1b$B", b"~{")
ALLOWED = {
    "utf-8": "äß€",
    "UTF8": "äß€",
    '"utf-8"': "äß€",
    "'utf-8'": "äß€",
    "utf-16": "äß€",
    "utf-16le": "äß€",
    "utf-32": "äß€",
    "iso-8859-1": "äß",
    "ISO_8859-15": "äß€",
    "latin1": "äß",
    "us-ascii": "abc",
    "windows-1252": "äß€",
    "cp1251": "Привет",
    "koi8-r": "Привет",
    "shift_jis": "日本語",
    "x-sjis": "日本語",
    "euc-jp": "日本語",
    "gb2312": "中文",
    "gb18030": "中文€",
    "big5": "中文",
    "euc-kr": "한국어",
    "macintosh": "äß",
    "tis-620": "ไทย",
}
REFUSED = (
    *("punycode", "-punycode", "PunyCode", "_idna_", "idna", "unicode_escape", "unicode-escape", "raw_unicode_escape"),
    *("raw-unicode-escape", "utf-7", "UTF7", "u7", "hz", "hz-gb-2312", "iso-2022-jp", "iso2022_kr", "csiso2022jp"),
    *("base64", "base64_codec", "rot13", "rot-13", "zlib", "zip", "bz2", "hex", "uu", "quopri", "mbcs", "oem"),
    *("undefined", "palmos", "aliases", "os", "..", "../os", "x" * 10_000, "utf-8\0", "\0", "utf\ud800", "ü"),
    *("utf-99", "*", "=", "%s"),
)


@pytest.mark.parametrize(("name", "text"), ALLOWED.items(), ids=ALLOWED)
def test_an_allowed_charset_decodes_the_body(name: str, text: str) -> None:
    python = {"x-sjis": "cp932", "macintosh": "mac_roman"}.get(name, name.strip("\"'"))

    assert decode(text.encode(python), f"text/plain; charset={name}") == text
    assert decode(text.encode(python), f"text/plain;CHARSET = {name} ; boundary=x") == text


@pytest.mark.parametrize("name", REFUSED, ids=lambda name: ascii(name[:20]))
def test_every_other_charset_counts_as_utf8(name: str) -> None:
    assert charset(f"text/plain; charset={name}") == "utf_8"
    assert decode("äß\ud7ff".encode() + b"\xff+AAA-", f"text/plain; charset={name}") == "äß\ud7ff\ufffd+AAA-"


@pytest.mark.parametrize(
    ("body", "content_type", "text"),
    [
        (b"\xef\xbb\xbf\xc3\xa4", "text/plain", "ä"),
        (b"\xef\xbb\xbf\xc3\xa4", "text/plain; charset=latin1", "ä"),
        ("ä".encode("utf-16"), "application/json", "ä"),
        (b"\xfe\xff\x00\xe4", "application/json", "ä"),
        ("ä".encode("utf-32"), "", "ä"),
        (b"\xc3", "", "\ufffd"),
        (b"", "text/plain; charset=gb18030", ""),
        (b"\x81", "text/plain; charset=windows-1252", "\ufffd"),
    ],
)
def test_a_byte_order_mark_has_precedence_and_is_removed(body: bytes, content_type: str, text: str) -> None:
    assert decode(body, content_type) == text


def test_a_character_across_two_chunks_is_decoded() -> None:
    for name in ("utf-8", "gb18030", "shift_jis", "utf-16le"):
        text = "a" + "語" * 100_000
        assert decode(text.encode(name), f"text/plain; charset={name}") == text


@pytest.mark.parametrize(
    "name", ["utf-8", "utf-16", "utf-32", "cp1252", "iso-8859-6", "gb18030", "euc-jp", "big5hkscs"]
)
def test_invalid_bytes_take_linear_time(name: str) -> None:
    started = time.process_time()

    for unit in INVALID:
        decode(unit * (256_000 // len(unit)), f"text/plain; charset={name}")

    assert time.process_time() - started < 4
