"""Keywords of tools: everyday synonyms for the words of their names and summaries.

Searches index them. A model sees them only in lists that it requests.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from toolmason_runtime.shared.search.text import stem, terms, words

from toolmason.importers.design.english import ALSO_NOUNS, singular
from toolmason.importers.openapi.synonyms import FIELDS, NOUNS, VERBS, Words

MAX_KEYWORDS: Final = 12
"""Maximum keywords of a tool."""
MIN_HEADS: Final = 3
"""Minimum words of a table of `FIELDS` that a document must contain; otherwise the table does not apply."""
_TEXTS: Final = ("summary", "title", "description", "deprecated", "category")
"""Keys before `keywords` in the table of a tool."""


def add_keywords(tools: Mapping[str, dict[str, Any]], names: Mapping[str, str]) -> None:
    """Add `keywords` to the tables of tools. `names` are those of the document, not of the author."""
    texts = {tool: (names[tool], entry["summary"]) for tool, entry in tools.items()}
    own = {tool: [singular(word) for word in words(" ".join(pair))] for tool, pair in texts.items()}
    document = {word for each in own.values() for word in each}
    # A verb that is also an object of the document, such as a show, would lead to all tools that show something.
    objects = {singular(word) for pair in texts.values() for text in pair for word in words(text)[1:]}
    verbs = {head: tuple(word for word in found if word not in objects) for head, found in VERBS.items()}
    nouns = [*(table for table in FIELDS if len(document & table.keys()) >= MIN_HEADS), NOUNS]
    for tool, entry in tools.items():
        found: dict[str, str] = {}
        for word in _synonyms(own[tool], verbs, nouns, is_verb_first="_" in names[tool]):
            found.setdefault(stem(word), word)
        known = terms(f"{names[tool]} {entry.get('title', '')} {entry['summary']}")
        if kept := [word for term, word in found.items() if term not in known][:MAX_KEYWORDS]:
            rest = {key: entry.pop(key) for key in list(entry) if key not in _TEXTS}
            entry.update({"keywords": kept}, **rest)


def _synonyms(
    own: Sequence[str], verbs: Mapping[str, Words], nouns: Sequence[Mapping[str, Words]], *, is_verb_first: bool
) -> Iterator[str]:
    """Yield the synonyms of words. A verb such as `book` is a noun, unless it begins a name of several words."""
    for position, word in enumerate(dict.fromkeys(own)):
        if word not in ALSO_NOUNS or (is_verb_first and position == 0):
            yield from verbs.get(word, ())
        for table in nouns:
            yield from table.get(word, ())
