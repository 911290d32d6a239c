"""The cost of the tools: tokens by category and client."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from toolmason.catalogue.pictures import cost_chart
from toolmason.catalogue.stats import Cost, CostMeter, StyleCost, client_costs, stats
from toolmason.pictures.bars import Amounts, BarChart, Part, bar_chart
from toolmason.pictures.heat_map import Count, HeatMap, heat_map
from toolmason.pictures.labels import short_number
from toolmason.report.subject import Subject

MAX_ROWS: Final = 24
"""Maximum categories in the table of clients; the rest is one row."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Costs:
    """Tokens of the tools, of the list that clients get, and of each client."""

    tools: Mapping[str, Cost]
    listed: Cost
    """The cost of `tools/list`; its `name` is empty."""
    listed_count: int
    clients: Mapping[str, int]
    """Tokens that each client sends for the list."""
    grid: Mapping[str, Mapping[str, int]]
    """Tokens that each client would send for all tools of a category."""
    styles: tuple[StyleCost, ...]
    """The costs in each style; empty for another server."""
    category_chart: BarChart
    client_chart: BarChart
    grid_map: HeatMap | None
    """None with one category: the chart of the clients has the same numbers."""

    @property
    def total(self) -> int:
        """The tokens of all tools."""
        return sum(cost.tokens for cost in self.tools.values())


def costs(subject: Subject) -> Costs:
    """Return the costs of a server."""
    meter = CostMeter()
    own = {tool["name"]: meter.cost_of(tool) for tool in subject.tools}
    listed = [meter.cost_of(tool) for tool in subject.listed]
    sent = client_costs(subject.listed, server=subject.name, instructions=subject.instructions)
    by_category: dict[str, list[str]] = {}
    for name in own:
        by_category.setdefault(subject.categories[name], []).append(name)
    tokens = {category: sum(own[name].tokens for name in names) for category, names in by_category.items()}
    by_category = {category: by_category[category] for category in sorted(tokens, key=lambda key: -tokens[key])}
    grid = _grid(subject, by_category)
    return Costs(
        tools=own,
        listed=Cost("", sum(cost.size for cost in listed), sum(cost.tokens for cost in listed)),
        listed_count=len(listed),
        clients=sent,
        grid=grid,
        styles=stats(subject.table).styles if subject.server else (),
        category_chart=cost_chart(own.values(), subject.categories),
        client_chart=bar_chart(
            "Tokens that clients send for the listed tools",
            [Amounts(title, (Part("plain", tokens, "tokens"),), f"{tokens:,}") for title, tokens in sent.items()],
        ),
        grid_map=_grid_map(grid) if len(grid) > 1 else None,
    )


def _grid(subject: Subject, by_category: Mapping[str, list[str]]) -> dict[str, Mapping[str, int]]:
    """Return the tokens by category and client. The last categories, beyond `MAX_ROWS`, are one row."""
    tools = {tool["name"]: tool for tool in subject.tools}

    def sent(names: list[str]) -> Mapping[str, int]:
        return client_costs([tools[name] for name in names], server=subject.name, instructions="")

    if len(by_category) <= MAX_ROWS:
        return {category: sent(names) for category, names in by_category.items()}
    rows = list(by_category.items())
    rest = rows[MAX_ROWS - 1 :]
    shown = {category: sent(names) for category, names in rows[: MAX_ROWS - 1]}
    return {**shown, f"({len(rest):,} more)": sent([name for _, names in rest for name in names])}


def _grid_map(grid: Mapping[str, Mapping[str, int]]) -> HeatMap:
    columns = list(dict.fromkeys(client for row in grid.values() for client in row))
    largest = max((tokens for row in grid.values() for tokens in row.values()), default=0) or 1
    counts = (
        Count(
            row=y,
            column=x,
            text=short_number(grid[category][client]),
            title=f"{category} in {client}: {grid[category][client]:,} tokens",
            kind="amount",
            share=grid[category][client] / largest,
        )
        for y, category in enumerate(grid)
        for x, client in enumerate(columns)
        if client in grid[category]
    )
    return heat_map("Tokens of all tools by category and client", list(grid), columns, counts, is_vertical=False)
