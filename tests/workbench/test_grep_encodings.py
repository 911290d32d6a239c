"""Search files in all encodings: lists of candidates change no answer."""

# ruff: noqa: RUF001  letters of other alphabets are what is searched

from __future__ import annotations

import asyncio
import codecs
import shutil
from collections.abc import Mapping
from typing import Any

import pytest
from toolmason_runtime import ToolCall

from workbench_handlers.files import ripgrep
from workbench_handlers.files.grep import GrepRequest, grep
from workbench_handlers.workspace.open import existing

RIPGREP = shutil.which("rg")
TEXT = "first line\nthe café costs 3 €\nİzmir and naïve Straße\n\n  def main(argument):\nlast word"
LATIN = TEXT.replace("€", "EUR").replace("İ", "I")
JAPANESE = "日本語の文章です。\nカタカナ word とひらがな\n最後の行\n" * 4
ASCII = "plain first\nword in ascii\n\n  def main(x):\nend of file\n"
FAR = b"a line of ascii text\n" * 4000
"""More than the bytes by which an encoding is detected."""
FILES: Mapping[str, bytes] = {
    "ascii.txt": ASCII.encode(),
    "utf8.txt": TEXT.encode(),
    "utf8-final-line-feed.txt": f"{TEXT}\n".encode(),
    "utf8-bom.txt": TEXT.encode("utf-8-sig"),
    "utf8-crlf.txt": TEXT.replace("\n", "\r\n").encode(),
    "utf16-le-bom.txt": codecs.BOM_UTF16_LE + TEXT.encode("utf-16-le"),
    "utf16-be-bom.txt": codecs.BOM_UTF16_BE + TEXT.encode("utf-16-be"),
    "utf16-le.txt": TEXT.encode("utf-16-le"),
    "utf16-be.txt": TEXT.encode("utf-16-be"),
    "utf32-le.txt": codecs.BOM_UTF32_LE + ASCII.encode("utf-32-le"),
    "utf32-be.txt": codecs.BOM_UTF32_BE + ASCII.encode("utf-32-be"),
    "latin-1.txt": LATIN.encode("latin-1"),
    "latin-1-crlf.txt": LATIN.replace("\n", "\r\n").encode("latin-1"),
    "windows-1252.txt": TEXT.replace("İ", "I").encode("cp1252"),
    "windows-1251.txt": ("Быстрая лиса и word\nпрыгает через собаку\n" * 8).encode("cp1251"),
    "turkish.txt": ("İzmir ve çevresi, güneşli öğleden sonra\n" * 8).encode("cp1254"),
    "shift-jis.txt": JAPANESE.encode("cp932"),
    "euc-jp.txt": JAPANESE.encode("euc_jp"),
    "gbk.txt": ("中文的文章有很多字\n第二行 word 在这里\n" * 8).encode("gbk"),
    "lone-cr.txt": b"first\r\x95 word eins\r\x95 word zwei\r",
    "lone-cr-utf8.txt": "first\ré word\rlast\r".encode(),
    "nul-early.bin": b"\0word\xc3\xa9\nline\n",
    "nul-late.txt": FAR + b"a word\0 and more\n",
    "binary.dat": bytes(range(256)) * 20,
    "long-line.txt": b"x" * 300_000 + "é word é\nshort word\n".encode(),
    "long-line-latin-1.txt": b"x" * 30_000 + "é word é\nshort word\n".encode("latin-1"),
    "invalid-late.txt": FAR + b"word \xe9 here\nanother word\n",
    "invalid-late-only.txt": FAR + b"nothing \xe9 here\n",
    "damaged-utf8.txt": ("é" * 40 + " word\n").encode() + b"broken \xff line\nwhole word\n",
    "truncated-utf8.txt": ("ä" * 40 + "\nword at the end ").encode() + b"\xe2\x82",
    "replacement.txt": "a \ufffd word\nplain word\n".encode(),
    "surrogate.txt": b"a \xed\xa0\x80 word\n" + "ééééééééé word\n".encode() * 3,
    "empty.txt": b"",
    "line-feed.txt": b"\n",
    "no-final-line-feed.txt": b"word",
    "sub/deep/latin-1.txt": LATIN.encode("latin-1"),
    "sub/deep/utf8.txt": TEXT.encode(),
    "ignored.log": LATIN.encode("latin-1"),
    "node_modules/utf8.txt": TEXT.encode(),
    ".hidden.txt": TEXT.encode(),
    "name with space é.txt": LATIN.encode("latin-1"),
    ".gitignore": b"*.log\n",
}
PATTERNS = (
    *(
        "café",
        "caf.é|é",
        r"é\w*",
        "€",
        "日本",
        r"の\w",
        "の文",
        "лис.",
        "лиса|é",
        "İ",
        "ß[a-z]",
        r"\s€",
        r"[^a]é",
        "é+",
        "é$",
    ),
    *(
        r"caf\w\b",
        "na[^a]ve",
        r"\w+",
        r"^\s+def",
        "^$",
        r"[^\x00-\x7f]",
        r"(?i)É",
        "(é|o){2}",
        "é w",
        "w.rd$",
        "•",
        "é.",
    ),
)


def answer_of(room: Any, search: GrepRequest, tool_call: ToolCall) -> str:
    assert RIPGREP, "install ripgrep"
    return asyncio.run(grep(existing(".", room.roots), search, RIPGREP, tool_call))


@pytest.fixture
def encoded(room: Any) -> Any:
    for name, content in FILES.items():
        room.write(name, content)
    (room.project / "link.txt").symlink_to(room.project / "utf8.txt")
    (room.project / "linked").symlink_to(room.project / "sub")
    return room


@pytest.mark.parametrize("pattern", PATTERNS)
def test_candidates_change_no_answer(
    encoded: Any, tool_call: ToolCall, monkeypatch: pytest.MonkeyPatch, pattern: str
) -> None:
    searches = [GrepRequest(pattern=pattern, ignore_case=ignore, context=1) for ignore in (False, True)]
    answers = [answer_of(encoded, search, tool_call) for search in searches]
    monkeypatch.setattr(ripgrep, "MAX_CANDIDATES", -1)

    assert [answer_of(encoded, search, tool_call) for search in searches] == answers


def test_a_non_ascii_pattern_is_found_without_a_second_list_of_files(
    encoded: Any, tool_call: ToolCall, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delattr(ripgrep, "list_non_utf8_files")
    answer = answer_of(encoded, GrepRequest(pattern="café"), tool_call)

    assert "latin-1.txt\n2: the café costs 3 EUR" in answer
    assert "utf8.txt\n2: the café costs 3 €" in answer


@pytest.mark.parametrize(
    ("pattern", "is_unanchored"),
    [
        *(
            (pattern, True)
            for pattern in ("café", "é|日本", r"(é|[a-f])\d{2}", r"é\.b", "é*?.", r"\sé", "[^a]é", r"\Wé")
        ),
        *((pattern, False) for pattern in ("cafe", "é$", "^é", r"é\b", r"é\r", "é\r", "(?x)é", r"é\x0d", r"\p{L}é")),
        *((pattern, False) for pattern in ("é[[:space:]]", r"[\s]é", "[ -é]", r"\Aé", r"é\z", "(?m:é)")),
    ],
)
def test_only_non_ascii_patterns_without_anchors_list_candidates(pattern: str, *, is_unanchored: bool) -> None:
    assert ripgrep.is_unanchored_non_ascii(pattern) is is_unanchored
