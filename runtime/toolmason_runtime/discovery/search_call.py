"""The default style, after `climax_search` and `climax_call`: one tool finds, one runs what was found.

An answer holds the argument schemas of as many first hits as its budget allows, so that finding and running take two
calls. Hidden tools do not answer to their own names.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from toolmason_runtime.discovery.annotations import LOOKS_UP, is_read_only, joint_hints
from toolmason_runtime.discovery.answers import Result, answer, cost, failure, fitting, shortened
from toolmason_runtime.discovery.meta_tools import (
    MetaStyle,
    MetaTool,
    Run,
    Served,
    call_meta,
    call_parameters,
    deprecation_note,
    overview,
)
from toolmason_runtime.discovery.parameters import Parameter
from toolmason_runtime.protocol.catalogue import ToolEntry
from toolmason_runtime.search.index import Group, Hit, ToolIndex, command_line

FRAME = 90
"""Tokens kept free for what stands around the results."""
NAMED_TOKENS = 20
"""Most tokens of the names of tools that are run in another way than most of an answer."""
MAX_DESCRIPTION_LENGTH = 1200
"""Characters of a description beyond which even the room that is left over is not spent on it."""

SEARCH_PARAMETERS = {
    "query": Parameter(),
    "category": Parameter(),
    "cli": Parameter(),
    "limit": Parameter(type="integer", default=10, minimum=1),
    "offset": Parameter(type="integer", default=0, minimum=0),
}


def search_call(served: Served) -> MetaStyle:
    """Make the style: `search`, `call` and, where the manifest splits calls, `call_read`."""
    discovery = served.catalogue["discovery"]
    search, call, call_read = (discovery["prefix"] + name for name in ("search", "call", "call_read"))
    runners = _Runners(call, call_read if discovery["split_calls"] else call)
    metas = [
        _Search(served, search, runners).meta(),
        call_meta(served, call, "args", description="Run a found tool; args fit input_schema"),
    ]
    if discovery["split_calls"]:
        metas.append(_call_read(served, call_read, call))
    return MetaStyle(served, metas, runner=runners.of)


@dataclass(frozen=True, slots=True)
class _Runners:
    """The meta-tools that run what was found: `each` runs any tool, `reading` those that are read-only."""

    each: str
    reading: str

    def of(self, entry: ToolEntry) -> str:
        return self.reading if is_read_only(entry) else self.each

    def said(self, entries: Sequence[ToolEntry]) -> str:
        """Say what runs each of `entries`, which are some; the fewer are named, if that is short."""
        names: dict[str, list[str]] = {}
        for entry in entries:
            names.setdefault(self.of(entry), []).append(entry["tool"]["name"])
        if len(names) == 1:
            return f"Run with {next(iter(names))}."
        most, least = sorted((self.reading, self.each), key=lambda runner: -len(names[runner]))
        exceptions = ", ".join(names[least])
        if cost(exceptions) > NAMED_TOKENS:
            return f"Run with {self.reading}; what it refuses, with {self.each}."
        return f"Run with {most}, but {exceptions} with {least}."


def _call_read(served: Served, name: str, other: str) -> MetaTool:
    """Make the meta-tool that runs only what changes nothing: clients may then run it unasked."""

    async def run_reading(values: dict[str, Any], run: Run) -> Result:
        entry = served.tool(values["tool_name"])
        if not is_read_only(entry):
            return failure(f"`{entry['tool']['name']}` is not read-only: run it with `{other}`.")
        return await run(entry["tool"]["name"], values["args"] or {})

    reading = [entry for entry in served.index.tools.values() if is_read_only(entry)]
    about = f"Like {other}, for read-only tools"
    return MetaTool(name, about, call_parameters("args"), joint_hints(reading), run_reading)


class _Search:
    """The meta-tool that finds."""

    def __init__(self, served: Served, name: str, runners: _Runners) -> None:
        self._served = served
        self._name = name
        self._runners = runners

    def meta(self) -> MetaTool:
        about = f"Find tools and arguments. {overview(self._index)}"
        return MetaTool(self._name, about, SEARCH_PARAMETERS, LOOKS_UP, self._answer)

    @cached_property
    def _index(self) -> ToolIndex:
        return self._served.index

    @property
    def _budget(self) -> int:
        return self._served.catalogue["discovery"]["page_tokens"] - FRAME

    async def _answer(self, values: dict[str, Any], run: Run) -> Result:  # noqa: ARG002  it runs no tool
        query, category, cli = (values[key] or "" for key in ("query", "category", "cli"))
        if not (query.strip() or category.strip() or cli.strip()):
            return answer(self._summary(values["limit"], values["offset"]))
        hits = self._index.search(query, category=category, cli=cli)
        return answer(self._results(hits, values["limit"], values["offset"]))

    def _summary(self, limit: int, offset: int) -> dict[str, Any]:
        groups = self._index.summary()
        page = fitting((_group(group) for group in groups[offset : offset + limit]), self._budget)
        return {
            "mode": "summary",
            "summary": page,
            "total_tools": len(self._index.tools),
            **_place(len(groups), offset, len(page)),
            "hint": f"Give {self._name} a query or a category to get tools with their arguments.",
        }

    def _results(self, hits: Sequence[Hit], limit: int, offset: int) -> dict[str, Any]:
        page = self._page(hits[offset : offset + limit])
        found: dict[str, Any] = {"mode": "search", "results": page, **_place(len(hits), offset, len(page))}
        if not hits:
            return found | {
                "categories": list(self._index.categories),
                "hint": "Nothing matches. Use other words, or browse a category.",
            }
        return found | {"hint": self._hint(page, hits, offset)}

    def _hint(self, page: Sequence[dict[str, Any]], hits: Sequence[Hit], offset: int) -> str:
        end = offset + len(page)
        if not page:
            return f"There are only {len(hits)} matches: use a smaller offset."
        parts = [self._runners.said([hit.entry for hit in hits[offset:end]])]
        if any("input_schema" not in result for result in page):
            parts.append("For a missing input_schema search the tool_name.")
        if any(hit.reason == "rest" for hit in hits[offset:end]):
            parts.append("The last ones share no word with the query.")
        if end < len(hits):
            parts.append(f"More with offset {end}.")
        return " ".join(parts)

    def _page(self, hits: Sequence[Hit]) -> list[dict[str, Any]]:
        """Give the hits that fit; the first with its schema, then as many as possible, then whole descriptions."""
        page = fitting((self._result(hit.entry) for hit in hits), self._budget)
        left = self._budget - sum(cost(result) + 1 for result in page)
        for place, hit in enumerate(hits[: len(page)]):
            schema = {"input_schema": hit.entry["tool"]["inputSchema"]}
            if place == 0 or cost(schema) <= left:
                left -= cost(schema)
                page[place] |= schema
        for place, hit in enumerate(hits[: len(page)]):
            whole = shortened(hit.entry["tool"].get("description", hit.entry["summary"]), MAX_DESCRIPTION_LENGTH)
            more = cost(whole) - cost(page[place]["description"])
            if "input_schema" in page[place] and more <= left:
                left -= more
                page[place]["description"] = whole
        return page

    def _result(self, entry: ToolEntry) -> dict[str, Any]:
        return {
            "tool_name": entry["tool"]["name"],
            "description": entry["summary"],
            "cli_name": command_line(entry),
            "category": entry["category"],
            "tags": list(self._index.tags(entry)),
            **deprecation_note(entry),
        }


def _group(group: Group) -> dict[str, Any]:
    return {
        "name": group.name,
        "description": group.description,
        "tool_count": group.tool_count,
        "category": group.category,
        "tags": list(group.tags),
    }


def _place(total: int, offset: int, returned: int) -> dict[str, Any]:
    """Say where the page stands among all matches."""
    more = returned > 0 and offset + returned < total
    return {"total_matches": total, "offset": offset, "returned": returned, "has_more": more}
