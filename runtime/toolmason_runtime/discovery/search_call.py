"""The default style, after `climax_search` and `climax_call`: one meta-tool searches, one calls.

A search result contains the signature of each tool, or the schema of its arguments if a signature cannot express it, so
that a search and a call suffice. Hidden tools cannot be called directly.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

from toolmason_runtime.audit import events
from toolmason_runtime.discovery.annotations import READ_ONLY_ANNOTATIONS, combined_annotations, is_read_only
from toolmason_runtime.discovery.meta_tools import (
    MetaStyle,
    MetaTool,
    Run,
    StyleContext,
    call_meta,
    call_parameters,
    entry_notes,
    filter_note,
    note_alias,
    overview,
    rest_note,
    same_tool,
    same_tool_note,
)
from toolmason_runtime.discovery.parameters import Parameter
from toolmason_runtime.discovery.per_tool import PerTool
from toolmason_runtime.discovery.request_parts import part_number, shown_parts
from toolmason_runtime.discovery.results import error_result, fit_budget, success_result, token_cost, truncate
from toolmason_runtime.shared.catalogue import ToolEntry, command_line
from toolmason_runtime.shared.search.hits import LAST_REASONS, WEAK_REASONS, Hit
from toolmason_runtime.shared.search.index import Group, ToolIndex
from toolmason_runtime.shared.styles import STYLES
from toolmason_runtime.wire.results import WireResult

if TYPE_CHECKING:
    from toolmason_runtime.discovery.signature import Signature

ENVELOPE_TOKENS = 60
"""Tokens reserved for the members beside the results."""
MAX_ANSWER_TOKENS = 440
"""Maximum tokens of an answer with more than one signature. Models mostly call one of the first hits."""
SIGNATURES = 3
"""Number of first hits whose signatures are more important than the hits after `MIN_RESULTS`."""
MIN_RESULTS = 8
"""Number of hits in an answer that are more important than signatures, except that of the first."""
PART_TOKENS = 5
"""Tokens of the number of a part in a result."""
MAX_PARTS_TOKENS = 150
"""Maximum tokens that parts take from signatures."""
MAX_BRIEF_LENGTH = 90
"""Maximum characters of the summary of a tool without a signature."""
MAX_EXCEPTION_TOKENS = 20
"""Maximum tokens of the tool names that are called with another meta-tool than most results."""
MAX_PLAIN_DESCRIPTION = 200
"""Characters up to which a description is hardly more than the summary that a result contains."""

SEARCH_PARAMETERS = {
    "query": Parameter(is_lines=True),
    "category": Parameter(),
    "cli": Parameter(),
    "limit": Parameter(type="integer", default=10, minimum=1),
    "offset": Parameter(type="integer", minimum=0),
    "detail": Parameter(is_listed=False),
}


def search_call(context: StyleContext) -> MetaStyle:
    """Return the style with `search`, `call` and, if the manifest has `split_calls`, `call_read`."""
    discovery = context.catalogue["discovery"]
    search, call, call_read = map(context.meta_name, STYLES["search-call"].metas)
    call_any = context.shown(call)
    call_tools = _CallTools(call_any, context.shown(call_read) if discovery["split_calls"] else call_any)
    # Clients ask for approval of `call` as soon as one tool writes, so models must prefer `call_read`.
    has_writers = discovery["split_calls"] and not all(map(is_read_only, context.index.tools.values()))
    description = f"Run a {'tool that writes' if has_writers else 'found tool'}"
    metas = [
        _Search(context, search, call_tools).meta(),
        call_meta(context, call, "args", description=description),
    ]
    if discovery["split_calls"]:
        metas.append(_call_read(context, call_read, call_any))
    return MetaStyle(context, metas, runner=call_tools.for_tool, arguments_key="args")


@dataclass(frozen=True, slots=True)
class _CallTools:
    """The names that the client sees of the meta-tools that run any tool, and read-only ones."""

    call_any: str
    call_read: str

    def for_tool(self, entry: ToolEntry) -> str:
        return self.call_read if is_read_only(entry) else self.call_any

    def instruction(self, entries: Sequence[ToolEntry]) -> str:
        """Return which meta-tool runs each of `entries`, at least one; empty if there is only one meta-tool.

        The smaller group is listed if it is short.
        """
        names: dict[str, list[str]] = {}
        for entry in entries:
            names.setdefault(self.for_tool(entry), []).append(entry["tool"]["name"])
        if self.call_any == self.call_read:
            return ""
        if len(names) == 1:
            return f"Run with {next(iter(names))}."
        usual, unusual = sorted((self.call_read, self.call_any), key=lambda call: -len(names[call]))
        exceptions = ", ".join(names[unusual])
        if token_cost(exceptions) > MAX_EXCEPTION_TOKENS:
            return f"Run read-only tools with {self.call_read}, others with {self.call_any}."
        return f"Run with {usual}, but {exceptions} with {unusual}."


def _call_read(context: StyleContext, name: str, call_any: str) -> MetaTool:
    """Return the meta-tool that runs only read-only tools, which clients may run without approval."""

    async def run_read_only(values: dict[str, Any], run: Run) -> WireResult:
        entry = context.tool(values["tool_name"])
        if not is_read_only(entry):
            events.note_failure("NOT_READ_ONLY")
            return error_result(f"`{entry['tool']['name']}` is not read-only: run it with `{call_any}`.")
        note_alias(values["tool_name"], entry)
        return await run(entry["tool"]["name"], values["args"] or {})

    entries = [entry for entry in context.index.tools.values() if is_read_only(entry)]
    annotations = combined_annotations(entries)
    parameters = call_parameters("args")
    return MetaTool(name, "Run a read-only tool", parameters, annotations, run_read_only, "args", only_reads=True)


class _Search:
    """The meta-tool that searches."""

    def __init__(self, context: StyleContext, name: str, call_tools: _CallTools) -> None:
        self._context = context
        self._name = name
        self._shown_name = context.shown(name)
        self._call_tools = call_tools

    def meta(self) -> MetaTool:
        description = f"Search, or look up a name. {overview(self._index)}"
        return MetaTool(self._name, description, SEARCH_PARAMETERS, READ_ONLY_ANNOTATIONS, self._answer)

    @cached_property
    def _signature(self) -> PerTool[Signature]:
        from toolmason_runtime.discovery.signature import signature

        return PerTool(signature)

    @cached_property
    def _index(self) -> ToolIndex:
        return self._context.index

    @property
    def _budget(self) -> int:
        return self._context.catalogue["discovery"]["page_tokens"] - ENVELOPE_TOKENS

    async def _answer(self, values: dict[str, Any], run: Run) -> WireResult:  # noqa: ARG002  it runs no tool
        query, category, cli = (values[key] or "" for key in ("query", "category", "cli"))
        limit, offset = values["limit"], values["offset"] or 0
        if not (query.strip() or category.strip() or cli.strip()):
            return success_result(self._summary(limit, offset))
        is_full = (values["detail"] or self._context.catalogue["discovery"].get("detail")) == "full"
        hits, parts, places = self._index.search_parts(query, category=category, cli=cli)
        filtered = filter_note(self._index, query, category, cli)
        # Words that are a name by chance need no details.
        is_lookup = len(query.split()) == 1
        shown = shown_parts(parts)
        reserved = token_cost(shown) + PART_TOKENS * limit if parts else 0
        result = self._results(
            hits, limit, offset, is_full=is_full, is_lookup=is_lookup, reserved=min(reserved, MAX_PARTS_TOKENS)
        )
        if parts and hits:
            result["parts"] = shown
            for tool in result["results"]:
                tool.update(part_number(places, tool["tool_name"]))
        if not hits and (nearest := self._index.nearest_words(query)):
            result["nearest_words"] = nearest
        if hint := " ".join(filter(None, (result.pop("hint", ""), filtered))):
            result["hint"] = hint
        return success_result(result)

    def _summary(self, limit: int, offset: int) -> dict[str, Any]:
        groups = self._index.summary()
        page = fit_budget(map(_group, groups[offset : offset + limit]), self._budget)
        return {
            "mode": "summary",
            "summary": page,
            "total_tools": len(self._index.tools),
            "total_matches": len(groups),
            **_next_page(len(groups), offset, len(page)),
            "hint": f"Call {self._shown_name} with a query or a category to get tools with their arguments.",
        }

    def _results(
        self, hits: Sequence[Hit], limit: int, offset: int, *, is_full: bool, is_lookup: bool, reserved: int
    ) -> dict[str, Any]:
        found = hits[offset : offset + limit]
        page = (
            fit_budget((self._result(hit, is_full=True) for hit in found), self._budget)
            if is_full
            else self._brief_page(found, is_lookup=is_lookup, reserved=reserved)
        )
        result: dict[str, Any] = {"mode": "search", "results": page, **_next_page(len(hits), offset, len(page))}
        if not hits:
            return result | {
                "categories": list(self._index.categories),
                "hint": "No tool matches. Use other words, or browse a category.",
            }
        if page:
            self._context.expect(hits[offset].entry)
        has_brief = any("signature" not in result for result in page)
        hint = self._hint(hits[offset : offset + len(page)], hits, has_brief=has_brief, is_lookup=is_lookup)
        return result | ({"hint": hint} if hint else {})

    def _brief_page(self, found: Sequence[Hit], *, is_lookup: bool, reserved: int) -> list[dict[str, Any]]:
        """Return the first hits with their signatures, as many as `MAX_ANSWER_TOKENS` allow, and the others without.

        The first hit always has its signature, and with `is_lookup` all details if it has that name. For those of the
        next two, the last of more than `MIN_RESULTS` hits may be left to the next page. Tools that only follow in a
        small catalogue have no signature. `reserved` is the number of tokens of other members of the answer.
        """
        page = fit_budget(map(self._brief_result, found), self._budget)
        costs = [token_cost(result) + 1 for result in page]
        rest = min(self._budget, MAX_ANSWER_TOKENS - ENVELOPE_TOKENS) - sum(costs) - reserved
        for place, hit in enumerate(found[: len(page)]):
            if place >= len(page) or (place and hit.reason == "rest"):
                break
            result = self._result(hit, is_lookup=is_lookup)
            more = token_cost(result) + 1 - costs[place]
            left_out = 0
            while more > rest + left_out and place < SIGNATURES and len(page) > MIN_RESULTS:
                page.pop()
                left_out += costs[len(page)]
            if place and more > rest + left_out:
                break
            rest += left_out - more
            page[place] = result
            while rest < 0 and len(page) > SIGNATURES:  # after a first one with all details
                page.pop()
                rest += costs[len(page)]
        # The first one may be long.
        return fit_budget(page, self._budget)

    def _brief_result(self, hit: Hit) -> dict[str, Any]:
        entry = self._context.with_names(hit.entry)
        summary = truncate(entry["summary"], MAX_BRIEF_LENGTH)
        return {"tool_name": entry["tool"]["name"], "description": summary} | _notes(hit, entry)

    def _hint(self, shown: Sequence[Hit], hits: Sequence[Hit], *, has_brief: bool, is_lookup: bool) -> str:
        if not shown:
            return f"There are only {len(hits)} matches: use a smaller offset."
        has_manual = any((hit.reason != "name" or not is_lookup) and _has_manual(hit.entry) for hit in shown)
        parts = (
            self._call_tools.instruction([hit.entry for hit in shown]),
            "Search a tool_name for its arguments."
            if has_brief
            else "Search a tool_name for details."
            if has_manual
            else "",
            same_tool_note(shown),
            rest_note(hits, shown),
        )
        return " ".join(filter(None, parts))

    def _result(self, hit: Hit, *, is_full: bool = False, is_lookup: bool = False) -> dict[str, Any]:
        entry = self._context.with_names(hit.entry)
        shown = self._signature(entry)
        tool = entry["tool"]
        is_named = hit.reason == "name" and is_lookup
        result: dict[str, Any] = {
            "tool_name": tool["name"],
            "description": tool.get("description", entry["summary"]) if is_named else entry["summary"],
            "signature": shown.text,
        }
        if is_named or is_full:
            tags = list(self._index.tags(entry))
            result |= {"cli_name": command_line(entry), "category": entry["category"], "tags": tags}
        is_likely = hit.reason not in LAST_REASONS
        if is_named or is_full or (is_likely and not shown.is_lossless):
            result["input_schema"] = entry.get("complete_schema", tool["inputSchema"])
        return result | _notes(hit, entry)


def _notes(hit: Hit, entry: ToolEntry) -> dict[str, Any]:
    return _weakness(hit) | same_tool(hit) | entry_notes(entry)


def _weakness(hit: Hit) -> dict[str, str]:
    return {"match": hit.reason} if hit.reason in WEAK_REASONS else {}


def _has_manual(entry: ToolEntry) -> bool:
    """Return whether the description explains more than a summary can."""
    return len(entry["tool"].get("description", "")) > MAX_PLAIN_DESCRIPTION


def _group(group: Group) -> dict[str, Any]:
    return {
        "name": group.name,
        "description": group.description,
        "tool_count": group.tool_count,
        "category": group.category,
        "tags": list(group.tags),
    }


def _next_page(total: int, offset: int, returned: int) -> dict[str, int]:
    """Return `{"next_offset": N}` if there is another page, otherwise an empty dict."""
    end = offset + returned
    return {"next_offset": end} if returned and end < total else {}
