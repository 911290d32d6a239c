"""The public keys of an authorization server (JWKS, RFC 7517), fetched when they are needed and kept for a while."""

from __future__ import annotations

import asyncio
import logging
import time
from collections import deque
from collections.abc import Callable, Mapping
from typing import Any, Final

import httpx2
from jwt import PyJWK, PyJWTError
from toolmason_runtime.remote.charset import decode
from toolmason_runtime.remote.parse import parse
from toolmason_runtime.shared.budget import KEYS

FRESH_S: Final = 600.0
"""Seconds until the keys are fetched again."""
STALE_S: Final = 3600.0
"""Seconds for which old keys are used while the authorization server does not answer."""
MAX_FETCHES: Final = 5
FETCH_PERIOD_S: Final = 60.0
"""At most `MAX_FETCHES` fetches in this time, so that tokens with invented key ids cause no flood of requests."""
TIMEOUT_S: Final = 5.0
MAX_KEYS: Final = 100
MIN_RSA_BITS: Final = 2048
_KEY_TYPES: Final = {"RS": "RSA", "PS": "RSA", "ES": "EC", "Ed": "OKP"}
"""Beginning of an algorithm's name to the type of its keys."""

_CURVES: Final = {"ES256": "P-256", "ES384": "P-384", "ES512": "P-521"}

_log = logging.getLogger(__name__)


class KeysUnavailableError(Exception):
    """The authorization server does not return its keys."""


class KeySet:
    """The keys at `url`. `clock` returns seconds."""

    def __init__(self, url: str, *, clock: Callable[[], float] = time.monotonic) -> None:
        self._url = url
        self._clock = clock
        self._keys: list[Mapping[str, Any]] = []
        self._fetched_s: float | None = None
        """Time of the last successful fetch."""
        self._attempts = 0
        self._fetches: deque[float] = deque(maxlen=MAX_FETCHES)
        self._lock = asyncio.Lock()

    async def find(self, key_id: str | None, algorithm: str) -> PyJWK | None:
        """Return the key for a token with these headers; None if there is none, or several for a token without id.

        Raises:
            KeysUnavailableError: there are no keys, and they cannot be fetched.
        """
        if self._age() > FRESH_S:
            await self._refresh()
        if self._age() > STALE_S:
            raise KeysUnavailableError(self._url)
        key = self._find(key_id, algorithm)
        if key is None and key_id is not None:
            # The authorization server may have rotated its keys.
            await self._refresh()
            key = self._find(key_id, algorithm)
        return key

    def _age(self) -> float:
        return float("inf") if self._fetched_s is None else self._clock() - self._fetched_s

    def _find(self, key_id: str | None, algorithm: str) -> PyJWK | None:
        keys = [key for key in self._keys if _is_usable(key, algorithm) and key_id in (None, key.get("kid"))]
        if len(keys) != 1:
            return None
        try:
            key = PyJWK.from_dict(dict(keys[0]), algorithm)
        except PyJWTError as error:
            _log.warning("ignored an invalid key of %s: %s", self._url, type(error).__name__)
            return None
        if getattr(key.key, "key_size", MIN_RSA_BITS) < MIN_RSA_BITS and keys[0]["kty"] == "RSA":
            _log.warning("ignored a key of %s with less than %d bits", self._url, MIN_RSA_BITS)
            return None
        return key

    async def _refresh(self) -> None:
        """Fetch the keys, unless another request tries it meanwhile, or they were fetched too often."""
        attempts = self._attempts
        async with self._lock:
            if self._attempts != attempts or not self._may_fetch():
                return
            self._fetches.append(self._clock())
            try:
                self._keys = await _fetch(self._url)
                self._fetched_s = self._clock()
            except (httpx2.HTTPError, httpx2.InvalidURL, TimeoutError, ValueError) as error:
                _log.warning("cannot fetch the keys at %s: %s", self._url, error or type(error).__name__)
            self._attempts += 1

    def _may_fetch(self) -> bool:
        is_full = len(self._fetches) == MAX_FETCHES
        return not is_full or self._clock() - self._fetches[0] >= FETCH_PERIOD_S


def _is_usable(key: Mapping[str, Any], algorithm: str) -> bool:
    is_for_signatures = key.get("use", "sig") == "sig" and key.get("alg", algorithm) == algorithm
    has_curve = algorithm not in _CURVES or key.get("crv") == _CURVES[algorithm]
    return is_for_signatures and has_curve and key.get("kty") == _KEY_TYPES[algorithm[:2]]


async def _fetch(url: str) -> list[Mapping[str, Any]]:
    """Return the keys at `url`. Redirects are not followed.

    Raises:
        HTTPError: the server does not answer, or not with 200.
        ValueError: the answer is not a key set, or too large.
    """
    body = bytearray()
    async with (
        asyncio.timeout(TIMEOUT_S),
        httpx2.AsyncClient(timeout=TIMEOUT_S) as client,
        # A compressed chunk of 64 kB can have 64 MB, and the HTTP client expands it at once.
        client.stream("GET", url, headers={"Accept": "application/json", "Accept-Encoding": "identity"}) as response,
    ):
        if response.status_code != httpx2.codes.OK:
            raise ValueError(f"HTTP status {response.status_code}")
        if response.headers.get("content-encoding", "identity").lower() != "identity":
            raise ValueError("the answer is compressed")
        async for part in response.aiter_bytes():
            body += part
            if len(body) > KEYS.bytes:
                raise ValueError(f"the answer has more than {KEYS.bytes} bytes")
    answer = parse(decode(bytes(body), ""), KEYS)
    keys = answer.get("keys") if isinstance(answer, dict) else None
    if not isinstance(keys, list) or len(keys) > MAX_KEYS:
        raise ValueError("the answer is not a JSON Web Key Set")
    return [key for key in keys if isinstance(key, dict)]
