"""`toolmason eval`: recall, misses, look-alike tools, and the errors of a file of queries."""

from __future__ import annotations

import json
import math
import re
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import Result
from hypothesis import given
from hypothesis import strategies as st

from toolmason.evaluation.matrix import MAX_ROWS, NOTHING, OTHERS, category_matrix, tool_matrix
from toolmason.evaluation.measure import Evaluation, Outcome
from toolmason.evaluation.measure import evaluate as measure
from toolmason.evaluation.queries import Query

Evaluate = Callable[..., Result]
QUERIES = """\
[queries]
find_notes = ["find notes with a text", "xylophone", "memo titled budget"]
list_notes = ["list notes"]
rename_note = ["memo with another heading"]
find_mail = ["find notes in my letters", "find notes from Ada in letters"]
send_mail = ["post something", "list notes"]
"""


def names(count: int) -> list[str]:
    return [f"tool_{number}" for number in range(count)]


# Measures


@given(st.lists(st.sampled_from(names(12)), unique=True), st.sets(st.sampled_from(names(12)), min_size=1))
def test_recall_grows_with_the_number_of_results(hits: list[str], wanted: set[str]) -> None:
    outcome = Outcome(Query("text", tuple(sorted(wanted))), tuple(hits), "category")
    recalls = [outcome.recall(top) for top in range(1, 14)]

    assert recalls == sorted(recalls)
    assert math.isclose(recalls[-1], len(wanted & set(hits)) / len(wanted))
    assert outcome.wanted in wanted
    assert outcome.in_the_way not in wanted


def test_recall_is_the_mean_share_of_a_querys_tools() -> None:
    queries = [Query("both", ("a", "b")), Query("one", ("c",))]
    result = measure(queries, lambda _text: ["a", "c", "b"], {"a": "x", "b": "x", "c": "y"}, top=2)

    assert dict(result.total.recall) == {1: 0.25, 2: 0.75, 3: 1, 5: 1, 10: 1}
    assert [(score.name, score.queries, score.misses) for score in result.categories] == [("x", 1, 1), ("y", 1, 0)]


# The report


def test_text_has_recall_misses_and_the_tool_in_the_way(evaluate: Evaluate) -> None:
    result = evaluate(QUERIES, "--top", "1")

    assert result.exit_code == 0, result.output
    table = result.stdout.partition("\n\n")[0]
    assert [line.split()[:2] for line in table.splitlines()] == [
        ["category", "queries"],
        ["all", "8"],
        ["notes", "5"],
        ["mail", "3"],
        ["@N:", "recall,"],
    ]
    assert "    xylophone: find_notes (not found), nothing found\n" in result.stdout
    assert "\nqueries without a result: 2\n" in result.stdout
    assert "find notes in my letters: find_notes before find_mail\n" in result.stdout


def test_json_has_everything(evaluate: Evaluate) -> None:
    report = json.loads(evaluate(QUERIES, "--format", "json").stdout)

    assert (report["file"], report["top"]) == ("queries.toml", 5)
    assert list(report["total"]["recall"]) == ["1", "3", "5", "10"]
    assert sum(score["queries"] for score in report["categories"].values()) == report["total"]["queries"] == 8
    assert sum(cell["queries"] for cell in report["confusion"]) == 8
    (miss,) = [miss for miss in report["misses"] if miss["query"] == "xylophone"]
    assert miss == {"query": "xylophone", "category": "notes", "ranks": {"find_notes": None}, "in_the_way": None}


def test_a_pair_is_confused_by_two_texts_and_gets_proposals(evaluate: Evaluate) -> None:
    pairs = json.loads(evaluate(QUERIES, "--format", "json").stdout)["look_alikes"]

    (pair,) = [pair for pair in pairs if pair["tools"] == ["find_notes", "find_mail"]]
    assert {text["wanted"] for text in pair["texts"]} == {"find_mail"}
    assert pair["words"] == {"find_notes": ["notes"], "find_mail": ["letters", "mail"]}
    assert all(len(pair["texts"]) >= 2 for pair in pairs)
    assert "explain in the description of `find_notes` when to use `find_mail` instead" in pair["proposals"]


def test_proposals_name_missing_and_weak_words_and_the_difference(evaluate: Evaluate) -> None:
    queries = """\
[queries]
archive_letter = ["archive a box of letters", "stow something in the archive box"]
archive_box = ["letter in the archive", "store letters in an archive that displays them"]
"""
    pairs = json.loads(evaluate(queries, "--format", "json").stdout)["look_alikes"]

    (pair,) = [pair for pair in pairs if pair["tools"] == ["archive_letter", "archive_box"]]
    starts = "of `archive_letter` with `letter`, `store` and that of `archive_box` with `box`, `show`"
    assert pair["proposals"] == [
        "add `box`, `stow`, `something` to the keywords of `archive_letter` if users search for that",
        "add `store` to the keywords of `archive_box` if users search for that",
        "also use `displays` in the summary or keywords of `archive_box`",
        f"both names or summaries contain `archive`: begin the summary {starts}",
        "explain in the description of `archive_letter` when to use `archive_box` instead",
    ]


