"""Find values in JSON text by a jq path without building the values: the child process runs this on large files.

msgspec finds the texts of the values; `worker_main` imports this module from its own directory.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from contextlib import suppress
from functools import lru_cache
from typing import Any, Final

import msgspec
from msgspec import Raw

Step = str | int | slice | None
"""A field, an index, a part of an array, or all values (None)."""
Text = bytes | bytearray | Raw

SMALL_BYTES: Final = 65_536
"""Maximum bytes of a value in which jq finds the rest of a path: it takes longer to start, but reads faster."""
MAX_HEAD: Final = 200
"""Maximum number of first values of an array that are found without the others, which need memory each."""

_VALUE: Final = msgspec.json.Decoder(Raw)
_ITEMS: Final = msgspec.json.Decoder(list[Raw])
_MEMBERS: Final = msgspec.json.Decoder(dict[str, Raw])
_NULL: Final = b"null"

_KEY: Final = r'"(?:[^"\\]|\\["\\/bfnrt]|\\u[0-9a-fA-F]{4})*+"'
_STEP: Final = re.compile(
    rf"""
      \s*+\.\s*+(?P<name>[A-Za-z_][A-Za-z_0-9]*)
    | \s*+\.\s*+(?P<quoted>{_KEY})
    | \s*+(?:\.\s*+)?+\[\s*+(?P<key>{_KEY})\s*+\]
    | \s*+(?:\.\s*+)?+\[\s*+(?P<index>-?[0-9]{{1,15}})\s*+\]
    | \s*+(?:\.\s*+)?+\[\s*+(?P<first>-?[0-9]{{1,15}})?+\s*+(?P<colon>:)\s*+(?P<end>-?[0-9]{{1,15}})?+\s*+\]
    | \s*+(?:\.\s*+)?+\[(?P<all>\s*)\]
    """,
    re.VERBOSE,
)
_IDENTITY: Final = re.compile(r"\s*\.(?=\s*(?:\|(?!=)|$))")
_PIPE_OR_END: Final = re.compile(r"\s*(?:\|(?!=)|$)")
_SHALLOW: Final = re.compile(r"\s*(?:length|keys|keys_unsorted|type)\s*(?:\|(?!=)|$)")


def parse_path(program: str) -> tuple[list[Step], str]:
    """Split a jq program into the path that it begins with and the program for each value of that path.

    >>> parse_path(".users[] | select(.active) | .id")
    (['users', None], ' select(.active) | .id')
    """
    steps: list[Step] = []
    while program.lstrip().startswith("."):
        more, position = _steps(program)
        ending = _PIPE_OR_END.match(program, position)
        if position == 0 or ending is None:  # the path is part of a larger expression, such as `.a + 1`
            break
        steps += more
        if not ending[0].strip():
            return steps, "."
        program = program[ending.end() :]
    return steps, program


def program_of(steps: Sequence[Step], program: str) -> str:
    """Return the jq program for a path and the program for each of its values.

    >>> program_of(["users", None], ".id")
    '.["users"] | .[] | .id'
    """
    return " | ".join([*map(_step_program, steps), program])


def is_shallow(program: str) -> bool:
    """Return whether the program needs only the keys and the number of the values in an array or object."""
    return _SHALLOW.match(program) is not None


def documents(text: Text) -> Sequence[Raw]:
    """Return the values of a text of one or several documents.

    Raises:
        ValueError: the text is not JSON. The message begins as jq's.
    """
    with suppress(msgspec.DecodeError):
        return [_VALUE.decode(text)]
    try:
        return _VALUE.decode_lines(text)
    except msgspec.DecodeError as error:
        raise ValueError(f"parse error: {error}") from None


def select(text: Text, steps: Sequence[Step], *, small: int = SMALL_BYTES) -> Iterator[tuple[Text, Sequence[Step]]]:
    """Yield the texts of the values on the path `steps` below a value, each with the steps that are left.

    Steps are left in a value of at most `small` bytes, and in one that has no such part: for jq's result or error.
    """
    if not steps or len(text) <= small:
        yield text, steps
        return
    step, further = steps[0], steps[1:]
    match _opening(text), step:
        case (("[" | "{"), None):
            parts: Sequence[Text] = _items(text) if _opening(text) == "[" else [*_MEMBERS.decode(text).values()]
        case "[", int():
            items = _items(text, step + 1 if step >= 0 else None)
            parts = [items[step] if -len(items) <= step < len(items) else _NULL]
        case "[", slice():
            items = _items(text, step.stop if (step.start or 0) >= 0 else None)
            parts = [b"[" + b",".join(items[step]) + b"]"]
        case "{", str():
            parts = [_MEMBERS.decode(text).get(step, _NULL)]
        case _, _:
            yield {"[": b"[]", "{": b"{}"}.get(_opening(text), text), steps
            return
    for part in parts:
        yield from select(part, further, small=small)


def shallow(text: Text) -> Text:
    """Return an array or object with 0 in place of each of its values; other values unchanged."""
    match _opening(text):
        case "[":
            return json.dumps([0] * len(_items(text))).encode("ascii")
        case "{":
            return json.dumps(dict.fromkeys(_MEMBERS.decode(text), 0)).encode("ascii")
        case _:
            return text


def _opening(text: Text) -> str:
    return chr(memoryview(text)[0])


def _items(text: Text, stop: int | None = None) -> Sequence[Raw]:
    """Return the values of an array; those before the index `stop` are enough."""
    if stop is None or not 0 <= stop <= MAX_HEAD:
        return _ITEMS.decode(text)
    values = msgspec.structs.astuple(msgspec.json.decode(text, type=_head(stop)))
    return [value for value in values if len(value)]


@lru_cache
def _head(length: int) -> type[msgspec.Struct]:
    """Return the type of an array of which the first `length` values are needed; missing ones are empty."""
    fields: list[tuple[str, Any, Any]] = [(f"value_{index}", Raw, Raw()) for index in range(length)]
    return msgspec.defstruct("Head", fields, array_like=True)


def _steps(program: str) -> tuple[list[Step], int]:
    """Return the steps at the beginning of a program, and where they end; 0 without any."""
    if identity := _IDENTITY.match(program):
        return [], identity.end()
    steps: list[Step] = []
    position = 0
    while match := _STEP.match(program, position):
        position = match.end()
        if name := match["name"]:
            steps.append(name)
        elif key := match["quoted"] or match["key"]:
            steps.append(json.loads(key, strict=False))  # jq takes line breaks in strings
        elif match["index"]:
            steps.append(int(match["index"]))
        elif match["colon"]:
            first, end = match["first"], match["end"]
            if not first and not end:
                return [], 0
            steps.append(slice(int(first) if first else None, int(end) if end else None))
        else:
            steps.append(None)
    return steps, position


def _step_program(step: Step) -> str:
    match step:
        case None:
            return ".[]"
        case slice():
            first, end = ("" if bound is None else bound for bound in (step.start, step.stop))
            return f".[{first}:{end}]"
        case _:
            return f".[{json.dumps(step)}]"
