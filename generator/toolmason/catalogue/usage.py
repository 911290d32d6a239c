"""The use of a server's tools, counted from its audit log: names, clients and times, never arguments."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date
from typing import Any, Final

from toolmason_runtime.shared.catalogue import Catalogue, DeprecationEntry
from toolmason_runtime.toolkit import shown

MAX_OTHER_NAMES: Final = 1000
"""Maximum number of counted names that are not in the manifest: models can invent any number of names."""
_MAX_CLIENTS: Final = 4
"""Maximum clients in a cell of the table."""
_UNNAMED: Final = "(no name)"
"""The client of a call without a client name."""


@dataclass(slots=True)
class Use:
    """The calls of a tool or with a parameter. `last` is the time of the last one in the form of the log."""

    calls: int = 0
    refused: int = 0
    last: str = ""
    clients: Counter[str] = field(default_factory=Counter)

    def add(self, line: Mapping[str, Any]) -> None:
        """Count the call of a line."""
        self.calls += 1
        self.refused += line["event"] == "refusal"
        self.last = max(self.last, line["time"])
        client = line.get("client")
        self.clients[client if isinstance(client, str) and client else _UNNAMED] += 1

    def as_json(self) -> dict[str, Any]:
        """Return the counts as JSON."""
        result: dict[str, Any] = {"calls": self.calls, "refused": self.refused}
        return result | {"last": self.last or None, "clients": dict(self.clients.most_common())}


@dataclass(slots=True)
class Usage:
    """The use of the tools of a manifest."""

    tools: dict[str, Use]
    """By tool, in the order of the manifest, also those without a call."""
    former_names: dict[tuple[str, str], Use]
    """By tool and alias."""
    parameters: dict[tuple[str, str], Use]
    """By tool and deprecated parameter."""
    others: dict[str, Use] = field(default_factory=dict)
    """By a name that is not in the manifest: meta-tools, removed tools, and names that models invented."""
    uncounted: int = 0
    """Number of calls with other names, beyond the maximum."""
    foreign: int = 0
    """Lines of other servers."""


def count_usage(lines: Iterable[Mapping[str, Any]], catalogue: Catalogue) -> Usage:
    """Count the calls of tools in the lines of an audit log. A call with a question has two lines and counts once."""
    tools = catalogue["tools"]
    usage = Usage(
        {name: Use() for name in tools},
        {(name, alias): Use() for name, entry in tools.items() for alias in entry.get("aliases", ())},
        {(name, param): Use() for name, entry in tools.items() for param in entry.get("deprecated_arguments", ())},
    )
    server = catalogue["server"]["name"]
    for line in lines:
        name = line.get("tool")
        if line["event"] not in {"call", "refusal"} or not isinstance(name, str):
            continue
        if line.get("server") != server:
            usage.foreign += 1
        elif line.get("outcome") != "input_required":
            _count(usage, name, line)
    return usage


def _count(usage: Usage, name: str, line: Mapping[str, Any]) -> None:
    if name not in usage.tools:
        if name not in usage.others and len(usage.others) >= MAX_OTHER_NAMES:
            usage.uncounted += 1
        else:
            usage.others.setdefault(name, Use()).add(line)
        return
    usage.tools[name].add(line)
    alias = line.get("alias")
    if isinstance(alias, str) and (use := usage.former_names.get((name, alias))):
        use.add(line)
    params = line.get("deprecated_arguments")
    for param in params if isinstance(params, list) else ():
        if isinstance(param, str) and (use := usage.parameters.get((name, param))):
            use.add(line)


def usage_json(usage: Usage, catalogue: Catalogue, today: date) -> dict[str, Any]:
    """Return the usage as JSON."""
    deprecations = _deprecations(usage, catalogue)
    return {
        "server": catalogue["server"]["name"],
        "tools": {name: use.as_json() for name, use in usage.tools.items()},
        "former_names": {alias: {"tool": name, **use.as_json()} for (name, alias), use in usage.former_names.items()},
        "deprecated": [
            {
                "tool": name,
                "parameter": param or None,
                "since": entry["since"],
                "until": entry.get("until"),
                "days_left": _days_left(entry, today),
                "replaced_by": entry["replaced_by"] or None,
                **use.as_json(),
            }
            for name, param, entry, use in deprecations
        ],
        "others": {name: use.as_json() for name, use in usage.others.items()},
        "uncounted": usage.uncounted,
        "lines_of_other_servers": usage.foreign,
    }


def usage_text(usage: Usage, catalogue: Catalogue, today: date) -> str:
    """Return the usage as tables, the most used tool first. All of it is printable ASCII."""
    rows = sorted(usage.tools.items(), key=lambda row: -row[1].calls)
    parts = [_table(("tool", "calls", "refused", "last use", "clients"), [(name, *_cells(use)) for name, use in rows])]
    if used := [(alias, name, *_cells(use)) for (name, alias), use in usage.former_names.items() if use.calls]:
        parts.append(_table(("former name", "tool", "calls", "refused", "last use", "clients"), used))
    if deprecated := [
        (f"{name}.{param}" if param else name, entry.get("until", "-"), _left(entry, today), *_cells(use))
        for name, param, entry, use in _deprecations(usage, catalogue)
    ]:
        parts.append(
            _table(("deprecated", "until", "days left", "calls", "refused", "last use", "still used by"), deprecated)
        )
    if others := sorted(usage.others.items(), key=lambda row: -row[1].calls):
        parts.append(
            _table(
                ("not in the manifest", "calls", "refused", "last use", "clients"),
                [(name, *_cells(use)) for name, use in others[:20]],
            )
        )
    rest = sum(use.calls for _, use in others[20:]) + usage.uncounted
    notes = f"calls of further names: {rest:,}\n" if rest else ""
    notes += f"lines of other servers, not counted: {usage.foreign:,}\n" if usage.foreign else ""
    return "\n".join([*parts, *([notes] if notes else [])])


def _deprecations(usage: Usage, catalogue: Catalogue) -> list[tuple[str, str, DeprecationEntry, Use]]:
    """Return tool, parameter (empty for the tool itself), deprecation and use; the earliest last day comes first."""
    found = [
        (name, "", entry["deprecated"], usage.tools[name])
        for name, entry in catalogue["tools"].items()
        if "deprecated" in entry
    ]
    found += [
        (name, param, catalogue["tools"][name]["deprecated_arguments"][param], use)
        for (name, param), use in usage.parameters.items()
    ]
    return sorted(found, key=lambda row: row[2].get("until", "9"))


def _days_left(entry: DeprecationEntry, today: date) -> int | None:
    """Return the days until the last day of support: negative afterwards, None without a date."""
    return (date.fromisoformat(entry["until"]) - today).days if "until" in entry else None


def _left(entry: DeprecationEntry, today: date) -> str:
    days = _days_left(entry, today)
    return "-" if days is None else "over" if days < 0 else str(days)


def _cells(use: Use) -> tuple[str, ...]:
    clients = [f"{name} ({count:,})" for name, count in use.clients.most_common(_MAX_CLIENTS)]
    more = len(use.clients) - len(clients)
    listed = ", ".join([*clients, *([f"{more} more"] if more else [])])
    return f"{use.calls:,}", f"{use.refused:,}", use.last[:10] or "-", listed or "-"


def _table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    cells = [tuple(head), *(tuple(shown(cell) for cell in row) for row in rows)]
    widths = [max(len(row[column]) for row in cells) for column in range(len(head))]
    right = {"calls", "refused", "days left"}
    lines = [
        "  ".join(
            f"{cell:>{width}}" if title in right else f"{cell:<{width}}"
            for cell, width, title in zip(row, widths, head, strict=True)
        ).rstrip()
        for row in cells
    ]
    return "".join(f"{line}\n" for line in lines)
