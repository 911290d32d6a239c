"""The everyday phrases of `manifest/eval/everyday.toml`: enough of them, and not in the words of the tools."""

from __future__ import annotations

import tomllib
from collections import Counter
from pathlib import Path

import pytest
from toolmason_runtime.search.text import terms

from workbench_server.catalogue import CATALOGUE

ROOT = Path(__file__).parents[2]
LARGE_CATEGORY = 6
"""Number of tools from which a category is large: files, editing, research and git, two thirds of all tools."""
MIN_PHRASES = 60
MIN_SHARE_OF_OTHER_WORDS = 1 / 3

TOOLS = CATALOGUE["tools"]
SIZES = Counter(entry["category"] for entry in TOOLS.values())
LARGE = sorted(category for category, count in SIZES.items() if count >= LARGE_CATEGORY)
QUERIES = tomllib.loads((ROOT / "manifest" / "eval" / "everyday.toml").read_text("utf-8"))["queries"]
PHRASES = {text: [name for name in QUERIES if text in QUERIES[name]] for texts in QUERIES.values() for text in texts}


def in_category(category: str) -> list[str]:
    return [text for text, names in PHRASES.items() if TOOLS[names[0]]["category"] == category]


def shares_a_stem(text: str) -> bool:
    own = (terms(f"{name} {TOOLS[name]['summary']}") for name in PHRASES[text])
    return not set().union(*own).isdisjoint(terms(text))


def test_every_tool_has_a_phrase() -> None:
    assert {name for names in PHRASES.values() for name in names} == set(TOOLS)


@pytest.mark.parametrize("category", LARGE)
def test_a_large_category_has_sixty_phrases(category: str) -> None:
    assert len(in_category(category)) >= MIN_PHRASES


@pytest.mark.parametrize("category", LARGE)
def test_a_third_of_the_phrases_share_no_stem_with_name_or_summary(category: str) -> None:
    phrases = in_category(category)
    others = [text for text in phrases if not shares_a_stem(text)]

    assert len(others) >= MIN_SHARE_OF_OTHER_WORDS * len(phrases)
