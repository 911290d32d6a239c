"""Lifespans of every shape, right and wrong."""

# ruff: noqa: ARG001  a lifespan is given options that it may not need

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from typing import NamedTuple


class Pair(NamedTuple):
    """State that is itself a tuple."""

    first: str
    second: str


Options = Mapping[str, str | tuple[str, ...]]


@asynccontextmanager
async def yields_one(options: Options) -> AsyncIterator[Pair]:
    yield Pair("a", "b")


@asynccontextmanager
async def yields_a_tuple(options: Options) -> AsyncIterator[tuple[Pair, str]]:
    yield Pair("a", "b"), "c"


@asynccontextmanager
async def yields_nothing(options: Options) -> AsyncIterator[None]:
    yield


async def is_not_decorated(options: Options) -> AsyncIterator[str]:
    yield "state"


@asynccontextmanager
async def takes_nothing() -> AsyncIterator[str]:
    yield "state"


@asynccontextmanager
async def raises(options: Options) -> AsyncIterator[str]:
    if "database" not in options:
        raise OSError("no database at a-secret-place")
    yield "state"


@asynccontextmanager
async def fails_late(options: Options) -> AsyncIterator[str]:
    yield "state"
    raise OSError("still locked")
