"""Check changes in a copy of the project's inputs before any file is written."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from tempfile import TemporaryDirectory

from toolmason_runtime.shared.checksum import State, is_signable, verify

from toolmason.diagnostics import Diagnostics, Severity
from toolmason.edits import Edits
from toolmason.model.rendered_file import RenderedFile
from toolmason.pipeline import LoadedManifest, read_and_lint, render_package
from toolmason.project import Project
from toolmason.write.cache import input_files
from toolmason.write.snapshot import Kind, take_snapshot


class InvalidManifestError(Exception):
    """The manifest has errors, before or after the changes."""

    def __init__(self, diagnostics: Diagnostics, *, is_result: bool) -> None:
        super().__init__()
        self.diagnostics = diagnostics
        self.is_result = is_result


def load_valid(project: Project, *, is_result: bool = False) -> tuple[LoadedManifest, Diagnostics]:
    """Return the manifest of a project and all findings about it.

    Raises:
        InvalidManifestError: it has errors.
    """
    diagnostics = Diagnostics()
    manifest = read_and_lint(project, diagnostics=diagnostics)
    if manifest is None or diagnostics.has_errors:
        raise InvalidManifestError(diagnostics, is_result=is_result)
    return manifest, diagnostics


@dataclass(frozen=True, slots=True)
class Trial:
    """The manifest with the changes, its new findings, and how to render its package."""

    project: Project
    manifest: LoadedManifest
    found: Diagnostics

    def new_findings(self, before: Diagnostics, *, old: str = "", new: str = "") -> Diagnostics:
        """Return the findings that the manifest did not have before, with the name `old` for `new`."""
        known = {(finding.code, finding.message) for finding in before}
        added = Diagnostics()
        for finding in self.found:
            message = finding.message.replace(f"`{new}`", f"`{old}`")
            if (finding.code, message) not in known and finding.severity is not Severity.NOTE:
                added.add(finding)
        return added

    def package(self) -> tuple[RenderedFile, ...]:
        """Return the files of the generated package."""
        return render_package(self.project, diagnostics=Diagnostics()) or ()


@contextmanager
def trial(project: Project, edits: Edits) -> Iterator[Trial]:
    """Yield the changed manifest, loaded from a copy of the files that it needs.

    Raises:
        InvalidManifestError: it has errors.
    """
    with changed_copy(project, edits) as copy:
        manifest, found = load_valid(copy, is_result=True)
        yield Trial(copy, manifest, found)


@contextmanager
def changed_copy(project: Project, edits: Edits) -> Iterator[Project]:
    """Yield a copy of the files that a project's manifest needs, with the changes."""
    with TemporaryDirectory(prefix="toolmason-") as directory:
        root = Path(directory).resolve()
        changed = {edits.root / edit.name: edit.new for edit in edits.all}
        for path in input_files(project):
            if path.is_file() and path.is_relative_to(project.root):
                target = root / path.relative_to(project.root)
                target.parent.mkdir(parents=True, exist_ok=True)
                with suppress(OSError):  # The stage that needs it reports it.
                    if path.is_symlink() and (text := changed.get(path.resolve())) is not None:
                        target.write_text(text, encoding="utf-8", newline="")
                    else:
                        shutil.copyfile(path, target)
        for edit in edits.all:
            target = root / edit.name
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_text(edit.new, encoding="utf-8", newline="")
        yield Project(root, root / project.manifest.relative_to(project.root))


def edited_files(project: Project) -> list[str]:
    """Return the generated files with edits by hand."""
    if not project.generated.is_dir():
        return []
    snapshot = take_snapshot(project.generated.resolve())
    signed = [name for name, kind in snapshot.kinds.items() if kind is Kind.FILE and is_signable(PurePosixPath(name))]
    contents = ((name, snapshot.read(name)) for name in signed)
    return [
        f"{project.generated.name}/{name}"
        for name, data in contents
        if data is not None and verify(PurePosixPath(name), data) is State.EDITED
    ]
