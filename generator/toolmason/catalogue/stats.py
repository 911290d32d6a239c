"""What a server's tools cost a model: bytes and tokens of each tool, and of each way to list them."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from toolmason_runtime.discovery import style_for
from toolmason_runtime.protocol.catalogue import Catalogue, WireTool
from toolmason_runtime.protocol.selection import STYLES, Selection
from toolmason_runtime.protocol.tokens import estimate_tokens

from toolmason.catalogue.table import catalogue
from toolmason.model.server import Server


@dataclass(frozen=True, slots=True)
class Cost:
    """What something costs where it is listed: UTF-8 bytes on the wire and estimated tokens of the same JSON."""

    name: str
    size: int
    tokens: int


@dataclass(frozen=True, slots=True)
class StyleCost:
    """What `tools/list` of one style costs. `tools` counts what it lists, meta-tools included."""

    style: str
    tools: int
    size: int
    tokens: int


@dataclass(frozen=True, slots=True)
class Stats:
    """The costs of every enabled tool, in the order of the manifest, and of every style, that of the server first."""

    tools: tuple[Cost, ...]
    styles: tuple[StyleCost, ...]


def stats(served: Catalogue) -> Stats:
    """Measure a server. Styles are measured with the tools of tier `core`, as served without `--all`."""
    tools = {name: _cost(entry["tool"]) for name, entry in served["tools"].items() if entry.get("enabled", True)}
    styles = []
    for style in sorted(STYLES, key=lambda each: each != served["discovery"]["style"]):
        # `dict` for the index: listing reads none.
        listed = style_for(served, Selection(style), dict).listed()
        costs = [_cost(tool) for tool in listed]
        # Between tools stands a comma, which tokenizers join to the braces around it.
        size = sum(each.size for each in costs) + len(costs) + 1
        styles.append(StyleCost(style, len(listed), size, sum(each.tokens for each in costs)))
    return Stats(tuple(tools.values()), tuple(styles))


def _wire(value: WireTool) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def _size(text: str) -> int:
    # Half a character is three bytes too: a measurement is no place to refuse it.
    return len(text.encode("utf-8", "surrogatepass"))


def _cost(tool: WireTool) -> Cost:
    # Clients keep `_meta` to themselves: no model reads it.
    read = {key: value for key, value in tool.items() if key != "_meta"}
    return Cost(tool["name"], _size(_wire(tool)), estimate_tokens(_wire(read)))


def report_stats(server: Server) -> str:
    """Write the measurements as two tables: tools, dearest first, then styles with their share of the full list."""
    measured = stats(catalogue(server))
    dearest = sorted(measured.tools, key=lambda each: -each.tokens)
    whole = Cost("all tools", sum(each.size for each in dearest), sum(each.tokens for each in dearest))
    average = Cost("average", whole.size // max(1, len(dearest)), whole.tokens // max(1, len(dearest)))
    tools = [(each.name, f"{each.size:,}", f"{each.tokens:,}") for each in (*dearest, whole, average)]
    full = next(each for each in measured.styles if each.style == "classic")
    styles = [
        (
            f"{each.style}{' (this server)' if each.style == server.discovery.style else ''}",
            f"{each.tools:,}",
            f"{each.size:,}",
            f"{each.tokens:,}",
            f"{each.tokens / full.tokens:.0%}" if full.tokens else "-",
        )
        for each in measured.styles
    ]
    return (
        f"{_table(('tool', 'bytes', 'tokens'), tools)}\n"
        f"{_table(('style', 'listed', 'bytes', 'tokens', 'of full list'), styles)}\n"
        "Tokens are estimated; tokenizers differ, some count up to twice as many.\n"
    )


def _table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Align `rows` under `head`, the first column to the left and numbers to the right."""
    lines = [head, *rows]
    widths = [max(len(line[column]) for line in lines) for column in range(len(head))]
    return "".join(
        "  ".join(
            cell.ljust(width) if column == 0 else cell.rjust(width)
            for column, (cell, width) in enumerate(zip(line, widths, strict=True))
        ).rstrip()
        + "\n"
        for line in lines
    )
