"""Write tables as TOML. Manifests are validated and resolved first, so that they are valid."""

from __future__ import annotations

import copy
import shutil
from collections.abc import Iterable, Mapping
from pathlib import Path, PurePosixPath
from typing import Any, Final

import tomli_w
from toolmason_runtime.shared.placeholders import escape_texts
from toolmason_runtime.shared.toml.positions import KeyPath, Position, dotted, key_positions
from toolmason_runtime.shared.visible_text import visible

from toolmason.diagnostics import Diagnostic, Diagnostics, Severity
from toolmason.importers.names import one_line
from toolmason.importers.notes import ImporterError, Notes
from toolmason.manifest.document import Document
from toolmason.manifest.validate import validate
from toolmason.model.server import Server
from toolmason.resolve import resolve

_FILE: Final = PurePosixPath("manifest.toml")


def manifest_text(data: dict[str, Any], notes: Notes, *, sources: Iterable[Path]) -> str:
    """Return a manifest as TOML. Invalid parts are removed from `data` with a note.

    Raises:
        ImporterError: an error belongs to no removable part, no tool is left, or a default would be lost.
    """
    paths = [path.as_posix() for path in sources]
    original = copy.deepcopy(data)
    for part, message in remove_invalid(data):
        if _has_default(original, part):
            text = f"it is invalid in a manifest and has a default, which must not be lost: {message}"
            notes.stop(paths[0], Position(1, 1), dotted(part), text)
        else:
            notes.add(paths[0], Position(1, 1), dotted(part), f"left out, since it is invalid in a manifest: {message}")
    notes.check()
    if not data["tools"]:
        raise ImporterError(f"{paths[0]}: none of its tools is valid in a manifest")
    return toml_text(data, f"Imported from {', '.join(paths)}.")


def remove_invalid(data: dict[str, Any], root: Path | None = None) -> list[tuple[KeyPath, str]]:
    """Escape texts of others that look like placeholders, remove the invalid parts of a manifest, and return these.

    Each is returned with its error. `root` contains the files that it names.

    Raises:
        ImporterError: an error belongs to no removable part.
    """
    escape_texts(data)
    removed: dict[KeyPath, str] = {}
    # Each round removes at least one part: its first error concerns an existing part.
    while errors := _errors(data, root or Path()):
        for path, error in errors:
            removed.setdefault(_remove_part(data, path, error), error.message)
    return list(removed.items())


def _has_default(data: Mapping[str, Any], part: KeyPath) -> bool:
    """Return whether a part is a parameter with a default."""
    table: Any = data
    for key in part:
        table = table.get(str(key), {})
    return "params" in part[2:3] and not {"default", "default_env"}.isdisjoint(table)


def toml_text(data: Mapping[str, Any], *comments: str, multiline: bool = False) -> str:
    r"""Return tables as TOML after comment lines. With `multiline`, no text may contain `\r`."""
    head = "".join(f"# {visible(one_line(comment))}\n" for comment in comments)
    return f"{head}\n{tomli_w.dumps(data, multiline_strings=multiline)}"


def _errors(data: Mapping[str, Any], root: Path) -> list[tuple[KeyPath, Diagnostic]]:
    """Return the errors of a manifest with their key paths."""
    text = tomli_w.dumps(data)
    diagnostics = Diagnostics()
    if resolve_tables(data, text, diagnostics=diagnostics, root=root):
        return []
    errors = [diagnostic for diagnostic in diagnostics if diagnostic.severity is Severity.ERROR]
    paths: dict[Position, KeyPath] = {}
    for path, span in sorted(key_positions(text).items(), key=lambda item: len(item[0])):
        paths |= {span.key: path, span.value: path}
    return [(paths.get(Position(error.location.line, error.location.column), ()), error) for error in errors]


def resolve_tables(data: Mapping[str, Any], text: str, *, diagnostics: Diagnostics, root: Path) -> Server | None:
    """Return the model of a manifest, None if it has errors. `text` is its TOML, for positions."""
    document = Document(path=_FILE, text=text, data=data)
    tables = validate(document, diagnostics=diagnostics)
    return resolve(tables, document, root=root, diagnostics=diagnostics) if tables else None


def _remove_part(data: dict[str, Any], path: KeyPath, error: Diagnostic) -> KeyPath:
    """Remove the smallest removable part around `path` and return its path. It may have been removed before."""
    if path[:1] in (("tools",), ("clis",)) and path[2:3] == ("params",) and len(path) > 3:
        part = path[:4]
    elif path[:1] == ("tools",) and path[2:3] == ("confirm",):
        part = path[:3]
    elif path[:1] == ("types",) and path[2:3] == ("fields",) and len(path) > 3:
        part = path[:4]
    elif path[:1] == ("tools",) and len(path) > 1:
        part = path[:2]
    else:
        raise ImporterError(f"the result is not a valid manifest: {error.message}")
    table = data
    for key in part[:-1]:
        table = table.get(str(key), {})
    table.pop(str(part[-1]), None)
    return part


def write_text(path: Path, text: str, *, force: bool) -> None:
    """Write a file and create its parent directories. A file that cannot be written whole stays as it was.

    Raises:
        OSError: it cannot be written, or it exists and `force` is not set.
    """
    data = text.encode()
    path.parent.mkdir(parents=True, exist_ok=True)
    is_new = not (force and path.exists())
    target = path if is_new else path.resolve()
    written = target if is_new else target.with_name(f"{target.name}.new")
    with written.open("xb" if is_new else "wb") as file:
        file.write(data)
    if not is_new:
        shutil.copymode(target, written)
        written.replace(target)
