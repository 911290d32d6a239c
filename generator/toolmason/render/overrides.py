"""A project's own templates: list them, copy a packaged one, and compare both.

An ejected template begins with a comment that has the hash of the packaged text. The comparison needs nothing else, so
it works after copies, renames and checkouts.
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
    """Difference between a project's template, the packaged one it replaces, and the text it was copied from."""

    UNCHANGED = "unchanged"
    YOURS_CHANGED = "project template changed"
    OURS_CHANGED = "packaged template changed"
    BOTH_CHANGED = "both changed"
    UNRECORDED = "written by hand"
    """It replaces a packaged one, but has no record of the original text."""
    ALONE = "no packaged template of this name"
    UNREADABLE = "cannot be read"
    """It is not UTF-8, a broken link, or not readable."""


@dataclass(frozen=True, slots=True)
class Override:
    """A template of the project. `name` is its path under `templates/`, with slashes."""

    name: str
    state: State


class UnknownTemplateError(Exception):
    """No packaged template has this name."""


class TemplateExistsError(Exception):
    """The project has a file of this name already."""


class EjectError(Exception):
    """The file cannot be written. The message has the path and the reason."""


def packaged() -> dict[str, str]:
    """Return the packaged templates of generated files, sorted by name; not those of `init`."""
    texts = dict(_walk(files("toolmason_templates"), PurePosixPath()))
    return {name: texts[name] for name in sorted(texts) if not name.startswith("init/")}


def has_overrides(templates: Path, own: Iterable[str] = ()) -> bool:
    """Return whether the directory `templates` has a packaged template's name, or one of `own`."""
    return any((templates / name).exists() for name in (*packaged(), *own))


def _walk(directory: Traversable, path: PurePosixPath) -> Iterator[tuple[str, str]]:
    for entry in directory.iterdir():
        if entry.is_dir():
            yield from _walk(entry, path / entry.name)
        elif entry.name.endswith(".jinja"):
            yield (path / entry.name).as_posix(), entry.read_text(encoding="utf-8")


def _hash(text: str) -> str:
    return sha256(text.encode("utf-8")).hexdigest()


def eject(name: str, directory: Path) -> Path:
    """Copy the packaged template `name` into the project's template `directory` and return its path.

    Raises:
        UnknownTemplateError: no packaged template has that name.
        TemplateExistsError: the file exists.
        EjectError: the file cannot be written.
    """
    text = packaged().get(name)
    if text is None:
        raise UnknownTemplateError(name)
    target = directory / name
    record = f"{{# Taken over from toolmason, upstream sha256:{_hash(text)}; `toolmason templates status` reads it #}}"
    _make_directory(target.parent)
    try:
        with target.open("x", encoding="utf-8", newline="\n") as file:
            file.write(f"{record}\n{text}")
    except FileExistsError as error:
        raise TemplateExistsError(name) from error
    except OSError as error:
        raise EjectError(f"{target}: {error.strerror}") from error
    return target


def _make_directory(directory: Path) -> None:
    try:
        directory.mkdir(parents=True, exist_ok=True)
    except (FileExistsError, NotADirectoryError) as error:
        obstacle = next(path for path in (directory, *directory.parents) if path.is_symlink() or path.exists())
        raise EjectError(f"{obstacle} is not a directory; move it away") from error
    except OSError as error:
        raise EjectError(f"{directory}: {error.strerror}") from error


def overrides(directory: Path) -> tuple[Override, ...]:
    """Return the project's templates, sorted by name, with the state of each."""
    texts = packaged()
    names = sorted(path.relative_to(directory).as_posix() for path in directory.rglob("*.jinja") if not path.is_dir())
    return tuple(
        Override(name, _load_state(directory / name, directory, texts.get(name)))
        for name in names
        if not name.startswith("toolmason_templates/")
    )


def _load_state(path: Path, directory: Path, packaged_text: str | None) -> State:
    try:
        return _compare(read_input(path, directory.parent).decode().replace("\r\n", "\n"), packaged_text)
    except (OSError, UnicodeDecodeError):
        return State.UNREADABLE


def _compare(text: str, packaged_text: str | None) -> State:
    if packaged_text is None:
        return State.ALONE
    record = _RECORD.match(text)
    if record is None:
        return State.UNRECORDED
    original, own, upstream = record[1], _hash(text[record.end() :]), _hash(packaged_text)
    if own == upstream:
        # Also if both have the same change.
        return State.UNCHANGED
    if original in (own, upstream):
        return State.OURS_CHANGED if original == own else State.YOURS_CHANGED
    return State.BOTH_CHANGED
