"""`toolmason search`: the tools that a model would get and the reason for each, then prompts and resources."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import click

from toolmason.commands.options import load_current_server, manifest_option, ranker_option

if TYPE_CHECKING:
    from toolmason_runtime.shared.search.rankers import RankerFactory

    from toolmason.model.server import Server

_REASONS = {
    "name": "its name, as typed",
    "literal": "its text contains the query as typed",
    "meaning": "its meaning is similar",
    "spelling": "words spelled alike",
    "rest": "few tools: all are shown",
    "browse": "no query: all are shown",
}
_FIELD_LABELS = {
    "category_texts": "descriptions of its category or program",
    "parameter_texts": "parameter descriptions",
    "parameters": "parameter names",
    "use_cases": "use cases",
    "values": "choices",
}
"""Labels of index fields. Every other field is labelled with its own name."""


@dataclass(frozen=True, slots=True)
class Hit:
    """A hit. `fields` lists the fields that contain each query term: `("term", ("name", "summary"))`.

    `same` has the names of the same tool of other servers, which the hit stands for.
    """

    tool: str
    summary: str
    reason: str
    fields: tuple[tuple[str, tuple[str, ...]], ...]
    same: tuple[str, ...] = ()

    @property
    def explanation(self) -> tuple[str, ...]:
        """Lines that explain the hit: the reason, then one line per term."""
        width = max((len(term) for term, _ in self.fields), default=0)
        reason = _REASONS.get(self.reason)
        terms = (
            f"{term:{width}}  in {', '.join(_FIELD_LABELS.get(name, name) for name in names)}"
            for term, names in self.fields
        )
        same = [f"the same tool of other servers: {', '.join(self.same)}"] if self.same else []
        return (*([reason] if reason else []), *terms, *same)


@click.command()
@click.argument("words", nargs=-1, required=True)
@click.option("--limit", type=click.IntRange(min=1), default=10, show_default=True, help="Maximum number of hits.")
@ranker_option
@manifest_option
def search(words: tuple[str, ...], limit: int, ranker: RankerFactory | None, manifest: Path | None) -> None:
    """Search the tools as a model would, and the prompts and resources as a person would.

    Shows the reason for each hit of a tool: the words that match, and the fields that contain them. The ranker
    that the manifest names is not imported; specify it with `--ranker`.
    """
    server = load_current_server(manifest)
    click.echo(report_search(server, " ".join(words), limit=limit, ranker=ranker), nl=False)


def find_tools(
    server: Server, query: str, *, limit: int, ranker: RankerFactory | None = None
) -> tuple[tuple[Hit, ...], int]:
    """Return the first `limit` hits for `query` among all enabled tools of `server`, and the number of all hits."""
    from toolmason_runtime.shared.search.text import terms

    from toolmason.catalogue.search_index import FIELDS, field_terms
    from toolmason.catalogue.table import catalogue
    from toolmason.catalogue.tool_index import open_index

    table = catalogue(server)
    entries = open_index(server, ranker).search(query)
    query_terms = dict.fromkeys(terms(query))
    hits = []
    for entry in entries[:limit]:
        terms_of = field_terms(entry.entry, table)
        fields = ((term, tuple(name for name in FIELDS if term in terms_of[name])) for term in query_terms)
        matches = tuple((term, names) for term, names in fields if names)
        reason = "meaning" if entry.reason == "words" and not matches else entry.reason
        same = tuple(name for name in entry.same.tools.values() if name != entry.name) if entry.same else ()
        hits.append(Hit(entry.name, entry.entry["summary"], reason, matches, same))
    return tuple(hits), len(entries)


def find_surfaces(server: Server, query: str) -> tuple[tuple[str, str], ...]:
    """Return the prompts and resources with a word of `query`, most words first: `prompt /find` and its summary.

    Models do not search them: the search of a running server returns tools only.
    """
    from toolmason_runtime.shared.search.text import terms

    wanted = set(terms(query))
    prompts = [(f"prompt /{prompt.name}", prompt.summary, prompt.description) for prompt in server.prompts]
    resources = [
        (f"resource {item.table.uri}", item.summary, f"{item.name} {item.description}") for item in server.resources
    ]
    ranked = [
        (len(wanted & set(terms(f"{label} {summary} {text}"))), (label, summary))
        for label, summary, text in [*prompts, *resources]
    ]
    return tuple(hit for count, hit in sorted(ranked, key=lambda item: -item[0]) if count)


def report_search(server: Server, query: str, *, limit: int, ranker: RankerFactory | None = None) -> str:
    """Return the hits for `query` as text, each with its summary and explanation."""
    hits, total = find_tools(server, query, limit=limit, ranker=ranker)
    surfaces = find_surfaces(server, query)
    if not hits and not surfaces:
        return f"nothing found for `{query}` in {len(server.tools)} tools\n"
    lines = []
    for rank, hit in enumerate(hits, 1):
        lines.append(f"{rank:>2}. {hit.tool}  {hit.summary}\n")
        lines += [f"    {line}\n" for line in hit.explanation]
    if total > len(hits):
        lines.append(f"{total - len(hits)} more; --limit shows them\n")
    lines += [f" -  {label}  {summary}\n" for label, summary in surfaces[:limit]]
    return "".join(lines)
