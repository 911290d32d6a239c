"""Find values in JSON text by a path without building the values: the child process runs this on large files.

The text between the values of a path is not validated, except that brackets and strings end. Standard library alone:
`worker_main` imports it from its own directory.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from typing import Final

Step = str | int | slice | None
"""A field, an index, a part of an array, or all values (None)."""
Text = bytes | bytearray
Span = tuple[int, int]
"""Start and end of a value in the text."""

SMALL_BYTES: Final = 65_536
"""Maximum bytes of a value in which jq finds the rest of a path: it takes longer to start, but reads faster."""

_TEXT: Final = rb'"(?:[^"\\]++|\\.)*+"'


def _container(values: bytes) -> bytes:
    return rb'[\[{](?:[^\[\]{}"]++|' + _TEXT + values + rb")*+[\]}]"


_SHALLOW_CONTAINER: Final = _container(rb"|" + _container(rb""))
"""An array or object of at most two levels: one match for a typical record."""
_STRING: Final = re.compile(_TEXT, re.DOTALL)
_CONTAINER: Final = re.compile(_SHALLOW_CONTAINER, re.DOTALL)
_TO_BRACKET: Final = re.compile(rb'(?:[^\[\]{}"]++|' + _TEXT + rb"|" + _SHALLOW_CONTAINER + rb")*+[\[\]{}]", re.DOTALL)
"""Everything up to and including the next bracket that is not part of a shallow container."""
_SCALAR: Final = re.compile(rb'[^\s\[\]{},:"]++')
_SPACE: Final = re.compile(rb"[ \t\r\n]*+")

_RUN: Final = re.compile(
    rb"(?:(?:" + _SHALLOW_CONTAINER + rb"|" + _TEXT + rb"|" + _SCALAR.pattern + rb")[ \t\r\n]*+,[ \t\r\n]*+){1,200}+",
    re.DOTALL,
)
"""Values of an array, each with its comma."""

_KEY: Final = r'"(?:[^"\\]|\\["\\/bfnrt]|\\u[0-9a-fA-F]{4})*"'
_STEP: Final = re.compile(
    rf"""
      \s*\.\s*(?P<name>[A-Za-z_][A-Za-z_0-9]*)
    | \s*\.\s*(?P<quoted>{_KEY})
    | \s*\.?\s*\[\s*(?P<key>{_KEY})\s*\]
    | \s*\.?\s*\[\s*(?P<index>[0-9]{{1,15}})\s*\]
    | \s*\.?\s*\[\s*(?P<first>[0-9]{{1,15}})?\s*(?P<colon>:)\s*(?P<end>[0-9]{{1,15}})?\s*\]
    | \s*\.?\s*\[(?P<all>\s*)\]
    """,
    re.VERBOSE,
)
_IDENTITY: Final = re.compile(r"\s*\.(?=\s*(?:\|(?!=)|$))")
_PIPE_OR_END: Final = re.compile(r"\s*(?:\|(?!=)|$)")
_SHALLOW: Final = re.compile(r"\s*(?:length|keys|keys_unsorted|type)\s*(?:\|(?!=)|$)")


class InvalidError(ValueError):
    """The text is not JSON."""


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


def documents(text: Text) -> Iterator[Span]:
    """Yield the values of a text of several documents."""
    position = _after_space(text, 0)
    while position < len(text):
        end = _end_of(text, position)
        yield position, end
        position = _after_space(text, end)


def select(
    text: Text, span: Span, steps: Sequence[Step], *, small: int = SMALL_BYTES
) -> Iterator[tuple[Text, Sequence[Step]]]:
    """Yield the texts of values on the path `steps` below the value at `span`, each with the steps that are left.

    Steps are left in a value of at most `small` bytes, and in one that has no such part: for jq's result or error.
    Small values of an array come as arrays of many.
    """
    start, end = span
    if not steps or end - start <= small:
        yield text[start:end], steps
        return
    step, further = steps[0], steps[1:]
    is_array, is_object = text[start] == ord("["), text[start] == ord("{")
    if is_array and step is None:
        for (first, last), is_run in _runs(text, start, small):
            if is_run:
                yield b"[" + text[first:last].rstrip()[:-1] + b"]", steps
            else:
                yield from select(text, (first, last), further, small=small)
    elif is_array and isinstance(step, int):
        item = next((item for index, item in enumerate(_items(text, start)) if index == step), None)
        yield from _select_or_null(text, item, further, small)
    elif is_array and isinstance(step, slice):
        part = _part(text, start, step)
        yield from select(part, (0, len(part)), further, small=small)
    elif is_object and step is None:
        for member in dict(_members(text, start)).values():  # the last one of equal keys counts
            yield from select(text, member, further, small=small)
    elif is_object and isinstance(step, str):
        member = None
        for key, candidate in _members(text, start):
            member = candidate if key == step else member
        yield from _select_or_null(text, member, further, small)
    else:
        yield b"[]" if is_array else b"{}" if is_object else text[start:end], steps


def shallow(value: Text) -> Text:
    """Return an array or object with 0 in place of each of its values; other values unchanged."""
    match value[:1]:
        case b"[":
            return b"[" + b",".join(b"0" for _ in _items(value, 0)) + b"]"
        case b"{":
            return json.dumps({key: 0 for key, _ in _members(value, 0)}).encode("ascii")
        case _:
            return value


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
            steps.append(json.loads(key))
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


def _select_or_null(
    text: Text, span: Span | None, steps: Sequence[Step], small: int
) -> Iterator[tuple[Text, Sequence[Step]]]:
    return select(b"null", (0, 4), steps, small=small) if span is None else select(text, span, steps, small=small)


def _part(text: Text, start: int, step: slice) -> Text:
    """Return a part of an array as an array."""
    first = last = None
    for index, item in enumerate(_items(text, start)):
        if step.stop is not None and index >= step.stop:
            break
        if index >= (step.start or 0):
            first, last = first or item, item
    return b"[]" if first is None or last is None else b"[" + text[first[0] : last[1]] + b"]"


def _items(text: Text, start: int) -> Iterator[Span]:
    """Yield the values of the array at `start`."""
    position = _after_space(text, start + 1)
    if text[position : position + 1] == b"]":
        return
    while True:
        end = _end_of(text, position)
        yield position, end
        position = _after_space(text, end)
        if _is_last(text, position, b"]"):
            return
        position = _after_space(text, position + 1)


def _runs(text: Text, start: int, small: int) -> Iterator[tuple[Span, bool]]:
    """Yield the values of the array at `start`: runs of several, with their commas, or (False) single ones."""
    position = _after_space(text, start + 1)
    if text[position : position + 1] == b"]":
        return
    while True:
        match = _RUN.match(text, position)
        run_end = match.end() if match else position
        if match and run_end - position <= small:
            yield (position, run_end), True
            position = run_end
            continue
        while True:
            end = _end_of(text, position)
            yield (position, end), False
            position = _after_space(text, end)
            if _is_last(text, position, b"]"):
                return
            position = _after_space(text, position + 1)
            if position >= run_end:
                break


def _members(text: Text, start: int) -> Iterator[tuple[str, Span]]:
    """Yield the keys and values of the object at `start`."""
    position = _after_space(text, start + 1)
    if text[position : position + 1] == b"}":
        return
    while True:
        key = _STRING.match(text, position)
        colon = _after_space(text, key.end()) if key else 0
        if key is None or text[colon : colon + 1] != b":":
            raise _invalid(position)
        value = _after_space(text, colon + 1)
        end = _end_of(text, value)
        yield _key(key[0], position), (value, end)
        position = _after_space(text, end)
        if _is_last(text, position, b"}"):
            return
        position = _after_space(text, position + 1)


def _key(text: bytes, position: int) -> str:
    try:
        key: str = json.loads(text.decode("utf-8", "replace"), strict=False)
    except ValueError:
        raise _invalid(position) from None
    return key


def _is_last(text: Text, position: int, closing: bytes) -> bool:
    """Return whether the array or object ends at `position`, where its next value may follow a comma."""
    character = text[position : position + 1]
    if character not in (closing, b","):
        raise _invalid(position)
    return character == closing


def _end_of(text: Text, start: int) -> int:
    """Return the end of the value at `start`."""
    character = text[start : start + 1]
    if character not in (b"[", b"{"):
        match = (_STRING if character == b'"' else _SCALAR).match(text, start)
        if match is None:
            raise _invalid(start)
        return match.end()
    if shallow_match := _CONTAINER.match(text, start):
        return shallow_match.end()
    position, depth = start + 1, 1
    while depth:
        match = _TO_BRACKET.match(text, position)
        if match is None:
            raise _invalid(start, "an array or object does not end")
        position = match.end()
        depth += 1 if text[position - 1] in b"[{" else -1
    return position


def _after_space(text: Text, position: int) -> int:
    match = _SPACE.match(text, position)
    return match.end() if match else position


def _invalid(position: int, reason: str = "not a value, or not in its place") -> InvalidError:
    return InvalidError(f"parse error: {reason}, at byte {position:,}")
