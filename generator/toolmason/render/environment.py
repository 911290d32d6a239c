"""The Jinja environment of templates: their loader, and the errors of a project's own templates.

A template may be replaced by one of the same name in the project's `templates/` directory, which can extend the
packaged one as `toolmason/<name>`. Such templates may be a stranger's, so they run in Jinja's sandbox.
"""

from __future__ import annotations

from importlib.resources import files
from pathlib import Path, PurePosixPath
from typing import Final

from jinja2 import (
    BaseLoader,
    BytecodeCache,
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

from toolmason.kinds import kinds
from toolmason.manifest.input_files import UnsafeInputError, read_input
from toolmason.render.filters import FILTERS

PACKAGED_PREFIX: Final = "toolmason"
"""Prefix of packaged templates, for overrides that extend the template they replace."""


class TemplateRefusedError(Exception):
    """A template cannot be read safely or exceeds a limit. `path` is relative to the project."""

    def __init__(self, code: str, path: PurePosixPath, reason: str) -> None:
        super().__init__(f"{path}: {reason}")
        self.code = code
        self.path = path
        self.reason = reason


class MissingVariable(StrictUndefined):
    """An undefined variable or attribute in a template."""

    @property
    def _undefined_message(self) -> str:
        # Jinja sets the hint if its sandbox denies access.
        return self._undefined_hint or f"unknown name `{self._undefined_name}`"


def make_environment(templates: Path | None = None, compiled: BytecodeCache | None = None) -> Environment:
    """Return the environment for templates, sandboxed if it includes the `templates` directory of a project.

    `compiled` has the packaged templates of earlier runs.
    """
    packaged = PackageLoader("toolmason_templates", ".")
    loaders: list[BaseLoader] = [packaged, PrefixLoader({PACKAGED_PREFIX: packaged}), KindLoader()]
    if templates is not None:
        loaders.insert(0, ProjectLoader(templates))
    environment_class = Environment if templates is None else ImmutableSandboxedEnvironment
    environment = environment_class(
        loader=ChoiceLoader(loaders),
        bytecode_cache=compiled,
        # A template is loaded once a run; asking for its time at each inclusion takes longer than the inclusion.
        auto_reload=False,
        undefined=MissingVariable,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
        # Output is Python, Markdown, JSON and TOML: HTML escapes would corrupt it. The filters escape.
        autoescape=False,
    )
    environment.filters.update(FILTERS)
    return environment


class KindLoader(BaseLoader):
    """Load `kinds/NAME.jinja` from the distribution of the kind NAME."""

    def get_source(self, environment: Environment, template: str) -> tuple[str, str, None]:  # noqa: ARG002  of jinja
        """Return the source and the file name of `template`; see `jinja2.BaseLoader.get_source`."""
        path = PurePosixPath(template)
        kind = kinds().get(path.stem)
        if path != PurePosixPath("kinds", f"{path.stem}.jinja") or kind is None or not kind.templates:
            raise TemplateNotFound(template)
        file = files(kind.templates) / path.name
        return file.read_text(encoding="utf-8"), str(file), None


class ProjectLoader(BaseLoader):
    """Load templates from one directory of a project only."""

    def __init__(self, directory: Path) -> None:
        self._directory = directory

    def get_source(self, environment: Environment, template: str) -> tuple[str, str, None]:  # noqa: ARG002  of jinja
        """Return the source and the file name of `template`; see `jinja2.BaseLoader.get_source`."""
        path = self._directory.joinpath(*split_template_path(template))
        if not path.exists() or path.is_dir():
            raise TemplateNotFound(template)
        try:
            data = read_input(path, self._directory.parent)
        except UnsafeInputError as error:
            raise TemplateRefusedError("TM608", PurePosixPath(self._directory.name, template), error.reason) from error
        try:
            return data.decode(), str(path), None
        except UnicodeDecodeError as error:
            line = data.count(b"\n", 0, error.start) + 1
            message = f"not UTF-8: the byte 0x{data[error.start]:02x}"
            raise TemplateSyntaxError(message, line, template, str(path)) from error
