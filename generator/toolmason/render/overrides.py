"""A project's own templates beside the packaged ones: what there is, taking one over, and who changed since.

An ejected template opens with a comment that holds the hash of the packaged text it was taken from. That is all
the memory there is: it travels with the file through copies, renames of the project and version control.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from enum import StrEnum
from hashlib import sha256
from importlib.resources import files
from importlib.resources.abc import Traversable
from pathlib import Path, PurePosixPath

from toolmason.manifest.input_files import read_input

_RECORD = re.compile(r"\A\{# Taken over from toolmason, upstream sha256:([0-9a-f]{64})[^\n]* #\}\n")


class State(StrEnum):
    """How a project's template stands to the packaged one it replaces."""

    UNCHANGED = "unchanged"
    YOURS_CHANGED = "yours changed"
    OURS_CHANGED = "ours changed"
    BOTH_CHANGED = "both changed"
    UNRECORDED = "yours, written by hand"
    """It replaces a packaged one, but does not say which text it started from."""
    ALONE = "yours alone"
    """No packaged template has its name (any more)."""
    UNREADABLE = "cannot be read"
    """It is no UTF-8 text, a link that leads nowhere, or closed to us."""


@dataclass(frozen=True, slots=True)
class Override:
    """A template of the project. `name` is its path under `templates/`, with slashes."""

    name: str
    state: State


class UnknownTemplate(Exception):  # noqa: N818 - says what is the case, as LookupError does
    """No packaged template has this name."""


class AlreadyEjected(Exception):  # noqa: N818 - says what is the case
    """The project has a file of this name; it is left as it is."""


class CannotEject(Exception):  # noqa: N818 - says what is the case
    """The disk refuses the new file. The text says where and why."""


def packaged() -> dict[str, str]:
    """Give the packaged templates that make output, sorted by name. Those of `init` are not among them."""
    found = dict(_walk(files("toolmason_templates"), PurePosixPath()))
    return {name: found[name] for name in sorted(found) if not name.startswith("init/")}


def has_overrides(templates: Path, own: Iterable[str] = ()) -> bool:
    """Return whether the directory `templates` has a packaged template's name, or one of `own`."""
    return any((templates / name).exists() for name in (*packaged(), *own))


def _walk(folder: Traversable, at: PurePosixPath) -> Iterator[tuple[str, str]]:
    for entry in folder.iterdir():
        if entry.is_dir():
            yield from _walk(entry, at / entry.name)
        elif entry.name.endswith(".jinja"):
            yield (at / entry.name).as_posix(), entry.read_text(encoding="utf-8")


def _hash(text: str) -> str:
    return sha256(text.encode("utf-8")).hexdigest()


def eject(name: str, folder: Path) -> Path:
    """Copy the packaged template `name` into the project's template `folder`; give the new file's path.

    Raises:
        UnknownTemplate: there is none of that name.
        AlreadyEjected: the file is there already.
        CannotEject: the disk refuses, as where a file stands in the place of the folder.
    """
    text = packaged().get(name)
    if text is None:
        raise UnknownTemplate(name)
    target = folder / name
    record = f"{{# Taken over from toolmason, upstream sha256:{_hash(text)}; `toolmason templates status` reads it #}}"
    _make_folder(target.parent)
    try:
        with target.open("x", encoding="utf-8", newline="\n") as file:
            file.write(f"{record}\n{text}")
    except FileExistsError as error:
        raise AlreadyEjected(name) from error
    except OSError as error:
        raise CannotEject(f"{target}: {error.strerror}") from error
    return target


def _make_folder(folder: Path) -> None:
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except (FileExistsError, NotADirectoryError) as error:
        in_the_way = next(path for path in (folder, *folder.parents) if path.is_symlink() or path.exists())
        raise CannotEject(f"{in_the_way} is no folder; move it away") from error
    except OSError as error:
        raise CannotEject(f"{folder}: {error.strerror}") from error


def overrides(folder: Path) -> tuple[Override, ...]:
    """List the project's templates by name, each compared with the packaged text and the one it was taken from."""
    ours = packaged()
    names = sorted(path.relative_to(folder).as_posix() for path in folder.rglob("*.jinja") if not path.is_dir())
    own_package = "toolmason_templates/"
    return tuple(
        Override(name, _state_of(folder / name, folder, ours.get(name)))
        for name in names
        if not name.startswith(own_package)
    )


def _state_of(path: Path, folder: Path, ours: str | None) -> State:
    try:
        return _state(read_input(path, folder.parent).decode().replace("\r\n", "\n"), ours)
    except (OSError, UnicodeDecodeError):
        return State.UNREADABLE


def _state(yours: str, ours: str | None) -> State:
    if ours is None:
        return State.ALONE
    record = _RECORD.match(yours)
    if record is None:
        return State.UNRECORDED
    base = record[1]
    yours_changed = _hash(yours[record.end() :]) != base
    ours_changed = _hash(ours) != base
    if yours_changed and ours_changed:
        # The same change made on both sides is no conflict.
        return State.UNCHANGED if _hash(yours[record.end() :]) == _hash(ours) else State.BOTH_CHANGED
    if yours_changed:
        return State.YOURS_CHANGED
    return State.OURS_CHANGED if ours_changed else State.UNCHANGED
