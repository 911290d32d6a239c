"""Verify access tokens: JWTs of one authorization server, and the bearer token of the operator."""

from __future__ import annotations

import hmac
import logging
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Final

import jwt
from mcp.server.auth.provider import AccessToken, TokenVerifier
from starlette.authentication import AuthenticationError
from toolmason_runtime.audit import events
from toolmason_runtime.server.jwks import KeySet, KeysUnavailableError

MAX_TOKEN_CHARS: Final = 16_384
LEEWAY_S: Final = 10
"""Accepted difference of clocks for `nbf` and `iat`."""
_TYPES: Final = frozenset({"jwt", "at+jwt", "application/at+jwt"})
"""Values of the header `typ`, in lower case."""

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class TokenRules:
    """The properties of an accepted token."""

    issuer: str
    audience: str
    algorithms: tuple[str, ...]


class AccessTokens(TokenVerifier):
    """Verifies the tokens of `rules` with the keys of `keys`.

    `operator_token` is accepted as well, with all of `operator_scopes`; empty for none.
    """

    def __init__(
        self, rules: TokenRules, keys: KeySet, *, operator_token: str = "", operator_scopes: Iterable[str] = ()
    ) -> None:
        self._rules = rules
        self._keys = keys
        self._operator_token = operator_token.encode()
        self._operator = AccessToken(token="", client_id="", scopes=sorted(operator_scopes))

    async def verify_token(self, token: str) -> AccessToken | None:
        """Return the verified token; None if it is invalid.

        Raises:
            AuthenticationError: the keys of the authorization server are not available.
        """
        token = token.strip()
        if not token.isascii() or len(token) > MAX_TOKEN_CHARS:
            events.note(rule="TOKEN_MALFORMED")
            return None
        if self._operator_token and hmac.compare_digest(token.encode(), self._operator_token):
            return self._operator
        try:
            claims = await self._claims(token)
        except KeysUnavailableError as error:
            raise AuthenticationError("The keys of the authorization server are not available.") from error
        except jwt.PyJWTError as error:
            events.note(rule=_rule(error))
            _log.info("refused an access token: %s", error)
            return None
        subject, client_id = _text(claims, "sub"), _text(claims, "client_id") or _text(claims, "azp")
        if not (subject or client_id):
            # All such tokens would share their sessions.
            events.note(rule="TOKEN_WITHOUT_SUBJECT")
            _log.info("refused an access token: it names neither a subject nor a client")
            return None
        return AccessToken(
            token="",
            client_id=client_id,
            scopes=sorted(_scopes(claims)),
            expires_at=int(claims["exp"]),
            subject=subject or None,
            claims=dict(claims),
        )

    async def _claims(self, token: str) -> Mapping[str, Any]:
        header = jwt.get_unverified_header(token)
        algorithm, key_id = header.get("alg"), header.get("kid")
        if algorithm not in self._rules.algorithms:
            raise jwt.InvalidAlgorithmError("its algorithm is not allowed")
        if "crit" in header or str(header.get("typ", "JWT")).lower() not in _TYPES:
            raise jwt.InvalidTokenError("it is not an access token")
        key = await self._keys.find(key_id, algorithm)
        if key is None:
            raise jwt.InvalidTokenError("its key is unknown")
        claims: Mapping[str, Any] = jwt.decode(
            token,
            key,
            algorithms=[algorithm],
            audience=self._rules.audience,
            issuer=self._rules.issuer,
            leeway=LEEWAY_S,
            options={"require": ["exp", "iss", "aud"]},
        )
        return claims


_RULES: Final[tuple[tuple[type[Exception], str], ...]] = (
    (jwt.ExpiredSignatureError, "TOKEN_EXPIRED"),
    (jwt.ImmatureSignatureError, "TOKEN_NOT_YET_VALID"),
    (jwt.InvalidAudienceError, "TOKEN_AUDIENCE"),
    (jwt.InvalidIssuerError, "TOKEN_ISSUER"),
    (jwt.InvalidSignatureError, "TOKEN_SIGNATURE"),
    (jwt.InvalidAlgorithmError, "TOKEN_ALGORITHM"),
    (jwt.PyJWTError, "TOKEN_INVALID"),
)
"""The rule in the audit log that refuses a token with an error; the first kind counts."""


def _rule(error: Exception) -> str:
    return next(rule for kind, rule in _RULES if isinstance(error, kind))


def _text(claims: Mapping[str, Any], name: str) -> str:
    value = claims.get(name)
    return value if isinstance(value, str) else ""


def _scopes(claims: Mapping[str, Any]) -> set[str]:
    """Return the scopes: `scope` of RFC 9068, or `scp`, each a text with spaces or a list."""
    value = claims.get("scope", claims.get("scp", ""))
    items = value.split() if isinstance(value, str) else value if isinstance(value, list) else ()
    return {item for item in items if isinstance(item, str)}
