"""The results of `toolmason eval` as text and as JSON."""

from __future__ import annotations

import json
import textwrap
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Any, Final

from toolmason.audit.output import visible
from toolmason.evaluation.look_alikes import LookAlikes
from toolmason.evaluation.measure import Evaluation, Outcome, Score
from toolmason.evaluation.suggest import Miss, Suggestion, Suggestions

MAX_MISSES: Final = 20
"""Maximum misses in text; JSON and HTML have all."""
MAX_PAIRS: Final = 5
"""Maximum look-alike pairs in text; JSON and HTML have all."""
MAX_CATEGORIES: Final = 30
"""Maximum categories in text; JSON and HTML have all."""
MAX_CHARS: Final = 80
"""Maximum characters of a query in text."""
MAX_TEXTS: Final = 3
"""Maximum queries and use cases of a pair in text."""


@dataclass(frozen=True, slots=True)
class Results:
    """The evaluation of a file of queries, named `source` in reports, and the tools that the search confuses."""

    source: str
    evaluation: Evaluation
    look_alikes: tuple[LookAlikes, ...]
    suggestions: Suggestions | None = None
    """None without `--suggest`."""

    @property
    def confusion(self) -> Counter[tuple[str, str]]:
        """The number of queries by wanted tool and first hit, which is empty if there is none."""
        return Counter((outcome.wanted, outcome.first) for outcome in self.evaluation.outcomes)


def text_report(results: Results) -> Iterator[str]:
    """Yield the lines of the report."""
    evaluation = results.evaluation
    yield from _table([evaluation.total, *evaluation.categories[:MAX_CATEGORIES]])
    yield from _rest(len(evaluation.categories), MAX_CATEGORIES, indent="")
    yield "@N: recall, the share of wanted tools among the first N results"
    if evaluation.total.empty:
        yield f"\nqueries without a result: {evaluation.total.empty}"
    if evaluation.misses:
        yield f"\nmisses: {len(evaluation.misses)}, with a wanted tool not among the first {evaluation.top} results"
        shown = evaluation.misses[:MAX_MISSES]
        for category, misses in groupby(shown, key=lambda outcome: outcome.category):
            yield f"  {category}"
            yield from (f"    {_miss(outcome, evaluation.top)}" for outcome in misses)
        yield from _rest(len(evaluation.misses), MAX_MISSES)
    if results.look_alikes:
        yield f"\nlook-alike pairs: {len(results.look_alikes)}"
        for pair in results.look_alikes[:MAX_PAIRS]:
            yield from _pair(pair)
        yield from _rest(len(results.look_alikes), MAX_PAIRS)
    if results.suggestions is not None:
        yield from _suggestions(results.suggestions, evaluation)


def _table(scores: Sequence[Score]) -> Iterator[str]:
    width = max(len("category"), *(len(score.name) for score in scores))
    depths = "".join(f"@{top}".rjust(6) for top in scores[0].recall)
    yield f"{'category':{width}}  queries{depths}  misses"
    for score in scores:
        recall = "".join(f"{share:6.2f}" for share in score.recall.values())
        yield f"{score.name:{width}}  {score.queries:7}{recall}  {score.misses:6}"


def missed_tools(outcome: Outcome, top: int) -> Iterator[str]:
    """Yield the tools of a query that are not among the first `top` hits, with their rank."""
    for tool in outcome.query.tools:
        rank = outcome.rank(tool)
        if rank is None or rank > top:
            yield f"{tool} ({_rank(rank)})"


def _miss(outcome: Outcome, top: int) -> str:
    missed = ", ".join(missed_tools(outcome, top))
    return f"{_short(outcome.query.text)}: {missed}, {_instead(outcome.in_the_way)}"


def _pair(pair: LookAlikes) -> Iterator[str]:
    yield f"  {pair.tools[0]}, {pair.tools[1]}"
    for confusion in pair.confusions[:MAX_TEXTS]:
        yield f"    {_short(confusion.text)}: {confusion.first} before {confusion.wanted}"
    yield from _rest(len(pair.confusions), MAX_TEXTS, indent="    ")
    for tool, words in zip(pair.tools, pair.words, strict=True):
        if words:
            yield f"    only {tool}: {', '.join(words)}"
    yield from (f"    - {proposal}" for proposal in pair.proposals)