def test_min_recall_fails_below_and_passes_at_the_recall(evaluate: Evaluate) -> None:
    queries = '[queries]\nlist_notes = ["list notes", "xylophone"]\n'
    failed = evaluate(queries, "--min-recall", "0.51")

    assert (failed.exit_code, failed.stderr) == (1, "recall@5 is 0.5000, below --min-recall 0.51\n")
    assert evaluate(queries, "--min-recall", "0.5").exit_code == 0


def test_no_module_that_the_manifest_names_is_imported(
    evaluate: Evaluate, desk: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.syspath_prepend(desk)
    manifest = desk / "manifest.toml"
    ranker = '[discovery]\nranker = "ending_ranking:make"\n'
    manifest.write_text(manifest.read_text(encoding="utf-8") + ranker, encoding="utf-8")
    handlers = desk / "handlers" / "desk_handlers"
    handlers.mkdir(parents=True)
    tools = re.findall(r"\[tools\.(\w+)\]", manifest.read_text(encoding="utf-8"))
    functions = (f"async def {name}(params, call): ...\n" for name in (*tools, "make"))
    text = "raise SystemExit('imported')\n" + "".join(functions)
    for path in (handlers / "__init__.py", handlers / "desk.py", desk / "ending_ranking.py"):
        path.write_text(text, encoding="utf-8")

    assert evaluate(QUERIES).exit_code == 0
    assert not {"desk_handlers", "ending_ranking"} & set(sys.modules)


RANKER = """\
class Backwards:
    def __init__(self, words):
        self.words = words

    def rank(self, query):
        return {name: 1 / score for name, score in self.words.rank(query).items()}


def make(words, tools):
    assert "old_mail" not in tools
    return Backwards(words)
"""


def test_a_ranker_of_the_command_line_ranks(evaluate: Evaluate, desk: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(desk)
    (desk / "backwards_ranking.py").write_text(RANKER, encoding="utf-8")
    queries = '[queries]\nfind_notes = ["notes that mention a text or a budget"]\n'

    assert "all             1  1.00" in evaluate(queries).stdout
    assert "all             1  0.00" in evaluate(queries, "--ranker", "backwards_ranking:make").stdout


@pytest.mark.parametrize("spec", ["backwards", "no_such_module:make", "json:no_such_function"])
def test_a_ranker_that_cannot_be_imported_is_a_wrong_command_line(evaluate: Evaluate, spec: str) -> None:
    result = evaluate(QUERIES, "--ranker", spec)

    assert (result.exit_code, result.stdout) == (2, "")
    assert spec in result.stderr


# Errors


@pytest.mark.parametrize(
    ("queries", "code", "words"),
    [
        ("[queries]\nfind_note = ['x']", "TM305", "unknown tool `find_note`|did you mean `find_notes`?"),
        ("[queries]\nold_mail = ['x']", "TM322", "`old_mail` has queries but is disabled"),
        ("[queries]\nfind_notes = 'x'", "TM204", "must be an array, not a string"),
        ("[queries]\nfind_notes = ['x', 'x']", "TM322", "`find_notes` has the query `x` twice"),
        ("[queries]\nfind_notes = [' ']", "TM209", "a query of `find_notes` is empty"),
        ("[queries]\nfind_notes = []", "TM209", "there are no queries"),
        ("[query]\nfind_notes = ['x']", "TM203", "did you mean `queries`?"),
        ("[queries\n", "TM103", "queries.toml:1:9"),
    ],
    ids=lambda value: value if value.startswith("TM") else "",
)
def test_an_error_of_the_file_has_its_place(evaluate: Evaluate, queries: str, code: str, words: str) -> None:
    result = evaluate(queries)

    assert (result.exit_code, result.stdout) == (1, "")
    assert all(part in result.stderr for part in ("queries.toml:", f"error[{code}]", *words.split("|"))), result.stderr


def test_a_missing_file_is_a_wrong_command_line(evaluate: Evaluate, desk: Path) -> None:
    assert evaluate(QUERIES, "--html", "missing/page.html").exit_code == 2
    assert evaluate(QUERIES, "--html", str(desk)).exit_code == 2


# The matrices


def test_a_matrix_has_columns_for_other_tools_and_for_nothing() -> None:
    tools = dict.fromkeys(names(MAX_ROWS + 2), "all")
    *confused, rare, _unused = tools
    confusion = {(name, confused[0]): 2 for name in confused} | {(confused[0], rare): 1, (confused[0], ""): 1}
    matrix = tool_matrix(confusion, tools)

    assert matrix.columns == (*confused, OTHERS, NOTHING)
    assert matrix.counts[confused[0], OTHERS] == matrix.counts[confused[0], NOTHING] == 1
    assert matrix.share(confused[0], confused[0]) == 0.5
    assert category_matrix(confusion, tools).columns == ("all", NOTHING)


def test_a_search_without_an_error_has_no_matrix_of_tools() -> None:
    assert tool_matrix({("a", "a"): 3}, {"a": "x"}).rows == ()
    assert Evaluation((), 5).misses == ()
