"""Prefixes of generated names: `gemini-` gives `/gemini-feature` and `gemini-feature.md`.

One rule for the prefixes of a manifest, of environment variables and of models.
"""

from __future__ import annotations

import os
import re
from dataclasses import dataclass
from typing import Final

LONG_PREFIX: Final = 32
"""Characters above which a prefix is reported as long."""
MAX_BYTES: Final = 128
"""Maximum bytes of a prefix in UTF-8: file systems limit names to 255 bytes."""
MAX_SHOWN: Final = 60
"""Maximum characters of a prefix in a message."""

_ADVICE: Final = "use letters, digits, `-` and `_`, such as `team-`"
_SPECIAL: Final = re.compile(r"[^A-Za-z0-9_ -]")


@dataclass(frozen=True, slots=True)
class Prefix:
    """A valid prefix. Empty: names stay unchanged."""

    text: str
    warnings: tuple[str, ...] = ()
    """Likely mistakes, each with advice after `; `."""
    notes: tuple[str, ...] = ()
    """Matters of taste, each with advice after `; `."""


def parse_prefix(text: str, source: str) -> Prefix:
    """Return the prefix with its warnings and notes. `source` is the name of the setting, for messages.

    Raises:
        ValueError: a name with the prefix could leave its directory, look like an option, be hidden or too long. The
            message names `source` and, after `; `, the characters to use.
    """
    shown = _shown(text)
    if problem := _problem(text):
        raise ValueError(f"{source}: the prefix `{shown}` {problem}; {_ADVICE}")
    warnings = []
    if " " in text:
        warnings.append(f"{source}: the prefix `{shown}` contains a space, which ends the name of a command; {_ADVICE}")
    if special := "".join(dict.fromkeys(_SPECIAL.findall(text))):
        warnings.append(
            f"{source}: the prefix `{shown}` contains special characters (`{_shown(special)}`), which some clients and "
            f"file systems reject; {_ADVICE}"
        )
    if len(text) > LONG_PREFIX:
        warnings.append(f"{source}: the prefix `{shown}` has {len(text)} characters; use at most {LONG_PREFIX}")
    notes = []
    if text and not text.endswith(("-", "_")):
        notes.append(f"{source}: the prefix `{shown}` has no separator at its end; `{shown}-` is easier to read")
    return Prefix(text, tuple(warnings), tuple(notes))


def prefix_from_environment(variable: str, default: str) -> Prefix:
    """Return the prefix in an environment variable, or `default` if it is unset. An empty variable disables it.

    Raises:
        ValueError: as for `parse_prefix`.
    """
    return parse_prefix(os.environ.get(variable, default), variable)


def _problem(text: str) -> str:
    """Return the reason to refuse a prefix; empty if it is valid."""
    if not text.isprintable():
        return "contains control or invisible characters"
    if part := next((part for part in ("/", "\\", "..") if part in text), ""):
        return f"contains `{part}`, a part of a path"
    if text.startswith(("-", ".")):
        return f"starts with `{text[0]}`"
    if (size := len(text.encode())) > MAX_BYTES:
        return f"has {size} bytes, at most {MAX_BYTES} are allowed"
    return ""


def _shown(text: str) -> str:
    """Return a prefix for a message: short, with invisible characters escaped."""
    short = text if len(text) <= MAX_SHOWN else f"{text[:MAX_SHOWN]}..."
    return short if short.isprintable() else ascii(short)[1:-1]
