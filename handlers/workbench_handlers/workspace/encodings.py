"""Names of encodings, and the detection of the encoding of text that is not UTF-8.

Detection is certain or not at all: a file whose encoding is not certain can be read, but not edited without a name.
"""

from __future__ import annotations

import codecs
import re
import unicodedata
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from toolmason_runtime import ToolError

SAMPLE_BYTES: Final = 65_536
"""Bytes of a file that are examined."""
DETECTED_BYTES: Final = 16_384
"""Maximum bytes of lines with other characters than ASCII that the detector reads."""
NAMES: Final = {
    "utf-8": "UTF-8",
    "utf-16-le": "UTF-16 LE",
    "utf-16-be": "UTF-16 BE",
    "utf-32-le": "UTF-32 LE",
    "utf-32-be": "UTF-32 BE",
    "latin-1": "Latin-1",
    "gbk": "GBK",
    "gb18030": "GB18030",
    "big5": "Big5",
    "cp950": "Big5 (cp950)",
    "cp932": "Shift-JIS",
    "euc_kr": "EUC-KR",
    "cp949": "EUC-KR (cp949)",
    "euc_jp": "EUC-JP",
    "koi8-r": "KOI8-R",
    **{f"cp{number}": f"windows-{number}" for number in range(1250, 1259)},
}
"""Names of codecs for messages; others are shown by their own name."""

_CODECS: Final = {
    "utf_8_sig": "utf-8",
    "utf-8-bom": "utf-8",
    "iso8859-1": "latin-1",
    "utf-16": "utf-16-le",
    "utf-32": "utf-32-le",
    "shift_jis": "cp932",
    "gb2312": "gbk",
}
"""Codecs for names that mean another one on the web (https://encoding.spec.whatwg.org/#names-and-labels)."""
_WIDE: Final = re.compile(r"utf-(?:16|32)-(?:le|be)")
_REFUSED: Final = re.compile(r"iso2022.*|hz|utf-7|idna|punycode|.*unicode.?escape|mbcs|oem|undefined")
"""Codecs in which a byte has several meanings, or that are not encodings of files."""

_CANDIDATES: Final = (
    *("gb18030", "big5", "cp932", "cp949", "euc_jp"),
    *("cp1252", "cp1250", "cp1254", "iso8859_2", "cp1251", "koi8_r", "iso8859_5", "cp1253", "cp1255"),
)
_SUBSETS: Final = {
    "gb18030": "gbk",
    "cp949": "euc_kr",
    "koi8_r": "koi8-r",
    "iso8859_5": "iso8859-5",
    "iso8859_2": "iso8859-2",
}
"""The smaller encoding to use where it has the same text: programs that expect it read all that is written."""
_LATIN: Final = frozenset({"cp1250", "cp1252", "cp1254", "iso8859_2"})
_COMMON: Final = {
    "gb18030": ((0xA1A2, 0xA1BF), (0xA3A1, 0xA3FE), (0xB0A1, 0xD7F9)),
    "big5": ((0xA140, 0xA1FE), (0xA440, 0xC67E)),
    "cp932": ((0x8140, 0x81AC), (0x829F, 0x8396), (0x889F, 0x9872)),
    "cp949": ((0xA1A1, 0xA1FE), (0xB0A1, 0xC8FE)),
    "euc_jp": ((0xA1A1, 0xA1FE), (0xA4A1, 0xA5F6), (0xB0A1, 0xCFD3)),
}
"""The characters of common words, as ranges of their two bytes: punctuation, syllables, the first level of signs."""
_RARE_WEIGHT: Final = 0.5
_MIN_WIDE: Final = 4
"""Minimum characters of Chinese, Japanese or Korean text: `°C` in windows-1252 is one in Big5."""
_MIN_COHERENCE: Final = 0.1
_MAX_CHAOS: Final = 0.15
_MIN_CHAOS_GAP: Final = 0.02
_MIN_COHERENCE_GAP: Final = 0.2
_ALPHABETS: Final = tuple(
    map(
        frozenset,
        (
            *("àâæçéèêëîïôœùûüÿ", "äöüß", "áéíñóúü", "ãáâàçéêíóôõúü", "àèéìíòóùú", "åäöé", "æøåé", "ðþæöáéíóúý"),
            *("ąćęłńóśźż", "áčďéěíňóřšťúůýž", "áäčďéíĺľňóôŕšťúýž", "áéíóöőúüű", "ăâîșțşţ", "čćđšž", "çğıİöşüâ"),
        ),
    )
)
"""Letters beyond ASCII of languages, to tell the encodings of Latin letters apart."""
_WORD: Final = re.compile(r"[^\W\d_]+")


