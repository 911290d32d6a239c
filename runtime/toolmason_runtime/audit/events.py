"""The hook through which a server records events. It does nothing until an audit log is open.

The log is global, as the log on stderr is: access checks, approvals and threads reach it without a parameter.
"""

from __future__ import annotations

from collections.abc import Mapping
from contextvars import ContextVar
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from toolmason_runtime.audit.log import AuditLog

OF_CALL: Final = (
    *("call", "transport", "client", "client_version", "principal", "oauth_client", "address", "session", "request"),
    *("tool", "alias", "via"),
)
"""The fields of a call that are repeated in the lines of its approvals and reviews."""

_log: AuditLog | None = None
_fields: ContextVar[dict[str, Any] | None] = ContextVar("audit_fields", default=None)


def set_log(log: AuditLog | None) -> None:
    """Write all events to `log` from now on; None: to nothing."""
    global _log  # noqa: PLW0603  one for the process
    _log = log


def active() -> AuditLog | None:
    """Return the log; None while it is off."""
    return _log


def log_path() -> str:
    """Return the absolute path of the log's file; empty if there is none."""
    return "" if _log is None else _log.path


def fields_of_call() -> ContextVar[dict[str, Any] | None]:
    """Return the variable with the fields of the call, or of the HTTP request, that runs in this context."""
    return _fields


def note(**fields: Any) -> None:
    """Add fields to the line of the call, or of the HTTP request, that runs in this context."""
    if _log is not None and (own := _fields.get()) is not None:
        own.update(fields)


def note_call(tool: str, kind: str, arguments: Mapping[str, Any]) -> None:
    """Add the tool that runs, its kind of implementation, and its arguments, of which only a digest is logged."""
    note(tool=tool, kind=kind, arguments=arguments)


def note_failure(code: str, *, rule: str = "") -> None:
    """Add the code of a failure. `rule`: the rule that refused the call, if the code alone does not name it."""
    note(code=code, **({"rule": rule} if rule else {}))


def current_call() -> dict[str, Any]:
    """Return the fields that identify the call that runs in this context: `{"call": ID, "client": ...}`."""
    own = _fields.get() if _log is not None else None
    return {name: own[name] for name in OF_CALL if name in own} if own and own.get("is_open") else {}


def record(event: str, *, to: str = "", **fields: Any) -> None:
    """Write one line. Its values are names, numbers and digests, never the content of arguments or files.

    Args:
        event: kind of the event, such as `approval`.
        to: path of the log of another process that began the work; by default the log of this process.
        fields: the fields of the line.
    """
    if to and to != log_path():
        from toolmason_runtime.audit.log import record_to

        record_to(to, event, fields)
    elif _log is not None:
        _log.write(event, fields)


def subject(text: str) -> str:
    """Return the keyed digest of the thing that is approved or changed; empty while the log is off."""
    return "" if _log is None else _log.digest(text.encode("utf-8", "surrogatepass"))
