"""The implementation of a tool by a hand-written function."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

from toolmason.model.implementation import Implementation


@dataclass(frozen=True, slots=True, kw_only=True)
class HandlerImplementation(Implementation):
    """A hand-written function; `handler` is None if the manifest has an invalid name of it."""

    kind: ClassVar[str] = "handler"

    @property
    def entry(self) -> Mapping[str, Any]:
        """Nothing: a tool without these keys has a handler."""
        return {}
