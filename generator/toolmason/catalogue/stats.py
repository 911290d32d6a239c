"""The cost of a server's tools in bytes and tokens: of each tool, and of `tools/list` in each style."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from hashlib import sha256
from typing import Any

from toolmason_runtime.shared.catalogue import Catalogue, WireTool
from toolmason_runtime.shared.search.postings import SemanticPostings
from toolmason_runtime.shared.search.query_model import MIN_KNOWN, known_share
from toolmason_runtime.shared.selection import Selection
from toolmason_runtime.shared.styles import CLASSIC, STYLES
from toolmason_runtime.shared.tokens import estimate_tokens
from toolmason_runtime.toolkit import style_for

from toolmason.catalogue.blocks import Blocks, one_block
from toolmason.catalogue.table import catalogue
from toolmason.catalogue.tools_field import tools_field_of
from toolmason.clients import clients
from toolmason.model.server import Server
from toolmason.store import Store

_Identity = tuple[tuple[str, int], ...]


@dataclass(frozen=True, slots=True)
class Cost:
    """Cost of a tool: its size on the wire in bytes (UTF-8) and its estimated tokens."""

    name: str
    size: int
    tokens: int


@dataclass(frozen=True, slots=True)
class StyleCost:
    """Cost of `tools/list` in one style. `tools` is the number of listed tools, meta-tools included."""

    style: str
    tools: int
    size: int
    tokens: int


@dataclass(frozen=True, slots=True)
class Stats:
    """Costs of the enabled tools in the order of the manifest, and of the styles, the server's own first."""

    tools: tuple[Cost, ...]
    styles: tuple[StyleCost, ...]


def stats(table: Catalogue, store: Store | None = None, blocks: Blocks = one_block) -> Stats:
    """Return the costs of a server. Those of styles are for tools of tier `core`, as served without `--all`.

    `store` has the token counts of texts of earlier runs, and `blocks` may return costs of tools of earlier runs.
    """
    meter = CostMeter(store)
    entries = table["tools"]

    def costs_of_heads(names: Sequence[str]) -> list[tuple[int, int]]:
        return [meter.cost_of_head(entries[name]["tool"]) for name in names]

    for names, costs in blocks("costs", tuple(entries), costs_of_heads):
        for name, (size, tokens) in zip(names, costs, strict=True):
            meter.add(entries[name]["tool"], size, tokens)
    tools = {name: meter.cost_of(entry["tool"]) for name, entry in entries.items() if entry.get("enabled", True)}
    styles = []
    index = None
    for style in sorted(STYLES, key=lambda style: style != table["discovery"]["style"]):
        # `dict` replaces the search index, which listing does not use.
        served = style_for(table, Selection(style), dict, index=index)
        index, listed = served.index, served.listed()
        costs = [meter.cost_of(tool) for tool in listed]
        # Commas and brackets have one byte each; tokenizers join commas to the braces around them.
        size = sum(cost.size for cost in costs) + len(costs) + 1
        styles.append(StyleCost(style, len(listed), size, sum(cost.tokens for cost in costs)))
    return Stats(tuple(tools.values()), tuple(styles))


class CostMeter:
    """Computes the costs of tools.

    Styles list the same tool, some with other annotations or another `_meta`. So the cost of its head, the members
    before the annotations, is computed once for all styles.
    """

    def __init__(self, store: Store | None = None) -> None:
        self._store = store
        self._tokens_of: dict[str, int] = {}
        self._heads: dict[_Identity, tuple[int, int]] = {}
        self._tails: dict[str, tuple[int, int]] = {}

    def add(self, tool: WireTool, size: int, tokens: int) -> None:
        """Add the known cost of the head of a tool.

        The tool must exist as long as this object: its values are identified by their `id`.
        """
        self._heads[_identity(_split(tool)[0])] = size, tokens

    def cost_of(self, tool: WireTool) -> Cost:
        """Return the cost of a tool."""
        head, tail = _split(tool)
        size, tokens = self._heads.get(_identity(head)) or self._cost_of_head(head, tail)
        if tail:
            tail_size, tail_tokens = self._cost_of_tail(tail)
            size += tail_size
            tokens += tail_tokens
        # Clients do not show `_meta` to models. The joined object has one comma more than its two parts, and one pair
        # of braces less.
        size += _size(_to_wire({"_meta": tool["_meta"]})) - 1 if "_meta" in tool else 0
        return Cost(tool["name"], size, tokens)

    def cost_of_head(self, tool: WireTool) -> tuple[int, int]:
        """Return the size and the tokens of the head of a tool."""
        return self._cost_of_head(*_split(tool))

    def _cost_of_head(self, head: Mapping[str, Any], tail: Mapping[str, Any]) -> tuple[int, int]:
        # Counting both parts separately gives the same sum: no token of the estimate contains both a quote and the
        # following word.
        text = f'{_to_wire(head)[:-1]},"' if tail else _to_wire(head)
        return _size(text), self._tokens(text)

    def _cost_of_tail(self, tail: Mapping[str, Any]) -> tuple[int, int]:
        key = repr(tail)  # Most tools have one of a few combinations of annotations.
        if key not in self._tails:
            text = _to_wire(tail)[2:]
            self._tails[key] = _size(text), self._tokens(text)
        return self._tails[key]

    def _tokens(self, text: str) -> int:
        """Return the tokens of a text, counted once."""
        tokens = self._tokens_of.get(text)
        if tokens is None:
            store = self._store
            key = "" if store is None else f"tokens {sha256(text.encode('utf-8', 'surrogatepass')).hexdigest()}"
            stored = None if store is None else store.get(key)
            tokens = self._tokens_of[text] = estimate_tokens(text) if stored is None else int(stored)
            if store is not None and stored is None:
                store[key] = str(tokens)
        return tokens