@dataclass(frozen=True, slots=True)
class Guess:
    """The result of a detection: a codec, or the possible ones if it is not certain."""

    codec: str = ""
    possible: tuple[str, ...] = ()


def codec_of(name: str) -> str:
    """Return the Python codec for the name of an encoding: `cp932` for `Shift-JIS`. A byte order mark has no codec.

    Raises:
        ToolError: it is unknown, or not an encoding of text files.
    """
    try:
        codec = codecs.lookup(_CODECS.get(name.strip().lower(), name.strip().lower())).name
        codec = _CODECS.get(codec.replace("utf-8-sig", "utf_8_sig"), codec)
        wide = _WIDE.fullmatch(codec) is not None
        if _REFUSED.fullmatch(codec) or (not wide and "a\n~".encode(codec) != b"a\n~"):
            raise LookupError  # noqa: TRY301  the same message
    except (LookupError, UnicodeError, ValueError, TypeError):
        message = f"`{name[:60]}` is not an encoding of text files: use a name such as `gbk`, `big5`, `shift_jis`, "
        raise ToolError(f"{message}`euc-kr`, `windows-1252`, `utf-16-le` or `utf-8`", code="INVALID_ARGUMENT") from None
    return codec


def shown(codec: str) -> str:
    """Return the name of a codec for messages."""
    return NAMES.get(codec, codec)


def is_wide(codec: str) -> bool:
    """Return whether the codec has code units of several bytes, in which a line feed is not one byte."""
    return codec.startswith(("utf-16", "utf-32"))


