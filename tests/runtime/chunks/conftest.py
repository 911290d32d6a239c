"""The store of long texts in both forms, under one name."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from redis_server import redis, redis_servers, shared_redis
from toolmason_runtime.chunks.store import ChunkStore
from toolmason_runtime.chunks.text import TTL_S

__all__ = ["redis", "redis_servers", "shared_redis", "stores"]

VARIABLE = "SAMPLE_STORE"
"""The environment variable of the sample server."""
PART_SIZE = 10
"""Small parts: ten letters."""

Stores = Callable[..., ChunkStore]


@pytest.fixture(params=["memory", "redis"])
def stores(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Stores:
    """Opens stores of the kind that a test is run with: `stores()`, `stores(ttl_s=0.1)`."""
    url = request.getfixturevalue("redis") if request.param == "redis" else ""
    monkeypatch.setenv(VARIABLE, url)

    def opened(*, part_size: int = PART_SIZE, ttl_s: float = TTL_S) -> ChunkStore:
        return ChunkStore(VARIABLE, server="sample", part_size=part_size, ttl_s=ttl_s)

    return opened
