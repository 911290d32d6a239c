"""Which folders may be read, and where a path really leads: links followed, `..` resolved, `~` expanded.

What is located here is opened by `opening`, and by nothing else.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import unquote, urlsplit
from urllib.request import url2pathname

from toolmason_runtime import ToolError


@dataclass(frozen=True, slots=True)
class Root:
    """A folder that may be read, at its real path. `source` says in words who allowed it."""

    path: Path
    source: str

    @classmethod
    def of(cls, path: str, source: str) -> Root:
        """Give the root for `path` as a person wrote it: `~` is expanded, links are followed."""
        # Not `Path.expanduser` and `resolve`: they raise for an unknown user and for links in a circle.
        return cls(Path(os.path.realpath(os.path.expanduser(path))), source)  # noqa: PTH111  see above


@dataclass(frozen=True, slots=True)
class Located:
    """A path that is allowed: its root, and the way down from there, free of links when it was checked."""

    root: Root
    parts: tuple[str, ...]
    shown: str
    """How answers name it: as short as it stays clear, with forward slashes."""

    def __post_init__(self) -> None:
        if any(part in {"", ".", ".."} or os.sep in part for part in self.parts):
            raise ValueError("a part that is no name would lead out of the root")

    @property
    def path(self) -> Path:
        """The absolute path."""
        return self.root.path.joinpath(*self.parts)

    def child(self, name: str) -> Located:
        """Give the entry `name` of this folder."""
        shown = name if self.shown == "." else f"{self.shown.rstrip('/')}/{name}"
        return Located(self.root, (*self.parts, name), shown)


class RefusedPathError(ToolError):
    """A path that may not be read. `resolved` is where it leads, if that is known."""

    def __init__(self, message: str, *, reason: str, resolved: str = "") -> None:
        super().__init__(message, code="PATH_NOT_ALLOWED")
        self.reason = reason
        self.resolved = resolved


def root_of_uri(uri: str) -> str | None:
    """Give the path of a `file:` URI, percent signs decoded, or None for what is no local folder."""
    parts = urlsplit(uri)
    if parts.scheme != "file" or parts.netloc not in {"", "localhost"}:
        return None
    path = url2pathname(parts.path) if os.name == "nt" else unquote(parts.path)
    return path if Path(path).is_absolute() and "\0" not in path else None


def locate(path: str, roots: Sequence[Root]) -> Located:
    """Give the place of `path`, which need not exist.

    A relative path is taken from the first root in which it exists, else from the first root.

    Raises:
        RefusedPathError: it leads outside of `roots`, or is no path at all.
        ToolError: it changed meanwhile, or has links that may not be followed, or too many.
    """
    if not path.strip():
        raise RefusedPathError("the path is empty: give a file or folder, such as `.`", reason="Path is empty")
    if "\0" in path:
        raise RefusedPathError("the path holds a NUL character", reason="Path contains a NUL character")
    try:
        os.fsencode(path)
    except UnicodeEncodeError:
        raise RefusedPathError("the path is no valid text", reason="Path is not valid text") from None
    resolved = ""
    for candidate in _candidates(path, roots):
        resolved = real_path(candidate)
        for root in roots:
            if Path(resolved).is_relative_to(root.path):
                return _located(root, Path(resolved), roots)
    allowed = ", ".join(f"`{root.path}`" for root in roots)
    message = f"`{path}` leads outside of the allowed directories; allowed: {allowed or 'none'}"
    raise RefusedPathError(message, reason="Path is outside project root", resolved=resolved)


def real_path(path: str | Path) -> str:
    """Give where a path leads; what is not there, or a link in a circle, stays as it is.

    Raises:
        ToolError: it changed meanwhile, or has links that may not be followed, or too many.
    """
    try:
        return os.path.realpath(path)
    except PermissionError:
        raise ToolError("no permission to follow a link of the path", code="NO_PERMISSION") from None
    except OSError:  # a link was there and is gone, or is no link any more
        message = "the path changed while it was looked at: try again"
        raise ToolError(message, code="PATH_CHANGED") from None
    except RecursionError:  # the system follows 40 links, `realpath` as many as Python can stack
        raise ToolError("the path is a chain of too many links", code="CANNOT_READ") from None


def _candidates(path: str, roots: Sequence[Root]) -> list[str]:
    """Give what `path` may mean, those that are there first. Text, since `Path` would fold a `..` away."""
    written = os.path.expanduser(path)  # noqa: PTH111  see `Root.of`
    if os.path.isabs(written):  # noqa: PTH117  text, see above
        return [written]
    return sorted((f"{root.path}{os.sep}{written}" for root in roots), key=lambda each: not os.path.lexists(each))


def _located(root: Root, resolved: Path, roots: Sequence[Root]) -> Located:
    relative = resolved.relative_to(root.path)
    shown = relative.as_posix() if len(roots) == 1 else resolved.as_posix()
    return Located(root, relative.parts, shown)
