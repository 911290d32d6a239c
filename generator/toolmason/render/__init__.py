"""From the plan to final text, in memory. Pure: the same model gives the same text anywhere.

A template may be replaced by one of the same name in the project's `templates/` folder, which can extend the
original as `toolmason/<name>`. Those run in jinja's sandbox, since they may be a stranger's.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping
from functools import cached_property
from pathlib import Path, PurePosixPath
from typing import Any

from jinja2 import (
    BaseLoader,
    ChoiceLoader,
    Environment,
    PackageLoader,
    PrefixLoader,
    StrictUndefined,
    TemplateNotFound,
    TemplateSyntaxError,
)
from jinja2.loaders import split_template_path
from jinja2.sandbox import ImmutableSandboxedEnvironment
from toolmason_runtime.protocol.catalogue import Catalogue

from toolmason.catalogue.search_index import build_index
from toolmason.catalogue.stats import Stats, stats
from toolmason.catalogue.table import catalogue
from toolmason.clients import Client, configuration
from toolmason.manifest.editor_schema import manifest_schema
from toolmason.manifest.input_files import RefusedInput, read_input
from toolmason.model.checksum import sign
from toolmason.model.rendered_file import RenderedFile
from toolmason.model.server import Category, Server
from toolmason.model.tool import Tool
from toolmason.model.types import JsonSchema
from toolmason.render import pydantic_models
from toolmason.render.docs import Row, rows
from toolmason.render.filters import FILTERS
from toolmason.render.format_python import format_python
from toolmason.render.plan import PlannedFile, plan
from toolmason.render.pydantic_models import SHARED, schemas, shared_schemas
from toolmason.schema import Projection, Target
from toolmason.schema.normalize import Reader
from toolmason.schema.project import projected

PACKAGED = "toolmason"
"""Prefix under which an override can extend the template it replaces."""


class TemplateRefused(Exception):  # noqa: N818 - says what is the case
    """A template cannot be read safely, or takes too much to render. `path` is relative to the project."""

    def __init__(self, code: str, path: PurePosixPath, reason: str) -> None:
        super().__init__(f"{path}: {reason}")
        self.code = code
        self.path = path
        self.reason = reason


class Facts:
    """What several templates print and is costly to work out: made once a run, when first asked for."""

    def __init__(self, server: Server, models: Mapping[str, str]) -> None:
        self._server = server
        self._models = models
        self._tools = {tool.name: tool for tool in server.tools}
        self._readers: dict[str, Reader] = {}

    @cached_property
    def catalogue(self) -> Catalogue:
        """The tools as served."""
        return catalogue(self._server)

    @cached_property
    def search_index(self) -> Any:
        """The index of the tools."""
        return build_index(self.catalogue)

    @cached_property
    def manifest_schema(self) -> dict[str, Any]:
        """JSON Schema of the manifest."""
        return manifest_schema()

    @cached_property
    def stats(self) -> Stats:
        """What tools and styles cost a model."""
        return stats(self.catalogue)

    def projected(self, tool: Tool, target: str) -> Projection:
        """Give the arguments of `tool` as a provider takes them (`toolmason.schema.Target`).

        Raises:
            TypeError: `tool` is not one of the server. A template can make objects that look like it.
        """
        if self._tools.get(tool.name) is not tool:
            raise TypeError("`facts.projected` takes a tool of `server`")
        if tool.name not in self._readers:
            self._readers[tool.name] = Reader(tool.schema)
        return projected(self._readers[tool.name], Target(target))

    def configuration(self, client: Client) -> dict[str, Any]:
        """Return the content of the file that configures the server in `client`."""
        return configuration(client, self._server)

    def rows(self, schema: JsonSchema) -> tuple[Row, ...]:
        """Give a schema as the rows of a table."""
        return rows(schema)

    @cached_property
    def shared_models(self) -> str:
        """Return the Pydantic models of the types that several categories use."""
        return self._models.get(SHARED) or pydantic_models.models(shared_schemas(self._server))

    def models(self, category: Category) -> str:
        """Return the Pydantic models of `category`.

        Raises:
            TypeError: `category` is not one of the server. A template can make objects that look like it.
        """
        if not any(category is own for own in self._server.categories):
            raise TypeError("`facts.models` takes a category of `server`")
        return self._models.get(category.name) or pydantic_models.models(schemas(category, self._server.package))


def render(
    server: Server,
    *,
    templates: Path | None = None,
    models: Mapping[str, str] | None = None,
    part: str | None = None,
) -> tuple[RenderedFile, ...]:
    """Give the text of each file of `server`, in path order, or of those in one `part` of the plan.

    `templates` is the folder that goes before the packaged templates. `models` are the Pydantic models of
    categories by name, and the shared ones as `SHARED`, if they are made already.

    Raises:
        jinja2.TemplateError: an override is wrong.
        TemplateRefused: an override cannot be read safely.
        SyntaxError: what came out is no Python or no JSON; the message names the file and the place in it.
    """
    return finish(drafts(server, templates=templates, models=models, part=part))


def drafts(
    server: Server,
    *,
    templates: Path | None = None,
    models: Mapping[str, str] | None = None,
    part: str | None = None,
    begin: Callable[[str], None] | None = None,
    max_bytes: int | None = None,
) -> dict[PurePosixPath, str]:
    """Return the text of each file as its template gives it.

    `begin` is called with the name of each template. All texts together have at most `max_bytes`, else
    `TemplateRefused` is raised. The rest is as for `render`.
    """
    environment = make_environment(templates)
    facts = Facts(server, models or {})
    texts = {}
    total = 0
    for planned in plan(server):
        if part in (None, planned.part):
            if begin:
                begin(planned.template)
            text = texts[planned.path] = _draft(environment, planned, server, facts)
            total += len(text.encode())
            if max_bytes is not None and total > max_bytes:
                reason = f"rendering was stopped: the output has more than {max_bytes // 1024**2:,} MiB"
                raise TemplateRefused("TM609", PurePosixPath("templates", planned.template), reason)
    return texts


def finish(texts: Mapping[PurePosixPath, str], *, timeout_s: float | None = None) -> tuple[RenderedFile, ...]:
    """Lay out and sign drafts. `timeout_s` is for laying out.

    Raises:
        SyntaxError: one is no Python, or takes too long; the message names the file and the place in it.
    """
    code = {path: text for path, text in texts.items() if path.suffix == ".py"}
    formatted = {**texts, **format_python(code, timeout_s=timeout_s)}
    return tuple(RenderedFile(path, sign(path, text)) for path, text in formatted.items())


def has_overrides(templates: Path, own: Iterable[str] = ()) -> bool:
    """Return whether the directory `templates` has a file that is rendered: a packaged template's name, or of `own`."""
    names = PackageLoader("toolmason_templates", ".").list_templates()
    return any((templates / name).exists() for name in (*(name for name in names if name.endswith(".jinja")), *own))


