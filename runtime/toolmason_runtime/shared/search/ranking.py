"""Rank the visible tools of a server for a query. Imported at the first search.

Hits are ranked by kind of match: a tool with that name, a few tools whose text contains the query literally, tools with
words of the query (BM25F), then, if these are few, tools with similarly spelled words. A better kind ranks first and
never hides the others. A query about something else has no hits, but the nearest words.
"""

from __future__ import annotations

import logging
import os
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from functools import cached_property, partial
from itertools import compress, islice
from pathlib import Path
from typing import Final

from toolmason_runtime.shared.built_in import BUILT_IN
from toolmason_runtime.shared.catalogue import Catalogue, ToolEntry, command_line
from toolmason_runtime.shared.opening import POSTINGS
from toolmason_runtime.shared.search.best import BestFirst
from toolmason_runtime.shared.search.clauses import lines_of, parts_of
from toolmason_runtime.shared.search.hits import Hit, Hits, PartHits, Reason
from toolmason_runtime.shared.search.literal import ToolTexts
from toolmason_runtime.shared.search.postings import SemanticPostings, damage_text, open_postings
from toolmason_runtime.shared.search.query_model import (
    MIN_KNOWN,
    MODEL_VARIABLE,
    QueryMeaning,
    QueryModelError,
    known_share,
    load_query_meaning,
)
from toolmason_runtime.shared.search.rankers import Ranker, RankerFactory
from toolmason_runtime.shared.search.servers import Servers
from toolmason_runtime.shared.search.text import bigrams, fold, normalize_name, stem, terms, words
from toolmason_runtime.shared.search.words import SearchData, WordRanker

SMALL_CATALOGUE = 12
"""Number of tools up to which every search with a match and without a filter returns all of them, ranked."""
MAX_SPELLING_FILL = 10
"""Maximum tools for a query whose words all have typing errors. With fewer matching tools, some are added."""
MAX_SPELLING_AFTER_MATCH = 2
"""Maximum number of such tools after tools that match: few of them are meant, and each costs the model tokens."""
MAX_MEANING_HITS = 3
"""Maximum tools for a query without a word of any tool: similar meaning alone is more often wrong than right."""
MAX_NEAREST_WORDS = 5
"""Maximum words that are offered instead of those of a query without a match."""
MAX_LITERAL_HITS = 5
"""Maximum number of literal hits. A phrase that more tools contain gives none."""
MAX_NAME_LENGTH = 200
"""Characters of a name that are compared with the names of all tools; the rest is ignored."""
MAX_PART_HITS = 10
"""Maximum tools for each part of a request for several tools."""
MIN_LITERAL_LENGTH = 3
"""Minimum characters of a query that is searched literally."""
MAX_QUERY_LENGTH = 2000
"""Characters of a query that are searched, about 300 words; the rest is ignored: a search blocks other calls."""

_log: Final = logging.getLogger(__name__)
_BUILT_IN_WORDS: Final = {name: set(words(name)) for name in BUILT_IN}


