"""Lint rules and their findings."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import lru_cache

from toolmason_runtime.shared.catalogue import Catalogue
from toolmason_runtime.shared.toml.positions import KeyPath

from toolmason.catalogue.table import catalogue
from toolmason.diagnostics import Severity
from toolmason.model.server import Server
from toolmason.model.tool import Tool


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """A likely mistake.

    Args:
        tool: The tool whose `allow` can suppress the finding; empty for that of the table at `at`, if it has one.
        at: The key path. For an absent key, the location is its table.
        value: Whether the location is that of the value instead of the key.
        severity: The severity, None for that of the rule.
    """

    code: str
    tool: str
    message: str
    hint: str
    at: KeyPath
    value: bool = False
    severity: Severity | None = None


def about_tool(
    tool: Tool,
    code: str,
    message: str,
    hint: str,
    *keys: str | int,
    value: bool = False,
    severity: Severity | None = None,
) -> Finding:
    """Return a finding at the key path `keys` in the table of `tool`."""
    at = (*tool.at, *keys)
    return Finding(code=code, tool=tool.name, message=message, hint=hint, at=at, value=value, severity=severity)


Rule = Callable[[Server], Iterator[Finding]]


@lru_cache(maxsize=1)
def catalogue_of(server: Server) -> Catalogue:
    """Return the catalogue of `server`, which several rules read and none changes."""
    return catalogue(server)
