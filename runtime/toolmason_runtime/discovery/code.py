"""The style `code`: search returns Python signatures, and a program calls the tools.

One program replaces the calls of a task with several steps: its intermediate results never pass the model.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property
from itertools import chain, zip_longest
from typing import Any, Final, Protocol, runtime_checkable

from toolmason_runtime.discovery.annotations import READ_ONLY_ANNOTATIONS, combined_annotations, is_read_only
from toolmason_runtime.discovery.functions import Functions
from toolmason_runtime.discovery.meta_tools import (
    MetaStyle,
    MetaTool,
    Run,
    StyleContext,
    entry_notes,
    filter_note,
    overview,
    rest_note,
    servers_of,
)
from toolmason_runtime.discovery.parameters import Parameter
from toolmason_runtime.discovery.python_types import parameter_notes, signature_line
from toolmason_runtime.discovery.request_parts import shown_parts
from toolmason_runtime.discovery.results import fit_budget
from toolmason_runtime.shared.built_in import BUILT_IN
from toolmason_runtime.shared.catalogue import ToolEntry
from toolmason_runtime.shared.errors import INVALID_ARGUMENT, ToolError
from toolmason_runtime.shared.search.hits import WEAK_REASONS, Hit
from toolmason_runtime.shared.search.index import ToolIndex
from toolmason_runtime.shared.styles import CODE, STYLES
from toolmason_runtime.shared.tokens import estimate_tokens
from toolmason_runtime.wire.results import WireResult

MAX_CODE_CHARS: Final = 65_536
"""Characters of a program."""
DEFAULT_TIMEOUT_S: Final = 120
MAX_TIMEOUT_S: Final = 3_600
MAX_SIGNATURES: Final = 3
"""Functions of a search answer with a signature; the others have a summary, and are looked up by their names."""
MAX_ANSWER_TOKENS: Final = 450
"""Maximum tokens of a search answer with more than one signature."""
NOTES_TOKENS: Final = 70
"""Tokens reserved for the notes after the functions."""
MAX_QUERIES: Final = 8
"""Queries of one search, separated by `;`."""
FUNCTIONS_OF_EACH: Final = 2
"""Functions that one of several queries adds to the answer; only the name of those after the first one."""

_SEARCH_PARAMETERS: Final = {
    "query": Parameter(is_lines=True),
    "category": Parameter(),
    "limit": Parameter(type="integer", default=8, minimum=1),
    "offset": Parameter(type="integer", minimum=0, is_listed=False),
    "cli": Parameter(is_listed=False),
    "detail": Parameter(is_listed=False),
}
_RUN_PARAMETERS: Final = {
    "code": Parameter(max_length=MAX_CODE_CHARS + 1, misnomers=("program", "script", "source", "python")),
    "timeout_s": Parameter(type="integer", minimum=1, is_listed=False),
    "resume": Parameter(),
}
_READ_PARAMETERS: Final = {**_RUN_PARAMETERS, "resume": Parameter(is_listed=False)}
_WRITES: Final = "writes"


@runtime_checkable
class ProgramRunner(Protocol):
    """What a server passes to the meta-tools of this style: it runs one tool, or a program."""

    async def __call__(self, name: str, arguments: dict[str, Any]) -> WireResult:
        """Run a tool."""
        ...

    async def run_program(self, code: str, *, resume: str, timeout_s: int, meta: str, only_reads: bool) -> WireResult:
        """Run a program, or resume one.

        Args:
            code: the program; empty if `resume` has the identity of a suspended one.
            resume: the identity of a suspended program; empty for a new one.
            timeout_s: seconds that the program may take, without the time that a person needs for an answer.
            meta: name of the meta-tool as the client sees it.
            only_reads: whether tools that write are refused.
        """
        ...


def code(context: StyleContext) -> MetaStyle:
    """Return the style with `search`, `run` and, if the manifest has `split_calls`, `run_read`."""
    search, run, run_read = map(context.meta_name, STYLES[CODE].metas)
    run_any = context.shown(run)
    tools = context.index.tools.values()
    is_split = context.catalogue["discovery"]["split_calls"]
    functions = Functions(context.index.tools, BUILT_IN)
    runners = _Runners(run_any, context.shown(run_read) if is_split else run_any)
    kind = "that writes" if is_split and not all(map(is_read_only, tools)) else "that calls tools"
    description = (
        f"Run a Python program {kind}: await each function, asyncio.gather independent calls, end with a value"
    )
    metas = [
        _Search(context, search, functions, runners).meta(),
        MetaTool(run, description, _RUN_PARAMETERS, combined_annotations(tools), _run(run_any, only_reads=False)),
    ]
    if is_split:
        readers = [entry for entry in tools if is_read_only(entry)]
        answer = _run(runners.call_read, only_reads=True)
        text = "Run a Python program that only reads"
        metas.append(MetaTool(run_read, text, _READ_PARAMETERS, combined_annotations(readers), answer))
    return _CodeStyle(context, metas, runners, functions)


class _Runners:
    """The names that the client sees of the meta-tools that run programs."""

    def __init__(self, call_any: str, call_read: str) -> None:
        self.call_any = call_any
        self.call_read = call_read

    def for_tools(self, entries: Iterable[ToolEntry]) -> str:
        return self.call_read if all(map(is_read_only, entries)) else self.call_any


class _CodeStyle(MetaStyle):
    """Meta-tools whose calls of hidden tools are programs."""

    def __init__(
        self, context: StyleContext, metas: Sequence[MetaTool], runners: _Runners, functions: Functions
    ) -> None:
        super().__init__(
            context, metas, runner=lambda entry: runners.for_tools([entry]), arguments_key="code", brief_pins=True
        )
        self._runners = runners
        self._functions = functions

    def call_of(self, entry: ToolEntry, arguments: Mapping[str, Any]) -> tuple[str, Mapping[str, Any]]:
        """Return a program with the call of the tool; the call itself if the tool is pinned."""
        if name := self._context.pinned_name(entry):
            return self._context.shown(name), arguments
        return self._runners.for_tools([entry]), {"code": call_in_python(self._functions.name_of(entry), arguments)}


def call_in_python(function: str, arguments: Mapping[str, Any]) -> str:
    """Return the call of a function: `await git_log(max_count=5)`."""
    named = [f"{name}={value!r}" for name, value in arguments.items() if name.isidentifier()]
    others = {name: value for name, value in arguments.items() if not name.isidentifier()}
    return f"await {function}({', '.join([*named, *([f'**{others!r}'] if others else [])])})"


def _run(meta: str, *, only_reads: bool) -> Any:
    async def answer(values: dict[str, Any], run: Run) -> WireResult:
        program, resume = values["code"] or "", (values["resume"] or "").strip()
        if not program.strip() and not resume:
            raise ToolError("`code` is required: a program such as `await git_log(max_count=5)`", code=INVALID_ARGUMENT)
        if len(program) > MAX_CODE_CHARS:
            raise ToolError(f"`code` may have {MAX_CODE_CHARS:,} characters", code=INVALID_ARGUMENT)
        if not isinstance(run, ProgramRunner):
            raise TypeError("this dispatcher runs no programs")
        timeout_s = min(values["timeout_s"] or DEFAULT_TIMEOUT_S, MAX_TIMEOUT_S)
        return await run.run_program(program, resume=resume, timeout_s=timeout_s, meta=meta, only_reads=only_reads)

    return answer


class _Search:
    """The meta-tool that searches, and answers with signatures."""

    def __init__(self, context: StyleContext, name: str, functions: Functions, runners: _Runners) -> None:
        self._context = context
        self._name = name
        self._functions = functions
        self._runners = runners

    def meta(self) -> MetaTool:
        description = f"Search functions (`;` separates queries), or look up a name. {overview(self._index)}"
        return MetaTool(self._name, description, _SEARCH_PARAMETERS, READ_ONLY_ANNOTATIONS, self._answer)

    @cached_property
    def _index(self) -> ToolIndex:
        return self._context.index

    @property
    def _budget(self) -> int:
        budget: int = self._context.catalogue["discovery"]["page_tokens"]
        return budget

    async def _answer(self, values: dict[str, Any], run: Run) -> WireResult:  # noqa: ARG002  it runs no tool
        query, category, cli = (values[key] or "" for key in ("query", "category", "cli"))
        limit, offset = values["limit"], values["offset"] or 0
        if not (query.strip() or category.strip() or cli.strip()):
            return _text(self._summary())
        queries = [part.strip() for part in query.replace("\n", ";").split(";") if part.strip()]
        if len(queries) > 1:
            return _text(self._several(queries[:MAX_QUERIES], category, cli))
        hits = self._index.search(query, category=category, cli=cli)
        is_full = (values["detail"] or self._context.catalogue["discovery"].get("detail")) == "full"
        shown = hits[offset : offset + limit]
        matching = [hit for hit in shown if hit.reason != "rest"]
        page = matching or shown
        rest = self._names(shown[len(page) :])
        blocks = (
            fit_budget((self._function(hit, query, is_full=True) for hit in page), self._budget, estimate_tokens)
            if is_full
            else self._brief_page(page, query, reserved=estimate_tokens(rest))
        )
        is_all = len(blocks) == len(matching) < len(shown)
        lines = [*blocks, *self._hints(hits, shown if is_all else shown[: len(blocks)], offset)]
        if is_all:  # all of a small server
            lines.insert(len(blocks), f"# other functions: {rest}")
        if not hits and (nearest := self._index.nearest_words(query)):
            lines.append(f"# Nearest words: {', '.join(nearest)}.")
        if note := filter_note(self._index, query, category, cli):
            lines.append(f"# {note}")
        if blocks:
            self._context.expect(shown[0].entry)
        return _text(lines)

    def _brief_page(
        self, hits: Sequence[Hit], query: str, *, reserved: int, signatures: int = MAX_SIGNATURES
    ) -> list[str]:
        """Return the first functions, those of the first `signatures` hits with signatures if all have room.

        The first one always has its signature. `reserved` is the number of tokens of other lines.
        """
        budget = min(self._budget, MAX_ANSWER_TOKENS - NOTES_TOKENS) - reserved
        blocks = [self._function(hit, query, is_brief=True) for hit in hits]
        for place, hit in enumerate(hits[:signatures]):
            signed = [*blocks[:place], self._function(hit, query), *blocks[place + 1 :]]
            if place == 0 or sum(map(estimate_tokens, signed)) + len(signed) <= budget:
                blocks = signed
        return fit_budget(blocks, budget, estimate_tokens)

    def _several(self, queries: Sequence[str], category: str, cli: str) -> list[str]:
        """Return the best function of each query, then further ones, each function once."""
        rankings = [
            [hit for hit in self._index.search(query, category=category, cli=cli)[:10] if hit.reason != "rest"]
            for query in queries
        ]
        missing = shown_parts([query for query, hits in zip(queries, rankings, strict=True) if not hits])
        in_turn = chain.from_iterable(zip_longest(*(hits[:FUNCTIONS_OF_EACH] for hits in rankings)))
        first: dict[str, Hit] = {}
        for hit in filter(None, in_turn):
            first.setdefault(hit.identity, hit)
        found = list(first.values())
        best = len({hits[0].identity for hits in rankings if hits})
        reserved = estimate_tokens(f"{self._names(found)} {', '.join(missing)}")
        blocks = self._brief_page(found[:best], "", reserved=reserved, signatures=best)
        entries = [hit.entry for hit in found[: len(blocks)]]
        notes = [self._instruction(entries)] if entries else []
        if missing:
            notes.append(f"Nothing matches {', '.join(missing)}.")
        if len(blocks) < len(found):
            notes.append(f"Also: {self._names(found[len(blocks) :])}.")
        if found:
            self._context.expect(found[0].entry)
        return [*blocks, f"# {' '.join(notes)}"]

    def _names(self, hits: Iterable[Hit]) -> str:
        return ", ".join(self._functions.name_of(hit.entry) for hit in hits)

    def _summary(self) -> list[str]:
        lines = [f"# {len(self._index.tools)} functions. Search with a few words or a category:"]
        lines += [f"# {group.name}: {group.description} ({group.tool_count})" for group in self._index.summary()]
        return fit_budget(lines, self._budget, estimate_tokens)

    def _hints(self, hits: Sequence[Hit], shown: Sequence[Hit], offset: int) -> list[str]:
        if not hits:
            return [f"# Nothing matches. Use other words, or a category: {', '.join(self._index.categories)}."]
        if not shown:
            return [f"# There are only {len(hits)} matches: use a smaller offset."]
        parts = [self._instruction([hit.entry for hit in shown]), rest_note(hits, shown)]
        if offset + len(shown) < len(hits):
            parts.append(f"{len(hits) - offset - len(shown)} more with offset={offset + len(shown)}.")
        return [f"# {' '.join(filter(None, parts))}"]

    def _instruction(self, entries: Sequence[ToolEntry]) -> str:
        call_read, call_any = self._runners.call_read, self._runners.call_any
        if call_read == call_any:
            return f"Run with {call_any}."
        writers = [entry for entry in entries if not is_read_only(entry)]
        if not writers:
            return f"Run with {call_read}."
        return (
            f"Run with {call_any}." if len(writers) == len(entries) else f"Run with {call_read}; {_WRITES}: {call_any}."
        )

    def _function(self, hit: Hit, query: str, *, is_full: bool = False, is_brief: bool = False) -> str:
        entry = self._context.with_names(hit.entry)
        name = self._functions.name_of(entry)
        is_named = is_full or (hit.reason == "name" and query.strip() in {name, entry["tool"]["name"]})
        if is_brief and hit.reason != "name":
            mark = "" if is_read_only(entry) else f" ({_WRITES})"
            return f"# {name}: {entry['summary']}{mark}{self._same(hit)}"
        line = signature_line(entry, name, is_full=is_named)
        text = entry["tool"].get("description", entry["summary"]) if is_named else entry["summary"]
        marks = [] if is_read_only(entry) else [_WRITES]
        marks += [f"{key}: {value}" for key, value in entry_notes(entry).items()]
        if hit.reason in WEAK_REASONS:
            marks.append(f"match by {hit.reason}")
        suffix = f" ({'; '.join(marks)})" if marks else ""
        notes = parameter_notes(entry, is_full=is_named)
        details = "".join(f"\n    # {note}" for note in notes)
        return f"{line}\n    # {' '.join(text.split())}{suffix}{self._same(hit)}{details}"

    def _same(self, hit: Hit) -> str:
        """Return the functions of the other servers that have the tool, as the end of a comment."""
        servers = servers_of(hit)
        if not servers or hit.same is None:
            return ""
        own, *others = servers.items()
        functions = [f"{self._functions.name_of(self._index.tools[tool])} ({server})" for server, tool in others]
        rest = len(hit.same.tools) - len(servers)
        functions += [f"{rest} more"] if rest else []
        return f"\n    # {len(hit.same.tools)} servers have it: this is {own[0]}; {', '.join(functions)}"


def _text(lines: Sequence[str]) -> WireResult:
    return {"content": [{"type": "text", "text": "\n".join(lines)}]}
