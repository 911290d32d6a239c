"""Shapes of JSON values: the parameters of requests and the answers of clients, checked without pydantic.

Unknown members are allowed everywhere, and an optional member may be null, as in the models of the official SDK.
"""

from __future__ import annotations

TYPE_CHECKING = False  # see `boot`: importing `typing` takes long
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from typing import Any

    Shape = Callable[[Any], bool]
    """Returns whether a decoded JSON value has the shape."""


def anything(value: Any) -> bool:  # noqa: ARG001  a shape
    """Accept every value."""
    return True


def text(value: Any) -> bool:
    """Accept a string."""
    return isinstance(value, str)


def number(value: Any) -> bool:
    """Accept a number."""
    return isinstance(value, int | float) and not isinstance(value, bool)


def integer(value: Any) -> bool:
    """Accept a whole number without a decimal point."""
    return isinstance(value, int) and not isinstance(value, bool)


def flag(value: Any) -> bool:
    """Accept true and false."""
    return isinstance(value, bool)


def object_(value: Any) -> bool:
    """Accept an object with any members."""
    return isinstance(value, dict)


def one_of(*values: str) -> Shape:
    """Accept these strings."""
    return lambda value: isinstance(value, str) and value in values


def either(*shapes: Shape) -> Shape:
    """Accept a value that has one of these shapes."""

    def fits(value: Any) -> bool:
        for shape in shapes:  # noqa: SIM110  each request runs it, and a generator takes longer
            if shape(value):
                return True
        return False

    return fits


def list_of(item: Shape) -> Shape:
    """Accept a list of such items."""
    return lambda value: isinstance(value, list) and all(map(item, value))


def map_of(member: Shape) -> Shape:
    """Accept an object whose members all have one shape."""
    return lambda value: isinstance(value, dict) and all(map(member, value.values()))


def members(required: Mapping[str, Shape], optional: Mapping[str, Shape] | None = None) -> Shape:
    """Accept an object with these members."""
    needed, others = [*required.items()], [*(optional or {}).items()]

    def fits(value: Any) -> bool:
        if not isinstance(value, dict):
            return False
        for name, shape in needed:
            if name not in value or not shape(value[name]):
                return False
        for name, shape in others:  # noqa: SIM110  as above
            if (member := value.get(name)) is not None and not shape(member):
                return False
        return True

    return fits
