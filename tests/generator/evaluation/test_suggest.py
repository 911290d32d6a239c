"""`toolmason eval --suggest`: the smallest change for each miss, which loses no query."""

from __future__ import annotations

import json
import tomllib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from click.testing import Result
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from toolmason_runtime.shared.catalogue import Catalogue

from toolmason.catalogue.tool_index import index_of
from toolmason.evaluation.changes import Change, Changes, description_changes, manifest_changes
from toolmason.evaluation.measure import Evaluation, evaluate
from toolmason.evaluation.other_server import catalogue_of
from toolmason.evaluation.queries import Query
from toolmason.evaluation.suggest import Suggestions, suggest

Evaluate = Callable[..., Result]
NOUNS = ("note", "letter", "parcel", "folder", "invoice", "label")
VERBS = ("find", "send", "open", "delete", "print", "count")
WORDS = (*NOUNS, *VERBS, "memo", "stamp", "drop", "Ada", "17", "\u624b\u7d19", "it's", "report.md")


def report(result: Result) -> dict[str, Any]:
    assert result.exit_code == 0, result.output
    found: dict[str, Any] = json.loads(result.stdout)
    return found


def search_in(catalogue: Catalogue) -> Callable[[str], list[tuple[str, ...]]]:
    index = index_of(catalogue)
    return lambda text: [hit.tools for hit in index.search(text)]


def measured(catalogue: Catalogue, queries: list[Query], top: int) -> Evaluation:
    categories = {name: entry["category"] for name, entry in catalogue["tools"].items()}
    return evaluate(queries, search_in(catalogue), categories, top=top)


def suggested(catalogue: Catalogue, queries: list[Query], changes: Changes, top: int = 1) -> Suggestions:
    return suggest(measured(catalogue, queries, top), catalogue, search_in, changes)


def tools(*rows: tuple[str, str]) -> Catalogue:
    return catalogue_of([{"name": name, "description": text} for name, text in rows])


# Properties


@st.composite
def catalogues(draw: st.DrawFn) -> tuple[Catalogue, list[Query]]:
    names = draw(st.lists(st.tuples(st.sampled_from(VERBS), st.sampled_from(NOUNS)), min_size=2, unique=True))
    catalogue = tools(*((f"{verb}_{noun}", f"{verb.title()} a {noun}") for verb, noun in names))
    for entry in catalogue["tools"].values():
        entry["keywords"] = draw(st.lists(st.sampled_from(WORDS), max_size=2))
    texts = draw(st.lists(st.lists(st.sampled_from(WORDS), min_size=1, max_size=4), min_size=1, max_size=8))
    wanted = st.lists(st.sampled_from(list(catalogue["tools"])), min_size=1, max_size=2, unique=True)
    queries = {" ".join(words): tuple(draw(wanted)) for words in texts}
    return catalogue, [Query(text, names) for text, names in queries.items()]


@settings(deadline=None, max_examples=60, suppress_health_check=[HealthCheck.too_slow])
@given(catalogues(), st.sampled_from([manifest_changes, description_changes]), st.integers(1, 3))
def test_no_change_loses_a_query_alone_or_with_all_others(
    given_: tuple[Catalogue, list[Query]], changes: Changes, top: int
) -> None:
    catalogue, queries = given_
    found = suggested(catalogue, queries, changes, top)

    def hits(catalogue: Catalogue) -> set[tuple[str, str]]:
        return {
            (outcome.query.text, tool)
            for outcome in measured(catalogue, queries, top).outcomes
            for tool in outcome.query.tools
            if tool in outcome.hits[:top]
        }

    before = hits(catalogue)
    everything = catalogue
    for suggestion in found.suggestions:
        alone = hits(suggestion.change.apply(catalogue))
        assert before < alone
        assert (suggestion.repairs[0].miss.query.text, suggestion.change.tool) in alone
        everything = suggestion.change.apply(everything)
    after = hits(everything)
    repaired = {(repair.miss.query.text, repair.miss.tool) for each in found.suggestions for repair in each.repairs}
    assert after == before | repaired
    assert repaired.isdisjoint(before)
    wanted = {(query.text, tool) for query in queries for tool in query.tools}
    assert wanted - after == {(miss.query.text, miss.tool) for miss in found.unrepaired}


# Changes


def test_a_keyword_is_the_first_change_and_the_rarest_word_the_first_keyword() -> None:
    catalogue = tools(("cancel_order", "Cancel an order"), ("get_order", "Show an order"))
    changes = [*manifest_changes("please undo my order", "cancel_order", catalogue)]

    assert changes[0] == Change("cancel_order", "keywords", ("undo",))
    assert changes[-1] == Change("cancel_order", "use_cases", ("please undo my order",))
    kinds = dict.fromkeys((change.key, len(change.texts)) for change in changes)
    assert list(kinds) == [("keywords", 1), ("summary", 1), ("keywords", 2), ("use_cases", 1)]


