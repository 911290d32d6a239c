"""Search words that `import openapi` adds: what people say for the words of a document."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from toolmason_runtime.shared.search.text import stem, terms

from toolmason.importers.design.english import singular
from toolmason.importers.openapi.keywords import MAX_KEYWORDS, add_keywords
from toolmason.importers.openapi.synonyms import FIELDS, NOUNS, VERBS

OTHER = {f"rotate_wheel_{number}": "Rotate a wheel" for number in range(9)}


def keywords(**summaries: str) -> dict[str, list[str]]:
    """Return the keywords of tools by their names."""
    tools: dict[str, dict[str, Any]] = {name: {"summary": summary} for name, summary in summaries.items()}
    add_keywords(tools, {name: name for name in tools})
    return {name: entry.get("keywords", []) for name, entry in tools.items()}


@pytest.mark.parametrize(
    ("name", "summary", "expected"),
    [
        ("create_issue", "Create an issue", {"make", "new", "problem"}),
        ("delete_members", "Removes people from a group", {"erase"}),
        ("list_invoices", "Lists all invoices", {"show", "bill"}),
        ("retrieve_repo", "Retrieves a repository", {"show", "project"}),
        ("kick_user", "Kicks a user", {"throw", "somebody"}),
        ("get_health", "Health", {"alive", "working"}),
        ("cancel_shipments", "Shipments", {"stop", "parcel"}),
    ],
)
def test_words_of_name_and_summary_have_everyday_synonyms(name: str, summary: str, expected: set[str]) -> None:
    assert expected <= set(keywords(**{name: summary}, **OTHER)[name])


@pytest.mark.parametrize(
    ("name", "summary"),
    [("book", "A book"), ("get_book", "Get a book"), ("list_orders", "Orders"), ("get_post", "Get a post")],
)
def test_a_noun_has_no_synonyms_of_the_verb(name: str, summary: str) -> None:
    verb = singular(name.rpartition("_")[2])

    assert set(VERBS.get(verb, ())).isdisjoint(keywords(**{name: summary}, **OTHER)[name])


def test_words_of_a_field_need_others_of_the_field() -> None:
    parcels = keywords(track_parcel="Track a parcel", list_shows="List trade shows", **OTHER)
    music = keywords(get_track="Get a track", list_albums="List the albums of an artist", **OTHER)

    assert not {"song", "podcast"} & {word for words in parcels.values() for word in words}
    assert "song" in music["get_track"]
    assert {"record", "band"} <= set(music["list_albums"])


def test_keywords_do_not_change_when_the_document_grows() -> None:
    before = keywords(get_order="Get an order", delete_order="Delete an order")
    after = keywords(get_order="Get an order", delete_order="Delete an order", **OTHER, get_item="Get an item")

    assert {name: after[name] for name in before} == before


def test_keywords_come_after_the_texts() -> None:
    tools: dict[str, dict[str, Any]] = {
        "create_order": {"summary": "Create an order", "category": "orders", "api": "shop", "params": {}},
        "get_wheel": {"summary": "Get a wheel"},
    }

    add_keywords(tools, {name: name for name in tools})

    assert list(tools["create_order"]) == ["summary", "category", "keywords", "api", "params"]


HEADS = sorted({*VERBS, *NOUNS, *(head for table in FIELDS for head in table)})


@given(st.lists(st.lists(st.sampled_from(HEADS), min_size=1, max_size=5), min_size=1, max_size=6))
def test_each_keyword_is_new_to_its_tool(tools: list[list[str]]) -> None:
    summaries = {f"{'_'.join(parts)}_{number}": " ".join(parts) for number, parts in enumerate(tools)}

    for name, words in keywords(**summaries).items():
        own = set(terms(f"{name} {summaries[name]}"))
        assert len(words) <= MAX_KEYWORDS
        assert own.isdisjoint(map(stem, words))
        assert len({stem(word) for word in words}) == len(words)


@pytest.mark.parametrize("table", [VERBS, NOUNS, *FIELDS])
def test_synonyms_are_single_words_in_lower_case(table: dict[str, tuple[str, ...]]) -> None:
    for head, words in table.items():
        assert words, head
        assert all(word.isascii() and word.isalpha() and word.islower() for word in (head, *words)), head
