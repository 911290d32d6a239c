"""Lint rules on tool names and the number of tools, by the limits of clients."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final, NamedTuple

from toolmason_runtime.shared.prefixes import parse_prefix
from toolmason_runtime.shared.selection import Selection
from toolmason_runtime.shared.styles import CLASSIC
from toolmason_runtime.shared.toml.positions import KeyPath
from toolmason_runtime.toolkit import style_for

from toolmason.clients import CLAUDE_CODE_PLUGIN, ToolNames
from toolmason.diagnostics import Severity
from toolmason.lint.finding import Finding, about_tool, catalogue_of
from toolmason.manifest.tables import DiscoveryTable
from toolmason.model.identifiers import words
from toolmason.model.server import Server
from toolmason.resolve.client_names import clashes, full_name, names_of, too_long, too_many
from toolmason.resolve.tool_names import meta_tool_names

MAX_NAME_LENGTH: Final = 40
"""Maximum characters of a tool's name: with the prefix of a plugin and its server, clients allow 64."""


def check_name_length(server: Server) -> Iterator[Finding]:
    """TM506: clients and plugins add prefixes to a name."""
    for tool in server.tools:
        if len(tool.name) > MAX_NAME_LENGTH:
            yield Finding(
                code="TM506",
                tool=tool.name,
                message=f"the name `{tool.name}` has {len(tool.name)} characters; use at most {MAX_NAME_LENGTH}, "
                "since clients add prefixes",
                hint="shorten it and keep the old name in `aliases`",
                at=tool.at,
            )


def check_name_characters(server: Server) -> Iterator[Finding]:
    """TM507: some clients replace dashes, dots and capital letters."""
    for tool in server.tools:
        if not re.fullmatch(r"[a-z][a-z0-9_]*", tool.name):
            snake = "_".join(part.lower() for part in words(tool.name))
            message = f"the name `{tool.name}` has characters other than lower-case letters, digits and underscores"
            hint = f"rename it to `{snake}` and keep the old name in `aliases`"
            yield about_tool(tool, "TM507", message, hint)


class _CallableName(NamedTuple):
    """A name that can be called: its tool, a label for messages, and its key path, empty for a meta-tool."""

    tool: str
    label: str
    at: KeyPath = ()
    is_alias: bool = False


def check_name_collisions(server: Server) -> Iterator[Finding]:
    """TM508: a client that shows two tools under one name keeps only one of them.

    `resolve` reports tools with the same name in Python, so most collisions are between a tool and a meta-tool of any
    style, or between an alias and another tool: a user who has allowed the alias has then allowed the other tool.
    """
    names = _callable_names(server)
    for clash in clashes({name: item.tool for name, item in names.items()}, server.table.name):
        first, second = names[clash.first], names[clash.second]
        yield Finding(
            code="TM508",
            tool=second.tool,
            message=f"{clash.client.title} shows {second.label} and {first.label} both as `{clash.shown}`",
            hint="remove the alias, or rename the other tool" if second.is_alias else "rename the tool",
            at=second.at,
            value=second.is_alias,
            severity=Severity.WARNING if second.is_alias else None,
        )


def _callable_names(server: Server) -> dict[str, _CallableName]:
    """Return the names that clients can call: meta-tools, then tools, then aliases."""
    reserved = meta_tool_names(DiscoveryTable(prefix=server.discovery.prefix))
    names = {name: _CallableName(name, f"the meta-tool `{name}`") for name in reserved}
    names |= {tool.name: _CallableName(tool.name, f"`{tool.name}`", tool.at) for tool in server.tools}
    for tool in server.tools:
        for index, alias in enumerate(tool.table.aliases):
            label = f"`{alias}`, an alias of `{tool.name}`,"
            names[alias] = _CallableName(tool.name, label, (*tool.at, "aliases", index), is_alias=True)
    return names


