"""The names under which clients and providers show tools to a model, and how many tools they accept.

A client puts its own words and the server's name before a tool's name, rewrites characters, and shortens, drops or
rejects a name that is then too long. It maps the shown name back to the tool, so of two tools with the same shown name
only one can be called. The facts are in `clients.toml` and `schema/providers.toml`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from functools import cache
from hashlib import sha1
from typing import Final, NamedTuple

from toolmason.clients import ToolNames, clients
from toolmason.schema.providers import providers

_HALF: Final = 30
"""Characters that a name cut in the middle keeps on either side of `...`."""


@cache
def tool_names() -> tuple[ToolNames, ...]:
    """Return how each client, then each provider, shows the names of tools."""
    of_clients = (client.names for client in clients().values() if client.names)
    of_providers = (
        ToolNames(
            title=provider.title,
            form="{tool}",
            max_length=provider.max_name,
            excess="refused",
            max_tools=provider.max_tools,
            source=provider.source,
            checked=provider.checked,
        )
        for provider in providers().providers.values()
    )
    return (*of_clients, *of_providers)


def names_of(client: str) -> ToolNames:
    """Return how the client with the key `client` shows the names of tools.

    Raises:
        KeyError: there is no such client, or nothing is known about its names.
    """
    names = clients()[client].names
    if names is None:
        raise KeyError(client)
    return names


def full_name(client: ToolNames, server: str, tool: str) -> str:
    """Return the name that `client` builds, before it is shortened."""
    label = re.sub(r"[^a-z0-9_.-]+", "_", server.lower())[: client.label_length]
    name = client.form.format(server=server, label=label, tool=tool)
    prefix = client.form.partition("{")[0]
    if not client.repeats_prefix and f"{server}_".startswith(prefix):
        name = name.removeprefix(prefix)
    return re.sub(client.rewritten, "_", name) if client.rewritten else name


def shown_name(client: ToolNames, server: str, tool: str) -> str:
    """Return the name that `client` shows its model for a tool. Rejected and dropped names are returned in full."""
    name = full_name(client, server, tool)
    if len(name) <= client.max_length:
        return name
    match client.excess:
        case "cut":
            return name[: client.max_length]
        case "cut in the middle":
            return f"{name[:_HALF]}...{name[-_HALF:]}"
        case "hashed":
            digest = sha1(client.form.format(server=server, tool=tool).encode(), usedforsecurity=False).hexdigest()
            return name[: client.max_length - len(digest)] + digest
        case "refused" | "dropped":
            return name


class Clash(NamedTuple):
    """Two names of different tools that `client` shows as one, `shown`."""

    client: ToolNames
    shown: str
    first: str
    second: str


def clashes(names: Mapping[str, str], server: str) -> Iterator[Clash]:
    """Find each name that some client shows like an earlier one: once, for the first such client.

    `names` maps each name to the tool that answers to it; names of one tool do not clash.
    """
    reported: set[str] = set()
    for client in tool_names():
        taken: dict[str, str] = {}
        for name, tool in names.items():
            first = taken.setdefault(shown_name(client, server, name), name)
            if names[first] != tool and name not in reported:
                reported.add(name)
                yield Clash(client, shown_name(client, server, name), first, name)


def too_long(tool: str, server: str) -> tuple[ToolNames, ...]:
    """Return the clients for which the name of `tool` is too long."""
    return tuple(client for client in tool_names() if len(full_name(client, server, tool)) > client.max_length)


def too_many(tools: int) -> tuple[ToolNames, ...]:
    """Return the clients that accept fewer tools than `tools`."""
    return tuple(client for client in tool_names() if client.max_tools is not None and tools > client.max_tools)
