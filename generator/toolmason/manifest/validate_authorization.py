"""Checks of `[server.auth]`, and of the scopes and claims of tools."""

from __future__ import annotations

import re
from typing import Final

from toolmason_runtime.shared.toml.problems import quoted, table_name
from toolmason_runtime.shared.toml.reader import TableContext

from toolmason.manifest.checks import table_of

_SCOPE: Final = re.compile(r"[\x21\x23-\x5b\x5d-\x7e]+")
"""`scope-token` of RFC 6749, section 3.3."""
CLAIM_TYPES: Final = ("string", "integer", "number", "boolean", "string[]")
"""Types of a parameter with `claim`."""


def check_server_auth(context: TableContext) -> None:
    """Report invalid scopes."""
    _check_scopes(context)


def check_tool_authorization(context: TableContext) -> None:
    """Report invalid scopes, and types that claims do not have."""
    _check_scopes(context)
    for name, param in table_of(context.data, "params").items():
        kind = table_of(context.data["params"], name).get("type")
        if isinstance(param, dict) and "claim" in param and isinstance(kind, str) and kind not in CLAIM_TYPES:
            where = table_name((*context.at, "params", name))
            message = f"`claim` cannot be combined with the type {quoted(kind)} in {where}"
            context.error("TM261", message, "params", name, "type", hint=f"write one of {', '.join(CLAIM_TYPES)}")
        if isinstance(param, dict) and "claim" in param and "aliases" in param:
            message = f"`aliases` cannot be combined with `claim` in {table_name((*context.at, 'params', name))}"
            context.error("TM261", message, "params", name, "aliases", hint="remove it: no caller sends the value")


def _check_scopes(context: TableContext) -> None:
    scopes = context.data.get("scopes")
    for index, scope in enumerate(scopes if isinstance(scopes, list) else ()):
        if isinstance(scope, str) and not _SCOPE.fullmatch(scope):
            message = f"{quoted(scope)} in `scopes` of {table_name(context.at)} is not a scope"
            hint = "write each scope as a text of its own, without spaces, quotes and backslashes"
            context.error("TM261", message, "scopes", index, hint=hint)
