"""Write one line for each request that a transport refuses before it reaches the dispatcher."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from toolmason_runtime.audit.calls import METHODS, digest_of, of_principal, subject_of
from toolmason_runtime.audit.events import active

if TYPE_CHECKING:
    from toolmason_runtime.calls.principal import Principal


def record_refusal(
    method: str,
    params: Mapping[str, Any],
    rule: str,
    *,
    origin: Mapping[str, Any],
    client: str = "",
    principal: Principal | None = None,
) -> None:
    """Write the refusal of a request for a tool, prompt or resource; others have no line.

    Args:
        method: the method of the request.
        params: its parameters.
        rule: the rule that refused it.
        origin: the fields of its transport, see `RequestContext.origin`.
        client: name of the client; empty if unknown.
        principal: owner of the access token.
    """
    log = active()
    if log is None or method not in METHODS:
        return
    subject = subject_of(method, params)
    digest = digest_of(log, params.get("arguments") or {})
    denial = {"decision": "denied", "rule": rule, "outcome": "refused"}
    log.write("refusal", {**origin, "client": client, **of_principal(principal), **subject, **digest, **denial})
