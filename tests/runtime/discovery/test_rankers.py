"""`[discovery] ranker`: another ranking, from a module that is imported at the first search of a running server."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Mapping
from math import inf, nan
from pathlib import Path
from typing import Any

import pytest
from quiet_context import QuietContext
from toolmason_runtime.protocol.catalogue import Catalogue, ToolEntry
from toolmason_runtime.search.index import ToolIndex
from toolmason_runtime.search.rankers import Ranker, load_ranker
from toolmason_runtime.server.dispatch import Dispatcher

from toolmason.catalogue.search_index import build_index

FUSION = """
from pathlib import Path

Path(__file__).with_name("imported").touch()


class ShortNames:
    def __init__(self, words, tools):
        self.words, self.tools = words, tools

    def rank(self, query):
        scores = {name: 1 / len(name) for name in self.tools}
        return scores | {name: 1 + score for name, score in self.words.rank(query).items()}


def short_names(words, tools):
    return ShortNames(words, tools)
"""


@pytest.fixture
def module(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A module `fusion`, which creates a file `imported` beside itself."""
    path = tmp_path / "fusion.py"
    path.write_text(FUSION, encoding="utf-8")
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.delitem(sys.modules, "fusion", raising=False)
    return path


async def search(catalogue: Catalogue, spec: str, query: str, before: Callable[[], None] = lambda: None) -> Any:
    """Ask a server whose manifest names the ranker `spec`; `before` is called once it lists its tools."""
    catalogue["discovery"]["ranker"] = spec
    dispatcher = Dispatcher(catalogue, load_index=lambda: dict(build_index(catalogue)))
    await dispatcher.dispatch("tools/list", {}, QuietContext())
    before()
    return await dispatcher.dispatch("tools/call", {"name": "search", "arguments": {"query": query}}, QuietContext())


@pytest.mark.anyio
async def test_a_server_imports_its_ranker_at_the_first_search(catalogue: Catalogue, module: Path) -> None:
    imported: list[bool] = []
    mark = module.with_name("imported")
    result = await search(
        catalogue, "fusion:short_names", "save my changes", before=lambda: imported.append(mark.exists())
    )

    names = [tool["tool_name"] for tool in json.loads(result["content"][0]["text"])["results"]]
    assert (imported, mark.exists()) == ([False], True)
    assert names[0] == "git_commit", "ranked by its words"
    assert names[-1] != "purge_mailbox", "a ranker orders visible tools only"
    assert {"git_log", "git_diff"} <= set(names), "ranked by the length of their names"


@pytest.mark.anyio
@pytest.mark.parametrize("spec", ["no_such_module:make", "fusion:no_such_function"])
@pytest.mark.usefixtures("module")
async def test_a_ranker_that_cannot_be_imported_fails_the_search_and_not_the_server(
    catalogue: Catalogue, spec: str
) -> None:
    result = await search(catalogue, spec, "save my changes")

    assert result["isError"]
    assert "search" in result["content"][0]["text"]


class ByLength:
    """A ranker that ignores words."""

    def rank(self, query: str) -> Mapping[str, float]:
        return {"git_diff": 1.0, "write_file": 2.0 + len(query), "fax": -1.0, "unheard_of": 9.0}


def by_length(words: Ranker, tools: Mapping[str, ToolEntry]) -> Ranker:
    assert words.rank("commit")["git_commit"] > 0
    assert "git_diff" in tools
    return ByLength()


def test_another_ranker_replaces_the_ranking_by_words(catalogue: Catalogue) -> None:
    index = ToolIndex(catalogue, catalogue["tools"], lambda: build_index(catalogue), ranker=by_length)

    hits = [(hit.name, hit.reason) for hit in index.search("something to keep")]
    assert hits[:2] == [("write_file", "words"), ("git_diff", "words")]
    assert {reason for _, reason in hits[2:]} <= {"spelling"}
    assert index.search("git log")[0].name == "git_log"


@pytest.mark.parametrize(
    "spec",
    ["", "fusion", ":make", "fusion:", "fusion:no_such_function", "no_such_module:make", "..fusion:make"],
)
@pytest.mark.usefixtures("module")
def test_an_invalid_ranker_is_reported(spec: str) -> None:
    with pytest.raises(ValueError, match="ranker"):
        load_ranker(spec)


@pytest.mark.parametrize("source", ["1 / 0", "def (", "short_names = 3"])
def test_a_module_that_fails_is_reported_as_an_invalid_ranker(module: Path, source: str) -> None:
    module.write_text(source, encoding="utf-8")
    with pytest.raises(ValueError, match="ranker `fusion:short_names`"):
        load_ranker("fusion:short_names")


def test_a_score_that_is_not_finite_is_not_a_match(catalogue: Catalogue) -> None:
    class Odd:
        def rank(self, query: str) -> Mapping[str, float]:
            return {"git_diff": nan, "write_file": float(len(query)), "unheard_of": inf}

    index = ToolIndex(catalogue, catalogue["tools"], lambda: build_index(catalogue), ranker=lambda *_: Odd())
    assert [hit.name for hit in index.search("something to keep") if hit.reason == "words"] == ["write_file"]
