"""Which part of a project a question is about: folders and globs, checked before the model hears of them."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Final

from toolmason_runtime import ToolError

from workbench_handlers.files.find import alternatives_of, matches
from workbench_handlers.workspace.open import existing
from workbench_handlers.workspace.roots import RefusedPathError, Root

MAX_PATTERN_CHARACTERS: Final = 300
"""Characters of one glob."""

_COMMA: Final = re.compile(r",(?![^{}]*\})")
"""A comma that stands in no braces."""


@dataclass(frozen=True, slots=True)
class Scope:
    """Where to look. Paths and globs are relative to the root, with forward slashes; nothing named is no limit."""

    places: tuple[str, ...] = ()
    include: tuple[str, ...] = ()
    exclude: tuple[str, ...] = ()

    @property
    def is_whole(self) -> bool:
        """Whether it is the whole project."""
        return not (self.places or self.include or self.exclude)

    def covers(self, path: str) -> bool:
        """Whether the file `path` is within. A glob that fits one of its folders fits it too."""
        parts = tuple(path.split("/"))
        if self.places and not any(_is_below(parts, place) for place in self.places):
            return False
        if self.include and not any(_fits(parts, glob) for glob in self.include):
            return False
        return not any(_fits(parts, glob) for glob in self.exclude)


def scope_of(
    root: Path, *, places: Iterable[str] = (), include: Sequence[str] = (), exclude: Sequence[str] = ()
) -> Scope:
    """Check what a caller gave. Looks at the disk, so it may block.

    Raises:
        ToolError: PATH_NOT_ALLOWED for what leads out of `root`, INVALID_ARGUMENT for what is not there or is no glob.
    """
    found = tuple(dict.fromkeys(_place(root, place) for place in places))
    return Scope(
        () if "." in found else found,
        tuple(_glob(each, "include") for each in include),
        tuple(_glob(each, "exclude") for each in exclude),
    )


def split(text: str | None) -> tuple[str, ...]:
    """Give the values of a list that is written with commas; those in braces belong to a glob."""
    return tuple(each for part in _COMMA.split(text or "") if (each := part.strip()))


def _place(root: Path, path: str) -> str:
    try:
        located = existing(path, (Root(root, "the project"),))
    except RefusedPathError:
        raise
    except ToolError as error:
        raise ToolError(error.message, code="INVALID_ARGUMENT", details={"path": path}) from None
    return "/".join(located.parts) or "."


def _glob(pattern: str, kind: str) -> str:
    written = pattern.strip().removeprefix("./")
    if not written or len(written) > MAX_PATTERN_CHARACTERS or not written.isprintable():
        message = f"a glob of the patterns to {kind} is empty, too long or unprintable: give such as `*.py` or `src/**`"
        raise ToolError(message, code="INVALID_ARGUMENT", details={"pattern": pattern[:MAX_PATTERN_CHARACTERS]})
    if written.startswith("!"):
        message = f"`{written}` begins with `!`, which is not supported: name what to leave out without it"
        raise ToolError(message, code="INVALID_ARGUMENT", details={"pattern": pattern})
    for each in alternatives_of(written):
        if each.startswith(("/", "~", "\\")) or each[1:2] == ":" or ".." in re.split(r"[\\/]", each):
            message = f"the glob `{written}` leads outside of the project: write it relative to the root, as `src/**`"
            raise ToolError(message, code="PATH_NOT_ALLOWED", details={"pattern": pattern})
    return written


def _is_below(parts: tuple[str, ...], place: str) -> bool:
    folder = tuple(place.split("/"))
    return parts[: len(folder)] == folder


def _fits(parts: tuple[str, ...], glob: str) -> bool:
    return any(_matches(parts[:end], each) for each in alternatives_of(glob) for end in range(1, len(parts) + 1))


def _matches(parts: tuple[str, ...], glob: str) -> bool:
    steps = glob.strip("/").split("/")
    return fnmatchcase(parts[-1], steps[0]) if len(steps) == 1 else matches(parts, steps)
