"""Pictures of a catalogue: the tokens and the effects of the tools by category."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Final

from toolmason_runtime.shared.specs.program import Risk

from toolmason.catalogue.effects import Effect
from toolmason.catalogue.stats import Cost
from toolmason.pictures.bars import Amounts, BarChart, Part, bar_chart

NOUNS: Final = {Risk.READ: "only read", Risk.WRITE: "write", Risk.DESTRUCTIVE: "may destroy"}
"""The legend of each risk."""


def cost_chart(costs: Iterable[Cost], categories: Mapping[str, str], *, digits: int | None = None) -> BarChart:
    """Return the tokens of the tools of each category, the largest first; of one category, those of its tools.

    Args:
        costs: the costs of tools.
        categories: the category of each tool.
        digits: significant digits of the numbers, so that small changes of texts leave the picture as it is.
    """
    own = [(categories[cost.name], cost) for cost in costs]
    names = dict.fromkeys(name for name, _ in own)
    tokens: Counter[str] = Counter()
    for name, cost in own:
        tokens[name if len(names) > 1 else cost.name] += cost.tokens
    rows = sorted(((rounded(count, digits), name) for name, count in tokens.items()), key=lambda row: -row[0])
    noun = "category" if len(names) > 1 else "tool"
    return bar_chart(
        f"Tokens of the tools by {noun}",
        [Amounts(name, (Part("plain", count, "tokens"),), f"{count:,}") for count, name in rows],
    )


def rounded(number: int, digits: int | None) -> int:
    """Return a number with this many significant digits; the number itself for None."""
    return number if digits is None or not number else int(round(number, digits - len(str(number))))


def effect_chart(effects: Mapping[str, Effect], categories: Mapping[str, str]) -> BarChart:
    """Return the numbers of tools of each category by their greatest risk, in the order of the categories."""
    counts: dict[str, Counter[Risk]] = {}
    for name, effect in effects.items():
        counts.setdefault(categories[name], Counter())[effect.risk] += 1
    return bar_chart(
        "Tools by category and effect",
        [
            Amounts(name, tuple(Part(risk, own[risk], noun) for risk, noun in NOUNS.items()), f"{own.total():,}")
            for name, own in counts.items()
        ],
        NOUNS.items(),
    )
