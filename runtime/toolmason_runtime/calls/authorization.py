"""The rules of a tool that depend on the caller's access token: scopes, and parameters filled from claims."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from toolmason_runtime.calls.call import Context
from toolmason_runtime.calls.principal import Principal
from toolmason_runtime.shared.catalogue import ToolEntry
from toolmason_runtime.shared.errors import ToolError
from toolmason_runtime.shared.values.validation import validator
from toolmason_runtime.shared.values.wording import unknown

INSUFFICIENT_SCOPE: Final = "INSUFFICIENT_SCOPE"
"""Code of the error for a call without a required scope."""
MISSING_CLAIM: Final = "MISSING_CLAIM"
"""Code of the error for a call without a required claim."""


def missing_scopes(entry: ToolEntry, principal: Principal | None) -> list[str]:
    """Return the scopes of a tool that `principal` lacks, in the order of the manifest."""
    held = principal.scopes if principal else frozenset()
    return [scope for scope in entry.get("scopes", ()) if scope not in held]


def check_scopes(entry: ToolEntry, context: Context) -> None:
    """Raise ToolError if the caller lacks a scope of the tool. A client that started the server needs none."""
    missing = [] if context.is_local else missing_scopes(entry, context.principal)
    if missing:
        raise ToolError(
            insufficient_scope(entry["tool"]["name"], missing), code=INSUFFICIENT_SCOPE, details={"scopes": missing}
        )


def insufficient_scope(tool: str, missing: list[str]) -> str:
    """Return the error for a call without scopes."""
    scopes = " and ".join(f"`{scope}`" for scope in missing)
    noun = "scope" if len(missing) == 1 else "scopes"
    return f"Tool {tool} needs the {noun} {scopes}, which the access token lacks: ask the user to authorize this client"


def with_claims(
    entry: ToolEntry, arguments: Mapping[str, Any], principal: Principal | None
) -> tuple[dict[str, Any], list[str]]:
    """Return the arguments with the values of claims, and a note on each that the caller sent instead.

    Raises:
        ToolError: a required claim is missing or invalid.
    """
    claims = entry["claims"]
    notes = [
        unknown((name,), list(entry["tool"]["inputSchema"].get("properties", ())), used=arguments)
        for name in arguments
        if name in claims
    ]
    values = {name: value for name, value in arguments.items() if name not in claims}
    for name, rule in claims.items():
        value = principal.claims.get(rule["claim"]) if principal else None
        if value is None:
            if rule["required"]:
                raise ToolError(_missing_claim(entry, rule["claim"], principal), code=MISSING_CLAIM)
        elif validator(rule["schema"]).is_valid(value):
            values[name] = value
        else:
            raise ToolError(
                f"Tool {entry['tool']['name']} cannot use the claim `{rule['claim']}` of the access token: its value is"
                " invalid for this tool",
                code=MISSING_CLAIM,
            )
    return values, notes


def _missing_claim(entry: ToolEntry, claim: str, principal: Principal | None) -> str:
    tool = entry["tool"]["name"]
    if principal is None:
        return f"Tool {tool} needs the claim `{claim}` of an access token: use this server over HTTP with authorization"
    return f"Tool {tool} needs the claim `{claim}`, which the access token lacks"
