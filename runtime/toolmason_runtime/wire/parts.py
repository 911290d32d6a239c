"""Encode large values as JSON in parts, so that other calls go on meanwhile.

`json.dumps` and `str.encode` hold the interpreter for as long as they run: a second for 100 MB.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Iterator, Mapping
from itertools import islice
from typing import Any, Final, TypeVar

Dumps = Callable[[Any], str]
Result = TypeVar("Result")

PART_CHARS: Final = 262_144
"""Characters of a part, about a millisecond of work."""
_MAX_ITEMS: Final = 4096
"""Maximum items of a list or an object that are encoded together."""
_MAX_TOGETHER: Final = 4 * PART_CHARS
"""Maximum characters of items that are encoded together."""
_ATOMS: Final = frozenset({int, float, bool, type(None)})
_MEMBER_CHARS: Final = 16
"""Characters that stand for the work on one item of a list or an object."""


def is_large(value: Any, limit: int = PART_CHARS) -> bool:
    """Return whether a value has more than `limit` characters. Only as many of them are visited."""
    if type(value) is str:
        return len(value) > limit
    left, values = limit, [value]
    for each in values:  # `values` grows meanwhile
        kind = type(each)
        if kind in _ATOMS:
            continue
        if kind is str or kind is bytes:
            left -= len(each)
            continue
        members = each.values() if kind is dict else each if kind is list else _members(each)
        left -= _MEMBER_CHARS * len(members)
        if left < 0:
            return True
        values.extend(members)
    return left < 0


def is_ascii(value: Any, limit: int = PART_CHARS) -> bool:
    """Return whether a JSON value has only ASCII texts and names, and at most `limit` characters."""
    left, values = limit, [value]
    for each in values:  # `values` grows meanwhile
        kind = type(each)
        if kind is str:
            left -= len(each)
            if left < 0 or not each.isascii():
                return False
        elif kind is dict:
            left -= _MEMBER_CHARS * len(each)
            values.extend(each)
            values.extend(each.values())
        elif kind is list:
            left -= _MEMBER_CHARS * len(each)
            values.extend(each)
        elif kind not in _ATOMS:
            return False
    return left >= 0


def _members(value: Any) -> Collection[Any]:
    """Return what an object contains: a mapping, a sequence, a model, or a class with slots, such as `Reply`."""
    if isinstance(value, Mapping):
        return value.values()
    if isinstance(value, list | tuple):
        return value
    if hasattr(value, "model_dump"):
        return [*vars(value).values()]
    return [getattr(value, name, None) for name in getattr(type(value), "__slots__", ()) if not name.startswith("_")]


def json_parts(value: Any) -> Iterator[str]:
    """Yield `value` as JSON without spaces, in parts that are at most a few times as long as `PART_CHARS`.

    As in short messages, NaN and infinity become null, and models and paths what pydantic makes of them.
    """
    return _parts(value, _any_json)


def joined_json(value: Any) -> str:
    """Return `value` as JSON without spaces, while other threads run.

    Raises:
        TypeError: JSON cannot express it.
        ValueError: it contains NaN or infinity.
    """
    return "".join(_parts(value, _json))


def _parts(value: Any, dumps: Dumps) -> Iterator[str]:
    text = ""
    for piece in _pieces(value, dumps):
        text += piece
        if len(text) >= PART_CHARS:
            yield text
            text = ""
    yield text


def _pieces(value: Any, dumps: Dumps) -> Iterator[str]:
    if isinstance(value, str) and len(value) > PART_CHARS:
        yield '"'
        for start in range(0, len(value), PART_CHARS):
            yield dumps(value[start : start + PART_CHARS])[1:-1]
        yield '"'
    elif isinstance(value, dict | list | tuple) and value:
        yield from _joined(value, dumps)
    else:
        yield dumps(value)


def _joined(value: dict[str, Any] | list[Any] | tuple[Any, ...], dumps: Dumps) -> Iterator[str]:
    """Yield a list or an object: its first items one by one, then as many together as the last ones allow."""
    items = iter(value.items() if isinstance(value, dict) else value)
    count, sign = 1, "{" if isinstance(value, dict) else "["
    while batch := list(islice(items, count)):
        size = 0
        for piece in _batch(batch, dumps, is_object=isinstance(value, dict)):
            yield f"{sign}{piece}" if sign else piece
            sign = ""
            size += len(piece)
        sign = ","
        count = max(1, min(2 * count, len(batch) * PART_CHARS // size, _MAX_ITEMS))
    yield "}" if isinstance(value, dict) else "]"


def _batch(items: list[Any], dumps: Dumps, *, is_object: bool) -> Iterator[str]:
    """Yield items of a list, or members of an object, with commas between them."""
    if len(items) > 1 and not is_large(items, _MAX_TOGETHER):
        yield dumps(dict(items) if is_object else items)[1:-1]
        return
    for number, item in enumerate(items):
        name, member = item if is_object else ("", item)
        head = ("," if number else "") + (dumps({name: 0})[1:-2] if is_object else "")
        pieces = _pieces(member, dumps)
        yield head + next(pieces)
        yield from pieces


def _json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, allow_nan=False, separators=(",", ":"))


def _any_json(value: Any) -> str:
    try:
        return _json(value)
    except (TypeError, ValueError):
        from pydantic_core import to_jsonable_python

        return _json(to_jsonable_python(value, inf_nan_mode="null"))


async def in_turns(work: Callable[[], Result]) -> Result:
    """Run the conversion of a large value in a thread; here if there is no event loop that has other work."""
    import asyncio

    try:
        asyncio.get_running_loop()
    except RuntimeError:  # the synchronous phase of stdio
        return work()
    return await asyncio.to_thread(work)
