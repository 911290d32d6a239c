"""Queries that a sentence model reads as a whole: the ranking with a real model file, and what happens without one."""

from __future__ import annotations

import sys
from collections.abc import Callable
from hashlib import sha256
from logging import ERROR, WARNING
from pathlib import Path

import pytest
from concept_embedder import ConceptEmbedder
from few_tools import catalogue
from hypothesis import given
from hypothesis import strategies as st
from tiny_model import write_model
from toolmason_runtime.shared.search import query_model
from toolmason_runtime.shared.search.index import ToolIndex
from toolmason_runtime.shared.search.query_model import MODEL_VARIABLE, NEAREST, QueryMeaning, known_share

from toolmason.catalogue.search_index import build_index
from toolmason.semantic.embed import embed

TOOLS = {
    "send_mail": "Send mail",
    "jot_note": "Remember a memo",
    "erase_note": "Discard a memo",
    "forecast": "Forecast rain",
}
MORE = {"list_tables": "Find table", "seek_table": "Seek table"}
"""Two tools that a query for a letter must not find."""
ALL = TOOLS | MORE | {f"table{number}": "Table" for number in range(8)}
QUERIES = ["email letter", "write memo", "umbrella", "remove memo", "discard", "table", "seek table", "nothing known"]

MakeIndex = Callable[..., ToolIndex]


@pytest.fixture
def directory(tmp_path: Path) -> Path:
    """A directory with a model."""
    write_model(tmp_path)
    return tmp_path


@pytest.fixture
def index(directory: Path, monkeypatch: pytest.MonkeyPatch) -> MakeIndex:
    """Makes an index whose postings are those of the model in `directory`."""
    sha = sha256((directory / "model.onnx").read_bytes()).hexdigest()

    def make(tools: dict[str, str] = ALL, *, model: Path | None = directory) -> ToolIndex:
        monkeypatch.setenv(MODEL_VARIABLE, str(model or ""))
        content = embed(catalogue(tools), ConceptEmbedder(sha), None).text.encode()
        return ToolIndex(catalogue(tools), tools, lambda: build_index(catalogue(tools)), load_postings=lambda: content)

    return make


def names(index: ToolIndex, query: str) -> list[str]:
    return [hit.name for hit in index.search(query)]


def test_the_model_reads_the_whole_query(index: MakeIndex) -> None:
    assert names(index(), "remove memo")[:2] == ["erase_note", "jot_note"]
    scores = index()._ranking._query_meaning
    assert scores is not None
    assert max(scores.scores("post letter"), key=scores.scores("post letter").__getitem__) == "send_mail"


@pytest.mark.parametrize("query", QUERIES)
def test_with_weight_0_the_ranking_is_that_without_a_model(
    index: MakeIndex, query: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(query_model, "QUERY_WEIGHT", 0)
    assert names(index(), query) == names(index(model=None), query)


@given(
    st.lists(st.binary(min_size=6, max_size=6).filter(any), min_size=1, max_size=40),
    st.lists(st.integers(-100, 100), min_size=6, max_size=6).filter(any),
)
def test_only_the_nearest_tools_have_scores_and_these_are_above_the_mean(
    tools: list[bytes], query: list[float]
) -> None:
    meaning = QueryMeaning({f"tool_{number}": vector for number, vector in enumerate(tools)}, lambda _: query)
    scores = meaning.scores("any")
    assert len(scores) <= min(NEAREST, max(0, len(tools) - 1))
    assert all(0 < score <= 2 * 100 * query_model.QUERY_WEIGHT + 1 for score in scores.values())


def _no_directory(directory: Path) -> str:
    (directory / "model.onnx").unlink()
    return "there is no"


def _no_vocabulary(directory: Path) -> str:
    (directory / "vocab.txt").unlink()
    return "there is no"


def _other_model(directory: Path) -> str:
    (directory / "model.onnx").write_bytes((directory / "model.onnx").read_bytes() + b"\0")
    return "but semantic.postings was made with"


def _empty_vocabulary(directory: Path) -> str:
    (directory / "vocab.txt").write_bytes(b"")
    return "is unusable"


@pytest.mark.parametrize("damage", [_no_directory, _no_vocabulary, _other_model, _empty_vocabulary])
def test_a_missing_or_damaged_model_is_logged_once_and_searches_use_the_postings(
    index: MakeIndex, directory: Path, caplog: pytest.LogCaptureFixture, damage: Callable[[Path], str]
) -> None:
    expected = [names(index(model=None), query) for query in QUERIES]
    damaged = index()
    message = damage(directory)

    assert [names(damaged, query) for query in QUERIES] == expected
    (record,) = [each for each in caplog.records if each.levelno == ERROR]
    assert MODEL_VARIABLE in record.getMessage()
    assert message in record.getMessage()


def test_a_file_that_is_no_model_is_logged(index: MakeIndex, directory: Path, caplog: pytest.LogCaptureFixture) -> None:
    (directory / "model.onnx").write_bytes(b"\x08\x08not a model")
    index_of_it = index()
    sha = sha256((directory / "model.onnx").read_bytes()).hexdigest()
    content = embed(catalogue(ALL), ConceptEmbedder(sha), None).text.encode()
    index_of_it._load_postings = lambda: content

    assert names(index_of_it, "remove memo")
    assert "is unusable" in caplog.text


@pytest.mark.parametrize("package", ["numpy", "onnxruntime", "tokenizers"])
def test_a_missing_package_is_logged_with_the_command_that_installs_it(
    index: MakeIndex, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch, package: str
) -> None:
    without = index()
    monkeypatch.setitem(sys.modules, package, None)

    assert names(without, "remove memo")
    assert package in caplog.text
    assert 'pip install "toolmason[semantic]"' in caplog.text


def test_tools_in_another_language_keep_their_words(index: MakeIndex, caplog: pytest.LogCaptureFixture) -> None:
    tools = {"brief": "Einen Brief versenden", "notiz": "Eine Notiz schreiben", "wetter": "Wettervorhersage anzeigen"}
    with caplog.at_level(WARNING):
        assert names(index(tools), "Brief versenden")[0] == "brief"
    assert "not in the language of the model" in caplog.text


@pytest.mark.parametrize(
    "query", ["supprimer remarque", "удалить заметку", "メモを削除", "löschen memo", "elimina promemoria memo"]
)
def test_a_query_in_another_language_is_searched_without_the_model(index: MakeIndex, query: str) -> None:
    assert names(index(), query) == names(index(model=None), query)


def test_without_the_variable_no_package_of_a_model_is_imported(
    index: MakeIndex, monkeypatch: pytest.MonkeyPatch
) -> None:
    imported: list[str] = []
    monkeypatch.setattr("toolmason_runtime.shared.search.query_model.importlib.import_module", imported.append)

    names(index(model=None), "remove memo")
    assert not imported


@pytest.mark.parametrize(
    ("text", "share"),
    [("Find a table", 1.0), ("Eine Tabelle finden", 0.0), ("", 1.0), ("of the 12 34", 1.0), ("table Tabelle", 0.5)],
)
def test_the_share_of_known_words(text: str, share: float) -> None:
    assert known_share([text], {"find", "table"}.__contains__) == share
