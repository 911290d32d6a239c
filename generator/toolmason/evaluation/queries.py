"""Read a file of queries: texts by the tool that each must find.

    [queries]
    read_file = ["open main.py", "show the first lines"]

A text that is listed for several tools must find all of them.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from toolmason_runtime.shared.suggestions import did_you_mean
from toolmason_runtime.shared.toml.problems import Problem
from toolmason_runtime.shared.toml.reader import read
from toolmason_runtime.shared.toml.tables import Table, key

from toolmason.diagnostics import Diagnostics
from toolmason.manifest.document import Document, load

if TYPE_CHECKING:
    from toolmason_runtime.shared.catalogue import Catalogue


@dataclass(frozen=True, slots=True, kw_only=True)
class QueriesTable(Table):
    """The whole file: lists of texts by the name of the tool that they must find."""

    queries: Mapping[str, tuple[str, ...]] = key()


@dataclass(frozen=True, slots=True)
class Query:
    """A text, and the tools that it must find, in the order of the file."""

    text: str
    tools: tuple[str, ...]


def load_queries(path: Path, catalogue: Catalogue | None, *, root: Path, diagnostics: Diagnostics) -> tuple[Query, ...]:
    """Return the queries of the file `path`, in its order; empty, with a diagnostic, if it cannot be read.

    Paths in diagnostics are relative to `root`. Without a `catalogue`, the names of tools are not checked.
    """
    document = load(path, root=root, diagnostics=diagnostics)
    if document is None:
        return ()

    def report(problem: Problem) -> None:
        diagnostics.add(document.diagnostic(problem))

    table = read(QueriesTable, document, report=report)
    if table is None:
        return ()
    texts: dict[str, list[str]] = {}
    for tool, queries in table.queries.items():
        if catalogue is not None:
            _check_tool(tool, catalogue, document, diagnostics)
        for index, text in enumerate(queries):
            if not text.strip():
                document.report(diagnostics, "TM209", f"a query of `{tool}` is empty", ("queries", tool, index))
            if tool in texts.setdefault(text, []):
                message = f"`{tool}` has the query `{text}` twice"
                document.report(diagnostics, "TM322", message, ("queries", tool, index), hint="remove one", value=True)
            texts[text].append(tool)
    if not texts:
        document.report(diagnostics, "TM209", "there are no queries", ("queries",), hint='add `TOOL = ["a query"]`')
    return tuple(Query(text, tuple(tools)) for text, tools in texts.items())


def _check_tool(name: str, catalogue: Catalogue, document: Document, diagnostics: Diagnostics) -> None:
    entry, at = catalogue["tools"].get(name), ("queries", name)
    if entry is None:
        hint = did_you_mean(name, catalogue["tools"])
        document.report(diagnostics, "TM305", f"unknown tool `{name}`", at, hint=hint)
    elif not entry.get("enabled", True):
        hint = "remove it, or enable the tool"
        document.report(diagnostics, "TM322", f"`{name}` has queries but is disabled", at, hint=hint)
