"""Render the planned files of a server to signed text, in memory."""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Mapping
from functools import cached_property
from hashlib import sha256
from pathlib import Path, PurePosixPath
from types import MappingProxyType
from typing import Any, Final

from jinja2 import BytecodeCache, Environment
from jinja2.runtime import Macro

from toolmason.catalogue.facts import Entries, Facts
from toolmason.catalogue.opening import opening
from toolmason.model.checksum import add_checksum
from toolmason.model.prompt import SurfaceModule
from toolmason.model.rendered_file import RenderedFile
from toolmason.model.server import Category, Server
from toolmason.model.tool import Tool
from toolmason.model.types import JsonSchema
from toolmason.render import pydantic_models
from toolmason.render.docs import Row, rows
from toolmason.render.environment import TemplateRefusedError, make_environment
from toolmason.render.format_python import format_python
from toolmason.render.indented_json import indent_json
from toolmason.render.plan import PlannedFile, plan
from toolmason.render.pydantic_models import SHARED, schemas, shared_schemas
from toolmason.render.typed_clients.files import TEMPLATES, client_variables
from toolmason.render.view import ServerView
from toolmason.schema.projections import Projections
from toolmason.store import Store

NO_FILES: Final[Mapping[PurePosixPath, RenderedFile]] = MappingProxyType({})
_CATALOGUE: Final = "python/catalogue.json.jinja"
_WITH_MODELS: Final = frozenset({"python/models.py.jinja", "python/surface_models.py.jinja", "python/types.py.jinja"})


class TemplateFacts(Facts):
    """The variable `facts` of templates: facts of the catalogue, Pydantic models, tables and fragments of files."""

    def __init__(
        self,
        server: Server,
        models: Mapping[str, str],
        projections: Projections | None = None,
        store: Store | None = None,
        entries: Entries | None = None,
        *,
        has_own_templates: bool = False,
    ) -> None:
        super().__init__(server, projections, store, entries)
        self._models = models
        self.catalogue_text = ""
        """The text of `catalogue.json`, which is rendered before the files made of it."""
        self._digests: dict[str, str] = {}
        self._has_own_templates = has_own_templates

    @cached_property
    def typed_client(self) -> dict[str, Any]:
        """The variables of the templates of typed clients."""
        from toolmason.render.typed_clients.manifest_tools import manifest_client

        return client_variables(manifest_client(self._server))

    @cached_property
    def opening(self) -> str:
        """The text of `opening.json`."""
        # With a template of the project, the text may differ from the catalogue.
        catalogue = None if self._has_own_templates else self.served_catalogue
        return opening(self.catalogue_text, self._server.postings, self._server.options, catalogue=catalogue)

    def fragment(self, macro: Macro, tool: Tool) -> str:
        """Return the output of `macro` for `tool`, from the store if the tool has not changed since an earlier run.

        The macro is imported without context, so it depends only on its arguments: the tool, and `facts`, of which it
        may use `projected` and `rows`.

        Raises:
            TypeError: `macro` is not a macro, or `tool` is not one of the server.
        """
        if not isinstance(macro, Macro) or not self._is_own(tool):
            raise TypeError("`facts.fragment` takes a macro and a tool of `server`")
        if self._store is None:
            return str(macro(tool, self))
        if tool.name not in self._digests:
            self._digests[tool.name] = sha256(repr(tool).encode("utf-8", "surrogatepass")).hexdigest()
        key = f"fragment {macro.name} {self._digests[tool.name]}"
        stored = self._store.get(key)
        if stored is not None:
            return str(json.loads(stored))
        text = str(macro(tool, self))
        self._store[key] = json.dumps(text)
        return text

    def rows(self, schema: JsonSchema) -> tuple[Row, ...]:
        """Return the properties of `schema` as rows of a table."""
        return rows(schema)

    @cached_property
    def shared_models(self) -> str:
        """The Pydantic models of the types that several categories use."""
        return self._models.get(SHARED) or pydantic_models.models(shared_schemas(self._server))

    def models(self, category: Category | SurfaceModule) -> str:
        """Return the Pydantic models of `category`.

        Raises:
            TypeError: `category` is not one of the server. A template can create objects that look like it.
        """
        if not any(category is own for own in self._server.modules):
            raise TypeError("`facts.models` takes a category of `server`")
        return self._models.get(category.name) or pydantic_models.models(schemas(category, self._server.package))


