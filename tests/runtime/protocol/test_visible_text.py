"""Text of others shows what it would hide, and keeps what writing needs."""

from __future__ import annotations

import json
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st
from toolmason_runtime.protocol.foreign import is_allowed_uri, neutral_block
from toolmason_runtime.protocol.visible_text import escape_invisible, visible, visible_json, visible_pieces

KEPT = {
    "tabs and line breaks": "a\tb\nc\r\nd",
    "heart": "❤\ufe0f",
    "family": "👨\u200d👩\u200d👧",
    "skin and profession": "👩🏽\u200d⚕\ufe0f",
    "rainbow": "🏳\ufe0f\u200d🌈",
    "keycap": "1\ufe0f\u20e3",
    "text style": "☎\ufe0e",
    "England": "🏴\U000e0067\U000e0062\U000e0065\U000e006e\U000e0067\U000e007f",
    "Persian": "\u0645\u06cc\u200c\u062e\u0648\u0627\u0647\u0645",
    "Arabic": "\u0647\u200d",
    "Hindi": "क\u094d\u200dष",
    "Sinhala": "ශ\u0dca\u200dර",
    "Malayalam": "ന\u0d4d\u200d",
    "Bengali": "র\u200c\u09cdয",
    "Khmer": "ក\u200cក",
    "Mongolian": "ᠠ\u180b",
    "private use": "\ue0b0",
    "combining marks": "e\u0301",
    "wide": "日本語\u3000한글",
}
SHOWN = {
    "escape": ("\x1b[2J", "␛[2J"),
    "title": ("\x1b]0;x\x07", "␛]0;x␇"),
    "null": ("\0", "␀"),
    "backspace": ("a\b", "a␈"),
    "carriage return": ("safe\revil", "safe␍evil"),
    "form feed": ("\f", "␌"),
    "delete": ("\x7f", "␡"),
    "C1": ("\x9b2J\x85", "\\u009b2J\\u0085"),
    "right to left": ("a\u202eb", "a\\u202eb"),
    "isolate": ("\u2066\u2069", "\\u2066\\u2069"),
    "marks": ("\u200e\u200f\u061c", "\\u200e\\u200f\\u061c"),
    "separators": ("\u2028\u2029", "\\u2028\\u2029"),
    "zero width": ("a\u200bb\u2060\ufeff", "a\\u200bb\\u2060\\ufeff"),
    "soft hyphen": ("pass\xadword", "pass\\u00adword"),
    "fillers": ("\u3164\u115f\uffa0\u17b4", "\\u3164\\u115f\\uffa0\\u17b4"),
    "tags": ("a\U000e0041\U000e007f", "a\\U000e0041\\U000e007f"),
    "tags behind a flag": ("🏴\U000e0041", "🏴\\U000e0041"),
    "selectors": ("a\ufe0f\ufe00\U000e0100", "a\\ufe0f\\ufe00\\U000e0100"),
    "selectors in a row": ("❤\ufe0f\ufe0f", "❤\ufe0f\\ufe0f"),
    "joiner in Latin": ("a\u200db\u200cc", "a\\u200db\\u200cc"),
    "joiner alone": ("\u200d\u200c", "\\u200d\\u200c"),
    "joiner at the end of an emoji": ("😀\u200d", "😀\\u200d"),
    "joiners in a row": ("\u0647\u200d\u200d", "\u0647\u200d\\u200d"),
    "annotations": ("\ufff9x\ufffb", "\\ufff9x\\ufffb"),
    "music": ("\U0001d173", "\\U0001d173"),
    "shorthand": ("\U0001bca0", "\\U0001bca0"),
    "invisible plus": ("\u2064", "\\u2064"),
    "Mongolian in Latin": ("a\u180ba", "a\\u180ba"),
}


@pytest.mark.parametrize("text", KEPT.values(), ids=KEPT)
def test_characters_of_scripts_and_emoji_are_kept(text: str) -> None:
    assert visible(text) == text
    assert "".join(visible_json([text.replace("\n", "").replace("\r", "")])) == text.replace("\n", "").replace("\r", "")


@pytest.mark.parametrize(("text", "shown"), SHOWN.values(), ids=SHOWN)
def test_hidden_characters_are_escaped_once(text: str, shown: str) -> None:
    assert visible(text) == shown
    assert visible(shown) == shown


@pytest.mark.parametrize("text", [text for text, _ in SHOWN.values()], ids=SHOWN)
def test_json_text_keeps_its_value(text: str) -> None:
    compact = json.dumps([text], ensure_ascii=False)
    shown = "".join(visible_json([compact]))

    assert json.loads(shown) == [text]
    assert visible(shown) == shown


PARTS = st.sampled_from(
    [*"ab \t\n\r", "\u200d", "\u200c", "\ufe0f", "😀", "❤", "\u0645", "\u094d", "\u200b", "\x1b", "🏴", "\U000e0067"]
)