def make_environment(templates: Path | None = None) -> Environment:
    """Give the environment that templates run in: the sandbox, if `templates` of a project are among them."""
    packaged = PackageLoader("toolmason_templates", ".")
    loaders: list[BaseLoader] = [packaged, PrefixLoader({PACKAGED: packaged})]
    if templates is not None:
        loaders.insert(0, ProjectLoader(templates))
    kind = Environment if templates is None else ImmutableSandboxedEnvironment
    environment = kind(
        loader=ChoiceLoader(loaders),
        undefined=NotThere,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
        # Output is Python, Markdown, JSON and TOML: HTML escapes would corrupt it. The filters escape.
        autoescape=False,
    )
    environment.filters.update(FILTERS)
    return environment


class ProjectLoader(BaseLoader):
    """Loads templates from a folder of a project, and from nowhere else."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def get_source(self, environment: Environment, template: str) -> tuple[str, str, None]:  # noqa: ARG002
        """Return the source and the file name of `template`; see `jinja2.BaseLoader.get_source`."""
        path = self._folder.joinpath(*split_template_path(template))
        if not path.exists() or path.is_dir():
            raise TemplateNotFound(template)
        try:
            data = read_input(path, self._folder.parent)
        except RefusedInput as error:
            raise TemplateRefused("TM608", PurePosixPath(self._folder.name, template), error.reason) from error
        try:
            return data.decode(), str(path), None
        except UnicodeDecodeError as error:
            line = data.count(b"\n", 0, error.start) + 1
            message = f"not UTF-8: the byte 0x{data[error.start]:02x}"
            raise TemplateSyntaxError(message, line, template, str(path)) from error


def _draft(environment: Environment, planned: PlannedFile, server: Server, facts: Facts) -> str:
    template = environment.get_template(planned.template)
    text = template.render(server=server, facts=facts, **planned.subject)
    if planned.path.suffix == ".json" and planned.readable:
        text = _laid_out_json(planned.path, text)
    try:
        text.encode()
    except UnicodeEncodeError as error:
        raise SyntaxError(f"{planned.path}: a template prints half a character at {error.start}") from error
    return text.strip("\n") + "\n"


def _laid_out_json(path: PurePosixPath, text: str) -> str:
    try:
        return json.dumps(json.loads(text), indent=2, ensure_ascii=False)
    except json.JSONDecodeError as error:
        raise SyntaxError(f"{path}:{error.lineno}:{error.colno}: {error.msg}") from error
    except (RecursionError, ValueError) as error:  # Such as an integer of too many digits.
        raise SyntaxError(f"{path}: {error}") from error


class NotThere(StrictUndefined):
    """A name that a template uses and nothing has, told in the template's own words."""

    @property
    def _undefined_message(self) -> str:
        # jinja gives a hint where its sandbox refuses what is there.
        return self._undefined_hint or f"there is no `{self._undefined_name}`"