def guess_wide(sample: bytes) -> str:
    """Return the codec of UTF-16 without a byte order mark; empty if it is not that.

    All NUL bytes are at odd or all at even offsets, and the text contains assigned and printable characters alone.
    """
    data = sample[: len(sample) // 2 * 2]
    if len(data) < 8 or (len(sample) != len(data) and len(sample) < SAMPLE_BYTES):
        return ""
    for codec, own, other in (("utf-16-le", 1, 0), ("utf-16-be", 0, 1)):
        if b"\0" in data[other::2] or data[own::2].count(0) == 0:
            continue
        try:
            text = codecs.getincrementaldecoder(codec)().decode(data)
        except UnicodeDecodeError:
            continue
        if all(character in "\t\n\r\f" or unicodedata.category(character)[0] != "C" for character in set(text)):
            return codec
    return ""


def guess(sample: bytes) -> Guess:
    """Detect the encoding of text that is neither UTF-8 nor has a byte order mark, with charset-normalizer."""
    if codec := _damaged_utf8(sample):
        return Guess(codec)
    data = b"".join(_telling_lines(sample))
    readings = sorted(_readings(data), key=lambda reading: (reading.doubt, -reading.coherence))
    if not readings:
        return Guess()
    best, others = readings[0], readings[1:]
    if {reading.codec for reading in readings} <= _LATIN:
        spelled = [reading for reading in readings if _is_spelled(reading.text)]
        if len(spelled) == 1:
            best, others = spelled[0], []
    if best.is_weak or best.doubt > _MAX_CHAOS or any(best.is_close(other) for other in others):
        return Guess(possible=tuple(reading.shown_codec(data) for reading in readings))
    return Guess(best.shown_codec(data))


@dataclass(frozen=True, slots=True)
class _Reading:
    """The text of one or more candidates. `doubt` is 0 for perfect text, up to 1."""

    codec: str
    text: str
    doubt: float
    coherence: float

    @property
    def is_weak(self) -> bool:
        """Whether the text is too short for its alphabet: only Latin letters are certain without a known language."""
        if self.codec in _COMMON:
            return sum(character > "\x7f" for character in self.text) < _MIN_WIDE
        return self.codec not in _LATIN and self.coherence < _MIN_COHERENCE

    def is_close(self, other: _Reading) -> bool:
        """Return whether the other reading is about as good as this one, which is the best."""
        return other.doubt - self.doubt < _MIN_CHAOS_GAP and self.coherence - other.coherence < _MIN_COHERENCE_GAP

    def shown_codec(self, data: bytes) -> str:
        """Return the smallest codec with the same text."""
        smaller = _SUBSETS.get(self.codec)
        try:
            return smaller if smaller and data.decode(smaller) == self.text else self.codec
        except UnicodeDecodeError:
            return self.codec


def _damaged_utf8(sample: bytes) -> str:
    """Return `utf-8` for UTF-8 with few invalid bytes; they stay as they are."""
    text = sample.decode("utf-8", "surrogateescape")
    invalid = sum("\udc80" <= character <= "\udcff" for character in text)
    valid = sum(character > "\x7f" for character in text) - invalid
    return "utf-8" if valid >= 4 * invalid else ""


def _telling_lines(sample: bytes) -> Iterator[bytes]:
    size = 0
    lines = sample.splitlines(keepends=True)
    if len(sample) >= SAMPLE_BYTES and len(lines) > 1:
        lines.pop()  # it may be cut inside a character
    for line in lines:
        if not line.isascii() and size < DETECTED_BYTES:
            size += len(line)
            yield line[:DETECTED_BYTES]


def _readings(data: bytes) -> Iterator[_Reading]:
    from charset_normalizer import from_bytes  # slow to import, and rarely needed

    if not data:
        return
    matches = from_bytes(data, cp_isolation=list(_CANDIDATES), enable_fallback=False, preemptive_behaviour=False)
    for match in matches:
        text = str(match)
        if _mixes_scripts(text):
            continue
        names = {match.encoding, *match.could_be_from_charset}  # those with the same text
        codec = next((name for name in _CANDIDATES if name in names), match.encoding)
        yield _Reading(codec, text, match.chaos + _RARE_WEIGHT * _rare_share(text, codec), match.coherence)


def _rare_share(text: str, codec: str) -> float:
    """Return the share of rare characters among those beyond ASCII, for encodings of Chinese, Japanese and Korean."""
    ranges = _COMMON.get(codec)
    wide = [character for character in text if character > "\x7f"]
    if not ranges or not wide:
        return 0.0
    numbers = [int.from_bytes(character.encode(codec, "replace"), "big") for character in wide]
    return sum(not any(first <= number <= last for first, last in ranges) for number in numbers) / len(numbers)


def _mixes_scripts(text: str) -> bool:
    """Return whether a word has letters of ASCII and of Cyrillic, Greek or Hebrew: a sign of a wrong codec."""
    return any(
        re.search("[A-Za-z]", word) and re.search("[\u0370-\u05ff]", word)
        for word in _WORD.findall(text)
        if not word.isascii()
    )


def _is_spelled(text: str) -> bool:
    """Return whether one language has all letters of the text."""
    letters = {character for character in text.lower() if character > "\x7f" and character.isalpha()}
    return any(letters <= alphabet for alphabet in _ALPHABETS)


def advice(possible: Sequence[str]) -> str:
    """Return the advice for text whose encoding is not certain, as the argument to send."""
    example = possible[0] if possible else "windows-1252"
    maybe = f" (perhaps {', '.join(map(shown, possible[:5]))})" if possible else ""
    return f'send its `encoding`{maybe}, such as "encoding": "{example}", or set `charset` in .editorconfig'
