"""The content of `semantic.postings`: properties of its scores, and of a run after edits."""

from __future__ import annotations

import zlib
from base64 import b64decode, b64encode
from collections.abc import Callable
from fractions import Fraction
from math import log, sqrt

import numpy as np
import pytest
from concept_embedder import ConceptEmbedder
from few_tools import catalogue
from hypothesis import given
from hypothesis import strategies as st
from toolmason_runtime.shared.search.index import ToolIndex
from toolmason_runtime.shared.search.postings import MAX_UNPACKED_BYTES, SemanticPostings
from toolmason_runtime.shared.search.text import STOP_WORDS, stem
from toolmason_runtime.shared.search.words import SEMANTIC_WEIGHT, WordRanker

from toolmason.catalogue.search_index import build_index
from toolmason.semantic.embed import embed
from toolmason.semantic.embedder import EmbedderError
from toolmason.semantic.freshness import differences
from toolmason.semantic.postings_file import PostingsError, check_postings, read_header, read_words
from toolmason.semantic.similarity import MIN_SCORE, NEAREST, cosine, nearest, quantize, vectors

NAMES = ("send_mail", "jotNote", "erase", "seek_book", "weather", "weather_2")
TEXTS = ("Send a letter", "Remember a memo", "Discard it", "Look for rain", "", "Remember a memo.")
catalogues = st.dictionaries(st.sampled_from(NAMES), st.sampled_from(TEXTS), max_size=6)


@given(catalogues, catalogues)
def test_a_run_after_edits_gives_the_file_of_a_run_from_the_start(
    before: dict[str, str], after: dict[str, str]
) -> None:
    old = read_header(embed(catalogue(before), ConceptEmbedder(), None).text)
    embedder = ConceptEmbedder()
    result = embed(catalogue(after), embedder, old)
    assert result.text == embed(catalogue(after), ConceptEmbedder(), None).text
    changed = [name for name in after if before.get(name) != after[name]]
    # Some texts differ only in a full stop, which is not embedded.
    assert result.embedded <= len(changed)
    assert len(embedder.embedded) == result.embedded + result.words


@given(catalogues, catalogues)
def test_differences_are_the_tools_that_the_next_run_embeds_or_drops(
    before: dict[str, str], after: dict[str, str]
) -> None:
    old = read_header(embed(catalogue(before), ConceptEmbedder(), None).text)
    states = differences(catalogue(after), old)
    result = embed(catalogue(after), ConceptEmbedder(), old)
    assert sum(state != "removed" for state in states.values()) == result.embedded
    assert sum(state == "removed" for state in states.values()) == result.removed
    assert not differences(catalogue(after), read_header(result.text))


@given(catalogues.filter(bool))
def test_the_file_is_valid_and_does_not_depend_on_the_order_of_the_tools(tools: dict[str, str]) -> None:
    text = embed(catalogue(tools), ConceptEmbedder(), None).text
    assert list(check_postings(text).tools) == sorted(tools)
    assert embed(catalogue(dict(reversed(tools.items()))), ConceptEmbedder(), None).text == text


def scores_by_name(postings: SemanticPostings, query: list[str]) -> dict[str, float]:
    return {postings.tools[tool]: score for tool, score in postings.scores(dict.fromkeys(query, 1.0)).items()}


@given(catalogues.filter(bool), st.lists(st.sampled_from([*ConceptEmbedder().words, "absent", "aa", "zz"]), max_size=6))
def test_scores_of_a_query_are_the_sum_over_the_lines_of_its_words(tools: dict[str, str], query: list[str]) -> None:
    text = embed(catalogue(tools), ConceptEmbedder(), None).text
    names = sorted(tools)
    pairs = read_words(text)
    expected: dict[str, float] = {}
    for numbers in (pairs[word] for word in dict.fromkeys(query) if word in pairs):
        for tool, score in zip(numbers[::2], numbers[1::2], strict=True):
            expected[names[tool]] = expected.get(names[tool], 0) + score
    assert scores_by_name(SemanticPostings(text.encode()), query) == expected
    assert scores_by_name(SemanticPostings(text.replace("\n", "\r\n").encode()), query) == expected