@given(st.lists(PARTS, max_size=400).map("".join), st.integers(1, 90))
def test_pieces_are_shown_like_the_whole_text(text: str, size: int) -> None:
    pieces = [text[start : start + size] for start in range(0, len(text), size)]
    has_long_run = any(len(run) > 40 for run in text.split("a"))

    shown = "".join(visible_pieces(pieces))
    assert shown == visible(text) or has_long_run
    assert visible(shown) == shown or has_long_run


@pytest.mark.parametrize(
    "unit", ["a", "\x1b", "é", "\u200b", "😀", "👨\u200d👩", "語", "\r", "\u0645\u200c", "\u200d", "🏴\U000e0067"]
)
def test_a_long_text_takes_linear_time(unit: str) -> None:
    started = time.process_time()

    "".join(visible_pieces([unit * (300_000 // len(unit))]))

    assert time.process_time() - started < 3


def test_names_and_questions_are_escaped_more_strictly() -> None:
    for text in ("❤\ufe0f", "\u0645\u06cc\u200c\u062e\u0648\u0627\u0647\u0645", "\u2800", "a\tb"):
        assert escape_invisible(text, keep="") != text
    assert escape_invisible("a\tb\u2066", keep="\t") == "a\tb\\u2066"


@pytest.mark.parametrize(
    ("uri", "is_allowed"),
    [
        ("https://example.com/a?b#c", True),
        ("HTTP://example.com", True),
        ("file:///home/user/notes.txt", True),
        ("urn:isbn:0451450523", True),
        ("notes://today", True),
        ("demo+x://resource/1", True),
        ("ui://widget", True),
        ("javascript:alert(1)", False),
        ("JavaScript:alert(1)", False),
        ("javascript://%0aalert(1)", False),
        (" javascript:alert(1)", False),
        ("java\nscript:alert(1)", False),
        ("java\u200bscript:alert(1)", False),
        ("data:text/html,<script>", False),
        ("DATA://x", False),
        ("vbscript:x", False),
        ("blob:https://a/1", False),
        ("ms-settings:", False),
        ("ms-msdt://x", False),
        ("search-ms:query=x", False),
        ("vscode://file/x", False),
        ("mailto:a@example.com", False),
        ("smb://host/share", False),
        ("about:blank", False),
        ("unknown:x", False),
        ("//example.com", False),
        ("example.com", False),
        ("", False),
        (None, False),
        (["https://a"], False),
    ],
)
def test_links_have_schemes_that_nothing_executes(uri: object, *, is_allowed: bool) -> None:
    assert is_allowed_uri(uri) is is_allowed


@pytest.mark.parametrize(
    ("block", "kind"),
    [
        ({"type": "image", "mimeType": "image/png", "data": "iVBORw0KGgo="}, "image"),
        ({"type": "image", "mimeType": "image/vnd.microsoft.icon", "data": ""}, "image"),
        ({"type": "image", "mimeType": "text/html", "data": "PGI+"}, "text"),
        ({"type": "image", "mimeType": "image/svg+xml", "data": "PGI+"}, "text"),
        ({"type": "image", "mimeType": "audio/wav", "data": "PGI+"}, "text"),
        ({"type": "image", "mimeType": "image/png;x=y", "data": "PGI+"}, "text"),
        ({"type": "image", "mimeType": "image/png\n", "data": "PGI+"}, "text"),
        ({"type": "image", "mimeType": "image/png", "data": "PGI"}, "text"),
        ({"type": "image", "mimeType": "image/png", "data": "PG I+"}, "text"),
        ({"type": "image", "mimeType": "image/png", "data": "<svg>"}, "text"),
        ({"type": "image", "mimeType": "image/png"}, "text"),
        ({"type": "image", "data": "PGI+"}, "text"),
        ({"type": "audio", "mimeType": "audio/mpeg", "data": "PGI+"}, "audio"),
        ({"type": "audio", "mimeType": "audio", "data": "PGI+"}, "text"),
        ({"type": "resource", "resource": {"uri": "notes://1", "text": "x"}}, "resource"),
        ({"type": "resource", "resource": {"uri": "notes://1", "blob": "PGI+", "mimeType": "a/b; c=d"}}, "resource"),
        ({"type": "resource", "resource": {"uri": "notes://1", "blob": "?"}}, "text"),
        ({"type": "resource", "resource": {"uri": "javascript:x", "text": "x"}}, "text"),
        ({"type": "resource", "resource": {"uri": "notes://1", "text": "x", "mimeType": "a b"}}, "text"),
        ({"type": "resource", "resource": "x"}, "text"),
        ({"type": "resource_link", "uri": "https://a/", "name": "a", "mimeType": "text/plain"}, "resource_link"),
        ({"type": "resource_link", "uri": "data:,x", "name": "a"}, "text"),
        ({"type": "script", "text": "x"}, "text"),
        ({}, "text"),
    ],
)
def test_blocks_that_nobody_can_trust_become_a_description(block: dict[str, object], kind: str) -> None:
    neutral = neutral_block(block)

    assert neutral["type"] == kind
    assert neutral == block or "left out" in neutral["text"]


def test_icons_of_links_are_left_out() -> None:
    link = {"type": "resource_link", "uri": "https://a/", "name": "a", "icons": [{"src": "http://tracker/"}]}

    assert "icons" not in neutral_block(link)
