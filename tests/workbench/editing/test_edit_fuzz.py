"""Random edits over encodings and line breaks: an oracle that splices bytes finds no lost byte."""

from __future__ import annotations

import codecs
from dataclasses import dataclass, replace
from random import Random

import pytest

from workbench_handlers.editing.text.apply import apply_request
from workbench_handlers.editing.text.request import APPEND, OVERWRITE, Edit, parse_request

WIDE = "abc äß€😀日本 \t\u00a0“”\u2019…\u2013{}()\\"
FORMATS = (
    ("utf-8", b"", WIDE),
    ("utf-8", codecs.BOM_UTF8, WIDE),
    ("utf-8", codecs.BOM_UTF8 + b"\xff\xc3 ", WIDE),
    ("utf-16-le", codecs.BOM_UTF16_LE, WIDE),
    ("utf-16-be", codecs.BOM_UTF16_BE, WIDE),
    ("latin-1", b"\xe9 ", "abc äßé\x85\u00a0{}()\\"),
    ("cp1251", b"\xff ", "abc жщё€№\u00a0“”…{}()\\"),
    ("cp1252", b"\xe9 ", "abc äßé€\u00a0“”\u2019…{}()\\"),
    ("gbk", b"\xb0\xa1 ", "abc 中文镕“”…{}()\\|~"),
    ("big5", b"\xa4\xa4 ", "abc 中文許功蓋“”…{}()\\|~"),
    ("cp932", b"\x93\xfa ", "abc 日本ソ表能ｱ…{}()\\|~"),
    ("cp932", b"\x87\x90\xed\x40 ", "abc 日本ソ表能ｱ…{}()\\|~"),
    ("euc_kr", b"\xb0\xa1 ", "abc 한국어“”…{}()\\|~"),
    ("utf-16-le", b"a\0 \0", WIDE),
    ("utf-16-be", b"\0a\0 ", WIDE),
)
"""The codec, the first bytes of a file, and characters of its text. Some first bytes are not those that the
codec writes for their text."""
BY_MARK = ("utf-8", codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)
PLAIN = str.maketrans({"“": '"', "”": '"', "\u2019": "'", "…": "...", "\u2013": "-", "\u00a0": " "})
NEWLINES = (["\n"], ["\r\n"], ["\r"], ["\n", "\r\n"], ["\r\n", "\r\n", "\n"])


@dataclass
class Sample:
    """A file whose text is known in parts, and the style of its line breaks: several if they are mixed."""

    random: Random
    codec: str
    first: bytes
    characters: str
    newlines: list[str]

    def line(self) -> str:
        return "".join(self.random.choices(self.characters, k=self.random.randrange(6)))

    def text(self, *, newline: str = "") -> str:
        """Random lines, each with a line break of the file or with `newline`, the last one perhaps without."""
        ends = [newline or self.random.choice(self.newlines) for _ in range(self.random.randrange(4))]
        return "".join(self.line() + end for end in ends) + (self.line() if self.random.random() < 0.5 else "")

    def sent(self, text: str) -> str:
        """A part of the file as a model sends it: with `\\n`, or with the line breaks of the file."""
        plain = text.replace("\r\n", "\n").replace("\r", "\n")
        return plain if self.random.random() < 0.8 else text

    def written(self, text: str) -> bytes:
        """The bytes of new text in a file with one kind of line breaks."""
        return text.replace("\n", self.newlines[0]).encode(self.codec)


def lost_bytes(data: bytes, before: bytes, after: bytes, middle: bytes | None) -> int:
    """The number of bytes of the file that differ. `middle` is None if only the parts around it are known."""
    expected = before + (data[len(before) : len(data) - len(after)] if middle is None else middle) + after
    return sum(a != b for a, b in zip(data, expected, strict=False)) + abs(len(data) - len(expected))


def run_edit(random: Random) -> int:
    """Make a file, edit it in a random mode, and return the number of lost bytes."""
    codec, first, characters = random.choice(FORMATS)
    sample = Sample(random, codec, first, characters, random.choice(NEWLINES))
    mode = random.choice(["single", "typography", "several", "batch", "append", "overwrite"])
    is_mixed = len(set(sample.newlines)) > 1
    # One line break at the beginning, so that the style of the file is known.
    before, after = random.choice(sample.newlines) + sample.text(), sample.text()
    target = f"<1{sample.text()}>"
    new = sample.text(newline="\n") + "#"
    head, tail, body = first + before.encode(codec), after.encode(codec), target.encode(codec)
    known = None if is_mixed else sample.written(new)
    count = 1
    if mode == "append":
        edits, current, head, tail = [Edit(APPEND, new)], head + body + tail, head + body + tail, b""
    elif mode == "overwrite":
        current, tail = head + body + tail, b""
        head = first[:3] if codec == "utf-8" else first if first in BY_MARK else b""
        edits = [Edit(OVERWRITE, new)]
        head = codecs.BOM_UTF8 if first.startswith(codecs.BOM_UTF8) else head
    elif mode == "several":
        count = random.randrange(1, 4)
        current = head + body * count + tail
        edits = [Edit(sample.sent(target), new, count)]
    elif mode == "batch":
        other = f"<2{sample.text()}>"
        current = head + body + other.encode(codec) + tail
        edits = [Edit(sample.sent(other), "<3>"), Edit(sample.sent(target), new), Edit("<3>", "")]
    else:
        current = head + body + tail
        sent = sample.sent(target)
        edits = [Edit(sent.translate(PLAIN) if mode == "typography" else sent, new)]
    request = parse_request(
        match_text=None, new_string=None, edits=edits, expected_replacements=None, bypass_match_text_limit=False
    )
    if codec != "utf-8" and first not in BY_MARK:
        request = replace(request, encoding=codec)
    data = apply_request(request, current, "f").data
    lost = lost_bytes(data, head, tail, None if known is None else known * count)
    middle = data[len(head) : len(data) - len(tail)].decode(codec)
    assert middle.replace("\r\n", "\n").replace("\r", "\n") == new * count, (current, edits)
    return lost


@pytest.mark.parametrize("seed", range(10))
def test_a_thousand_random_edits_lose_no_byte(seed: int) -> None:
    random = Random(seed)

    assert sum(run_edit(random) for _ in range(1_000)) == 0
