"""The keys of an authorization server: found by their id, refreshed in time, and never at the cost of a flood."""

from __future__ import annotations

import json
from typing import Any

import anyio
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from issuer import AUDIENCE, Issuer, make_key, public_jwk
from toolmason_runtime.remote.budget import KEYS
from toolmason_runtime.server.access_tokens import AccessTokens, TokenRules
from toolmason_runtime.server.jwks import (
    FETCH_PERIOD_S,
    FRESH_S,
    MAX_FETCHES,
    MAX_KEYS,
    STALE_S,
    KeySet,
    KeysUnavailableError,
)

pytestmark = pytest.mark.anyio


class Clock:
    now_s = 1000.0

    def __call__(self) -> float:
        return self.now_s


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def keys(issuer: Issuer, clock: Clock) -> KeySet:
    return KeySet(f"{issuer.url}/jwks", clock=clock)


async def test_keys_are_fetched_again_after_their_ttl(issuer: Issuer, keys: KeySet, clock: Clock) -> None:
    assert await keys.find("first", "RS256")
    clock.now_s += FRESH_S
    assert await keys.find("first", "RS256")
    assert issuer.asked == ["jwks"]

    clock.now_s += 1
    issuer.keys = {"second": ("RS256", make_key("RS256"))}
    assert await keys.find("first", "RS256") is None
    assert await keys.find("second", "RS256")


async def test_known_keys_serve_for_a_limited_time_during_an_outage(issuer: Issuer, keys: KeySet, clock: Clock) -> None:
    assert await keys.find("first", "RS256")
    issuer.is_down = True
    clock.now_s += STALE_S
    assert await keys.find("first", "RS256")
    clock.now_s += 1
    with pytest.raises(KeysUnavailableError):
        await keys.find("first", "RS256")

    issuer.is_down = False
    clock.now_s += FETCH_PERIOD_S
    assert await keys.find("first", "RS256")


async def test_requests_that_wait_for_a_fetch_do_not_repeat_it_when_it_fails(
    issuer: Issuer, keys: KeySet, clock: Clock
) -> None:
    assert await keys.find("first", "RS256")
    issuer.is_down = True
    clock.now_s += FRESH_S + 1
    async with anyio.create_task_group() as group:
        for _ in range(20):
            group.start_soon(keys.find, "first", "RS256")

    assert issuer.asked == ["jwks", "jwks"]


async def test_unknown_keys_cause_a_limited_number_of_fetches(issuer: Issuer, keys: KeySet, clock: Clock) -> None:
    for number in range(100):
        assert await keys.find(f"invented-{number}", "RS256") is None
    assert len(issuer.asked) == MAX_FETCHES

    clock.now_s += FETCH_PERIOD_S
    issuer.keys["new"] = ("RS256", make_key("RS256"))
    assert await keys.find("new", "RS256")


async def test_without_an_id_only_a_single_key_is_used(issuer: Issuer, keys: KeySet) -> None:
    assert await keys.find(None, "RS256")
    issuer.keys["other"] = ("RS256", make_key("RS256"))
    issuer.keys["curve"] = ("ES256", make_key("ES256"))
    assert await keys.find("other", "RS256")
    assert await keys.find(None, "RS256") is None
    assert await keys.find(None, "ES256")


RSA, CURVE = make_key("RS256"), make_key("ES256")
WEAK = make_key("RS256", bits=1024)


@pytest.mark.parametrize(
    ("jwk", "algorithm"),
    [
        (public_jwk(RSA, "RS256", "a", use="enc"), "RS256"),
        (public_jwk(RSA, "RS256", "a", alg="RS512"), "RS256"),
        (public_jwk(RSA, "RS256", "a"), "ES256"),
        (public_jwk(CURVE, "ES256", "a"), "RS256"),
        (public_jwk(CURVE, "ES256", "a"), "ES384"),
        (public_jwk(CURVE, "ES256", "a", x="AAAA"), "ES256"),
        (public_jwk(WEAK, "RS256", "a"), "RS256"),
        ({"kty": "oct", "k": "c2VjcmV0", "kid": "a"}, "RS256"),
        ({"kid": "a"}, "RS256"),
    ],
    ids=["encryption", "algorithm", "type", "curve-for-rsa", "curve", "point", "short", "secret", "untyped"],
)
async def test_keys_for_another_purpose_are_not_used(
    issuer: Issuer, keys: KeySet, jwk: dict[str, Any], algorithm: str
) -> None:
    issuer.jwks = json.dumps({"keys": [jwk]}).encode()

    assert await keys.find("a", algorithm) is None


@pytest.mark.parametrize(
    "answer",
    [
        b"<html>",
        b"[]",
        b'{"keys": {}}',
        json.dumps({"keys": [{}] * (MAX_KEYS + 1)}).encode(),
        b" " * KEYS.bytes + b'{"keys": []}',
    ],
    ids=["html", "array", "object", "many", "large"],
)
async def test_an_invalid_key_set_is_an_outage(issuer: Issuer, keys: KeySet, answer: bytes) -> None:
    issuer.jwks = answer

    with pytest.raises(KeysUnavailableError):
        await keys.find("first", "RS256")


async def verified(tokens: AccessTokens, token: str) -> Any:
    accepted = await tokens.verify_token(token)
    return accepted and accepted.claims


def test_a_changed_token_has_the_same_claims_or_is_refused(issuer: Issuer) -> None:
    rules = TokenRules(issuer=issuer.url, audience=AUDIENCE, algorithms=("RS256",))
    token = issuer.token(exp=2**33, iat=0)

    @settings(deadline=None, max_examples=200)
    @given(st.integers(0, len(token) - 1), st.sampled_from([*"Aa0_-.=+/ \n", "é", "\ud800", ""]))
    def check(position: int, replacement: str) -> None:
        changed = token[:position] + replacement + token[position + 1 :]
        assert anyio.run(verified, AccessTokens(rules, keys), changed) in (claims, None)

    keys = KeySet(f"{issuer.url}/jwks")
    claims = anyio.run(verified, AccessTokens(rules, keys), token)
    assert claims["sub"] == "ada"
    check()
