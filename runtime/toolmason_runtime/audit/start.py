"""Open the audit log of a server when it starts."""

from __future__ import annotations

import os
import secrets
from pathlib import Path

from toolmason_runtime.audit.events import active, set_log
from toolmason_runtime.audit.log import AuditLog, Output
from toolmason_runtime.audit.log_file import KEY_BYTES, LogFile, load_key
from toolmason_runtime.audit.settings import audit_settings
from toolmason_runtime.shared.catalogue import ServerEntry


def start_audit(server: ServerEntry, command: str, *, flag: str = "", transport: str) -> AuditLog | None:
    """Open the log, write that the server starts, and record all events from now on; None if the server has no log.

    Args:
        server: the catalogue's entry of the server.
        command: command of the server, with which the variables of its settings begin.
        flag: value of `--audit`; empty without it.
        transport: `stdio` or `http`.

    Raises:
        AuditError: a setting is invalid, or the log cannot be written.
    """
    settings = audit_settings(server, command, flag)
    if settings is None:
        return None
    output: Output
    if settings.path:
        path = Path(settings.path)
        output = LogFile(path, max_bytes=settings.max_bytes, keep=settings.keep)
        key = load_key(path)
    else:
        from toolmason_runtime.audit.telemetry import TelemetryOutput

        output, key = TelemetryOutput(server["name"], server["version"]), secrets.token_bytes(KEY_BYTES)
    identity = {"server": server["name"], "version": server["version"]}
    log = AuditLog(output, key, identity, path=settings.path)
    log.write("start", {"transport": transport, "os_user": os_user()})
    log.require_available()
    set_log(log)
    return log


def stop_audit() -> None:
    """Write that the server ends, and close the log; without one, do nothing."""
    log = active()
    if log is not None:
        set_log(None)
        log.stop()


def os_user() -> str:
    """Return the name of the user of this process in the operating system, or its number."""
    if not hasattr(os, "geteuid"):
        return os.environ.get("USERNAME", "")
    import pwd

    try:
        return pwd.getpwuid(os.geteuid()).pw_name
    except KeyError:
        return str(os.geteuid())