def check_prefixes(server: Server) -> Iterator[Finding]:
    """TM526: prefixes that are valid, but hard to type or to read."""
    for key in ("command_prefix", "workflow_prefix"):
        prefix = parse_prefix(getattr(server.outputs, key), f"`{key}`")
        for remarks, severity in ((prefix.warnings, Severity.WARNING), (prefix.notes, Severity.NOTE)):
            for remark in remarks:
                message, _, hint = remark.rpartition("; ")
                at = ("outputs", key)
                yield Finding(code="TM526", tool="", message=message, hint=hint, at=at, value=True, severity=severity)


def check_tool_count(server: Server) -> Iterator[Finding]:
    """TM509: clients drop tools beyond a maximum number, or fail."""
    count, count_of_all = (len(_list_tools(server, all_tools=flag)) for flag in (False, True))
    style = server.discovery.style
    lists = f"style `{style}` lists"
    if clients := _documented(too_many(count)):
        message, severity = f"{lists} {count} tools; {_format_limits(clients)}", Severity.WARNING
    elif clients := _documented(too_many(count_of_all)):
        message, severity = f"{lists} {count_of_all} tools with `--all`; {_format_limits(clients)}", Severity.NOTE
    elif clients := list(too_many(count)):
        message, severity = f"{lists} {count} tools; users report that {_format_limits(clients)}", Severity.NOTE
    else:
        return
    is_classic = style == CLASSIC
    pinned = ("discovery", "pins", style) if style in server.pins else ("discovery", "pinned")
    yield Finding(
        code="TM509",
        tool="",
        message=message,
        hint='choose another style, or move tools to `tier = "all"`' if is_classic else "pin fewer tools",
        at=("discovery", "style") if is_classic else pinned,
        value=True,
        severity=severity,
    )


def _documented(clients: Iterable[ToolNames]) -> list[ToolNames]:
    """Return the clients whose limit is documented by the vendor."""
    return [client for client in clients if not client.by_hearsay]


def _format_limits(clients: Iterable[ToolNames]) -> str:
    """Return the maximum number of tools of each client: `VS Code, OpenAI and Vertex AI accept 128`."""
    by_count: dict[int, list[str]] = {}
    for client in clients:
        by_count.setdefault(client.max_tools or 0, []).append(client.title)
    return ", ".join(
        f"{_join(names)} {'accept' if len(names) > 1 else 'accepts'} {count}"
        for count, names in sorted(by_count.items())
    )


def _join(names: list[str]) -> str:
    return f"{', '.join(names[:-1])} and {names[-1]}" if len(names) > 1 else names[0]


def check_listed_name_length(server: Server) -> Iterator[Finding]:
    """TM515: a listed name that is too long with the prefix of a client.

    `resolve` reports tools whose names are too long after `mcp__<server>__`. The rest are meta-tools, and the longer
    prefix of a plugin. The latter is a note, since the plugin may have another name or never exist.
    """
    too_long_for = {wire["name"]: too_long(wire["name"], server.table.name) for wire in _list_tools(server)}
    failing = [name for name, clients in too_long_for.items() if set(clients) - {names_of(CLAUDE_CODE_PLUGIN)}]
    names = failing or [name for name, clients in too_long_for.items() if clients]
    if not names:
        return
    longest = max(names, key=len)
    client = too_long_for[longest][0]
    full = full_name(client, server.table.name, longest)
    rest = f" (and {len(names) - 1} more)" if len(names) > 1 else ""
    yield Finding(
        code="TM515",
        tool="",
        message=f"{client.title} shows `{longest}` as `{full}`: {len(full)} characters, "
        f"it accepts {client.max_length}{rest}",
        hint="shorten the server's name"
        if failing
        else "choose a short name for the plugin, or shorten the name of the server or the tool",
        at=("server", "name"),
        value=True,
        severity=None if failing else Severity.NOTE,
    )


def _list_tools(server: Server, *, all_tools: bool = False) -> list[Mapping[str, Any]]:
    """Return the tools of `tools/list`, meta-tools included."""
    # `dict` replaces the search index, which listing does not use.
    style = style_for(catalogue_of(server), Selection(server.discovery.style, all_tools=all_tools), dict)
    return list(style.listed())
