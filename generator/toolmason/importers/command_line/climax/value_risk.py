"""Propose a risk by value for parameters whose choices name a deletion, such as the method of an HTTP request."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any, Final

from toolmason.manifest.checks import RISKS

_DESTRUCTIVE: Final = frozenset(
    (
        *("clean", "clear", "delete", "del", "destroy", "discard", "drop", "erase", "force", "kill", "prune", "purge"),
        *("remove", "reset", "revoke", "rm", "terminate", "truncate", "uninstall", "unpublish", "wipe"),
    )
)
_WRITE: Final = frozenset(
    (
        *("add", "append", "apply", "approve", "archive", "assign", "cancel", "close", "commit", "create", "disable"),
        *(
            "edit",
            "enable",
            "import",
            "insert",
            "install",
            "lock",
            "merge",
            "mkdir",
            "move",
            "patch",
            "post",
            "publish",
        ),
        *(
            "publish",
            "push",
            "put",
            "rename",
            "reopen",
            "restart",
            "restore",
            "run",
            "save",
            "send",
            "set",
            "start",
            "stop",
        ),
        *("submit", "sync", "unlock", "update", "upgrade", "upload", "write"),
    )
)
_WORD: Final = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+")
"""A word of a choice: `delete` and `All` in `deleteAll`, `DELETE`, `force` in `force-push`."""


def risk_by_value(params: Mapping[str, Mapping[str, Any]], least: str) -> dict[str, dict[str, str]]:
    """Return `risk` by value for each parameter with a choice that deletes; empty if no risk is above `least`."""
    proposal: dict[str, dict[str, str]] = {}
    for name, table in params.items():
        choices = table.get("enum", ())
        risks = {choice: max(least, _risk_of(choice), key=RISKS.index) for choice in choices if isinstance(choice, str)}
        if len(risks) < len(choices) or "destructive" not in risks.values() or set(risks.values()) == {least}:
            continue
        if not table.get("required", True) and "default" not in table:
            risks = {"": least, **risks}
        proposal[name] = risks
    return proposal


def format_by_value(proposal: Mapping[str, Mapping[str, str]]) -> str:
    """Return a proposal as TOML in one line."""
    tables = []
    for name, risks in proposal.items():
        entries = ", ".join(f'{_key(value)} = "{risk}"' for value, risk in risks.items())
        tables.append(f"risk.{name} = {{ {entries} }}")
    return f"`{'; '.join(tables)}`"


def _key(value: str) -> str:
    return value if re.fullmatch(r"[A-Za-z0-9_-]+", value) else json.dumps(value)


def _risk_of(choice: str) -> str:
    words = {word.lower() for word in _WORD.findall(choice)}
    if words & _DESTRUCTIVE:
        return "destructive"
    return "write" if words & _WRITE else "read"
