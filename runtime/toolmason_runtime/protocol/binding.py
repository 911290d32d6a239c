"""How a generated package hands its tools to the dispatcher."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pydantic import BaseModel


@dataclass(frozen=True, slots=True)
class Binding:
    """A tool's parameter model and the function that carries it out.

    `params` is None for a tool with raw JSON Schema: its arguments are checked against that schema
    and handed over as a plain dict.
    """

    params: type[BaseModel] | None
    run: Callable[[Any, Any], Awaitable[Any]]
