"""The clients of `usage.toml`, and the share of them that a finding concerns. Read once."""

from __future__ import annotations

import datetime as dt
import tomllib
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path


@dataclass(frozen=True, slots=True, kw_only=True)
class Client:
    """A client, the keys of the providers that its users can choose, and its weight."""

    title: str
    providers: tuple[str, ...]
    votes: float = 1
    source: str
    checked: dt.date

    def share_of(self, providers: Collection[str]) -> float:
        """Return the share of its users that choose one of `providers`; each provider of a client counts the same."""
        return len(set(self.providers) & set(providers)) / len(self.providers)


@cache
def clients() -> Mapping[str, Client]:
    """Return the clients by their keys."""
    data = tomllib.loads(Path(__file__).with_name("usage.toml").read_text(encoding="utf-8"))
    common = {"checked": data["checked"]}
    return {
        key: Client(**common | table | {"providers": tuple(table["providers"])})
        for key, table in data["clients"].items()
    }


def share_of_clients(names: Collection[str], providers: Collection[str]) -> float:
    """Return the weighted share of the clients `names`, and of users of the others that choose one of `providers`."""
    rows = clients()
    failing = sum(client.votes * (1 if key in names else client.share_of(providers)) for key, client in rows.items())
    return failing / sum(client.votes for client in rows.values())
