"""Tables written as TOML. A manifest is taken through the toolkit's own stages first, so that it is one."""

from __future__ import annotations

import copy
from collections.abc import Iterable, Mapping
from pathlib import Path, PurePosixPath
from typing import Any, Final

import tomli_w
from toolmason_runtime.toml.positions import KeyPath, Position, dotted, key_positions

from toolmason.diagnostics import Diagnostic, Diagnostics, Severity
from toolmason.importers.names import one_line
from toolmason.importers.notes import ImportFailed, Notes
from toolmason.manifest.document import Document
from toolmason.manifest.validate import validate
from toolmason.resolve import resolve

_FILE: Final = PurePosixPath("manifest.toml")


def manifest_text(data: dict[str, Any], notes: Notes, *, sources: Iterable[Path]) -> str:
    """Write a manifest. A part that the toolkit refuses is taken out of `data`, and noted.

    Raises:
        ImportFailed: it is refused for a reason that lies in no part, nothing is left, or a default would be lost.
    """
    named = [path.as_posix() for path in sources]
    before = copy.deepcopy(data)
    for part, message in remove_refused(data):
        if _has_default(before, part):
            words = f"a manifest refuses it, and it has a default, which must not be lost: {message}"
            notes.stop(named[0], Position(1, 1), dotted(part), words)
        else:
            notes.add(named[0], Position(1, 1), dotted(part), f"left out, since a manifest refuses it: {message}")
    notes.check()
    if not data["tools"]:
        raise ImportFailed(f"{named[0]}: none of its tools can be one of a manifest")
    return toml_text(data, f"Imported from {', '.join(named)}.")


def remove_refused(data: dict[str, Any]) -> list[tuple[KeyPath, str]]:
    """Take out of a manifest what the toolkit refuses; give each part with the reason.

    Raises:
        ImportFailed: it is refused for a reason that lies in no part.
    """
    removed: dict[KeyPath, str] = {}
    # The first error of each round takes a part out, since it is about something that is there.
    while errors := _errors(data):
        for path, error in errors:
            removed.setdefault(_removed(data, path, error), error.message)
    return list(removed.items())


def _has_default(data: Mapping[str, Any], part: KeyPath) -> bool:
    """Whether a part is a parameter with a value that is written where none is sent."""
    table: Any = data
    for key in part:
        table = table.get(str(key), {})
    return "params" in part[2:3] and not {"default", "default_env"}.isdisjoint(table)


def toml_text(data: Mapping[str, Any], *remarks: str) -> str:
    """Write tables as TOML, remarks first."""
    head = "".join(f"# {one_line(each)}\n" for each in remarks)
    return f"{head}\n{tomli_w.dumps(data)}"


def _errors(data: Mapping[str, Any]) -> list[tuple[KeyPath, Diagnostic]]:
    """Give what the toolkit refuses of a manifest, each with where it stands."""
    text = tomli_w.dumps(data)
    document = Document(path=_FILE, text=text, data=data)
    diagnostics = Diagnostics()
    tables = validate(document, diagnostics=diagnostics)
    server = resolve(tables, document, root=Path(), diagnostics=diagnostics) if tables else None
    if server:
        return []
    errors = [each for each in diagnostics if each.severity is Severity.ERROR]
    paths: dict[Position, KeyPath] = {}
    for path, span in sorted(key_positions(text).items(), key=lambda each: len(each[0])):
        paths |= {span.key: path, span.value: path}
    return [(paths.get(Position(each.location.line, each.location.column), ()), each) for each in errors]


def _removed(data: dict[str, Any], path: KeyPath, error: Diagnostic) -> KeyPath:
    """Take out the smallest part around `path`, and name it. Another error may have taken it out already."""
    if path[:1] in (("tools",), ("clis",)) and path[2:3] == ("params",) and len(path) > 3:
        part = path[:4]
    elif path[:1] == ("tools",) and path[2:3] == ("confirm",):
        part = path[:3]
    elif path[:1] == ("tools",) and len(path) > 1:
        part = path[:2]
    else:
        raise ImportFailed(f"what came out is no manifest: {error.message}")
    table = data
    for key in part[:-1]:
        table = table.get(str(key), {})
    table.pop(str(part[-1]), None)
    return part


def write_text(path: Path, text: str, *, force: bool) -> None:
    """Write a file, in folders that are made for it.

    Raises:
        OSError: it cannot be written, or there is something of that name and `force` is not set.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("w" if force else "x", encoding="utf-8", newline="\n") as file:
        file.write(text)
