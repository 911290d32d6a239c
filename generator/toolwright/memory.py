"""What the last run made of which inputs, so that a run that would change nothing need not make it all again.

A record holds hashes only: one of everything a run reads (the manifest and the schemas it names, handlers,
templates, the toolkit itself and the libraries that shape its output), and one of each file it made. Unless all of
them fit what is there now, it is worth nothing, and the run goes the whole way. It lies in `.toolwright/`, which is
not committed, and losing it costs only time.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from hashlib import sha256
from pathlib import Path, PurePosixPath
from typing import Any

import toolwright_runtime

import toolwright
import toolwright_templates
from toolwright.files import RenderedFile
from toolwright.project import Project

_SOURCES = {".py", ".jinja", ".json", ".toml"}
_LIBRARIES = ("datamodel_code_generator-", "jinja2-", "ruff-", "snowballstemmer-", "tomli_w-")
"""How the metadata folders of the libraries that shape the output begin; their names end in the version."""


def recall(project: Project) -> tuple[RenderedFile, ...] | None:
    """Give what a run would render, as it stands on disk, or None if only a run can tell."""
    with suppress(OSError, ValueError, KeyError, TypeError):
        record = json.loads(_place(project).read_text(encoding="utf-8"))
        if record["inputs"] == _fingerprint(project, record["schemas"]):
            files = [_as_made(project.generated, name, digest) for name, digest in record["files"].items()]
            return tuple(file for file in files if file) if all(files) else None
    return None


def remember(project: Project, files: Sequence[RenderedFile], schemas: Iterable[str], *, began_ns: int) -> None:
    """Note what a run made that began at `began_ns`, in nanoseconds since the epoch.

    `schemas` are the files that the manifest names. Nothing is noted if an input was saved while the run was under
    way, since nobody knows which of its states was read. A disk that refuses is no mistake.
    """
    named = sorted(schemas)
    if any(path.stat().st_mtime_ns >= began_ns for _, path in _inputs(project, named)):
        return
    record = {
        "inputs": _fingerprint(project, named),
        "schemas": named,
        "files": {file.path.as_posix(): _digest(file.text.encode()) for file in files},
    }
    with suppress(OSError):
        place = _place(project)
        place.parent.mkdir(exist_ok=True)
        if not (ignore := place.with_name(".gitignore")).exists():
            ignore.write_text("*\n", encoding="utf-8")
        place.write_text(json.dumps(record), encoding="utf-8")


def named_schemas(data: Any) -> list[str]:
    """List the files that the tools of a manifest name as their `input_schema`."""
    tools = data.get("tools", {}).values()
    return [tool["input_schema"] for tool in tools if isinstance(tool.get("input_schema"), str)]


def _place(project: Project) -> Path:
    return project.root / ".toolwright" / f"{project.manifest.stem}.json"


def _as_made(folder: Path, name: str, digest: str) -> RenderedFile | None:
    data = (folder / name).read_bytes().replace(b"\r\n", b"\n")
    return RenderedFile(PurePosixPath(name), data.decode()) if _digest(data) == digest else None


def _digest(data: bytes) -> str:
    return sha256(data).hexdigest()


def _fingerprint(project: Project, schemas: Sequence[str]) -> str:
    whole = sha256(repr((sys.version, project.shown_manifest, _library_versions())).encode())
    for name, path in _inputs(project, schemas):
        whole.update(f"\0{name}\0{path.stat().st_size}\0".encode())
        whole.update(path.read_bytes())
    return whole.hexdigest()


def _library_versions() -> list[str]:
    places = [Path(each) for each in sys.path if each.endswith(("site-packages", "dist-packages"))]
    names = [entry.name for place in places if place.is_dir() for entry in place.iterdir()]
    return sorted(name for name in names if name.startswith(_LIBRARIES) and name.endswith(".dist-info"))


def _inputs(project: Project, schemas: Sequence[str]) -> Iterator[tuple[str, Path]]:
    yield "manifest", project.manifest
    for name in schemas:
        yield f"schema {name}", project.root / name
    own = [Path(package.__path__[0]) for package in (toolwright, toolwright_runtime, toolwright_templates)]
    for root in (*own, project.handlers, project.templates):
        if root is not None:
            for path in sorted(root.rglob("*")):
                if path.suffix in _SOURCES and path.is_file():
                    yield f"{root.name}/{path.relative_to(root).as_posix()}", path
