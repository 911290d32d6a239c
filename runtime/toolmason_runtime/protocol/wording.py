"""What a model is told of the arguments it sent, in the same words whether a tool or a meta-tool reads them."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from difflib import get_close_matches
from typing import Any

from toolmason_runtime.protocol.schema_text import expected, nullless, shown

Path = tuple[str | int, ...]
"""Where a value stands inside the arguments."""
MIN_ABBREVIATION = 3
FORWARDED = "wait_for_previous"
"""An argument that Gemini CLI adds to every call and forwards to the server: dropped silently where undeclared."""


def required(path: Path, schema: Mapping[str, Any]) -> str:
    """Say that what should stand at `path` is missing, and what it should be."""
    plain = nullless(schema)
    wanted = expected(plain) + (" or null" if plain.get("nullable") else "")
    return f"{named(path)} is required{f': {wanted}' if wanted else ''}"


def mismatch(path: Path, schema: Mapping[str, Any], value: Any) -> str:
    """Say what was expected and what was got; empty if the schema does not tell."""
    wanted = expected(schema)
    return f"{named(path)} must be {wanted}; got {shown(value)}" if wanted else ""


def unknown(path: Path, known: Sequence[str], *, meant: str = "", given: Collection[str] = (), holder: str = "") -> str:
    """Note that the argument at `path` was ignored, with the name that was `meant`, else the nearest of `known`.

    A name that was `given` as well is not suggested. `holder` is the argument that holds those of another tool.
    """
    guess = meant or nearest(str(path[-1]), [name for name in known if name not in given])
    hint = f"did you mean '{guess}'?" if guess else f"known are: {', '.join(known) or 'none'}"
    if holder and not guess:
        hint = f"arguments of the tool go into '{holder}'"
    return f"Note: unknown argument '{_text(path)}' was ignored; {hint}"


def nearest(name: str, known: Sequence[str]) -> str:
    """Return the one of `known` that `name` was most likely meant to be, or the empty string.

    Whole words in common count most (`path` in `search_path`), then a shared beginning (`repo` of `repository`), then
    likeness.
    """
    words = _words(name)
    shared = [(len(words & _words(each)) / len(words | _words(each)), each) for each in known]
    best, guess = max(shared, key=lambda pair: pair[0], default=(0.0, ""))
    if best:
        return guess
    begun = [each for each in known if any(_begins(one, other) for one in words for other in _words(each))]
    likely = begun[:1] or get_close_matches(name, known, n=1)
    return likely[0] if likely else ""


def _words(name: str) -> frozenset[str]:
    """Return the words of a name; singular and plural count as the same."""
    return frozenset(word.lower().removesuffix("s") for word in _WORD.findall(name))


def _begins(one: str, other: str) -> bool:
    """Whether one of two words is an abbreviation of the other, by at least three letters."""
    return min(len(one), len(other)) >= MIN_ABBREVIATION and (one.startswith(other) or other.startswith(one))


_WORD = re.compile(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])|[0-9]+|[^\W_]+")
"""One word of a name in snake_case, camelCase or kebab-case."""


def misnamed(path: Path, meant: str) -> str:
    """Say under which name the argument at `path` has to be sent."""
    return f"{named(path)} must be called '{meant}'"


def too_long(path: Path, length: int) -> str:
    """Note that only the beginning of a text was read."""
    return f"Note: only the first {length} characters of argument '{_text(path)}' were used"


def disabled(name: str) -> str:
    """Say that the tool `name` cannot be run here, whatever is sent."""
    return f"Tool {name} is disabled on this server"


def named(path: Path) -> str:
    """Name the argument at `path`, as a sentence begins."""
    return f"Argument '{_text(path)}'" if path else "The arguments"


def _text(path: Path) -> str:
    """Write a path as in `files[0].path`."""
    steps = "".join(f"[{step}]" if isinstance(step, int) else f".{step}" for step in path)
    return steps.removeprefix(".")
