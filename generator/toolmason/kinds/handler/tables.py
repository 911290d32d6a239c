"""The keys of tools with a handler."""

from __future__ import annotations

from dataclasses import dataclass

from toolmason_runtime.toml.tables import Table, key

from toolmason.manifest.rules import FUNCTION


@dataclass(frozen=True, slots=True, kw_only=True)
class HandlerKeys(Table):
    """The keys of `[tools.NAME]` for a tool with a handler."""

    handler: str = key(FUNCTION, default="")
    """`module:function` under `[server].handlers`."""
