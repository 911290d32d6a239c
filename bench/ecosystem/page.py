"""The tables of docs/ecosystem.md: a row for each server, and the causes that few clients have, once for all."""

from __future__ import annotations

import datetime as dt
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from bench.ecosystem.servers import Server
from toolmason.audit.audit import AuditedTool, audit
from toolmason.audit.groups import IssueGroup, group_issues
from toolmason.audit.output import visible
from toolmason.audit.sources import load_file
from toolmason.audit.verdict import Policy, concern_text, percent, share_of_failures
from toolmason.schema import Severity

BEGIN: Final = "<!-- results -->"
END: Final = "<!-- end of results -->"
HEAD: Final = ("server", "version", "tools", "incompatible", "clients that fail", "causes: tools")
FEW_HEAD: Final = ("cause", "fails for", "servers", "tools")
FAILED_HEAD: Final = ("server", "version", "why")
_POLICY: Final = Policy()
_REGISTRIES: Final = {"npm": "npm", "pypi": "PyPI"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Result:
    """A server with its audited tools, or with the reason why there are none."""

    server: Server
    tools: tuple[AuditedTool, ...] = ()
    reason: str = ""

    @property
    def groups(self) -> tuple[IssueGroup, ...]:
        """The causes of findings, worst first, without notes."""
        groups = group_issues(self.tools)
        return tuple(group for group in groups if group.first.finding.severity is not Severity.NOTE)


def check_list(server: Server, path: Path) -> Result:
    """Return the result of `schema check` on a saved tool list."""
    return Result(server=server, tools=audit(load_file(str(path))))


def results_text(results: Sequence[Result], *, day: dt.date, product: str) -> str:
    """Return the generated part of the page."""
    listed = [result for result in results if result.tools]
    tools = [tool for result in listed for tool in result.tools]
    failing = [tool for tool in tools if not _POLICY.accepts(tool)]
    clean = [result for result in listed if all(map(_POLICY.accepts, result.tools))]
    head = (
        f"Measured on {day.isoformat()} with {product}. {len(listed)} of {len(results)} servers listed {len(tools):,} "
        f"tools. {len(tools) - len(failing):,} tools are compatible; {len(clean)} servers have only compatible tools."
    )
    parts = [head]
    if listed:
        parts.append(_table(HEAD, map(_row, listed)))
    if few := list(_few_rows(listed)):
        limit = percent(_POLICY.max_share)
        head = f"Causes that fail for at most {limit} of clients, once for all servers. They make no tool incompatible:"
        parts += [head, _table(FEW_HEAD, few)]
    if failed := [result for result in results if not result.tools]:
        rows = ((*_identity(result.server), _plain(result.reason)) for result in failed)
        parts += ["Without a list of tools:", _table(FAILED_HEAD, rows)]
    return "\n".join(f"{part.rstrip()}\n" for part in parts)


def replace_results(page: str, results: str) -> str:
    """Return the page with other results between its markers."""
    before, begin, rest = page.partition(BEGIN)
    _, end, after = rest.partition(END)
    if not (begin and end):
        raise ValueError(f"the page has no {BEGIN} and {END}")
    return f"{before}{begin}\n\n{results}\n{end}{after}"


def _identity(server: Server) -> tuple[str, str]:
    return f"{_code(server.package)} ({_REGISTRIES[server.registry]})", server.version


def _row(result: Result) -> tuple[str, ...]:
    failing = sum(not _POLICY.accepts(tool) for tool in result.tools)
    groups = [group for group in result.groups if not _POLICY.tolerates(group.first)]
    return (
        *_identity(result.server),
        f"{len(result.tools):,}",
        f"{failing:,}",
        percent(share_of_failures(result.tools, _POLICY)),
        _causes(groups) or "none",
    )


def _causes(groups: Sequence[IssueGroup]) -> str:
    """Return the causes by severity, such as "fails: `$ref` 3; lossy: `format` 2"."""
    labels: dict[str, dict[str, set[str]]] = {}
    for group in groups:
        label = "fails" if _POLICY.fails(group.first) else str(group.first.finding.severity)
        tools = labels.setdefault(label, {}).setdefault(group.first.finding.pattern, set())
        tools.update(tool.tool.name for tool in group.tools)
    return "; ".join(f"{label}: {', '.join(_counts(patterns))}" for label, patterns in labels.items())


def _counts(patterns: Mapping[str, Collection[str]]) -> Iterator[str]:
    for pattern, tools in sorted(patterns.items(), key=lambda item: (-len(item[1]), item[0])):
        yield f"{_code(pattern)} {len(tools):,}"


def _few_rows(results: Iterable[Result]) -> Iterator[tuple[str, ...]]:
    """Yield each cause that few clients have, with its servers and tools; the most frequent one first."""
    causes: dict[tuple[str, str], set[tuple[str, str]]] = {}
    for result in results:
        for group in result.groups:
            if _POLICY.tolerates(group.first):
                tools = causes.setdefault((group.first.finding.pattern, concern_text(group.first)), set())
                tools.update((result.server.file_name, tool.tool.name) for tool in group.tools)
    for (pattern, concern), tools in sorted(causes.items(), key=lambda item: (-len(item[1]), item[0])):
        yield _code(pattern), _plain(concern), f"{len({server for server, _ in tools}):,}", f"{len(tools):,}"


def _table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    lines = [head, ["---"] * len(head), *rows]
    return "".join(f"| {' | '.join(line)} |\n" for line in lines)


def _plain(text: str) -> str:
    """Return untrusted text for a cell of a Markdown table."""
    return visible(text).replace("\\", "\\\\").replace("|", "\\|").replace("<", "&lt;")


def _code(text: str) -> str:
    return f"`{visible(text).replace('`', chr(39)).replace('|', chr(92) + '|')}`"
