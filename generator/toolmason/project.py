"""Find a project and its directories, from the working directory upwards as git does."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path
from typing import Final

MANIFESTS: Final = "manifest"
"""Directory of a project that contains its manifest and perhaps files that it includes."""
_EDITION: Final = re.compile(rb"^[ \t]*edition[ \t]*=", re.MULTILINE)
"""The key that only the main file of a manifest has."""


class ProjectError(Exception):
    """No project, or not exactly one manifest in it. The message proposes a solution."""


@dataclass(frozen=True, slots=True)
class Project:
    """A project: the absolute paths of its root and manifest."""

    root: Path
    manifest: Path

    @property
    def shown_manifest(self) -> str:
        """The manifest's POSIX path relative to the root."""
        return self.manifest.relative_to(self.root).as_posix()

    @property
    def handlers(self) -> Path | None:
        """Directory of hand-written packages; None if missing next to a manifest outside `manifest/`."""
        directory = self.handler_directory
        return directory if directory.is_dir() or self.manifest.parent != self.root else None

    @property
    def handler_directory(self) -> Path:
        """Directory of hand-written packages, which may not exist."""
        return self.root / "handlers"

    @property
    def postings(self) -> Path:
        """The file that `toolmason embed` writes, which may not exist."""
        return self.manifest.with_name("semantic.postings")

    @property
    def contract_lock(self) -> Path:
        """The file that `toolmason release` writes, which may not exist."""
        return self.manifest.with_name("contract.lock")

    @property
    def shown_contract_lock(self) -> str:
        """Its POSIX path relative to the root."""
        return self.contract_lock.relative_to(self.root).as_posix()

    @property
    def generated(self) -> Path:
        """Directory that `generate` writes."""
        return self.root / "generated"

    @property
    def template_directory(self) -> Path:
        """Directory of the project's templates, which may not exist."""
        return self.root / "templates"

    @property
    def templates(self) -> Path | None:
        """Directory whose templates override the packaged ones; None if it does not exist."""
        return self.template_directory if self.template_directory.is_dir() else None


def find_project(start: Path, manifest: Path | None = None) -> Project:
    """Return the project of the nearest directory from `start` upwards with `manifest/*.toml`.

    With `manifest`, the project is its directory, or the parent if that directory is named `manifest`.

    Raises:
        ProjectError: there is no project, or it has several manifests.
    """
    if manifest is not None:
        return _project_of(_absolute(start, manifest))
    for directory in (start.resolve(), *start.resolve().parents):
        manifests = sorted((directory / MANIFESTS).glob("*.toml"))
        if len(manifests) > 1:
            manifests = [path for path in manifests if _is_main_file(path)] or manifests
        if len(manifests) > 1:
            names = ", ".join(path.relative_to(directory).as_posix() for path in manifests)
            raise ProjectError(f"several manifests: {names}; choose one with --manifest FILE")
        if manifests:
            return Project(directory, manifests[0])
    raise ProjectError(
        f"no manifest/*.toml in {start.resolve()} or its parents; change to a project, choose a manifest with "
        "--manifest FILE, or create a project with `toolmason init DIR`"
    )


def _is_main_file(path: Path) -> bool:
    """Return whether a TOML file is a manifest, and not a file that another one includes."""
    try:
        return bool(_EDITION.search(path.read_bytes()))
    except OSError:
        return True  # `load` reports it


def _absolute(start: Path, manifest: Path) -> Path:
    """Return the absolute path of the manifest; of a link, not its target, since the link belongs to the project."""
    path = start.resolve() / manifest
    if not path.is_file():
        raise ProjectError(f"manifest not found: {manifest}")
    return path.parent.resolve() / path.name


def _project_of(manifest: Path) -> Project:
    directory = manifest.parent
    return Project(directory.parent if directory.name == MANIFESTS else directory, manifest)
