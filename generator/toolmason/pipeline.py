"""The stages in order: `load -> validate -> resolve -> (lint) -> plan, render -> self-check -> write | check`.

`resolve` also checks the valid parts of an invalid manifest, so one run reports the errors of both. After an
error the functions return None, and the findings are in `diagnostics`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from toolmason_runtime.checksum import is_signable

from toolmason.diagnostics import Diagnostics
from toolmason.diagnostics.terminal import Progress, no_progress
from toolmason.manifest.input_files import read_input
from toolmason.model.parts import part_of
from toolmason.model.rendered_file import RenderedFile
from toolmason.project import Project
from toolmason.write import cache, check, write
from toolmason.write.changes import Changes
from toolmason.write.compare import PathFilter, accept_all

if TYPE_CHECKING:
    from toolmason.manifest.document import Document
    from toolmason.model.server import Server


@dataclass(frozen=True, slots=True)
class LoadedManifest:
    """A loaded manifest: its TOML document and the resolved model."""

    document: Document
    server: Server


def read(project: Project, *, diagnostics: Diagnostics, progress: Progress = no_progress) -> LoadedManifest | None:
    """Load the manifest of `project` and resolve it to the model."""
    # Imported late: a run without changes uses the cache and none of these stages.
    from toolmason.manifest.document import load
    from toolmason.manifest.validate import validate
    from toolmason.resolve import resolve
    from toolmason.semantic.committed import load_postings

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
    server = replace(server, postings=load_postings(project, diagnostics=diagnostics))
    if server.files:
        from toolmason.render.plan import check_files

        check_files(server, document, templates=project.templates, diagnostics=diagnostics)
    if server.omit and not diagnostics.has_errors:
        from toolmason.render.plan import check_omitted

        check_omitted(server, document, diagnostics=diagnostics)
    return None if diagnostics.has_errors else LoadedManifest(document, server)


def read_and_lint(
    project: Project, *, diagnostics: Diagnostics, progress: Progress = no_progress
) -> LoadedManifest | None:
    """Load the manifest and add the findings of the lint rules."""
    from toolmason.lint import lint

    manifest = read(project, diagnostics=diagnostics, progress=progress)
    if manifest is not None:
        progress("linting")
        lint(manifest.server, manifest.document, diagnostics=diagnostics)
    return manifest


@dataclass(frozen=True, slots=True)
class _RenderResult:
    """Rendered files. `inputs` is the fingerprint of the input files, or empty if the result is not cached."""

    files: tuple[RenderedFile, ...]
    inputs: str = ""
    models: tuple[str, ...] = ()

    def save_to_cache(self, project: Project) -> None:
        if self.inputs:
            cache.store_run(project, self.files, self.inputs, self.models)


def _render_project(
    project: Project, *, diagnostics: Diagnostics, only: str | None, progress: Progress
) -> _RenderResult | None:
    if only is None and (files := cache.load_run(project)) is not None:
        return _RenderResult(files)
    inputs = ""
    if only is None:
        # The stage that needs an unreadable file reports it.
        with suppress(OSError):
            inputs = cache.fingerprint(project)
    manifest = read(project, diagnostics=diagnostics, progress=progress)
    if manifest is None:
        return None
    # Imported late: errors of the manifest are reported before the templates are loaded.
    from toolmason.lint import check_safety
    from toolmason.render.self_check import SelfCheckError

    check_safety(manifest.server, manifest.document, diagnostics=diagnostics)
    if diagnostics.has_errors:
        return None
    progress("rendering")
    models = _models(project, manifest.server) if only in {None, "python"} else {}
    try:
        files = _render_files(project, manifest.server, models, only)
    except SyntaxError as error:
        # The formatter parses the files before the self-check does.
        raise SelfCheckError([str(error)]) from error
    # A run with notes is not cached, so that the next run prints them too.
    return _RenderResult(files, "" if len(diagnostics) else inputs, tuple(models.values()))


def _render_files(
    project: Project, server: Server, models: Mapping[str, str], only: str | None
) -> tuple[RenderedFile, ...]:
    """Render the files and check their syntax."""
    from toolmason.render.overrides import has_overrides
    from toolmason.render.renderer import render
    from toolmason.render.self_check import self_check, unchanged

    manifest_templates = tuple(row.template for row in server.files)
    if project.templates is not None and has_overrides(project.templates, manifest_templates):
        from toolmason.render.sandbox import confined_render

        return confined_render(project, server, models=models, part=only)
    files = render(server, models=models, part=only)
    self_check(server, files, previous=unchanged(files, project.generated))
    return files


def _models(project: Project, server: Server) -> dict[str, str]:
    """Return the models of each module by its key in `render`, reused from disk if the last run recorded them."""
    from toolmason.render.pydantic_models import SHARED, models, schemas, shared_schemas

    sources = {
        category.name: (f"{category.module}/models.py", schemas(category, server.package))
        for category in server.modules
        if category.tools
    }
    if server.shared_types:
        sources[SHARED] = ("types.py", shared_schemas(server))
    recorded = cache.recorded_models(project)
    modules = {}
    for key, (path, source) in sources.items():
        existing = ""
        if recorded:
            with suppress(OSError, UnicodeDecodeError):
                data = read_input(project.generated / server.package / path, project.generated)
                existing = data.decode().replace("\r\n", "\n")
        modules[key] = models(source, existing, recorded)
    return modules


@dataclass(frozen=True, slots=True)
class GenerateResult:
    """Changes of one run and the total number of generated files."""

    changes: Changes
    total: int


def generate(
    project: Project,
    *,
    diagnostics: Diagnostics,
    only: str | None = None,
    discard_edits: bool = False,
    progress: Progress = no_progress,
) -> GenerateResult | None:
    """Update `generated/`, or only one of its `parts.PARTS`.

    Raises:
        EditedFilesError: edits would be lost. Nothing was written.
        MisplacedDirectoryError: `generated/` or the lock is a link. Nothing was written.
        WriteError: a file system error. `generated/` is unchanged, or the next run repairs it.
        SelfCheckError: a rendered file has a syntax error. Nothing was written.
        TemplateError: a template of the project has an error. Nothing was written.
        TemplateRefusedError: one cannot be read safely, or takes too much time or memory. Nothing was written.
    """
    result = _render_project(project, diagnostics=diagnostics, only=only, progress=progress)
    if result is None:
        return None
    progress("writing")
    changes = write(result.files, project.generated, discard_edits=discard_edits, part=_part(only))
    result.save_to_cache(project)
    return GenerateResult(changes, _count(result.files))


def compare(
    project: Project, *, diagnostics: Diagnostics, only: str | None = None, progress: Progress = no_progress
) -> GenerateResult | None:
    """Compare `generated/` with the output of `generate` without writing.

    Raises:
        ReadError: `generated/` cannot be read.
        MisplacedDirectoryError: it is a link.
        SelfCheckError: a rendered file has a syntax error.
        TemplateError: a template of the project has an error.
        TemplateRefusedError: one cannot be read safely, or takes too much time or memory.
    """
    result = _render_project(project, diagnostics=diagnostics, only=only, progress=progress)
    if result is None:
        return None
    progress("comparing")
    changes = check(result.files, project.generated, part=_part(only))
    if changes.is_clean:
        result.save_to_cache(project)
    return GenerateResult(changes, _count(result.files))


def _part(only: str | None) -> PathFilter:
    """Return the filter for the paths of a part; None selects all files."""
    return accept_all if only is None else lambda path: part_of(path) == only


def _count(files: Sequence[RenderedFile]) -> int:
    """Return the number of files, including `SHA256SUMS` if a file cannot contain its checksum."""
    return len(files) + any(not is_signable(file.path) for file in files)
