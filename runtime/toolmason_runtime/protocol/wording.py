"""What a model is told of the arguments it sent, in the same words whether a tool or a meta-tool reads them."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any

from toolmason_runtime.protocol.schema_text import expected, nullless, shown
from toolmason_runtime.suggestions import closest_match

Path = tuple[str | int, ...]
"""Where a value stands inside the arguments."""
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
    """Note that the argument at `path` was ignored, with the name that was `meant`, otherwise the closest of `known`.

    A name that was `given` as well is not suggested. `holder` is the argument that holds those of another tool.
    """
    guess = meant or closest_match(str(path[-1]), [name for name in known if name not in given])
    hint = f"did you mean '{guess}'?" if guess else f"known are: {', '.join(known) or 'none'}"
    if holder and not guess:
        hint = f"arguments of the tool go into '{holder}'"
    return f"Note: unknown argument '{_text(path)}' was ignored; {hint}"


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
