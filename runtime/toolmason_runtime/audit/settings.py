"""The settings of an audit log: a flag, else an environment variable, else the manifest."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from toolmason_runtime.audit.errors import AuditError
from toolmason_runtime.audit.variables import variable
from toolmason_runtime.shared.catalogue import AuditEntry, ServerEntry

MB: Final = 1_000_000
DEFAULT_MAX_MB: Final = 100
MAX_MB: Final = 100_000
DEFAULT_KEEP: Final = 10
OTEL: Final = "otel"
"""Value of the setting: send the events to the OpenTelemetry collector of the environment."""
OFF: Final = "off"
"""Value of the setting: no log, whatever the manifest says."""
FLAG: Final = "--audit"


@dataclass(frozen=True, slots=True)
class AuditSettings:
    """The destination of the events. `path` is empty for OpenTelemetry."""

    path: str
    max_bytes: int = DEFAULT_MAX_MB * MB
    keep: int = DEFAULT_KEEP


def audit_settings(server: ServerEntry, command: str, flag: str = "") -> AuditSettings | None:
    """Return the settings of a server; None if it has no log.

    A path of the manifest is below the state directory of the server, unless it is absolute: a server's working
    directory is often a project in which tools write.

    Raises:
        AuditError: a setting is invalid.
    """
    chosen = flag or os.environ.get(variable(command), "").strip()
    source = FLAG if flag else variable(command)
    entry: AuditEntry = server["audit"] if "audit" in server else {"path": ""}  # noqa: SIM401  for the type
    text = chosen or entry["path"]
    if not text or text == OFF:
        return None
    max_mb = _number(command, "AUDIT_MAX_MB", entry.get("max_mb", DEFAULT_MAX_MB), minimum=1)
    keep = _number(command, "AUDIT_KEEP", entry.get("keep", DEFAULT_KEEP), minimum=0)
    if text == OTEL:
        return AuditSettings("", max_mb * MB, keep)
    if "\0" in text:
        raise AuditError(f"{source} contains NUL")
    path = Path(os.path.expanduser(text))  # noqa: PTH111  an unknown user is no error
    if not path.is_absolute():
        if chosen:
            raise AuditError(
                f"{source} must be an absolute path, or begin with `~/`: the working directory of a server depends on"
                f" its client; got `{text}`"
            )
        path = state_directory(command, os.environ) / path
    return AuditSettings(os.path.normpath(path), max_mb * MB, keep)


def state_directory(command: str, environ: Mapping[str, str]) -> Path:
    """Return the directory of a server's state, for this user."""
    home = Path(environ.get("HOME") or os.path.expanduser("~"))  # noqa: PTH111  an unknown user is no error
    if sys.platform == "win32":
        return Path(environ.get("LOCALAPPDATA") or home / "AppData" / "Local") / command
    if sys.platform == "darwin":
        return home / "Library" / "Application Support" / command
    return home / ".local" / "state" / command


def _number(command: str, name: str, default: int, *, minimum: int) -> int:
    text = os.environ.get(variable(command, name), "").strip()
    if not text:
        return default
    if not (text.isascii() and text.isdecimal() and len(text) < 10 and int(text) >= minimum):
        raise AuditError(f"{variable(command, name)} must be a number of at least {minimum}; got `{text[:40]}`")
    return int(text)