class Ranking:
    """Ranks the visible tools of a catalogue. `ToolIndex` documents the public methods.

    Args:
        catalogue: all tools.
        tools: the visible ones.
        aliases: alias to the name of a visible tool.
        load_index: as in `ToolIndex`.
        load_postings: as in `ToolIndex`.
        ranker: as in `ToolIndex`.
    """

    def __init__(
        self,
        catalogue: Catalogue,
        tools: Mapping[str, ToolEntry],
        aliases: Mapping[str, str],
        load_index: Callable[[], SearchData],
        *,
        load_postings: Callable[[], bytes | SemanticPostings] | None,
        ranker: RankerFactory | None,
    ) -> None:
        self._catalogue = catalogue
        self._tools = tools
        self._aliases = aliases
        self._load = load_index
        self._load_postings = load_postings
        self._make_ranker = ranker

    def search(self, query: str = "", *, category: str = "", cli: str = "") -> Sequence[Hit]:
        """Implement `ToolIndex.search`."""
        candidates = self._candidates(category, cli)
        query = query[:MAX_QUERY_LENGTH]
        if not query.strip():
            return self.browse(candidates)
        hits = self._rank(query, candidates)
        if self._servers and isinstance(hits, Hits):
            hits = hits.arranged(self._servers, query)
        if candidates is not self._tools:
            return hits
        wanted, end = set(words(query)), normalize_name(query)
        named = [name for name, parts in _BUILT_IN_WORDS.items() if wanted >= parts]
        if not named:
            return hits
        first = [Hit(name, BUILT_IN[name], "name") for name in named if end.endswith(normalize_name(name))]
        last = [Hit(name, BUILT_IN[name], "name") for name in named if not end.endswith(normalize_name(name))]
        return [*first, *hits, *last]

    def browse(self, names: Iterable[str]) -> Sequence[Hit]:
        """Implement `ToolIndex.browse`."""
        tools = {name: self._tools[name] for name in names}
        hits = Hits(tools, list(tools), dict.fromkeys(tools, "browse"))
        return hits.merged(self._servers) if self._servers else hits

    def search_parts(self, request: str, *, category: str = "", cli: str = "") -> PartHits:
        """Implement `ToolIndex.search_parts`."""
        request = request[:MAX_QUERY_LENGTH]
        parts = parts_of(request)
        if len(parts) < 2:
            return PartHits(self.search(request, category=category, cli=cli), (), {})
        found = [self.search(part, category=category, cli=cli) for part in parts]
        has_lines = len(lines_of(request)) > 1
        whole = () if has_lines else self.search(request, category=category, cli=cli)[:MAX_PART_HITS]
        hits: dict[str, Hit] = {}
        places: dict[str, int] = {}
        rest = iter(whole)
        for rank in range(MAX_PART_HITS):
            for place, ranking in enumerate(found, 1):
                # The whole request has every other place.
                for hit in islice(rest, 1):
                    hits.setdefault(hit.identity, hit)
                if rank < len(ranking):
                    shown = hits.setdefault(ranking[rank].identity, ranking[rank])
                    places.setdefault(shown.name, place)
        return PartHits([*hits.values()], tuple(parts), places)

    def _candidates(self, category: str, cli: str) -> Mapping[str, ToolEntry]:
        if not (category.strip() or cli.strip()):
            return self._tools
        return {
            name: entry
            for name, entry in self._tools.items()
            if _matches(category, entry["category"]) and _matches(cli, command_line(entry))
        }

    def nearest(self, name: str, count: int = 3) -> list[str]:
        """Implement `ToolIndex.nearest`."""
        name = name[:MAX_NAME_LENGTH]
        own_bigrams, own_terms = bigrams(normalize_name(name)), set(terms(name))

        def similarity(tool: str) -> float:
            others = bigrams(normalize_name(tool))
            dice = 2 * len(own_bigrams & others) / (len(own_bigrams) + len(others))
            return dice + len(own_terms & set(terms(tool))) / 10

        return sorted(self._tools, key=similarity, reverse=True)[:count]

    def _rank(self, query: str, candidates: Mapping[str, ToolEntry]) -> Sequence[Hit]:
        """Return the matching candidates, best first, each with its kind of match."""
        if not normalize_name(query):
            return []
        by_words, first, score = self._by_words(query, candidates)
        if by_words and (combined := self._with_query_meaning(query)) is not None:
            by_words = BestFirst(self._sort(combined, candidates))
        reasons: dict[str, Reason] = dict.fromkeys(self._with_name(query), "name")
        if literal := self._literal_hits(query):
            for name in (*self._ranked(literal, query, by_words), *literal):
                reasons.setdefault(name, "literal")
        reasons = {name: reason for name, reason in reasons.items() if name in candidates}
        names = by_words.after([*reasons], self._ranked(reasons, query, by_words)) if reasons else by_words
        by_meaning: Sequence[str] = ()
        if names and not reasons and self._ranker is None:
            if not self._words.fits(query, first, score):
                names = BestFirst()
            elif not self._words.has_term(query):
                names, by_meaning = BestFirst(), names[:MAX_MEANING_HITS]
        has_match = bool(names)
        if len(names[:MAX_SPELLING_FILL]) == MAX_SPELLING_FILL and len(self._tools) > SMALL_CATALOGUE:
            return Hits(candidates, names, reasons)
        shown = [*names]
        if not has_match:
            meant = self._sort(self._words.scores_by_typing_errors(query), candidates)
            _append(shown, reasons, meant[:MAX_SPELLING_FILL], "spelling")
            if not meant:
                _append(shown, reasons, by_meaning, "meaning")
        elif len(shown) < MAX_SPELLING_FILL:
            similar = self._sort(self._words.scores_by_spelling(query), candidates)
            _append(shown, reasons, similar[:MAX_SPELLING_AFTER_MATCH], "spelling")
        # A filter wins: who names a category wants tools that also match the query.
        if has_match and candidates is self._tools and len(self._tools) <= SMALL_CATALOGUE:
            _append(shown, reasons, candidates, "rest")
        return Hits(candidates, shown, reasons)

    def nearest_words(self, query: str) -> list[str]:
        """Implement `ToolIndex.nearest_words`."""
        query = query[:MAX_QUERY_LENGTH]
        own_words = self._words_by_stem
        terms = (term for term in self._words.nearest_terms(query) if term in own_words)
        return [own_words[term] for term in islice(terms, MAX_NEAREST_WORDS)]

    @cached_property
    def _words_by_stem(self) -> dict[str, str]:
        """The shortest word of names, summaries, keywords and use cases for each term."""
        found: dict[str, str] = {}
        for entry in self._tools.values():
            texts = (entry["tool"]["name"], entry["summary"], *entry["keywords"], *entry["use_cases"])
            for word in words(" ".join(texts)):
                term = stem(word)
                found[term] = min(word, found.get(term, word), key=len)
        return found

    def others(self, query: str, *, category: str = "", cli: str = "") -> dict[str, int]:
        """Implement `ToolIndex.others`."""
        query, candidates = query[:MAX_QUERY_LENGTH], self._candidates(category, cli)
        if candidates is self._tools or not query.strip():
            return {}
        left_out = (hit for hit in self._rank(query, self._tools) if hit.name not in candidates)
        return dict(Counter(hit.entry["category"] for hit in left_out if hit.reason in {"name", "literal", "words"}))

    def _by_words(self, query: str, candidates: Mapping[str, ToolEntry]) -> tuple[BestFirst, int, float]:
        """Return the matching candidates, best first, and the position and the score of the first one, 0 for none."""
        if self._ranker is None and candidates is self._tools and (best := self._words.best(query, self._order)):
            score, first = best[0]
            head = [self._words.tools[position] for _, position in best]
            count = partial(self._words.count_matches, query, self._order)
            return BestFirst(head, count, lambda: self._sort(self._words.scores(query), candidates)), first, score
        scores = self._scores(query)
        names = self._sort(scores, candidates)
        first = self._position_of[names[0]] if names else 0
        return BestFirst(names), first, scores[first] if names else 0.0

    def _scores(self, query: str) -> Sequence[float]:
        """Return the scores of all tools of the index, in its order."""
        if self._ranker is None:
            return self._words.scores(query)
        scores = self._ranker.rank(query)
        return [max(0.0, scores.get(name, 0.0)) for name in self._words.tools]

    def _with_query_meaning(self, query: str) -> Sequence[float] | None:
        """Return the scores by words and by the meaning of the whole query; None without a model for queries."""
        if self._ranker is not None or self._query_meaning is None:
            return None
        if known_share([query], self._words.is_embedded) < MIN_KNOWN:
            return None
        by_meaning = self._query_meaning.scores(query)
        if not by_meaning:
            return None
        combined = self._words.scores_by_words(query)
        for name, score in by_meaning.items():
            if (position := self._position_of.get(name)) is not None:
                combined[position] += score
        return combined

    def _sort(self, scores: Sequence[float], candidates: Mapping[str, ToolEntry]) -> list[str]:
        """Return the matching candidates, best first; equal ones in the order of the manifest, deprecated ones last."""
        matching = compress(self._positions, map(scores.__getitem__, self._positions))
        names = self._words.tools
        ranked = [names[position] for position in sorted(matching, key=scores.__getitem__, reverse=True)]
        return ranked if candidates is self._tools else [name for name in ranked if name in candidates]

    @cached_property
    def _position_of(self) -> dict[str, int]:
        return {name: position for position, name in enumerate(self._words.tools)}

    @cached_property
    def _order(self) -> dict[int, int]:
        """The place of each visible tool among equal ones, by its position in the index."""
        return {position: place for place, position in enumerate(self._positions)}

    @cached_property
    def _positions(self) -> list[int]:
        """The positions of the visible tools in the index, deprecated ones last."""
        visible = [position for position, name in enumerate(self._words.tools) if name in self._tools]
        return sorted(visible, key=lambda position: "deprecated" in self._tools[self._words.tools[position]])

    @cached_property
    def _words(self) -> WordRanker:
        return WordRanker(self._data, self._postings)

    @cached_property
    def _data(self) -> SearchData:
        return self._load()

    @cached_property
    def _servers(self) -> Servers | None:
        return Servers.of(self._tools, lambda: self._data)

    @cached_property
    def _postings(self) -> SemanticPostings | None:
        """The postings; None without any, or if they are damaged, which is logged: words still find tools."""
        if self._load_postings is None:
            return None
        try:
            return open_postings(self._load_postings, self._catalogue["tools"])
        except (OSError, ValueError) as error:
            _log.error("%s", damage_text(POSTINGS, error))
            return None

    @cached_property
    def _query_meaning(self) -> QueryMeaning | None:
        """The model for queries; None without one, or if it is unusable, which is logged: postings still find tools."""
        directory = os.environ.get(MODEL_VARIABLE, "")
        if not directory or self._postings is None:
            return None
        if known_share((entry["summary"] for entry in self._tools.values()), self._words.is_embedded) < MIN_KNOWN:
            _log.warning("%s is ignored: the tools are not in the language of the model", MODEL_VARIABLE)
            return None
        try:
            return load_query_meaning(Path(directory), self._postings)
        except QueryModelError as error:
            _log.error("%s is unusable, so tools are found without it: %s", MODEL_VARIABLE, error)
            return None

    @cached_property
    def _ranker(self) -> Ranker | None:
        return self._make_ranker(self._words, self._tools) if self._make_ranker else None

    def _with_name(self, query: str) -> list[str]:
        """Return the tools whose name or alias is `query`, in any spelling, with or without a `server__` prefix."""
        exact = self._aliases.get(query.strip(), query.strip())
        if exact in self._tools:
            return [exact]
        names = self._normalized_names
        return names.get(normalize_name(query)) or names.get(normalize_name(query.rpartition("__")[2]), [])

    @cached_property
    def _normalized_names(self) -> dict[str, list[str]]:
        """Tools by the normal form of their names and aliases."""
        names: dict[str, list[str]] = {}
        for spelling, name in (*((name, name) for name in self._tools), *self._aliases.items()):
            names.setdefault(normalize_name(spelling), []).append(name)
        return names

    def _literal_hits(self, query: str) -> list[str]:
        """Return the tools whose text contains `query` literally, in the order of the manifest.

        Empty if they are more than `MAX_LITERAL_HITS` (for a single word: more than one), or if the name of another
        tool contains all words of the query. Tools of several servers are left out: one could contain many phrases.
        """
        phrase = fold(query)
        limit = MAX_LITERAL_HITS if " " in phrase else 1
        hits = self._texts.containing(phrase, limit + 1) if len(phrase) >= MIN_LITERAL_LENGTH else []
        if self._servers:
            hits = [name for name in hits if name not in self._servers.servers]
        if not hits or len(hits) > limit:
            return []
        has_named = any(name in self._tools for name in self._words.names_containing(query).difference(hits))
        return [] if has_named else hits

    def _ranked(self, names: Collection[str], query: str, by_words: BestFirst) -> list[str]:
        """Return those of `names` that are also in `by_words`, in its order."""
        if by_words.is_whole:
            return [name for name in by_words if name in names]
        positions = [self._position_of[name] for name in names]
        scores = dict(zip(positions, self._words.scores_of(query, positions), strict=True))
        matching = filter(scores.__getitem__, positions)
        ranked = sorted(matching, key=lambda position: (-scores[position], self._order[position]))
        return [self._words.tools[position] for position in ranked]

    @cached_property
    def _texts(self) -> ToolTexts:
        return ToolTexts(self._tools)


def _matches(filter_text: str, name: str) -> bool:
    return not filter_text.strip() or fold(filter_text) == fold(name)


def _append(names: list[str], reasons: dict[str, Reason], more: Iterable[str], reason: Reason) -> None:
    """Append the names of `more` that are not yet in `names`, with their reason."""
    new = [name for name in more if name not in names]
    names += new
    reasons |= dict.fromkeys(new, reason)
