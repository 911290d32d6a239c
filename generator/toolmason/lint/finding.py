"""What a lint rule is, and what it finds."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from toolmason_runtime.toml.positions import KeyPath

from toolmason.diagnostics import Severity
from toolmason.model.server import Server


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """One thing a rule found. `tool` is the one whose `allow` may switch it off, empty if none can.

    `at` may name a key that is not written; the place is then the table it would stand in. `value` points
    at the value instead of the key. `severity` is set where this finding matters more or less than its rule says.
    """

    code: str
    tool: str
    message: str
    hint: str
    at: KeyPath
    value: bool = False
    severity: Severity | None = None


Rule = Callable[[Server], Iterator[Finding]]