def _split(tool: WireTool) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return the members of a tool before its annotations, and the rest without `_meta`. One may be empty."""
    head: dict[str, Any] = {}
    tail: dict[str, Any] = {}
    part = head
    for key, value in tool.items():
        if key == "annotations" and head:
            part = tail
        if key != "_meta":
            part[key] = value
    return head, tail


def _identity(members: Mapping[str, Any]) -> _Identity:
    """Return a key for these objects: hashing their content takes longer."""
    return tuple((key, id(value)) for key, value in members.items())


def _size(text: str) -> int:
    # An unpaired surrogate counts three bytes; reporting it is not the job of a measurement.
    return len(text.encode("utf-8", "surrogatepass"))


def _to_wire(value: Mapping[str, Any] | Sequence[Any]) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def listed_tools(table: Catalogue) -> Sequence[WireTool]:
    """Return the tools in `tools/list` of a server in its style."""
    return list(style_for(table, Selection(table["discovery"]["style"]), dict).listed())


def client_costs(listed: Sequence[WireTool], *, server: str, instructions: str) -> dict[str, int]:
    """Return the tokens of the field `tools` that each client sends for `listed`, by the title of the client."""
    fields = {
        client.title: tools_field_of(client, listed, server=server, instructions=instructions)
        for client in clients().values()
    }
    return {title: estimate_tokens(_to_wire(sent)) for title, sent in fields.items() if sent}


def report_stats(server: Server) -> str:
    """Return tables: tools by decreasing cost, styles with their share of the full list, tokens sent by clients.

    `as declared` is the cost of a tool if its schema were sent as the manifest declares it.
    """
    table = catalogue(server)
    measured = stats(table)
    costs = sorted(measured.tools, key=lambda cost: -cost.tokens)
    total = Cost("all tools", sum(cost.size for cost in costs), sum(cost.tokens for cost in costs))
    average = Cost("average", total.size // max(1, len(costs)), total.tokens // max(1, len(costs)))
    declared = _declared_tokens(server, costs)
    tools = [
        (cost.name, f"{cost.size:,}", f"{cost.tokens:,}", f"{tokens:,}")
        for cost, tokens in zip((*costs, total, average), declared, strict=True)
    ]
    classic = next(cost for cost in measured.styles if cost.style == CLASSIC)
    styles = [
        (
            f"{cost.style}{' (this server)' if cost.style == server.discovery.style else ''}",
            f"{cost.tools:,}",
            f"{cost.size:,}",
            f"{cost.tokens:,}",
            f"{cost.tokens / classic.tokens:.0%}" if classic.tokens else "-",
        )
        for cost in measured.styles
    ]
    return (
        f"{_table(('tool', 'bytes', 'tokens', 'as declared'), tools)}\n"
        f"{_table(('style', 'listed', 'bytes', 'tokens', 'of full list'), styles)}\n"
        f"{_table(('client', 'tokens sent to the model'), _client_rows(server, table))}\n"
        "Tokens are estimates; some tokenizers count up to twice as many.\n"
        f"{_search_line(server, table)}"
    )


def _search_line(server: Server, table: Catalogue) -> str:
    """Return how searches find tools; empty without postings."""
    if not server.postings:
        return ""
    postings = SemanticPostings(server.postings.encode())
    summaries = (entry["summary"] for entry in table["tools"].values() if entry.get("enabled", True))
    known = known_share(summaries, lambda word: postings.best(word) is not None)
    means = "words and meaning" if known >= MIN_KNOWN else "words"
    return f"Searches find tools by {means}: the model knows {known:.0%} of the words of the summaries.\n"


def _client_rows(server: Server, table: Catalogue) -> list[tuple[str, str]]:
    """Return the tokens of the field `tools` of each client in the server's style."""
    costs = client_costs(listed_tools(table), server=server.table.name, instructions=server.instructions)
    return [(title, f"{tokens:,}") for title, tokens in costs.items()]


def _declared_tokens(server: Server, costs: Sequence[Cost]) -> list[int]:
    """Return the tokens of each tool with the schema of the manifest, then their sum and average."""
    schemas = {tool.name: (tool.input_schema, tool.schema) for tool in server.tools}
    tokens = []
    for cost in costs:
        sent, declared = (estimate_tokens(_to_wire(schema)) for schema in schemas[cost.name])
        tokens.append(cost.tokens - sent + declared)
    return [*tokens, sum(tokens), sum(tokens) // max(1, len(tokens))]


def _table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Return `rows` below `head`, with the first column left-aligned and the others right-aligned."""
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
