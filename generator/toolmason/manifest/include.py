"""The files of one manifest: the main file and those that its key `include` names."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, Final

from toolmason.manifest.input_files import read_input

PATTERN: Final = r"(?!/)(?!.*(?:^|/)\.{1,2}/)[^\\\0\n]*[^\\\0\n/]\.toml"
"""A path or a glob inside the directory of the manifest: `tools/*.toml`."""
_HEAD: Final = re.compile(rb"^[ \t]*\[", re.MULTILINE)
"""The first table. The keys of the top level are before it."""


def find_files(manifest: Path, pattern: Any) -> list[Path]:
    """Return the files that match a path or glob of `include`, sorted; none for an invalid pattern."""
    if not isinstance(pattern, str) or not re.fullmatch(PATTERN, pattern):
        return []
    # Python rejects a glob such as `**tools/*.toml`, and on Windows a drive.
    with suppress(ValueError, NotImplementedError, OSError):
        found = sorted(manifest.parent.glob(pattern))
        return [path for path in found if path != manifest and not path.name.startswith(".") and path.is_file()]
    return []


def included_files(manifest: Path, text: bytes) -> list[Path]:
    """Return the files that a manifest includes, in order. `text` is its content, which may be invalid."""
    patterns = _patterns(text)
    return list(dict.fromkeys(path for pattern in patterns for path in find_files(manifest, pattern)))


def includes(manifest: Path, text: bytes, path: Path) -> bool:
    """Return whether a file, which may not exist, matches a pattern of the manifest. `**` matches any path."""
    if path == manifest or not path.is_relative_to(manifest.parent):
        return False
    patterns = [pattern for pattern in _patterns(text) if isinstance(pattern, str)]
    return any("**" in pattern or path.relative_to(manifest.parent).match(pattern) for pattern in patterns)


def read_files(manifest: Path, root: Path) -> Iterator[tuple[Path, bytes]]:
    """Yield the main file and the readable included files, with their contents.

    Raises:
        OSError: the main file cannot be read.
    """
    text = read_input(manifest, root)
    yield manifest, text
    for path in included_files(manifest, text):
        with suppress(OSError):
            yield path, read_input(path, root)


def _patterns(text: bytes) -> Sequence[Any]:
    # Most manifests include nothing, and parsing a large one takes long.
    if b"include" not in text:
        return ()
    head = _HEAD.search(text)
    for part in (text[: head.start()] if head else text, text):
        with suppress(ValueError, RecursionError):
            patterns = tomllib.loads(part.decode()).get("include", ())
            return patterns if isinstance(patterns, list) else ()
    return ()