@given(catalogues.filter(bool), catalogues, st.sampled_from(["send a letter", "jot a memo", "umbrella"]))
def test_a_server_adds_the_scores_of_its_own_tools_to_those_of_words(
    tools: dict[str, str], embedded: dict[str, str], query: str
) -> None:
    unknown = log(1 + len(tools))
    data = build_index(catalogue(tools))
    postings = SemanticPostings(embed(catalogue(embedded), ConceptEmbedder(), None).text.encode())
    by_words = WordRanker(data).rank(query)
    by_meaning: dict[str, float] = {}
    for word in query.split():
        count = len(data["terms"][stem(word)][0]) if stem(word) in data["terms"] else 0.5
        weight = SEMANTIC_WEIGHT * log(1 + (len(tools) - count + 0.5) / (count + 0.5)) / unknown if unknown else 0.0
        for name, score in scores_by_name(postings, [] if word in STOP_WORDS else [word]).items():
            by_meaning[name] = by_meaning.get(name, 0.0) + weight * score
    expected = {name: by_words.get(name, 0) + by_meaning.get(name, 0) for name in tools}
    ranked = WordRanker(data, postings).rank(query)
    assert ranked == pytest.approx({name: score for name, score in expected.items() if score})


matrices = st.integers(1, 4).flatmap(
    lambda size: st.lists(
        st.lists(st.integers(-127, 127), min_size=size, max_size=size).filter(any), min_size=1, max_size=30
    )
)


