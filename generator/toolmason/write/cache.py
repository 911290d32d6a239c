"""The record of the last run. If no input and no output has changed since, rendering is skipped.

A record has only hashes: one of all inputs (the files of the manifest and its schemas, handlers, templates, the toolkit
and the libraries that shape its output), and one of each generated file. Unless all of them match, the record is
ignored.

It is in the user's cache directory, and losing it costs only time. A record inside the project could declare any
output valid, so it is not read there. CI has no record: a restored cache may come from any earlier job.
"""

from __future__ import annotations

import json
import os
import re
import sys
import tomllib
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from functools import cache
from hashlib import sha256
from importlib.util import find_spec
from pathlib import Path, PurePosixPath
from posixpath import dirname, join, normpath
from typing import Any, NamedTuple
from urllib.parse import unquote

import toolmason_runtime
from toolmason_runtime.shared.checksum import CHECKSUM_FILE, Checksums, State, verify, with_lf
from toolmason_runtime.shared.entry_points import metadata_directories

import toolmason
import toolmason_templates
from toolmason.kinds import GROUP, kinds
from toolmason.manifest.include import read_files
from toolmason.manifest.input_files import UnsafeInputError, hash_input, is_inside, read_input
from toolmason.model.checksum import parse_checksums
from toolmason.model.client_launch import PYPROJECT
from toolmason.model.rendered_file import RenderedFile
from toolmason.project import Project
from toolmason.user_directory import is_ci
from toolmason.write.snapshot import MAX_FILE_BYTES
from toolmason.write.user_cache import cache_directory, read_cached, write_cached

_LIBRARIES = tuple(
    f"{name}-"
    for name in (
        *("datamodel_code_generator", "inflect", "jinja2", "jsonref", "pydantic", "ruff", "tomli_w"),
        *("jsonschema", "jsonschema_specifications", "packaging", "referencing", "regex", "sqlglot"),
    )
)
"""Prefixes of the metadata directories of libraries that affect the output or its checks: `jinja2-3.1.6.dist-info`."""

MAX_HASHED_BYTES = 256 * 1024 * 1024
MAX_HASHED_ENTRIES = 50_000
"""Maximum size and number of hashed files of a project. Beyond them no record is written."""


def load_run(project: Project) -> tuple[RenderedFile, ...] | None:
    """Return the files on disk if no input has changed and all files match their recorded hashes, else None."""
    with suppress(OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError):
        path = record_path(project)
        if path is None:
            return None
        record = json.loads(read_cached(path))
        # The record has the keys, so that no kind of tools is loaded. They fit if the toolkit has not changed.
        if record["inputs"] == fingerprint(project, record["keys"]):
            hashes = _load_listing(project.generated)
            files = [
                _read_recorded_file(project.generated, name, digest, hashes) for name, digest in record["files"].items()
            ]
            return tuple(file for file in files if file) if all(files) else None
    return None


def store_run(project: Project, files: Sequence[RenderedFile], before: str) -> None:
    """Record the `files` of a run. `before` is the fingerprint of its inputs at its start.

    If the inputs have changed during the run, nothing is recorded: either state may have been read. Call this only if
    `is_toolkit_unchanged()` is true. Errors of the file system are ignored.
    """
    with suppress(OSError):
        path = record_path(project)
        if path is None or fingerprint(project) != before:
            return
        record = {
            "inputs": before,
            "keys": input_keys(),
            "files": {file.path.as_posix(): _digest(file.text.encode()) for file in files},
        }
        write_cached(path, json.dumps(record).encode())


def record_path(project: Project) -> Path | None:
    """Return the path of the record of `project`, which may not exist; None in CI and without a cache directory."""
    return None if is_ci() else project_path(project, "run", ".json")


def project_path(project: Project, kind: str, suffix: str = "") -> Path | None:
    """Return the path of a file about `project` in the cache directory; None without one."""
    directory = cache_directory(project.root)
    name = _digest(os.path.realpath(project.manifest).encode("utf-8", "surrogateescape"))
    return directory and directory / f"{kind}-{name}{suffix}"


class Fingerprints(NamedTuple):
    """Hash of all inputs of a run, and hash of the inputs outside the manifest. Times of files are ignored."""

    all: str = ""
    others: str = ""


def fingerprint(project: Project, keys: Mapping[str, Collection[str]] | None = None) -> str:
    """Return the hash of the contents of all inputs of a run. `keys` are the `input_keys`.

    Raises:
        OSError: an input cannot be read, or there are too many.
    """
    return fingerprints(project, keys).all


