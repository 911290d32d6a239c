"""What the last run made of which inputs, so that a run that would change nothing need not make it all again.

A record holds hashes only: one of everything a run reads (the manifest and the schemas it names, handlers,
templates, the toolkit itself and the libraries that shape its output), and one of each file it made. Unless all of
them fit what is there now, it is worth nothing, and the run goes the whole way. It lies in `.toolwright/`, which is
not committed, and losing it costs only time.
"""

from __future__ import annotations

import json
import os
import sys
import tomllib
from collections.abc import Iterator, Sequence
from contextlib import suppress
from hashlib import sha256
from pathlib import Path, PurePosixPath

import toolwright_runtime

import toolwright
import toolwright_templates
from toolwright.files import RenderedFile
from toolwright.launch import PYPROJECT
from toolwright.project import Project
from toolwright.signature import LISTING, Listing, State, parse_listing, verify

_LIBRARIES = ("datamodel_code_generator-", "jinja2-", "ruff-", "snowballstemmer-", "tomli_w-")
"""How the metadata folders of the libraries that shape the output begin; their names end in the version."""


def recall(project: Project) -> tuple[RenderedFile, ...] | None:
    """Give what a run would render, as it stands on disk, or None if only a run can tell."""
    with suppress(OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError):
        record = json.loads(_place(project).read_text(encoding="utf-8"))
        if record["inputs"] == fingerprint(project):
            listed = _listing(project.generated)
            files = [_as_made(project.generated, name, digest, listed) for name, digest in record["files"].items()]
            return tuple(file for file in files if file) if all(files) else None
    return None


def remember(project: Project, files: Sequence[RenderedFile], before: str) -> None:
    """Note what a run made, whose inputs had the fingerprint `before` when it began.

    Nothing is noted if they have another one now, since nobody knows which of their states was read. A disk that
    refuses is no mistake.
    """
    with suppress(OSError):
        if fingerprint(project) != before:
            return
        record = {
            "inputs": before,
            "files": {file.path.as_posix(): _digest(file.text.encode()) for file in files},
        }
        place = _place(project)
        place.parent.mkdir(exist_ok=True)
        if not (ignore := place.with_name(".gitignore")).exists():
            ignore.write_text("*\n", encoding="utf-8")
        place.write_text(json.dumps(record), encoding="utf-8")


def fingerprint(project: Project) -> str:
    """Give the hash of everything a run reads. Contents count, not times: those survive being moved about.

    Raises:
        OSError: an input cannot be read.
    """
    whole = sha256(repr((sys.version, project.shown_manifest, _library_versions())).encode())
    for name, path in _inputs(project):
        data = path.read_bytes() if path.is_file() else None
        whole.update(f"\0{name}\0{data is not None and len(data)}\0".encode())
        whole.update(data or b"")
    return whole.hexdigest()


def named_schemas(manifest: bytes) -> list[str]:
    """List the files that the tools of a manifest name as their `input_schema`."""
    # Most manifests name none, and parsing a large one takes longer than all the rest of a run that changes nothing.
    if b"input_schema" not in manifest:
        return []
    tools = tomllib.loads(manifest.decode()).get("tools", {}).values()
    return [tool["input_schema"] for tool in tools if isinstance(tool.get("input_schema"), str)]


def _place(project: Project) -> Path:
    return project.root / ".toolwright" / f"{project.manifest.stem}.json"


def _listing(folder: Path) -> Listing:
    path = folder / LISTING
    return parse_listing(path.read_bytes()) if path.is_file() else {}


def _as_made(folder: Path, name: str, digest: str, listed: Listing) -> RenderedFile | None:
    path = PurePosixPath(name)
    # A record is no authority: what it names must lie in the folder and be signed there.
    if path.is_absolute() or ".." in path.parts or not (folder / path).is_file():
        return None
    data = (folder / path).read_bytes().replace(b"\r\n", b"\n")
    if _digest(data) != digest or verify(path, data, listed) is not State.VALID:
        return None
    return RenderedFile(path, data.decode())


def _digest(data: bytes) -> str:
    return sha256(data).hexdigest()


def _library_versions() -> list[str]:
    places = [Path(each) for each in sys.path if each.endswith(("site-packages", "dist-packages"))]
    names = [entry.name for place in places if place.is_dir() for entry in place.iterdir()]
    return sorted(name for name in names if name.startswith(_LIBRARIES) and name.endswith(".dist-info"))


def _inputs(project: Project) -> Iterator[tuple[str, Path]]:
    yield "manifest", project.manifest
    yield PYPROJECT, project.root / PYPROJECT
    with suppress(ValueError):
        for name in named_schemas(project.manifest.read_bytes() if project.manifest.is_file() else b""):
            yield f"schema {name}", project.root / name
    for package in (toolwright, toolwright_runtime, toolwright_templates):
        yield from _files_under(Path(package.__path__[0]))
    if project.handlers is not None:
        yield from _files_under(project.handlers)
    # A template may include anything that lies beside it.
    if project.templates is not None:
        yield from _files_under(project.templates)


def _files_under(root: Path) -> Iterator[tuple[str, Path]]:
    """Give the files below a folder in a fixed order, links to folders followed as those who read them do."""
    seen: set[str] = set()
    for folder, below, names in os.walk(root, followlinks=True):
        real = os.path.realpath(folder)
        below[:] = sorted(name for name in below if name != "__pycache__") if real not in seen else []
        if real in seen:
            continue
        seen.add(real)
        for name in sorted(names):
            path = Path(folder, name)
            yield f"{root.name}/{path.relative_to(root).as_posix()}", path
