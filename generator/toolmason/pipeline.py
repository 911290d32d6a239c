"""The stages in order: `load -> validate -> resolve -> (lint) -> plan, render -> self-check -> write | check`.

The one place that wires them, for the command, for tests and for `--watch`. `resolve` checks what `validate` could
read, so that one run reports the errors of both; then an error ends the run: the functions here return None, and the
findings are in `diagnostics`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING

from toolmason.diagnostics import Diagnostics
from toolmason.diagnostics.terminal import Progress, no_progress
from toolmason.manifest.input_files import read_input
from toolmason.model.checksum import is_signable
from toolmason.model.parts import part_of
from toolmason.model.rendered_file import RenderedFile
from toolmason.project import Project
from toolmason.write import cache, check, write
from toolmason.write.changes import Changes
from toolmason.write.compare import Part, everything

if TYPE_CHECKING:
    from toolmason.manifest.document import Document
    from toolmason.model.server import Server


@dataclass(frozen=True, slots=True)
class Reading:
    """What a manifest says, and where it says it."""

    document: Document
    server: Server


def read(project: Project, *, diagnostics: Diagnostics, progress: Progress = no_progress) -> Reading | None:
    """Read the manifest of `project` and resolve it to the model."""
    # Imported late: a run that finds nothing changed needs none of these stages.
    from toolmason.manifest.document import load
    from toolmason.manifest.validate import validate
    from toolmason.resolve import resolve

    progress("reading the manifest")
    document = load(project.manifest, root=project.root, diagnostics=diagnostics)
    if document is None:
        return None
    tables = validate(document, diagnostics=diagnostics)
    if tables is None:
        return None
    server = resolve(tables, document, root=project.root, diagnostics=diagnostics, handlers=project.handlers)
    if server is None:
        return None
    if server.files:
        from toolmason.render.plan import check_files

        check_files(server, document, templates=project.templates, diagnostics=diagnostics)
    return None if diagnostics.has_errors else Reading(document, server)


def read_and_lint(project: Project, *, diagnostics: Diagnostics, progress: Progress = no_progress) -> Reading | None:
    """Take the manifest as far as the model and add what the lint rules find in it."""
    from toolmason.lint import lint

    reading = read(project, diagnostics=diagnostics, progress=progress)
    if reading is not None:
        progress("linting")
        lint(reading.server, reading.document, diagnostics=diagnostics)
    return reading


@dataclass(frozen=True, slots=True)
class _Made:
    """What a run rendered. `inputs`, the fingerprint of what it read, is empty where nothing is to be remembered."""

    files: tuple[RenderedFile, ...]
    inputs: str = ""
    models: tuple[str, ...] = ()

    def remember(self, project: Project) -> None:
        if self.inputs:
            cache.remember(project, self.files, self.inputs, self.models)


def _make(project: Project, *, diagnostics: Diagnostics, only: str | None, progress: Progress) -> _Made | None:
    if only is None and (files := cache.recall(project)) is not None:
        return _Made(files)
    inputs = ""
    if only is None:
        # What cannot be read is told by the stage that needs it.
        with suppress(OSError):
            inputs = cache.fingerprint(project)
    reading = read(project, diagnostics=diagnostics, progress=progress)
    if reading is None:
        return None
    # Imported late: a mistake in the manifest is told without waiting for the templates.
    from toolmason.render.self_check import SelfCheckError

    progress("rendering")
    models = _models(project, reading.server) if only in {None, "python"} else {}
    try:
        files = _rendered(project, reading.server, models, only)
    except SyntaxError as error:
        # Layout parses too, and sees it first.
        raise SelfCheckError([str(error)]) from error
    return _Made(files, inputs, tuple(models.values()))


def _rendered(
    project: Project, server: Server, models: Mapping[str, str], only: str | None
) -> tuple[RenderedFile, ...]:
    """Render the files and check that they parse."""
    from toolmason.render.overrides import has_overrides
    from toolmason.render.renderer import render
    from toolmason.render.self_check import self_check, unchanged

    own = tuple(row.template for row in server.files)
    if project.templates is not None and has_overrides(project.templates, own):
        from toolmason.render.sandbox import confined_render

        return confined_render(project, server, models=models, part=only)
    files = render(server, models=models, part=only)
    self_check(server, files, previous=unchanged(files, project.generated))
    return files


def _models(project: Project, server: Server) -> dict[str, str]:
    """Return the models of each module by its key in `render`, those on disk if the record of the last run has them."""
    from toolmason.render.pydantic_models import SHARED, models, schemas, shared_schemas

    sources = {each.name: (f"{each.module}/models.py", schemas(each, server.package)) for each in server.categories}
    if server.shared_types:
        sources[SHARED] = ("types.py", shared_schemas(server))
    recorded = cache.recorded_models(project)
    made = {}
    for key, (path, source) in sources.items():
        before = ""
        if recorded:
            with suppress(OSError, UnicodeDecodeError):
                data = read_input(project.generated / server.package / path, project.generated)
                before = data.decode().replace("\r\n", "\n")
        made[key] = models(source, before, recorded)
    return made


@dataclass(frozen=True, slots=True)
class Outcome:
    """What a run did, or found: the differences, and how many files there are when all is well."""

    changes: Changes
    total: int


def generate(
    project: Project,
    *,
    diagnostics: Diagnostics,
    only: str | None = None,
    discard_edits: bool = False,
    progress: Progress = no_progress,
) -> Outcome | None:
    """Make `generated/` what the manifest says, or one of its `parts.PARTS` and nothing else.

    Raises:
        EditedFiles: work of others would be lost. Nothing was written.
        MisplacedFolder: `generated/` or the lock leads elsewhere. Nothing was written.
        WriteFailed: the disk refused. The tree is as it was, or the next run repairs it.
        SelfCheckError: what was rendered does not parse. Nothing was written.
        TemplateError: a template of the project is wrong. Nothing was written.
        TemplateRefused: one cannot be read safely, or takes too much time or memory. Nothing was written.
    """
    made = _make(project, diagnostics=diagnostics, only=only, progress=progress)
    if made is None:
        return None
    progress("writing")
    changes = write(made.files, project.generated, discard_edits=discard_edits, part=_part(only))
    made.remember(project)
    return Outcome(changes, _count(made.files))


def compare(
    project: Project, *, diagnostics: Diagnostics, only: str | None = None, progress: Progress = no_progress
) -> Outcome | None:
    """Do all that `generate` does but the writing.

    Raises:
        ReadFailed: `generated/` cannot be read.
        MisplacedFolder: it leads elsewhere.
        SelfCheckError: what was rendered does not parse.
        TemplateError: a template of the project is wrong.
        TemplateRefused: one cannot be read safely, or takes too much time or memory.
    """
    made = _make(project, diagnostics=diagnostics, only=only, progress=progress)
    if made is None:
        return None
    progress("comparing")
    changes = check(made.files, project.generated, part=_part(only))
    if changes.is_clean:
        made.remember(project)
    return Outcome(changes, _count(made.files))


def _part(only: str | None) -> Part:
    """Say by its path whether a file, rendered or found, belongs to the part; no part is the whole."""
    return everything if only is None else lambda path: part_of(path) == only


def _count(files: Sequence[RenderedFile]) -> int:
    """Count the files with the list of hashes, which is made for those that cannot carry their own."""
    return len(files) + any(not is_signable(file.path) for file in files)
