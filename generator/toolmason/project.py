"""Where a project's parts are: found from the working directory upwards, as git does."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Final

MANIFESTS: Final = "manifest"
"""The folder of a project that holds its manifest, and no other TOML file."""


class ProjectError(Exception):
    """There is no project, or no single manifest in it. The text says what to do."""


@dataclass(frozen=True, slots=True)
class Project:
    """A project: its root and its manifest, both absolute. Everything else has its place under the root."""

    root: Path
    manifest: Path

    @property
    def shown_manifest(self) -> str:
        """The manifest as people name it: relative to the root, with slashes."""
        return self.manifest.relative_to(self.root).as_posix()

    @property
    def handlers(self) -> Path | None:
        """The folder of hand-written packages. A lone manifest outside `manifest/` may do without one."""
        folder = self.root / "handlers"
        return folder if folder.is_dir() or self.manifest.parent != self.root else None

    @property
    def generated(self) -> Path:
        """The folder that is written by `generate`."""
        return self.root / "generated"

    @property
    def override_folder(self) -> Path:
        """The folder where a project's own templates stand, whether or not it exists."""
        return self.root / "templates"

    @property
    def templates(self) -> Path | None:
        """The folder whose templates go before the packaged ones, if there is one."""
        return self.override_folder if self.override_folder.is_dir() else None


def find_project(start: Path, manifest: Path | None = None) -> Project:
    """Find the project `start` lies in: the nearest folder upwards with `manifest/*.toml`.

    A `manifest` that is named needs no search: the project is the folder that holds it, or the one
    above if that folder is called `manifest`.

    Raises:
        ProjectError: there is none, or it has several manifests.
    """
    if manifest is not None:
        return _project_of(_absolute(start, manifest))
    for folder in (start.resolve(), *start.resolve().parents):
        found = sorted((folder / MANIFESTS).glob("*.toml"))
        if len(found) > 1:
            names = ", ".join(path.relative_to(folder).as_posix() for path in found)
            raise ProjectError(f"several manifests: {names}; choose one with --manifest FILE")
        if found:
            return Project(folder, found[0])
    raise ProjectError(
        f"no manifest/*.toml in {start.resolve()} or above; go to a project, name one with --manifest FILE, "
        "or lay one out with `toolmason init DIR`"
    )


def _absolute(start: Path, manifest: Path) -> Path:
    """Give the file itself: a link keeps its own place, since the project is where it stands."""
    path = start.resolve() / manifest
    if not path.is_file():
        raise ProjectError(f"no such manifest: {manifest}")
    return path.parent.resolve() / path.name


def _project_of(manifest: Path) -> Project:
    folder = manifest.parent
    return Project(folder.parent if folder.name == MANIFESTS else folder, manifest)
