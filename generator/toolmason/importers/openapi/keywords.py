"""Search words that a document does not contain: what people say for the words of its operations.

They are indexed; a model reads them only in lists that it asks for.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from toolmason_runtime.shared.search.text import stem, terms, words

from toolmason.importers.openapi.english import ALSO_NOUNS, singular
from toolmason.importers.openapi.synonyms import FIELDS, NOUNS, VERBS, Words

MAX_KEYWORDS: Final = 12
"""Maximum keywords of a tool."""
MIN_HEADS: Final = 3
"""Words of a field that a document must have, so that it is about the field."""
MAX_SHARE: Final = 0.5
"""Maximum share of tools with a keyword: one of most tools distinguishes none."""

_TEXTS: Final = ("summary", "title", "description", "deprecated", "category")
"""Keys before `keywords` in the table of a tool."""


def add_keywords(tools: Mapping[str, dict[str, Any]]) -> None:
    """Add `keywords` to the tables of tools."""
    own = {name: [singular(word) for word in words(f"{name} {entry['summary']}")] for name, entry in tools.items()}
    document = {word for each in own.values() for word in each}
    tables = [VERBS, *(table for table in FIELDS if len(document & table.keys()) >= MIN_HEADS), NOUNS]
    found = {name: _new_synonyms(name, entry, own[name], tables) for name, entry in tools.items()}
    counts = Counter(term for synonyms in found.values() for term in synonyms)
    for name, synonyms in found.items():
        kept = [word for term, word in synonyms.items() if counts[term] <= MAX_SHARE * max(len(tools), 2)]
        if kept:
            entry = tools[name]
            rest = {key: entry.pop(key) for key in list(entry) if key not in _TEXTS}
            entry |= {"keywords": kept[:MAX_KEYWORDS]} | rest


def _new_synonyms(
    name: str, entry: Mapping[str, Any], own: Sequence[str], tables: Sequence[Mapping[str, Words]]
) -> dict[str, str]:
    """Return the synonyms by stem, without words of name, title and summary."""
    known = set(terms(f"{name} {entry.get('title', '')} {entry['summary']}"))
    found: dict[str, str] = {}
    for word in _synonyms(name, own, tables):
        if stem(word) not in known:
            found.setdefault(stem(word), word)
    return found


def _synonyms(name: str, own: Sequence[str], tables: Sequence[Mapping[str, Words]]) -> Iterator[str]:
    """Yield the synonyms of words. A verb such as `book` is a noun, unless it begins a name of several words."""
    is_name_verb = "_" in name
    for position, word in enumerate(dict.fromkeys(own)):
        is_noun = word in ALSO_NOUNS and (position > 0 or not is_name_verb)
        for table in tables:
            if not (is_noun and table is VERBS):
                yield from table.get(word, ())