def fingerprints(project: Project, keys: Mapping[str, Collection[str]] | None = None) -> Fingerprints:
    """Return both hashes of the inputs of a run. A file that the manifest names, such as a schema, is in both.

    Raises:
        OSError: an input cannot be read, or there are too many.
    """
    whole = sha256(f"{toolkit_fingerprint()} {project.shown_manifest!r}".encode())
    others = whole.copy()
    total = 0
    for name, path, root in _inputs(project, input_keys() if keys is None else keys):
        try:
            size, digest = hash_input(path, root)
        except (UnsafeInputError, FileNotFoundError, ValueError):  # ValueError: a null character in its name
            # The stages cannot read it either; some ignore a missing file, and report one that is unusable.
            size, digest = 0, "unusable" if os.path.lexists(path) else "none"
        total += size
        if total > MAX_HASHED_BYTES:
            raise UnsafeInputError(project.root, "its inputs are too large for a record")
        part = f"\0{name}\0{size} {digest}\0".encode("utf-8", "surrogateescape")
        whole.update(part)
        if name.partition(" ")[0] != "manifest":
            others.update(part)
    if project.handlers is not None:
        # Prompts and resources name files of the handlers; the server reads their content.
        names = "\0".join(name for name, _ in _files_under(project.handlers, inside=project.root))
        for each in (whole, others):
            each.update(names.encode("utf-8", "surrogateescape"))
    return Fingerprints(whole.hexdigest(), others.hexdigest())


@cache
def toolkit_fingerprint() -> str:
    """Return the hash of our packages' files and of the versions of the libraries that affect the output.

    Raises:
        OSError: a file cannot be read.
    """
    state = _toolkit_at_start()
    whole = sha256(repr(state.versions).encode())
    for name, path, *_ in state.files:
        digest = "none"
        with suppress(FileNotFoundError), open(path, "rb", buffering=0) as file:  # noqa: PTH123 - strings are faster
            digest = _digest(file.read())
        whole.update(f"\0{name}\0{digest}\0".encode("utf-8", "surrogateescape"))
    return whole.hexdigest()


def is_toolkit_unchanged() -> bool:
    """Return whether the toolkit has the files with which this process began; an update may replace them."""
    return _toolkit_at_start() == _toolkit()


class _Toolkit(NamedTuple):
    """The versions of the libraries, and our files with inode, size and time, which change if one is replaced."""

    versions: tuple[object, ...]
    files: list[tuple[str, str, int, int, int]]


def _toolkit() -> _Toolkit:
    kinds = kind_packages()
    files = []
    for place in toolkit_places(kinds):
        # Some installers link each file to their own store.
        for name, path in _files_under(place) if place.is_dir() else ((place.name, str(place)),):
            inode = size = time = 0
            with suppress(FileNotFoundError):
                status = os.stat(path)  # noqa: PTH116 - a thousand files: strings are faster
                inode, size, time = status.st_ino, status.st_size, status.st_mtime_ns
            files.append((name, path, inode, size, time))
    return _Toolkit((sys.version, _library_versions(), kinds), files)


_toolkit_at_start = cache(_toolkit)


def toolkit_places(kinds: Iterable[str]) -> list[Path]:
    """Return the directories and modules of the toolkit, and of the top packages of installed `kinds` of tools."""
    packages = (toolmason, toolmason_runtime, toolmason_templates)
    return [*(Path(package.__path__[0]) for package in packages), *_kind_places(kinds)]


def input_keys() -> dict[str, list[str]]:
    """Return the keys whose values are paths of input files, by the top-level table whose tables have them.

    The result is JSON.
    """
    keys = {"tools": {"input_schema"}}
    for kind in kinds().values():
        for table in ("tools", *([kind.section.name] if kind.section else ())):
            keys.setdefault(table, set()).update(kind.input_keys)
    return {table: sorted(names) for table, names in keys.items() if names}


def named_files(manifest: bytes, root: Path, keys: Mapping[str, Collection[str]]) -> list[str]:
    """Return the files that a manifest names with `input_keys`, and those that JSON files among them refer to."""
    # Most manifests name none. Parsing a large one takes longer than the rest of a run without changes.
    if not any(name.encode() in manifest for names in keys.values() for name in names):
        return []
    tables = tomllib.loads(manifest.decode())
    values = [
        table.get(name) for top, names in keys.items() for table in tables.get(top, {}).values() for name in names
    ]
    listed = [item for value in values for item in (value if isinstance(value, list) else [value])]
    files = [item for item in listed if isinstance(item, str)]
    for name in files:  # It grows.
        with suppress(OSError, ValueError, RecursionError):
            others = _file_references(read_input(root / name, root))
            paths = [normpath(join("/", dirname(name), unquote(other))).lstrip("/") for other in others]
            files += [path for path in dict.fromkeys(paths) if path not in files]
    return files


def _file_references(document: bytes) -> list[str]:
    """Return the other files that a JSON document refers to: `common.json` for `"$ref": "common.json#/$defs/name"`."""
    found: list[str] = []

    def note(node: dict[str, Any]) -> None:
        reference = node.get("$ref")
        file = reference.partition("#")[0] if isinstance(reference, str) else ""
        if file and ":" not in file:
            found.append(file)

    json.loads(document, object_hook=note)
    return found