@given(st.data())
def test_scores_are_exact_and_equal_ones_are_ordered_by_name(data: st.DataObject) -> None:
    tools = data.draw(matrices)
    size = len(tools[0])
    words = data.draw(st.lists(st.lists(st.integers(-127, 127), min_size=size, max_size=size).filter(any), min_size=1))
    rows = list(nearest(np.array(words, dtype=np.int8), np.array(tools, dtype=np.int8)))
    cosines = [[_millionths(word, tool) for tool in tools] for word in words]
    of_tools = [Fraction(sum(column), len(words)) for column in zip(*cosines, strict=True)]
    mean = sum(of_tools, Fraction()) / len(tools)
    for row, values in zip(rows, cosines, strict=True):
        centred = [
            value - Fraction(sum(values), len(tools)) - of_tool + mean
            for value, of_tool in zip(values, of_tools, strict=True)
        ]
        best = sorted(range(len(tools)), key=lambda tool: (-centred[tool], tool))[:NEAREST]
        scores = [(tool, int(centred[tool] // 10_000)) for tool in best]
        assert row == [number for pair in scores if pair[1] >= MIN_SCORE for number in pair]


def _millionths(first: list[int], second: list[int]) -> int:
    dot = sum(a * b for a, b in zip(first, second, strict=True))
    squares = sum(a * a for a in first) * sum(b * b for b in second)
    return round(dot / sqrt(squares) * 1_000_000)


@given(st.lists(st.floats(-1, 1), min_size=1, max_size=16).filter(lambda row: max(map(abs, row)) > 1e-6))
def test_a_rounded_vector_has_the_direction_of_the_original(vector: list[float]) -> None:
    rounded = vectors([quantize(vector)])[0].astype(float)
    exact = np.array(vector)
    assert rounded @ exact / np.linalg.norm(rounded) / np.linalg.norm(exact) > 0.999


def test_the_cosine_of_equal_vectors_is_one() -> None:
    assert cosine(quantize([1, 2, 3]), quantize([2, 4, 6])) == pytest.approx(1)


@pytest.mark.parametrize("vector", [[0.0, 0.0], [float("nan"), 1.0], [float("inf"), 1.0], []])
def test_a_vector_without_a_direction_is_refused(vector: list[float]) -> None:
    with pytest.raises(EmbedderError, match="zero or not finite"):
        quantize(vector)


def test_disabled_tools_are_not_embedded() -> None:
    result = embed(catalogue({"erase": "", "weather": ""}, disabled=("erase",)), ConceptEmbedder(), None)
    assert list(read_header(result.text).tools) == ["weather"]


VALID = embed(catalogue(dict(zip(NAMES, TEXTS, strict=True))), ConceptEmbedder(), None).text


@pytest.mark.parametrize(
    ("find", "replace", "line"),
    [
        ("toolmason-postings 2", "toolmason-postings 1", 1),
        ("model a", "model ", 2),
        ("tool erase", "tool  erase", 3),
        ("tool jotNote", "tool aaa", 4),
    ],
)
def test_an_invalid_file_is_refused_at_its_line(find: str, replace: str, line: int) -> None:
    assert find in VALID
    with pytest.raises(PostingsError) as caught:
        check_postings(VALID.replace(find, replace, 1))
    assert caught.value.line == line


def pack(lines: str) -> str:
    return b64encode(zlib.compress(lines.encode())).decode() + "\n"


HEAD, _, PACKED = VALID.partition("\n\n")
LINES = zlib.decompress(b64decode(PACKED)).decode()


@pytest.mark.parametrize(
    ("packed", "message"),
    [
        (pack(LINES.replace("\ndelete ", "\n<<<<<<< ours\ndelete ", 1)), "expected words"),
        (pack(LINES.replace("\ndelete ", "\nzzz ", 1)), "must be sorted"),
        (pack(LINES.replace("\ndelete 0 ", "\ndelete 6 ", 1)), "not in the header"),
        (pack(LINES.replace("6\n", "7\n", 1)), "those of other tools"),
        (pack(LINES + "9" * 5000 + " 1\n"), "expected words"),
        (PACKED[:40] + "\n", "damaged|cut off"),
        (PACKED[:40] + "\u0660" + PACKED[41:], "damaged"),
        (PACKED.replace(PACKED[30], "!"), "damaged"),
        ("<<<<<<< ours\n" + PACKED, "damaged"),
        (pack(LINES)[:-1] + "AAAA\n", "damaged|too long"),
        ("\n", "damaged|cut off"),
        (b64encode(zlib.compress(b"6\n" + b"a" * (MAX_UNPACKED_BYTES + 1))).decode() + "\n", "too long"),
    ],
    ids=range(12),
)
def test_damaged_words_are_refused_and_a_server_finds_tools_by_words(
    packed: str, message: str, caplog: pytest.LogCaptureFixture
) -> None:
    text = f"{HEAD}\n\n{packed}"
    with pytest.raises(PostingsError, match=message) as caught:
        check_postings(text)
    assert caught.value.line == HEAD.count("\n") + 3

    table = catalogue(dict(zip(NAMES, TEXTS, strict=True)))
    index = ToolIndex(table, table["tools"], lambda: build_index(table), load_postings=text.encode)
    assert index.search(NAMES[0])[0].name == NAMES[0]
    assert index.search(NAMES[1])[0].name == NAMES[1]
    errors = [record.getMessage() for record in caplog.records]
    assert len(errors) <= 1
    assert all("semantic.postings is unusable, so searches find tools by words only" in error for error in errors)


def test_a_file_that_is_cut_off_is_refused() -> None:
    with pytest.raises(PostingsError):
        check_postings(VALID[:-1])


def missing() -> bytes:
    raise FileNotFoundError("no such file: semantic.postings")


@pytest.mark.parametrize(
    "load", [lambda: b"", lambda: b"\n\n", lambda: b"toolmason-postings 1\nmodel x\n\nmail 0 5\n", missing]
)
def test_a_server_with_a_missing_file_or_one_of_another_format_finds_tools_by_words(
    load: Callable[[], bytes], caplog: pytest.LogCaptureFixture
) -> None:
    table = catalogue(dict(zip(NAMES, TEXTS, strict=True)))
    index = ToolIndex(table, table["tools"], lambda: build_index(table), load_postings=load)

    assert [index.search(name)[0].name for name in NAMES] == list(NAMES)
    assert caplog.text.count("semantic.postings is unusable") == 1
