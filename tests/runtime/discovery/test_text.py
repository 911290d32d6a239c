from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from toolmason_runtime.shared.search.text import bigrams, fold, ngrams, normalize_name, terms, words


@pytest.mark.parametrize("name", ["read_files", "readFiles", "ReadFiles", "read-files", "read files", "read.files"])
def test_a_name_gives_the_same_parts_however_it_is_written(name: str) -> None:
    assert words(name)[:2] == ["read", "files"]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("HTTPServer", ["http", "server", "httpserver"]),
        ("base64", ["base", "64", "base64"]),
        ("GitHub", ["git", "hub", "github"]),
        ("the user's files", ["the", "user", "files"]),
        ("ﬁle", ["file"]),
        ("\uff32\uff25\uff21\uff24", ["read"]),
        ("Größe42", ["grosse", "42", "grosse42"]),
        ("Café crème, Việt", ["cafe", "creme", "viet"]),
        ("が й ά", ["が", "й", "ά"]),
        ("an e-mail", ["an", "e", "mail", "email"]),
        ("log-in, real-time", ["log", "in", "real", "time", "login"]),
        ("a state-of-the-art top-10 --dry-run", ["a", "state", "of", "the", "art", "top", "10", "dry", "run"]),
        ("ПоискФайлов", ["поиск", "файлов", "поискфайлов"]),
        ("_ - !", []),
    ],
)
def test_words_are_split_before_they_are_lower_cased(text: str, expected: list[str]) -> None:
    assert words(text) == expected


def test_chinese_gives_pairs_of_characters() -> None:
    assert words("读取文件") == ["读取", "取文", "文件"]
    assert words("读") == ["读"]
    assert words("MCP服务器") == ["mcp", "服务", "务器"]


def test_terms_are_stems_without_the_words_of_a_polite_request() -> None:
    assert terms("Could you please list the directories") == ["list", "directori"]
    assert terms("listing directory") == ["list", "directori"]


def test_folded_text_has_single_spaces() -> None:
    assert fold("  Read\n\tFILES ") == "read files"


def test_grams_mark_the_ends_of_a_word() -> None:
    assert bigrams("cat") == {"^c", "ca", "at", "t$"}
    assert ngrams("cat", (3, 4)) == {"^ca", "cat", "at$", "^cat", "cat$"}


@given(st.text())
def test_any_text_has_terms_without_white_space_or_capitals(text: str) -> None:
    for word in words(text):
        assert word
        assert not any(char.isspace() for char in word)
        assert word == word.casefold()


@given(st.text())
def test_squeezing_is_done_once(text: str) -> None:
    assert normalize_name(normalize_name(text)) == normalize_name(text)