def _load_listing(directory: Path) -> Checksums:
    path = directory / CHECKSUM_FILE
    return parse_checksums(read_input(path, directory, max_bytes=MAX_FILE_BYTES)) if path.exists() else {}


def _read_recorded_file(directory: Path, name: str, digest: str, hashes: Checksums) -> RenderedFile | None:
    path = PurePosixPath(name)
    # The record is not trusted: its files must be in the directory and have a valid signature.
    if path.is_absolute() or ".." in path.parts:
        return None
    data = with_lf(read_input(directory / path, directory, max_bytes=MAX_FILE_BYTES))
    if _digest(data) != digest or verify(path, data, hashes) is not State.VALID:
        return None
    return RenderedFile(path, data.decode())


def _digest(data: bytes) -> str:
    return sha256(data).hexdigest()


def _library_versions() -> list[str]:
    return sorted(entry.name for entry in metadata_directories() if entry.name.startswith(_LIBRARIES))


def kind_packages() -> list[str]:
    """Return the top packages of installed kinds of tools.

    `importlib.metadata` would take longer than the rest of a run without changes.
    """
    names: set[str] = set()
    for entry in metadata_directories():
        with suppress(OSError, ValueError):
            text = (entry / "entry_points.txt").read_text(encoding="utf-8")
            names |= set(_ENTRY_POINT.findall(text.partition(f"[{GROUP}]")[2].partition("\n[")[0]))
    return sorted(names)


def _kind_places(packages: Iterable[str]) -> list[Path]:
    """Return the places of installed kinds of tools, from their top packages: their code shapes the output."""
    specs = [spec for name in packages if (spec := find_spec(name))]
    return [Path(place) for spec in specs for place in spec.submodule_search_locations or filter(None, [spec.origin])]


_ENTRY_POINT = re.compile(r"(?m)^[^=\n]+=\s*([A-Za-z_]\w*)")
"""A row of `entry_points.txt` with the top package: `sql = toolmason_sql:KIND`."""


def input_files(project: Project, keys: Mapping[str, Collection[str]] | None = None) -> Iterator[Path]:
    """Yield the path of each input in the project, which may not exist, and of all files of the handlers.

    `keys` are the `input_keys`.

    Raises:
        OSError: a directory cannot be listed, or there are too many entries.
    """
    yield from (path for _, path, _ in _inputs(project, input_keys() if keys is None else keys))
    if project.handlers is not None:
        yield from (Path(path) for _, path in _files_under(project.handlers, inside=project.root))


def _inputs(project: Project, keys: Mapping[str, Collection[str]]) -> Iterator[tuple[str, Path, Path]]:
    """Yield the name and the path of each input in the project, and the directory that it must be in."""
    root = project.root
    yield "manifest", project.manifest, root
    yield "postings", project.postings, root
    yield "contract", project.contract_lock, root
    yield PYPROJECT, root / PYPROJECT, root
    # A later stage reports a manifest that cannot be parsed.
    with suppress(OSError, ValueError, AttributeError, RecursionError):
        for file, text in read_files(project.manifest, root):
            if file != project.manifest:
                yield f"manifest {file.relative_to(project.manifest.parent).as_posix()}", file, root
            for name in named_files(text, root, keys):
                yield f"file {name}", root / name, root
    for directory, suffix in ((project.handlers, ".py"), (project.templates, "")):
        # A template may include any file of its directory.
        if directory is not None:
            yield from ((name, Path(path), root) for name, path in _files_under(directory, inside=root, suffix=suffix))


def _files_under(top: Path, *, inside: Path | None = None, suffix: str = "") -> Iterator[tuple[str, str]]:
    """Yield the files below `top` in a fixed order. Links to directories are followed if they lead into `inside`.

    Raises:
        OSError: a directory cannot be listed, or there are too many entries.
    """
    seen: set[str] = set()
    pending = [(str(top), top.name)]
    count = 0
    while pending:
        directory, shown = pending.pop()
        real = os.path.realpath(directory)
        if real in seen or (inside is not None and not is_inside(Path(directory), inside)):
            continue
        seen.add(real)
        if not os.path.isdir(directory):  # noqa: PTH112 - a string
            continue
        with os.scandir(directory) as entries:
            children = sorted(entries, key=lambda entry: entry.name)
        count += len(children)
        if count > MAX_HASHED_ENTRIES:
            raise UnsafeInputError(top, "it has too many files for a record")
        for entry in children:
            name = f"{shown}/{entry.name}"
            if not entry.is_dir():
                if entry.name.endswith(suffix):
                    yield name, entry.path
            elif entry.name != "__pycache__":
                pending.append((entry.path, name))
