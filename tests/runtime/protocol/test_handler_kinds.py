"""A handler may be asynchronous, plain, or look like the other: where it runs, and what it sees."""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable
from contextvars import ContextVar
from functools import partial, wraps
from typing import Any

import pytest
from toolmason_runtime.protocol.binding import Binding, HandlerExitError
from toolmason_runtime.protocol.errors import ToolError

pytestmark = pytest.mark.anyio
CALLER: ContextVar[str] = ContextVar("CALLER")


def where() -> tuple[str, str]:
    is_main = threading.current_thread() is threading.main_thread()
    return CALLER.get(), "event loop" if is_main else "worker thread"


def plain(_params: object, _call: object) -> tuple[str, str]:
    return where()


async def asynchronous(_params: object, _call: object) -> tuple[str, str]:
    return where()


@wraps(asynchronous)
def decorated(*arguments: object) -> Any:
    return asynchronous(*arguments)


class Callables:
    async def __call__(self, _params: object, _call: object) -> tuple[str, str]:
        return where()


@pytest.mark.parametrize(
    ("handler", "place"),
    [
        (plain, "worker thread"),
        (partial(plain), "worker thread"),
        (asynchronous, "event loop"),
        (partial(asynchronous), "event loop"),
        (decorated, "event loop"),
        (Callables(), "event loop"),
    ],
    ids=["plain", "partial of a plain one", "async", "partial of an async one", "decorated", "object"],
)
async def test_handler_runs_where_its_kind_belongs_and_sees_the_context_of_its_call(
    handler: Callable[..., Any], place: str
) -> None:
    CALLER.set("Ada")

    assert await Binding(None, handler).result({}, None) == ("Ada", place)


async def test_error_of_a_plain_handler_reaches_the_dispatcher_as_it_is() -> None:
    def refuse(_params: object, _call: object) -> str:
        raise ToolError("send less")

    with pytest.raises(ToolError, match="send less"):
        await Binding(None, refuse).result({}, None)


async def exit_in_the_loop(_params: object, _call: object) -> None:
    sys.exit(3)


def exit_in_a_thread(_params: object, _call: object) -> None:
    sys.exit(3)


@pytest.mark.parametrize("handler", [exit_in_the_loop, exit_in_a_thread])
async def test_a_handler_cannot_end_the_process(handler: Callable[..., Any]) -> None:
    with pytest.raises(HandlerExitError, match=rf"{handler.__name__}` called sys\.exit\(3\); raise ToolError instead"):
        await Binding(None, handler).result({}, None)