def test_a_word_that_is_a_keyword_already_is_tried_in_the_summary_where_it_has_room() -> None:
    catalogue = tools(("cancel_order", "Cancel an order"))
    entry = catalogue["tools"]["cancel_order"]
    entry["keywords"] = ["undo"]
    change = next(manifest_changes("undo", "cancel_order", catalogue))

    assert change == Change("cancel_order", "summary", ("undo",))
    assert change.apply(catalogue)["tools"]["cancel_order"]["summary"] == "Cancel an order undo"
    assert entry["summary"] == "Cancel an order"
    entry["summary"] = "x" * 79
    assert [change.key for change in manifest_changes("undo", "cancel_order", catalogue)] == ["use_cases"]


def test_one_change_may_repair_several_misses() -> None:
    catalogue = tools(("cancel_order", "Cancel an order"), ("get_order", "Show the order with its undo history"))
    queries = [Query(text, ("cancel_order",)) for text in ("undo an order", "undo the order 17")]
    [suggestion] = suggested(catalogue, queries, manifest_changes).suggestions

    assert suggestion.change == Change("cancel_order", "keywords", ("undo",))
    assert [repair.miss.query for repair in suggestion.repairs] == queries


def test_a_query_of_two_tools_that_wants_both_first_has_no_suggestion() -> None:
    catalogue = tools(("cancel_order", "Cancel an order"), ("get_order", "Show an order"))
    found = suggested(catalogue, [Query("cancel", ("cancel_order", "get_order"))], manifest_changes)

    assert found.suggestions == ()
    assert [(miss.tool, miss.in_the_way) for miss in found.unrepaired] == [("get_order", "")]


# The command


def test_applied_to_the_manifest_the_suggestions_are_true(evaluate: Evaluate, desk: Path) -> None:
    queries = """\
[queries]
find_notes = ["xylophone", "memo titled budget"]
rename_note = ["memo with another heading"]
find_mail = ["find notes in my letters"]
send_mail = ["post something"]
"""
    before = report(evaluate(queries, "--top", "1", "--suggest", "--format", "json"))
    suggestions = before["suggestions"]
    assert {change["key"] for change in suggestions["changes"]} <= {"keywords", "summary", "use_cases"}

    text = (desk / "manifest.toml").read_text(encoding="utf-8")
    for change in suggestions["changes"]:
        table = tomllib.loads(text)["tools"][change["tool"]]
        old, added = table.get(change["key"], []), change["add"]
        assert change["key"] != "summary"
        line = f"{change['key']} = {json.dumps([*old, *added])}"
        head, start, rest = text.partition(f"[tools.{change['tool']}]\n")
        rest = rest.replace(f"{change['key']} = {json.dumps(old)}\n", "", 1) if old else rest
        text = f"{head}{start}{line}\n{rest}"
    (desk / "manifest.toml").write_text(text, encoding="utf-8")
    after = report(evaluate(queries, "--top", "1", "--format", "json"))

    assert after["total"] == suggestions["total"]
    assert len(after["misses"]) == len(suggestions["without"])
    assert before["total"]["misses"] > after["total"]["misses"]
    assert "suggestions" not in after


def test_text_has_the_change_the_rank_and_the_tool_in_its_place(evaluate: Evaluate) -> None:
    queries = '[queries]\nfind_mail = ["find notes in my letters"]\nfind_notes = ["find notes in a folder"]\n'
    output = evaluate(queries, "--top", "1", "--suggest").stdout

    assert "find_mail: add " in output
    assert "    find notes in my letters: rank 1, before rank 4, instead find_notes\n" in output
    assert "each was tried alone and with those above it, with all queries: no query loses a tool\n" in output


def test_without_a_miss_there_is_nothing_to_suggest(evaluate: Evaluate) -> None:
    result = evaluate('[queries]\nlist_notes = ["list notes"]\n', "--suggest")

    assert result.exit_code == 0
    assert result.stdout.endswith("suggestions: there are no misses\n")


@pytest.mark.parametrize(
    "text", ["\u624b\u7d19\u7684\u6a19\u984c", "\U0001f4ec", "?!", "x" * 3000, 'tab\there "quoted"']
)
def test_unusual_queries_have_a_suggestion_or_none(evaluate: Evaluate, text: str) -> None:
    queries = f"[queries]\nfind_mail = [{json.dumps(text, ensure_ascii=False)}]\n"
    suggestions = report(evaluate(queries, "--suggest", "--format", "json"))["suggestions"]

    assert len(suggestions["without"]) + sum(len(each["repairs"]) for each in suggestions["changes"]) == 1