def render(
    server: Server,
    *,
    templates: Path | None = None,
    models: Mapping[str, str] | None = None,
    projections: Projections | None = None,
    store: Store | None = None,
    compiled: BytecodeCache | None = None,
    part: str | None = None,
    known: Mapping[PurePosixPath, RenderedFile] = NO_FILES,
    entries: Entries | None = None,
) -> tuple[RenderedFile, ...]:
    """Return the files of `server` in path order, or those of one `part` of `generated/`.

    Args:
        server: The server.
        templates: The directory with templates that replace packaged ones.
        models: Pydantic models by category, and the shared ones as `SHARED`. Missing ones are generated.
        projections: Those of the run.
        store: Results of earlier runs. Only for packaged templates: `templates` can change the text of a fragment.
        compiled: Packaged templates that earlier runs have compiled.
        part: One of `model.parts.PARTS`.
        known: Files that need not be rendered.
        entries: Entries of the catalogue of earlier runs.

    Raises:
        jinja2.TemplateError: an override is invalid.
        TemplateRefusedError: an override cannot be read safely.
        SyntaxError: an output is invalid Python or JSON; the message has the file and the position.
    """
    texts = drafts(
        server,
        templates=templates,
        models=models,
        projections=projections,
        store=store,
        compiled=compiled,
        part=part,
        known=known,
        entries=entries,
    )
    files = {**{file.path: file for file in finish(texts, store=store)}, **known}
    return tuple(files[path] for path in sorted(files, key=PurePosixPath.as_posix))


def drafts(
    server: Server,
    *,
    templates: Path | None = None,
    models: Mapping[str, str] | None = None,
    projections: Projections | None = None,
    store: Store | None = None,
    compiled: BytecodeCache | None = None,
    part: str | None = None,
    begin: Callable[[str], None] | None = None,
    max_bytes: int | None = None,
    known: Collection[PurePosixPath] = (),
    entries: Entries | None = None,
) -> dict[PurePosixPath, str]:
    """Return the text of each file before formatting and signing.

    `begin` is called with the name of each template before it is rendered. `max_bytes` is the maximum size of all texts
    together; beyond it, `TemplateRefusedError` is raised. `known` files are left out. The other arguments and errors
    are those of `render`.
    """
    environment = make_environment(templates, compiled)
    facts = TemplateFacts(server, models or {}, projections, store, entries, has_own_templates=templates is not None)
    texts = {}
    total = 0
    files = [planned for planned in plan(server) if part in (None, planned.part) and planned.path not in known]
    # Files with models are last, because another process may still generate these.
    for planned in sorted(files, key=lambda planned: planned.template in _WITH_MODELS):
        if begin:
            begin(planned.template)
        text = texts[planned.path] = _render_template(environment, planned, server, facts)
        if planned.template == _CATALOGUE:
            facts.catalogue_text = text
        if max_bytes is None:
            continue
        total += len(text.encode())
        if total > max_bytes:
            reason = f"rendering was stopped: the output has more than {max_bytes // 1024**2:,} MiB"
            raise TemplateRefusedError("TM609", PurePosixPath("templates", planned.template), reason)
    return {planned.path: texts[planned.path] for planned in files}


def finish(
    texts: dict[PurePosixPath, str], *, store: Store | None = None, timeout_s: float | None = None
) -> tuple[RenderedFile, ...]:
    """Format and sign drafts, and remove each from `texts`, so that no text is in memory twice.

    `store` has formatted files of earlier runs; `timeout_s` limits the formatting.

    Raises:
        SyntaxError: a draft is invalid Python or takes too long; the message has the file and the position.
    """
    paths = tuple(texts)
    code = {path: texts.pop(path) for path in paths if path.suffix == ".py"}
    texts |= _format(code, store, timeout_s)
    del code
    return tuple(RenderedFile(path, add_checksum(path, texts.pop(path))) for path in paths)


def _format(
    code: Mapping[PurePosixPath, str], store: Store | None, timeout_s: float | None
) -> dict[PurePosixPath, str]:
    """Return each Python file formatted. Only those that are not in `store` are passed to the formatter."""
    if store is None:
        return format_python(code, timeout_s=timeout_s)
    keys = {path: f"python {sha256(text.encode()).hexdigest()}" for path, text in code.items()}
    stored = {path: store.get(key) for path, key in keys.items()}
    known = {path: str(json.loads(text)) for path, text in stored.items() if text is not None}
    formatted = format_python({path: text for path, text in code.items() if path not in known}, timeout_s=timeout_s)
    for path, text in formatted.items():
        store[keys[path]] = json.dumps(text)
    return {**known, **formatted}


def _render_template(environment: Environment, planned: PlannedFile, server: Server, facts: TemplateFacts) -> str:
    template = environment.get_template(planned.template)
    subject = facts.typed_client if planned.template.startswith(f"{TEMPLATES}/") else planned.subject
    text = template.render(server=ServerView(server), facts=facts, **subject)
    if planned.path.suffix == ".json" and planned.readable:
        text = _indent_json(planned.path, text)
    try:
        text.encode()
    except UnicodeEncodeError as error:
        raise SyntaxError(f"{planned.path}: a template prints an unpaired surrogate at {error.start}") from error
    return text.strip("\n") + "\n"


def _indent_json(path: PurePosixPath, text: str) -> str:
    try:
        return indent_json(json.loads(text))
    except json.JSONDecodeError as error:
        raise SyntaxError(f"{path}:{error.lineno}:{error.colno}: {error.msg}") from error
    except (RecursionError, ValueError) as error:  # Such as an integer with too many digits.
        raise SyntaxError(f"{path}: {error}") from error