def _suggestions(found: Suggestions, evaluation: Evaluation) -> Iterator[str]:
    missed = found.repaired + len(found.unrepaired)
    if not missed:
        yield "\nsuggestions: there are no misses"
        return
    before, after = (part.total.recall[evaluation.top] for part in (evaluation, found.after))
    yield (
        f"\nsuggestions: {len(found.suggestions)}, which find {found.repaired} of {missed} missed tools; "
        f"recall@{evaluation.top} with all of them: {after:.2f} instead of {before:.2f}"
    )
    for suggestion in found.suggestions:
        yield f"  {describe_change(suggestion)}"
        yield from (
            f"    {_short(repair.miss.query.text)}: rank {repair.rank}, before {_before(repair.miss)}"
            for repair in suggestion.repairs
        )
    if found.suggestions:
        yield "each was tried alone and with those above it, with all queries: no query loses a tool"
    if found.unrepaired:
        yield "without a suggestion: each change that was tried fails, or another query loses its tool"
        yield from (
            f"    {_short(miss.query.text)}: {miss.tool} ({_rank(miss.rank)}), {_instead(miss.in_the_way)}"
            for miss in found.unrepaired
        )


def describe_change(suggestion: Suggestion) -> str:
    """Return the change of a suggestion as an instruction."""
    change = suggestion.change
    texts = ", ".join(json.dumps(text, ensure_ascii=False) for text in change.texts)
    return visible(f"{change.tool}: add {texts} to `{change.key}`")


def _before(miss: Miss) -> str:
    return f"{_rank(miss.rank)}, {_instead(miss.in_the_way)}"


def _rank(rank: int | None) -> str:
    return f"rank {rank}" if rank else "not found"


def _instead(tool: str) -> str:
    return f"instead {tool}" if tool else "nothing found"


def _short(text: str) -> str:
    return textwrap.shorten(visible(text), MAX_CHARS, placeholder=" ...")


def _rest(count: int, shown: int, indent: str = "  ") -> Iterator[str]:
    if count > shown:
        yield f"{indent}{count - shown} more; --format json and --html show all"


def json_report(results: Results) -> dict[str, Any]:
    """Return the report as JSON."""
    evaluation = results.evaluation
    return {
        "file": results.source,
        "top": evaluation.top,
        "total": _score(evaluation.total),
        "categories": {score.name: _score(score) for score in evaluation.categories},
        "misses": [
            {
                "query": outcome.query.text,
                "category": outcome.category,
                "ranks": {tool: outcome.rank(tool) for tool in outcome.query.tools},
                "in_the_way": outcome.in_the_way or None,
            }
            for outcome in evaluation.misses
        ],
        "look_alikes": [
            {
                "tools": list(pair.tools),
                "texts": [
                    {"text": confusion.text, "wanted": confusion.wanted, "first": confusion.first}
                    for confusion in pair.confusions
                ],
                "proposals": list(pair.proposals),
                "words": {tool: list(words) for tool, words in zip(pair.tools, pair.words, strict=True)},
            }
            for pair in results.look_alikes
        ],
        "confusion": [
            {"wanted": wanted, "first": first or None, "queries": count}
            for (wanted, first), count in sorted(results.confusion.items())
        ],
        **({} if results.suggestions is None else {"suggestions": _suggestions_json(results.suggestions)}),
    }


def _suggestions_json(found: Suggestions) -> dict[str, Any]:
    return {
        "changes": [
            {
                "tool": suggestion.change.tool,
                "key": suggestion.change.key,
                "add": list(suggestion.change.texts),
                "repairs": [{**_miss_json(repair.miss), "rank_after": repair.rank} for repair in suggestion.repairs],
            }
            for suggestion in found.suggestions
        ],
        "without": [_miss_json(miss) for miss in found.unrepaired],
        "total": _score(found.after.total),
    }


def _miss_json(miss: Miss) -> dict[str, Any]:
    return {"query": miss.query.text, "tool": miss.tool, "rank": miss.rank, "in_the_way": miss.in_the_way or None}


def _score(score: Score) -> dict[str, Any]:
    return {
        "queries": score.queries,
        "recall": {str(top): round(share, 4) for top, share in score.recall.items()},
        "misses": score.misses,
        "empty": score.empty,
    }
