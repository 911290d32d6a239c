"""The stages in order: `load -> validate -> resolve -> (lint) -> plan, render -> self-check -> write | check`.

`resolve` also checks the valid parts of an invalid manifest, so one run reports the errors of both. After an
error the functions return None, and the findings are in `diagnostics`.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext, suppress
from dataclasses import dataclass, replace
from pathlib import PurePosixPath
from typing import TYPE_CHECKING, Final

from toolmason_runtime.shared.checksum import is_signable
from toolmason_runtime.shared.suggestions import limited_suggestions

from toolmason.diagnostics import Diagnostics
from toolmason.diagnostics.terminal import Progress, no_progress
from toolmason.model.parts import part_of
from toolmason.model.rendered_file import RenderedFile
from toolmason.project import Project
from toolmason.time_limit import WRITING
from toolmason.user_directory import is_ci
from toolmason.write import cache, check, write
from toolmason.write.changes import Changes
from toolmason.write.compare import PathFilter, accept_all
from toolmason.write.content_cache import ContentCache, content_cache

if TYPE_CHECKING:
    from pathlib import Path

    from toolmason.incremental import KeptServer
    from toolmason.manifest.document import Document
    from toolmason.model.server import Server
    from toolmason.render.compiled_templates import CompiledTemplates
    from toolmason.resolve import Stub
    from toolmason.schema.projections import Projections


@dataclass(frozen=True, slots=True)
class LoadedManifest:
    """A loaded manifest: its TOML document, the resolved model, and the projections of its schemas."""

    document: Document
    server: Server
    projections: Projections
    kept: KeptServer | None = None
    """The keys of its parts in the store."""


Examine = Callable[[LoadedManifest, Diagnostics], None]
"""Adds findings about a valid manifest, in a run that is not from the cache."""


def read(
    project: Project,
    *,
    diagnostics: Diagnostics,
    store: ContentCache | None = None,
    progress: Progress = no_progress,
    missing: list[Stub] | None = None,
    handlers: Path | None = None,
    other_inputs: str = "",
) -> LoadedManifest | None:
    """Load the manifest of `project` and resolve it to the model. `store` has results of earlier runs.

    With the list `missing`, missing functions of the handlers are added to it, and do not stop the run. `handlers` is
    their directory, by default that of the project. `other_inputs` is `Fingerprints.others` of the project, or empty to
    compute it.
    """
    # Imported late: a run without changes uses the cache and none of these stages.
    from toolmason.manifest.files import load_manifest
    from toolmason.manifest.validate import validate
    from toolmason.resolve import MISSING_FUNCTION, resolve
    from toolmason.schema.projections import Projections
    from toolmason.semantic.committed import load_postings

    progress("reading the manifest")
    before = _other_inputs(project, other_inputs) if store and not handlers else ""
    document = load_manifest(project.manifest, root=project.root, diagnostics=diagnostics, store=store)
    if document is None:
        return None
    projections = Projections(store)

    def resolved(document: Document, diagnostics: Diagnostics, missing: list[Stub] | None) -> Server | None:
        progress("validating the manifest")
        with limited_suggestions():
            tables = validate(document, diagnostics=diagnostics)
        if tables is None:
            return None
        progress("resolving types, schemas and handlers")
        with limited_suggestions():
            return resolve(
                tables,
                document,
                root=project.root,
                diagnostics=diagnostics,
                handlers=handlers or project.handlers,
                projections=projections,
                missing=missing,
                store=store,
            )

    def resolved_alone(document: Document) -> Server | None:
        found = Diagnostics()
        server = resolved(document, found, None)
        return None if len(found) else server

    kept = None
    if store and before and not len(diagnostics):
        from toolmason.incremental import keep

        kept = keep(document, store, before)
    server = kept.server(document, resolved_alone) if kept else None
    if server is None:
        server = resolved(document, diagnostics, missing)
        if server is None:
            return None
        if kept and (len(diagnostics) or _other_inputs(project) != before):
            kept = None
        if kept:
            kept.keep(server)
    if server.discovery.semantic == "postings":
        server = replace(server, postings=load_postings(project, diagnostics=diagnostics))
    if server.files:
        from toolmason.render.plan import check_files

        check_files(server, document, templates=project.templates, diagnostics=diagnostics)
    tolerated = set() if missing is None else {MISSING_FUNCTION}
    if (server.outputs.omit or server.outputs.include) and not diagnostics.has_errors_besides(tolerated):
        from toolmason.render.plan import check_omitted

        check_omitted(server, document, diagnostics=diagnostics)
    if diagnostics.has_errors_besides(tolerated):
        return None
    return LoadedManifest(document, server, projections, kept)


def _other_inputs(project: Project, known: str = "") -> str:
    """Return the hash of all inputs of a run except the manifest; empty if its server must not be stored.

    A restored cache of CI may come from a stranger's change, and stored objects need the same trust as code.
    """
    if is_ci():
        return ""
    with suppress(OSError):
        return known or cache.fingerprints(project).others
    return ""


def missing_functions(project: Project) -> list[Stub]:
    """Return the functions of the handlers that the manifest names and nobody has written; none for an invalid one."""
    missing: list[Stub] = []
    store = content_cache(project)
    diagnostics, directory = Diagnostics(), project.handler_directory
    manifest = read(project, diagnostics=diagnostics, store=store, missing=missing, handlers=directory)
    return missing if manifest else []


def read_and_lint(
    project: Project, *, diagnostics: Diagnostics, progress: Progress = no_progress
) -> LoadedManifest | None:
    """Load the manifest and add the findings of the lint rules."""
    from toolmason.lint import lint

    manifest = read(project, diagnostics=diagnostics, store=content_cache(project), progress=progress)
    if manifest is not None:
        progress("linting")
        lint(manifest.server, manifest.document, diagnostics=diagnostics)
    return manifest


@dataclass(frozen=True, slots=True)
class _RenderResult:
    """Rendered files. `inputs` is the fingerprint of the input files, or empty if the result is not cached.

    Without all functions of the handlers, the files are only the models and contracts. `postings` is the new content
    of `semantic.postings`; empty if it has not changed.
    """

    files: tuple[RenderedFile, ...]
    inputs: str = ""
    has_all_functions: bool = True
    postings: str = ""

    def save_to_cache(self, project: Project) -> None:
        if self.inputs:
            cache.store_run(project, self.files, self.inputs)


def _render_project(
    project: Project,
    *,
    diagnostics: Diagnostics,
    only: str | None,
    progress: Progress,
    missing: list[Stub] | None = None,
    embed: bool = False,
    examine: Examine | None = None,
) -> _RenderResult | None:
    """Return the rendered files, None after an error.

    With `missing`, missing functions are no such error. With `embed`, the tools that have changed are embedded, if the
    model of `semantic.postings` is on this machine. `examine` adds findings about a valid manifest.
    """
    if only is None and (files := cache.load_run(project)) is not None:
        return _RenderResult(files)
    inputs = cache.Fingerprints()
    if only is None:
        # The stage that needs an unreadable file reports it.
        with suppress(OSError):
            inputs = cache.fingerprints(project)
    store = content_cache(project)
    manifest = read(
        project, diagnostics=diagnostics, store=store, progress=progress, missing=missing, other_inputs=inputs.others
    )
    if manifest is None:
        return None
    postings = ""
    if embed and manifest.server.postings:
        from toolmason.write.postings import refreshed_postings

        if postings := refreshed_postings(project, manifest.server, progress):
            manifest = replace(manifest, server=replace(manifest.server, postings=postings))
    # Imported late: errors of the manifest are reported before the templates are loaded.
    from toolmason.lint import check_safety
    from toolmason.render.plan import check_kept_files
    from toolmason.render.self_check import SelfCheckError

    check_safety(manifest.server, manifest.document, diagnostics=diagnostics)
    check_kept_files(manifest.server, manifest.document, project.generated, part=only, diagnostics=diagnostics)
    if examine:
        examine(manifest, diagnostics)
    from toolmason.resolve import MISSING_FUNCTION

    has_all_functions = not diagnostics.has_errors
    if diagnostics.has_errors_besides(set() if missing is None else {MISSING_FUNCTION}):
        return None
    if not has_all_functions:
        only = "python"
    progress("rendering")
    known = _known_files(project, manifest) if only is None else {}
    pending: AbstractContextManager[Mapping[str, str]] = nullcontext({})
    if only in {None, "python"}:
        pending = _models(manifest.server, store, known)
    server, projections, kept = manifest.server, manifest.projections, manifest.kept
    del manifest  # The TOML document of a large manifest takes much memory.
    try:
        with pending as models:
            files = _render_files(project, server, projections, models, store=store, only=only, known=known, kept=kept)
    except SyntaxError as error:
        # The formatter parses the files before the self-check does.
        raise SelfCheckError([str(error)]) from error
    is_current = cache.is_toolkit_unchanged()
    if store and only is None and is_current:
        if kept and has_all_functions:
            from toolmason.incremental.files import keep_files

            keep_files(server, kept, files)
        store.save()
    if not has_all_functions:
        files = tuple(file for file in files if file.path.name in _WITHOUT_HANDLERS)
        return _RenderResult(files, has_all_functions=False)
    # A run with notes is not cached, so that the next run prints them too, and new postings are another input.
    is_cached = is_current and not len(diagnostics) and not postings
    return _RenderResult(files, inputs.all if is_cached else "", postings=postings)


_WITHOUT_HANDLERS: Final = frozenset({"__init__.py", "contract.py", "models.py", "options.py", "types.py"})
"""Modules of the generated package that import no handler, and that handlers import or are checked against."""


def _known_files(project: Project, manifest: LoadedManifest) -> dict[PurePosixPath, RenderedFile]:
    """Return the files that need not be rendered; empty if the project has its own templates."""
    if manifest.kept is None or _has_own_templates(project, manifest.server):
        return {}
    from toolmason.incremental.files import kept_files

    return kept_files(manifest.server, manifest.kept, project.generated)


def _has_own_templates(project: Project, server: Server) -> bool:
    from toolmason.render.overrides import has_overrides

    return project.templates is not None and has_overrides(project.templates, [row.template for row in server.files])


def _render_files(
    project: Project,
    server: Server,
    projections: Projections,
    models: Mapping[str, str],
    *,
    store: ContentCache | None = None,
    only: str | None,
    known: Mapping[PurePosixPath, RenderedFile],
    kept: KeptServer | None = None,
) -> tuple[RenderedFile, ...]:
    """Render the files besides the `known` ones and check their syntax."""
    from toolmason.render.renderer import render
    from toolmason.render.self_check import self_check, unchanged

    if _has_own_templates(project, server):
        from toolmason.render.sandbox import confined_render

        texts = projections.texts(tool.schema for tool in server.tools) if only is None else {}
        return confined_render(project, server, models=models, part=only, projections=texts)
    files = render(
        server,
        models=models,
        projections=projections,
        store=store,
        compiled=_compiled_templates(store),
        part=only,
        known=known,
        entries=kept,
    )
    rendered = [file for file in files if file.path not in known]
    self_check(server, rendered, previous=unchanged(rendered, project.generated), store=store)
    return files


def _compiled_templates(store: ContentCache | None) -> CompiledTemplates | None:
    from toolmason.render.compiled_templates import CompiledTemplates

    # A restored cache of CI may come from a stranger's change, so no code of it is executed.
    return CompiledTemplates(store) if store and not is_ci() else None


@contextmanager
def _models(
    server: Server, store: ContentCache | None, files: Collection[PurePosixPath] = ()
) -> Iterator[Mapping[str, str]]:
    """Yield the models of each module by its key in `render`, from `store` if an earlier run has written them.

    Those of known `files` are left out.
    """
    from toolmason.render.generated_models import cache_key
    from toolmason.render.model_process import MIN_TOOLS, start_models
    from toolmason.render.pydantic_models import SHARED, schemas, shared_schemas, templated_models

    sources = {
        category.name: schemas(category, server.package)
        for category in server.modules
        if category.tools and PurePosixPath(server.package, category.module, "models.py") not in files
    }
    if server.shared_types:
        sources[SHARED] = shared_schemas(server)
    keys = {name: f"models {cache_key(source)}" for name, source in sources.items()} if store else {}
    stored = {name: store.get(key) for name, key in keys.items()} if store else {}
    known = {name: str(json.loads(text)) for name, text in stored.items() if text is not None}
    unknown = {name: source for name, source in sources.items() if name not in known}
    templated = templated_models(unknown, _compiled_templates(store)) if unknown else {}
    known |= templated
    if store:
        for name, text in templated.items():
            store[keys[name]] = json.dumps(text)
    missing = {name: source for name, source in sources.items() if name not in known}
    with start_models(missing, known, concurrent=len(server.tools) >= MIN_TOOLS) as models:
        yield models
        if store:
            for name in missing:
                store[keys[name]] = json.dumps(models[name])


@dataclass(frozen=True, slots=True)
class GenerateResult:
    """Changes of one run and the total number of generated files.

    Without all functions of the handlers, only the models and contracts were written. `has_new_postings`: tools were
    embedded.
    """

    changes: Changes
    total: int
    has_all_functions: bool = True
    has_new_postings: bool = False


def generate(
    project: Project,
    *,
    diagnostics: Diagnostics,
    only: str | None = None,
    discard_edits: bool = False,
    progress: Progress = no_progress,
    examine: Examine | None = None,
) -> GenerateResult | None:
    """Update `generated/`, or only one of its `parts.PARTS`. `examine` adds findings about a valid manifest.

    If functions of the handlers are missing, only the modules are written that are needed to write them.

    Raises:
        EditedFilesError: edits would be lost. Nothing was written.
        MisplacedDirectoryError: `generated/` or the lock is a link. Nothing was written.
        WriteError: a file system error. `generated/` is unchanged, or the next run repairs it.
        SelfCheckError: a rendered file has a syntax error. Nothing was written.
        TemplateError: a template of the project has an error. Nothing was written.
        TemplateRefusedError: one cannot be read safely, or takes too much time or memory. Nothing was written.
    """
    missing: list[Stub] | None = [] if only in {None, "python"} else None
    result = _render_project(
        project,
        diagnostics=diagnostics,
        only=only,
        progress=progress,
        missing=missing,
        embed=only is None,
        examine=examine,
    )
    if result is None:
        return None
    progress(WRITING)
    part = _part(only) if result.has_all_functions else {file.path for file in result.files}.__contains__
    changes = write(result.files, project.generated, discard_edits=discard_edits, part=part)
    if result.postings:
        # After the files that contain it: a run that is interrupted here does the same again.
        from toolmason.write.replace_file import replace_file

        replace_file(project.postings, result.postings)
    result.save_to_cache(project)
    return GenerateResult(changes, _count(result.files), result.has_all_functions, bool(result.postings))


def render_package(project: Project, *, diagnostics: Diagnostics) -> tuple[RenderedFile, ...] | None:
    """Return the files of the server's package, and write none.

    Raises:
        SelfCheckError: a rendered file has a syntax error.
        TemplateError: a template of the project has an error.
        TemplateRefusedError: one cannot be read safely, or takes too much time or memory.
    """
    result = _render_project(project, diagnostics=diagnostics, only="python", progress=no_progress)
    return None if result is None else result.files


def render_plugins(project: Project, manifest: LoadedManifest) -> dict[str, str]:
    """Return the files of all plugins, also of those that `[outputs]` leaves out, by their paths below `plugins/`.

    Raises:
        SelfCheckError: a rendered file has a syntax error.
        TemplateError: a template of the project has an error.
        TemplateRefusedError: one cannot be read safely, or takes too much time or memory.
    """
    outputs = replace(manifest.server.outputs, include=("plugins",), omit=(), clients=())
    every = replace(manifest.server, outputs=outputs, files=())
    files = _render_files(project, every, manifest.projections, {}, only="clients", known={})
    return {file.path.relative_to("plugins").as_posix(): file.text for file in files if file.path.parts[0] == "plugins"}


def compare(
    project: Project,
    *,
    diagnostics: Diagnostics,
    only: str | None = None,
    progress: Progress = no_progress,
    examine: Examine | None = None,
) -> GenerateResult | None:
    """Compare `generated/` with the output of `generate` without writing. `examine` as there.

    Raises:
        ReadError: `generated/` cannot be read.
        MisplacedDirectoryError: it is a link.
        SelfCheckError: a rendered file has a syntax error.
        TemplateError: a template of the project has an error.
        TemplateRefusedError: one cannot be read safely, or takes too much time or memory.
    """
    result = _render_project(project, diagnostics=diagnostics, only=only, progress=progress, examine=examine)
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
