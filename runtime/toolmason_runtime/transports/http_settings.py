"""Settings of a server over HTTP: flags, else environment variables, since an ASGI application has no command line."""

from __future__ import annotations

import math
import os
import re
from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, Final

from toolmason_runtime.shared.engines import DEFAULT_ENGINE, ENGINES, LEAN
from toolmason_runtime.transports.http_access import AccessError
from toolmason_runtime.transports.limits import MAX_REQUESTS, MAX_SESSIONS, client_share

MIN_KEY_BYTES: Final = 32
"""Minimum bytes of a state key."""


@dataclass(frozen=True, slots=True, kw_only=True)
class HttpSettings:
    """The settings that all ways to start a server over HTTP share."""

    allowed_hosts: tuple[str, ...]
    allowed_origins: tuple[str, ...]
    token_file: str
    is_open: bool
    """Whether clients are served that have no token, wherever they are."""
    max_requests: int
    max_client_requests: int
    """Maximum concurrent requests of one client."""
    max_client_sessions: int
    """Maximum sessions of one client."""
    call_timeout_s: float | None
    """Maximum seconds of one call; None for no limit."""
    is_lean: bool
    """Whether the lean engine answers valid requests; otherwise the SDK answers them."""
    state_keys: tuple[str, ...]
    """Keys that several processes share. The first one seals, all are accepted: so a key can be replaced."""


def variable(command: str, name: str) -> str:
    """Return the environment variable of a setting: `MY_SERVER_STATE_KEY`."""
    return f"{re.sub(r'[^A-Za-z0-9]', '_', command)}_{name}".upper()


def http_settings(command: str, flags: Mapping[str, Any] = MappingProxyType({})) -> HttpSettings:
    """Return the settings of the server that `command` starts.

    Raises:
        AccessError: a value is invalid.
    """

    def words(name: str) -> tuple[str, ...]:
        given = flags.get(name.lower()) or re.split(r"[\s,]+", _text(command, name))
        return tuple(filter(None, given))

    max_requests = int(_number(command, "MAX_REQUESTS", flags, MAX_REQUESTS))
    return HttpSettings(
        allowed_hosts=words("ALLOW_HOST"),
        allowed_origins=words("ALLOW_ORIGIN"),
        token_file=flags.get("token_file") or _text(command, "TOKEN_FILE"),
        is_open=_is_on(command, "OPEN"),
        max_requests=max_requests,
        max_client_requests=int(_number(command, "MAX_CLIENT_REQUESTS", flags, client_share(max_requests))),
        max_client_sessions=int(_number(command, "MAX_CLIENT_SESSIONS", flags, client_share(MAX_SESSIONS))),
        call_timeout_s=_number(command, "CALL_TIMEOUT", flags, 0) or None,
        is_lean=_engine(command, flags) == LEAN,
        state_keys=_state_keys(command),
    )


def _text(command: str, name: str) -> str:
    return os.environ.get(variable(command, name), "").strip()


def _is_on(command: str, name: str) -> bool:
    text = _text(command, name)
    if text not in {"", "0", "1"}:
        raise AccessError(f"{variable(command, name)} must be 1 or 0; got `{text:.20}`")
    return text == "1"


def _number(command: str, name: str, flags: Mapping[str, Any], default: float) -> float:
    if (flag := flags.get(name.lower())) is not None:
        return float(flag)
    text = _text(command, name)
    try:
        number = float(text or default)
    except ValueError:
        number = math.nan
    if not math.isfinite(number) or number < (1 if text else 0):
        raise AccessError(f"{variable(command, name)} must be a number of at least 1")
    return number


def _engine(command: str, flags: Mapping[str, Any]) -> str:
    engine: str = flags.get("engine") or _text(command, "ENGINE") or DEFAULT_ENGINE
    if engine not in ENGINES:
        raise AccessError(f"{variable(command, 'ENGINE')} must be {' or '.join(ENGINES)}; got `{engine:.20}`")
    return engine


def _state_keys(command: str) -> tuple[str, ...]:
    keys = tuple(dict.fromkeys(_text(command, "STATE_KEY").split()))
    if any(len(key.encode()) < MIN_KEY_BYTES for key in keys):
        raise AccessError(
            f"{variable(command, 'STATE_KEY')} needs at least {MIN_KEY_BYTES} random characters;"
            ' create one with: python -c "import secrets; print(secrets.token_hex(32))"'
        )
    return keys
