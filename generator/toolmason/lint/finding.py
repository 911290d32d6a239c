"""Lint rules and their findings."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from toolmason_runtime.toml.positions import KeyPath

from toolmason.diagnostics import Severity
from toolmason.model.server import Server


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """A likely mistake.

    Args:
        tool: The tool whose `allow` can suppress the finding, empty for none.
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


Rule = Callable[[Server], Iterator[Finding]]
