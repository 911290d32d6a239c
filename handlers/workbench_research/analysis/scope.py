"""The part of a project that a question is about: directories and globs, checked before the model sees them."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Final

from toolmason_runtime import ToolError

from workbench_handlers.files.find import expand_braces, matches
from workbench_handlers.workspace.open import existing
from workbench_handlers.workspace.roots import RefusedPathError, Root

MAX_PATTERN_CHARS: Final = 300
"""Maximum characters of one glob."""

_COMMA_OR_BRACE: Final = re.compile(r"[,{}]")


@dataclass(frozen=True, slots=True)
class Scope:
    """Directories and globs relative to the root, with forward slashes; an empty scope is the whole project."""

    directories: tuple[str, ...] = ()
    include: tuple[str, ...] = ()
    exclude: tuple[str, ...] = ()

    @property
    def is_whole(self) -> bool:
        """Whether it is the whole project."""
        return not (self.directories or self.include or self.exclude)

    def covers(self, path: str) -> bool:
        """Whether the file `path` is in the scope. A glob that matches a parent directory matches it as well."""
        parts = tuple(path.split("/"))
        if self.directories and not any(_is_below(parts, directory) for directory in self.directories):
            return False
        if self.include and not any(_fits(parts, glob) for glob in self.include):
            return False
        return not any(_fits(parts, glob) for glob in self.exclude)


def parse_scope(
    root: Path, *, directories: Iterable[str] = (), include: Sequence[str] = (), exclude: Sequence[str] = ()
) -> Scope:
    """Check the arguments of a caller. It blocks.

    Raises:
        ToolError: PATH_NOT_ALLOWED for paths outside `root`, INVALID_ARGUMENT for missing paths and invalid globs.
    """
    names = tuple(dict.fromkeys(_directory(root, directory) for directory in directories))
    return Scope(
        () if "." in names else names,
        tuple(_glob(pattern, "include") for pattern in include),
        tuple(_glob(pattern, "exclude") for pattern in exclude),
    )


def split_list(text: str | None) -> tuple[str, ...]:
    """Return the values of a comma-separated list; commas in braces are part of a glob."""
    return tuple(value for part in _split(text or "") if (value := part.strip()))


def _split(text: str) -> list[str]:
    """Return the parts between commas; a comma before which a `}` comes next on the way from the end is in braces."""
    parts, end, is_in_braces = [], len(text), False
    for sign in reversed(list(_COMMA_OR_BRACE.finditer(text))):
        if sign[0] != ",":
            is_in_braces = sign[0] == "}"
        elif not is_in_braces:
            parts.append(text[sign.end() : end])
            end = sign.start()
    return [*reversed([*parts, text[:end]])]


def _directory(root: Path, path: str) -> str:
    try:
        located = existing(path, (Root(root, "the project"),))
    except RefusedPathError:
        raise
    except ToolError as error:
        raise ToolError(error.message, code="INVALID_ARGUMENT", details={"path": path}) from None
    return "/".join(located.parts) or "."


def _glob(pattern: str, kind: str) -> str:
    glob = pattern.strip().removeprefix("./")
    if not glob or len(glob) > MAX_PATTERN_CHARS or not glob.isprintable():
        message = (
            f"a glob of the patterns to {kind} is empty, too long or unprintable: use a glob such as `*.py` or `src/**`"
        )
        raise ToolError(message, code="INVALID_ARGUMENT", details={"pattern": pattern[:MAX_PATTERN_CHARS]})
    if glob.startswith("!"):
        message = f"`{glob}` begins with `!`, which is not supported: use the parameter for excluded files"
        raise ToolError(message, code="INVALID_ARGUMENT", details={"pattern": pattern})
    for alternative in expand_braces(glob):
        if (
            alternative.startswith(("/", "~", "\\"))
            or alternative[1:2] == ":"
            or ".." in re.split(r"[\\/]", alternative)
        ):
            message = f"the glob `{glob}` leads outside the project: write it relative to the root, such as `src/**`"
            raise ToolError(message, code="PATH_NOT_ALLOWED", details={"pattern": pattern})
    return glob


def _is_below(parts: tuple[str, ...], directory: str) -> bool:
    names = tuple(directory.split("/"))
    return parts[: len(names)] == names


def _fits(parts: tuple[str, ...], glob: str) -> bool:
    return any(
        _matches(parts[:end], alternative) for alternative in expand_braces(glob) for end in range(1, len(parts) + 1)
    )


def _matches(parts: tuple[str, ...], glob: str) -> bool:
    steps = glob.strip("/").split("/")
    return fnmatchcase(parts[-1], steps[0]) if len(steps) == 1 else matches(parts, steps)
