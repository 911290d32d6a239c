"""Lint rules on what clients make of tool names, and on how many tools they take."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final, NamedTuple

from toolmason_runtime.discovery import style_for
from toolmason_runtime.protocol.selection import Selection
from toolmason_runtime.toml.positions import KeyPath

from toolmason.catalogue.table import catalogue
from toolmason.clients import CLAUDE_CODE_PLUGIN, ToolNames
from toolmason.diagnostics import Severity
from toolmason.lint.finding import Finding
from toolmason.manifest.tables import DiscoveryTable
from toolmason.model.identifiers import words
from toolmason.model.server import Server
from toolmason.resolve.client_names import clashes, full_name, names_of, too_long, too_many
from toolmason.resolve.tool_names import meta_tool_names

MAX_NAME_LENGTH: Final = 40
"""Characters of a tool's name that leave room for the prefix of a plugin and its server in 64."""


def names_leave_room_for_prefixes(server: Server) -> Iterator[Finding]:
    """TM506: clients put their own words before a name, and plugins theirs before those."""
    for tool in server.tools:
        if len(tool.name) > MAX_NAME_LENGTH:
            yield Finding(
                code="TM506",
                tool=tool.name,
                message=f"the name `{tool.name}` has {len(tool.name)} characters, {MAX_NAME_LENGTH} leave room",
                hint="shorten it and keep the old name in `aliases`",
                at=tool.at,
            )


def names_survive_as_they_are(server: Server) -> Iterator[Finding]:
    """TM507: dashes, dots and capitals are rewritten by one client or another."""
    for tool in server.tools:
        if not re.fullmatch(r"[a-z][a-z0-9_]*", tool.name):
            snake = "_".join(part.lower() for part in words(tool.name))
            yield Finding(
                code="TM507",
                tool=tool.name,
                message=f"the name `{tool.name}` is not of lower-case letters, digits and underscores",
                hint=f"call it `{snake}` and keep the old name in `aliases`",
                at=tool.at,
            )


class _Called(NamedTuple):
    """What answers to a name: `said` to the author, standing `at` in the manifest. A meta-tool stands nowhere."""

    tool: str
    said: str
    at: KeyPath = ()
    is_alias: bool = False


def names_stay_apart_in_each_client(server: Server) -> Iterator[Finding]:
    """TM508: two tools that a client shows under one name, of which it keeps one.

    Two tools of the manifest are hardly ever that alike: `resolve` refuses names that are the same in Python. A tool
    and a meta-tool, of any style since a flag can change it, can be, and so can an old name and another tool: whoever
    allowed the old one has then allowed the other.
    """
    called = _called(server)
    for clash in clashes({name: each.tool for name, each in called.items()}, server.name):
        first, second = called[clash.first], called[clash.second]
        yield Finding(
            code="TM508",
            tool=second.tool,
            message=f"{clash.client.title} shows {second.said} and {first.said} both as `{clash.shown}`",
            hint="leave the alias out, or rename the other" if second.is_alias else "rename the tool",
            at=second.at,
            value=second.is_alias,
            severity=Severity.WARNING if second.is_alias else None,
        )


def _called(server: Server) -> dict[str, _Called]:
    """Give every name of `server` that can be called: meta-tools, then tools, then their old names."""
    reserved = meta_tool_names(DiscoveryTable(prefix=server.discovery.prefix))
    called = {name: _Called(name, f"the meta-tool `{name}`") for name in reserved}
    called |= {tool.name: _Called(tool.name, f"`{tool.name}`", tool.at) for tool in server.tools}
    for tool in server.tools:
        for place, alias in enumerate(tool.aliases):
            said = f"`{alias}`, an old name of `{tool.name}`,"
            called[alias] = _Called(tool.name, said, (*tool.at, "aliases", place), is_alias=True)
    return called


def lists_are_not_too_long(server: Server) -> Iterator[Finding]:
    """TM509: a client that is sent more tools than a model takes drops some, or fails."""
    count, count_of_all = (len(_listed(server, all_tools=each)) for each in (False, True))
    style = server.discovery.style
    lists = f"style `{style}` lists"
    if clients := _sure(too_many(count)):
        message, severity = f"{lists} {count} tools; {_counts(clients)}", Severity.WARNING
    elif clients := _sure(too_many(count_of_all)):
        message, severity = f"{lists} {count_of_all} tools with `--all`; {_counts(clients)}", Severity.NOTE
    elif clients := list(too_many(count)):
        message, severity = f"{lists} {count} tools; users say that {_counts(clients)}", Severity.NOTE
    else:
        return
    is_classic = style == "classic"
    yield Finding(
        code="TM509",
        tool="",
        message=message,
        hint='choose another style, or move tools to `tier = "all"`' if is_classic else "pin fewer tools",
        at=("discovery", "style" if is_classic else "pinned"),
        value=True,
        severity=severity,
    )


def _sure(clients: Iterable[ToolNames]) -> list[ToolNames]:
    return [client for client in clients if not client.by_hearsay]


def _counts(clients: Iterable[ToolNames]) -> str:
    """Say how many tools each of `clients` takes: `VS Code, OpenAI and Vertex AI take 128`."""
    by_count: dict[int, list[str]] = {}
    for client in clients:
        by_count.setdefault(client.max_tools or 0, []).append(client.title)
    return ", ".join(
        f"{_and(names)} {'take' if len(names) > 1 else 'takes'} {count}" for count, names in sorted(by_count.items())
    )


def _and(names: list[str]) -> str:
    return f"{', '.join(names[:-1])} and {names[-1]}" if len(names) > 1 else names[0]


def listed_names_fit_each_client(server: Server) -> Iterator[Finding]:
    """TM515: a listed name that is too long once a client has put its own words before it.

    `resolve` refuses tools whose names do not fit behind `mcp__<server>__`. That leaves meta-tools, whose names nobody
    chooses, and the longer prefix of a plugin, which is a note: the plugin may be called otherwise, or never be made.
    """
    too_long_for = {wire["name"]: too_long(wire["name"], server.name) for wire in _listed(server)}
    failing = [name for name, clients in too_long_for.items() if set(clients) - {names_of(CLAUDE_CODE_PLUGIN)}]
    names = failing or [name for name, clients in too_long_for.items() if clients]
    if not names:
        return
    longest = max(names, key=len)
    client = too_long_for[longest][0]
    full = full_name(client, server.name, longest)
    rest = f" (and {len(names) - 1} more)" if len(names) > 1 else ""
    yield Finding(
        code="TM515",
        tool="",
        message=f"{client.title} shows `{longest}` as `{full}`: {len(full)} characters, "
        f"it takes {client.max_length}{rest}",
        hint="shorten the server's name"
        if failing
        else "give a plugin a short name, or shorten the server's or the tool's",
        at=("server", "name"),
        value=True,
        severity=None if failing else Severity.NOTE,
    )


def _listed(server: Server, *, all_tools: bool = False) -> list[Mapping[str, Any]]:
    """Give what `tools/list` would answer, meta-tools included."""
    # No tool is looked for, so the index is never read.
    style = style_for(catalogue(server), Selection(server.discovery.style, all_tools=all_tools), dict)
    return list(style.listed())
