"""The `requestState` of 2026-07-28: earlier answers of a client, which it repeats in each round and cannot change.

It is signed but not encrypted, because it contains only answers of that client.
"""

from __future__ import annotations

import base64
import hashlib
import hmac
import json
import logging
import os
import time
from collections.abc import Mapping
from typing import Any, Final

from toolmason_runtime.shared.errors import INVALID_PARAMS, MethodError

LIFETIME_S: Final = 600.0
METHODS: Final = frozenset({"tools/call", "prompts/get", "resources/read"})
"""The methods whose results may ask the client for more."""

_log = logging.getLogger(__package__)


class RequestStates:
    """Signs the states of one process and verifies those that come back.

    A state is valid for `LIFETIME_S`, for the same method, name or URI, and arguments.
    """

    def __init__(self) -> None:
        self._key = os.urandom(32)

    def seal(self, method: str, params: Mapping[str, Any], state: str) -> str:
        """Return the signed form of `state`."""
        claims = json.dumps({"exp": time.time() + LIFETIME_S, "s": state})
        body = base64.urlsafe_b64encode(claims.encode()).decode()
        return f"v1.{body}.{self._signature(method, params, body)}"

    def unseal(self, method: str, params: Mapping[str, Any]) -> Mapping[str, Any]:
        """Return `params` with the state as it was before `seal`.

        Raises:
            MethodError: the state is not from this process, has expired or belongs to another request.
        """
        sealed = params.get("requestState")
        if method not in METHODS or sealed is None:
            return params
        return {**params, "requestState": self._state(method, params, sealed)}

    def _state(self, method: str, params: Mapping[str, Any], sealed: object) -> str:
        version, _, rest = str(sealed).partition(".")
        body, _, signature = rest.partition(".")
        expected = self._signature(method, params, body)
        if version != "v1" or not hmac.compare_digest(signature.encode(), expected.encode()):
            raise _invalid(method, "signature")
        claims = json.loads(base64.urlsafe_b64decode(body))
        if time.time() >= claims["exp"]:
            raise _invalid(method, "expired")
        state: str = claims["s"]
        return state

    def _signature(self, method: str, params: Mapping[str, Any], body: str) -> str:
        bound = [method, params.get("name"), params.get("uri"), params.get("arguments") or {}, body]
        return hmac.new(self._key, json.dumps(bound, sort_keys=True).encode(), hashlib.sha256).hexdigest()


def _invalid(method: str, reason: str) -> MethodError:
    _log.warning("requestState rejected on %s: %s", method, reason)
    return MethodError(INVALID_PARAMS, "Invalid or expired requestState", {"reason": "invalid_request_state"})
