"""Allowed directories, and the resolution of paths in them: links, `..` and `~`.

Only `workspace.open` opens a located path.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Final
from urllib.parse import unquote, urlsplit

from toolmason_runtime import ToolError

MAX_PATH_CHARS: Final = 4_096
"""Maximum characters of a path. Linux accepts at most 4,095 bytes, and resolving a path takes time for each part."""
MAX_SPELLED: Final = 20_000
"""Maximum names of a directory that are compared with a missing one after normalization."""
FILE_SCHEME: Final = "file:"
_LINE: Final = re.compile(r"(?::\d+(?:[:-]\d+)?|#L\d+(?:-L?\d+)?)\Z")
"""The line in `app.py:12`, `app.py:12:5` and `app.py#L12-L20`."""
_TOPS: Final = frozenset({"a", "b", "workspace", "workspaces", "repo", "project", "app", "work", "mnt", "."})
"""First names of paths that stand for the project: of diffs, of containers."""


@dataclass(frozen=True, slots=True)
class Root:
    """An allowed directory with its real path. `source` describes who allowed it."""

    path: Path
    source: str

    @classmethod
    def of(cls, path: str, source: str) -> Root:
        """Return the root for `path` as the user wrote it: `~` is expanded, links are followed."""
        # Not `Path.expanduser` and `resolve`: they raise for an unknown user and for links in a circle.
        return cls(Path(os.path.realpath(os.path.expanduser(path))), source)  # noqa: PTH111  see above


@dataclass(frozen=True, slots=True)
class Located:
    """An allowed path: its root and its parts from there, without links when it was checked."""

    root: Root
    parts: tuple[str, ...]
    shown: str
    """The path in results: relative if there is one root, with forward slashes."""

    def __post_init__(self) -> None:
        if any(part in {"", ".", ".."} or os.sep in part for part in self.parts):
            raise ValueError("a part that is not a name could leave the root")

    @property
    def path(self) -> Path:
        """The absolute path."""
        return self.root.path.joinpath(*self.parts)

    @property
    def parent(self) -> Located:
        """The directory of this entry; the root itself has none."""
        if not self.parts:
            raise ValueError("the parent of a root is outside of it")
        return Located(self.root, self.parts[:-1], self.shown.rpartition("/")[0] or ".")

    def child(self, name: str) -> Located:
        """Return the entry `name` of this directory."""
        shown = name if self.shown == "." else f"{self.shown.rstrip('/')}/{name}"
        return Located(self.root, (*self.parts, name), shown)


class RefusedPathError(ToolError):
    """A path is not allowed. `resolved` is its real path, empty if unknown."""

    def __init__(self, message: str, *, reason: str, resolved: str = "") -> None:
        super().__init__(message, code="PATH_NOT_ALLOWED")
        self.reason = reason
        self.resolved = resolved


def root_of_uri(uri: str) -> str | None:
    """Return the decoded path of a `file:` URI; None for any other URI and for other hosts."""
    parts = urlsplit(uri)
    if parts.scheme != "file" or parts.netloc not in {"", "localhost"}:
        return None
    path = unquote(parts.path)
    if os.name == "nt":
        from urllib.request import url2pathname  # imports the HTTP client

        path = url2pathname(parts.path)
    return path if Path(path).is_absolute() and "\0" not in path else None


def locate(path: str, roots: Sequence[Root]) -> Located:
    """Locate `path`, which may be missing.

    A relative path starts from the first root in which it exists, else from the first root.

    Raises:
        RefusedPathError: it is outside of `roots`, or invalid.
        ToolError: its links changed meanwhile, cannot be followed, or are too many.
    """
    if not path.strip():
        raise RefusedPathError("the path is empty: use a file or directory, such as `.`", reason="Path is empty")
    if "\0" in path:
        raise RefusedPathError("the path contains NUL", reason="Path contains a NUL character")
    if len(path) > MAX_PATH_CHARS:
        message = f"the path has {len(path):,} characters, more than the limit of {MAX_PATH_CHARS:,}: use a shorter one"
        raise RefusedPathError(message, reason="Path is too long")
    try:
        os.fsencode(path)
    except UnicodeEncodeError:
        raise RefusedPathError("the path is not valid text", reason="Path is not valid text") from None
    resolved = ""
    for candidate in candidates(path, roots):
        resolved = real_path(_spelled(candidate, roots))
        for root in roots:
            if Path(resolved).is_relative_to(root.path):
                return _located(root, Path(resolved), roots)
    allowed = ", ".join(f"`{root.path}`" for root in roots)
    message = f"`{path}` is outside the allowed directories: {allowed or 'none'}{proposal(path, roots)}"
    raise RefusedPathError(message, reason="Path is outside project root", resolved=resolved)


def real_path(path: str | Path) -> str:
    """Return the real path; missing parts and link loops remain.

    Raises:
        ToolError: its links changed meanwhile, cannot be followed, or are too many.
    """
    try:
        return os.path.realpath(path)
    except PermissionError:
        raise ToolError("no permission to follow a link of the path", code="NO_PERMISSION") from None
    except OSError:  # a link was removed or replaced meanwhile
        message = "the path changed while it was resolved: retry"
        raise ToolError(message, code="PATH_CHANGED") from None
    except RecursionError:  # the system follows 40 links, `realpath` as many as Python can stack
        raise ToolError("the path is a chain of too many links", code="CANNOT_READ") from None


def candidates(path: str, roots: Sequence[Root]) -> list[str]:
    """Return the possible meanings of `path`, existing ones first. As text: `Path` would remove a `..`."""
    expanded = os.path.expanduser(path)  # noqa: PTH111  see `Root.of`
    if os.path.isabs(expanded):  # noqa: PTH117  text, see above
        return [expanded]
    return sorted(
        (f"{root.path}{os.sep}{expanded}" for root in roots), key=lambda candidate: not os.path.lexists(candidate)
    )


def proposal(path: str, roots: Sequence[Root]) -> str:
    """Return the existing path that a model meant with another notation, as a question; empty if there is none.

    Such notations are `file://` URIs, `@path` of clients, `/path` from the top of the project, the project's own name
    in front, quotes, `a/path` of diffs, `path:12`, and backslashes.
    """
    for form in dict.fromkeys(_forms(path, roots)):
        if form == path or not form.strip() or "\0" in form:
            continue
        for candidate in candidates(form, roots):
            try:
                resolved = Path(real_path(_spelled(candidate, roots)))
            except ToolError:
                continue
            root = next((root for root in roots if resolved.is_relative_to(root.path)), None)
            if root and os.path.lexists(resolved):
                return _question(_located(root, resolved, roots).shown, path)
    return ""


def uri_proposal(path: str, roots: Sequence[Root]) -> str:
    """Return the path in a `file:` URI, which may be missing, as `proposal` does; empty if it is outside of `roots`."""
    for form in (root_of_uri(path.strip()), unquote(path.strip()[len(FILE_SCHEME) :])):
        try:
            located = locate(form or "", roots)
        except ToolError:
            continue
        return _question(located.shown, path)
    return ""


def _question(shown: str, sent: str) -> str:
    meant, given = (json.dumps(text, ensure_ascii=False) for text in (shown, sent))
    return f"; did you mean {meant}? Send that instead of {given}"


def _forms(path: str, roots: Sequence[Root]) -> Iterator[str]:
    plain = path.strip().strip("\"'`<>")
    forms = [plain, unquote(plain), _LINE.sub("", plain), plain.replace("\\", "/")]
    if plain.lower().startswith(FILE_SCHEME):
        forms += [root_of_uri(plain) or "", unquote(plain[len(FILE_SCHEME) :])]
    forms += [form[1:].strip("\"'") for form in forms if form.startswith("@")]
    for form in forms:
        yield form
        relative = form.lstrip("/")
        yield relative
        first, _, rest = relative.partition("/")
        if rest and (first in _TOPS or any(first == root.path.name for root in roots)):
            yield rest


def _spelled(path: str, roots: Sequence[Root]) -> str:
    """Return a path whose names are those on the disk, where they differ by Unicode normalization alone (`é`).

    Macs and Linux compose such characters differently. Only directories inside the roots are read.
    """
    if path.isascii() or os.path.lexists(path):
        return path
    first, *names = path.split(os.sep)  # noqa: PTH206  `Path` would fold a `..` away
    found = first
    for number, name in enumerate(names):
        known = name
        if not os.path.lexists(f"{found}{os.sep}{name}"):
            known = name if name.isascii() else _same_name(found or os.sep, name, roots)
            if known == name:  # nothing is in a directory that is missing
                return os.sep.join((found, *names[number:]))  # noqa: PTH118  text, see above
        found += os.sep + known
    return found


def _same_name(directory: str, name: str, roots: Sequence[Root]) -> str:
    """Return the only name in a directory that is equal after normalization; `name` itself if there is none."""
    from unicodedata import normalize  # not needed for most paths

    try:
        if not any(Path(real_path(directory)).is_relative_to(root.path) for root in roots):
            return name
        wanted = normalize("NFC", name)
        with os.scandir(directory) as entries:
            same = [entry.name for entry in islice(entries, MAX_SPELLED) if normalize("NFC", entry.name) == wanted]
    except (OSError, ToolError):
        return name
    return same[0] if len(same) == 1 else name


def _located(root: Root, resolved: Path, roots: Sequence[Root]) -> Located:
    relative = resolved.relative_to(root.path)
    shown = relative.as_posix() if len(roots) == 1 else resolved.as_posix()
    return Located(root, relative.parts, shown)
