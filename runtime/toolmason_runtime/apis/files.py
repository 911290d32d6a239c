"""Files that a request sends, and files that an answer is saved to: only inside the directories of the call.

A path is opened one directory after the other without following links, so that no link, and no directory that is
exchanged meanwhile, leads to another place.
"""

from __future__ import annotations

import mimetypes
import os
import stat
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from toolmason_runtime.calls.call import ToolCall
from toolmason_runtime.programs.search_path import is_too_wide, project_directories, working_directory
from toolmason_runtime.shared.errors import INVALID_ARGUMENT, ToolError
from toolmason_runtime.shared.specs.request import HttpTool, Placement

MAX_SENT_BYTES: Final = 16 * 1024 * 1024
"""Maximum bytes of all files of a request."""

_NO_FOLLOW: Final = getattr(os, "O_NOFOLLOW", 0)
_DIRECTORY: Final = getattr(os, "O_DIRECTORY", 0) | _NO_FOLLOW
_NO_BLOCK: Final = getattr(os, "O_NONBLOCK", 0)
"""Without it, opening a named pipe waits for its writer."""


@dataclass(frozen=True, slots=True)
class SentFile:
    """A file of a request: its path in the call, its name, its media type by that name, and its content."""

    path: str
    name: str
    media: str
    content: bytes


async def directories_of(call: ToolCall) -> tuple[Path, ...]:
    """Return the directories whose files a call may use: the projects of the call, else the server's own directory.

    A disk and the home directory are too wide.

    Raises:
        ToolError: there is none, or the caller is on another machine, whose files are not here.
    """
    if os.open not in os.supports_dir_fd:
        raise ToolError("Files are not supported on this system", code="PATH_NOT_ALLOWED")
    if not call.is_local:
        message = "This server is not on the caller's machine, so it neither sends nor saves files"
        raise ToolError(message, code="PATH_NOT_ALLOWED")
    chosen = await project_directories(call) or tuple(map(str, working_directory()))
    found = tuple(path for path in map(Path, map(os.path.realpath, chosen)) if not is_too_wide(path))
    if not found:
        message = "The server has no directory for files: start it in the directory of the project"
        raise ToolError(message, code="PATH_NOT_ALLOWED")
    return found


def has_files(tool: HttpTool) -> bool:
    """Return whether arguments of a tool are paths of files."""
    return any(placement.format == "path" for placement in tool.placements)


def with_files(tool: HttpTool, arguments: Mapping[str, Any], directories: Sequence[Path]) -> dict[str, Any]:
    """Return the arguments with a `SentFile` in place of each path. It blocks.

    Raises:
        ToolError: a path is outside of `directories` or not a file, or the files are too large.
    """
    values = dict(arguments)
    size = 0
    for placement in tool.placements:
        value = values.get(placement.name)
        if placement.format != "path" or value is None:
            continue
        files = [_read(placement, str(path), directories, MAX_SENT_BYTES - size) for path in _items(value)]
        size += sum(len(file.content) for file in files)
        values[placement.name] = files if isinstance(value, list) else files[0]
    return values


def files_in(values: Mapping[str, Any]) -> list[tuple[str, SentFile]]:
    """Return the files among values, with the names of their parameters."""
    pairs = [(name, item) for name, value in values.items() for item in _items(value)]
    return [(name, item) for name, item in pairs if isinstance(item, SentFile)]


def check_new(name: str, path: str, directories: Sequence[Path]) -> None:
    """Check that a file can be created at a path, before the request. It blocks.

    Raises:
        ToolError: the path is outside of `directories`, its directory is missing, or something is there already.
    """
    with _parent(name, path, directories) as (parent, last):
        try:
            os.stat(last, dir_fd=parent, follow_symlinks=False)
        except FileNotFoundError:
            return
    raise _exists(name, path)


def save(name: str, path: str, content: bytes, directories: Sequence[Path]) -> None:
    """Create a file with a content. It blocks.

    Raises:
        ToolError: as `check_new`, or the file cannot be written.
    """
    with _parent(name, path, directories) as (parent, last):
        try:
            descriptor = os.open(last, os.O_WRONLY | os.O_CREAT | os.O_EXCL | _NO_FOLLOW, 0o666, dir_fd=parent)
        except FileExistsError:
            raise _exists(name, path) from None
        except OSError as error:
            raise _refused(name, path, error.strerror or str(error)) from None
        try:
            with os.fdopen(descriptor, "wb") as file:
                file.write(content)
        except OSError as error:
            os.unlink(last, dir_fd=parent)
            raise _refused(name, path, error.strerror or str(error)) from None


def _items(value: Any) -> list[Any]:
    return value if isinstance(value, list) else [value]


def _read(placement: Placement, path: str, directories: Sequence[Path], limit: int) -> SentFile:
    name = placement.name
    with _parent(name, path, directories) as (parent, last):
        try:
            descriptor = os.open(last, os.O_RDONLY | _NO_FOLLOW | _NO_BLOCK, dir_fd=parent)
        except OSError as error:
            raise _refused(name, path, error.strerror or str(error)) from None
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            os.close(descriptor)
            raise _refused(name, path, "it is not a file")
        with os.fdopen(descriptor, "rb") as file:
            content = file.read(limit + 1)
    if len(content) > limit:
        raise _refused(name, path, f"the files of a request have at most {MAX_SENT_BYTES:,} bytes")
    return SentFile(path, last, mimetypes.guess_type(last)[0] or "application/octet-stream", content)


@contextmanager
def _parent(name: str, path: str, directories: Sequence[Path]) -> Iterator[tuple[int, str]]:
    """Open the directory of a path, and yield its descriptor with the last name."""
    top, parts = _inside(name, path, directories)
    descriptor = os.open(top, os.O_RDONLY | getattr(os, "O_DIRECTORY", 0))
    try:
        for part in parts[:-1]:
            try:
                inner = os.open(part, os.O_RDONLY | _DIRECTORY, dir_fd=descriptor)
            except OSError as error:
                raise _refused(name, path, f"the directory `{part}`: {error.strerror}") from None
            os.close(descriptor)
            descriptor = inner
        yield descriptor, parts[-1]
    finally:
        os.close(descriptor)


def _inside(name: str, path: str, directories: Sequence[Path]) -> tuple[Path, tuple[str, ...]]:
    """Return the directory that contains a path, and the parts below it. Links are resolved first."""
    if "\0" in path or not path.strip():
        raise _refused(name, path, "it is not a path")
    targets = [(directory, Path(os.path.realpath(directory / path))) for directory in directories]
    inside = [(directory, target) for directory, target in targets if directory in target.parents]
    for directory, target in [*((top, each) for top, each in inside if each.exists()), *inside]:
        return directory, target.relative_to(directory).parts
    raise ToolError(
        f"`{name}`: `{path}` is not in {', '.join(f'`{directory}`' for directory in directories)}",
        code="PATH_NOT_ALLOWED",
        details={"argument": name},
    )


def _refused(name: str, path: str, reason: str) -> ToolError:
    return ToolError(f"`{name}`: `{path}`: {reason}", code=INVALID_ARGUMENT, details={"argument": name})


def _exists(name: str, path: str) -> ToolError:
    return _refused(name, path, "it exists already, and files are never overwritten: choose another name")
