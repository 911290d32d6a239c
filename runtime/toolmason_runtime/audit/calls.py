"""Write one line for each call of a tool, and for each prompt and resource that a client reads."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable, Mapping
from typing import TYPE_CHECKING, Any, Final

from toolmason_runtime.audit.events import fields_of_call
from toolmason_runtime.audit.lines import canonical
from toolmason_runtime.audit.log import UNAVAILABLE
from toolmason_runtime.shared.errors import INTERNAL, INTERNAL_ERROR, INVALID_ARGUMENT, MethodError, ToolError

if TYPE_CHECKING:
    from toolmason_runtime.audit.log import AuditLog
    from toolmason_runtime.calls.call import Context
    from toolmason_runtime.calls.principal import Principal

METHODS: Final = frozenset({"tools/call", "prompts/get", "resources/read"})
"""The methods with a line for each request; lists are the same for every client."""
DENIALS: Final = frozenset(
    {
        *(INVALID_ARGUMENT, "UNKNOWN_TOOL", "DISABLED_TOOL", "NOT_READ_ONLY", "UNSAFE_ARGUMENT", UNAVAILABLE),
        *("INSUFFICIENT_SCOPE", "MISSING_CLAIM", "POLICY", "NOT_APPROVED", "APPROVAL_UNAVAILABLE", "NOT_ALLOWED"),
        *("PATH_NOT_ALLOWED", "HOST_NOT_ALLOWED", "NO_ROOTS", "AUDIT_LOG_EXPOSED", "API_ADDRESS", "LIVE_SYNTAX"),
        "UPSTREAM_TOOL_CHANGED",
    }
)
"""Codes of errors with which a rule refuses a call; the others are failures of an allowed one."""
TIMEOUTS: Final = frozenset({"TIMEOUT", "UPSTREAM_TIMEOUT"})
_OPERATION_CHARS: Final = 16


async def audited(
    log: AuditLog,
    method: str,
    params: Mapping[str, Any],
    context: Context,
    work: Callable[[], Awaitable[dict[str, Any]]],
) -> dict[str, Any]:
    """Return the result of `work`, and write the line of the request.

    Raises:
        MethodError: the request is invalid, or the log is not available for a request that is no call.
    """
    fields: dict[str, Any] = {"is_open": True, "call": context.operation_id[:_OPERATION_CHARS], **_caller(context)}
    fields["arguments"] = params.get("arguments") or {}
    fields |= subject_of(method, params)
    if method != "tools/call":
        fields["arguments"] = {key: params[key] for key in ("arguments", "uri") if key in params}
    variable = fields_of_call()
    token = variable.set(fields)
    started = time.perf_counter()
    outcome = "internal"
    log.running += 1
    try:
        log.check()
        result = await work()
        outcome = _outcome(result, fields)
        fields["result_bytes"] = _size(result)
        return result  # noqa: TRY300  the other branches return or raise as well
    except ToolError as error:  # the log is not available: `work` returns the errors of tools as results
        outcome = "refused"
        fields["code"] = error.code
        if method != "tools/call":
            raise MethodError(INTERNAL_ERROR, error.message) from error
        return {"content": [{"type": "text", "text": error.message}], "isError": True}
    except MethodError as error:
        outcome = "refused"
        fields.setdefault("code", error.code)
        raise
    except asyncio.CancelledError:
        outcome = "cancelled"
        raise
    finally:
        duration_s = time.perf_counter() - started
        limit_s = getattr(context, "call_timeout_s", None)
        if outcome == "cancelled" and limit_s and duration_s >= limit_s:
            outcome = "timeout"
        fields["is_open"] = False
        log.running -= 1
        variable.reset(token)
        event = "refusal" if outcome == "refused" else "call"
        log.write(event, _line(log, fields, outcome, duration_s))


def subject_of(method: str, params: Mapping[str, Any]) -> dict[str, Any]:
    """Return the field with the requested name of a tool or prompt; resources are logged by their digest alone."""
    name = params.get("name")
    named = name if isinstance(name, str) else None
    return {"tool": named} if method == "tools/call" else {"method": method, "prompt": named}


def _caller(context: Context) -> dict[str, Any]:
    """Return the fields of the client and of the owner of its access token."""
    origin: Mapping[str, Any] = getattr(context, "origin", {})
    return {**origin, "client": context.client_name, **of_principal(context.principal)}


def of_principal(principal: Principal | None) -> dict[str, Any]:
    """Return the fields of the owner of an access token."""
    if principal is None:
        return {}
    if not (principal.subject or principal.client_id):
        return {"principal": "(bearer token)"}
    return {"principal": principal.subject, "oauth_client": principal.client_id}


def _outcome(result: Mapping[str, Any], fields: dict[str, Any]) -> str:
    if result.get("resultType") == "input_required":
        return "input_required"
    if not result.get("isError"):
        fields.pop("code", None)
        return "ok"
    code = fields.setdefault("code", "TOOL_ERROR")
    if code in DENIALS or "rule" in fields:
        return "refused"
    if code == INTERNAL:
        return "internal"
    return "timeout" if code in TIMEOUTS else "error"


def _line(log: AuditLog, fields: dict[str, Any], outcome: str, duration_s: float) -> dict[str, Any]:
    line = {name: value for name, value in fields.items() if name not in {"is_open", "arguments", "rule", "code"}}
    line["decision"] = "denied" if outcome == "refused" else "allowed"
    if outcome == "refused":
        line["rule"] = fields.get("rule") or fields.get("code")
    line |= digest_of(log, fields["arguments"])
    line |= {"outcome": outcome, "code": None if outcome == "ok" else fields.get("code")}
    return line | {"duration_ms": round(duration_s * 1000, 1)}


def digest_of(log: AuditLog, arguments: Any) -> dict[str, Any]:
    """Return the digest and the size of arguments in their canonical form."""
    try:
        data = canonical(arguments)
    except (ValueError, RecursionError):
        return {}
    return {"args_digest": log.digest(data), "args_bytes": len(data)}


def _size(result: Mapping[str, Any]) -> int | None:
    """Return the UTF-8 bytes of the texts and data in the content of a result."""
    content = result.get("content")
    if not isinstance(content, list):
        return None
    texts = (block.get("text") or block.get("data") or "" for block in content if isinstance(block, dict))
    return sum(map(_bytes, texts))


def _bytes(text: object) -> int:
    if not isinstance(text, str):
        return 0
    return len(text) if text.isascii() else len(text.encode("utf-8", "replace"))
