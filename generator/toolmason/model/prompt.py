"""Prompts and resources of the model, and the functions that implement them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from toolmason_runtime.shared.toml.positions import KeyPath

from toolmason.manifest.tables import IconTable, ResourceTable
from toolmason.model.from_table import FromTable
from toolmason.model.implementation import Handler
from toolmason.model.types import ClassName, Identifier, JsonSchema, Property


@dataclass(frozen=True, slots=True, kw_only=True)
class Completion:
    """The values that clients offer for an argument: fixed ones, or those of a handler."""

    values: tuple[str, ...]
    handler: Handler | None
    constant: Identifier


@dataclass(frozen=True, slots=True, kw_only=True)
class Message:
    """One message of a prompt, with one of `text`, `image` (a file) and `resource` (a URI)."""

    role: str
    text: str = ""
    image: str = ""
    mime_type: str = ""
    """Media type of the image."""
    resource: str = ""
    at: KeyPath = ()
    """Key path of the text."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Surface:
    """The fields that prompts and resources share. `protocol` and `params_class` are for those with a handler."""

    name: str
    title: str
    summary: str
    description: str
    params: tuple[Property, ...]
    completions: Mapping[str, Completion]
    """Argument -> its completion; arguments without one are absent."""
    schema: JsonSchema
    """Schema of the arguments."""
    handler: Handler | None
    protocol: ClassName
    constant: Identifier
    params_class: ClassName
    icons: tuple[IconTable, ...]

    @property
    def fields(self) -> tuple[Property, ...]:
        """Fields of its parameter model."""
        return self.params


@dataclass(frozen=True, slots=True, kw_only=True)
class Prompt(Surface):
    """A prompt: it has `messages` or a handler."""

    messages: tuple[Message, ...]
    command: str = ""
    """Base name of its slash command; empty for other prompts."""
    allow: Mapping[str, str] = field(default_factory=dict)
    """Code of a suppressed lint rule -> reason."""
    at: KeyPath = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Resource(Surface, FromTable):
    """A resource, or a template if its URI has variables: it has a `file` or a handler."""

    table: ResourceTable

    @property
    def is_template(self) -> bool:
        """Whether the URI has variables."""
        return "{" in self.table.uri


@dataclass(frozen=True, slots=True, kw_only=True)
class SurfaceModule:
    """The sub-package with the handlers of all prompts or of all resources."""

    name: Literal["prompts", "resources"]
    surfaces: tuple[Surface, ...]
    types = ()
    """Arguments have no object types."""
    shared_types = ()

    @property
    def module(self) -> str:
        """Name of the sub-package."""
        return self.name

    @property
    def result(self) -> str:
        """Return type of its handlers, from `toolmason_runtime`."""
        return {"prompts": "PromptContent", "resources": "ResourceContent"}[self.name]

    @property
    def tools(self) -> tuple[Surface, ...]:
        """Prompts or resources with a handler, the ones that need a model of their arguments."""
        return tuple(surface for surface in self.surfaces if surface.handler)

    @property
    def completers(self) -> tuple[tuple[str, Completion], ...]:
        """Completions with a handler, by the name of their binding: `review.language`."""
        return tuple(
            (f"{surface.name}.{argument}", completion)
            for surface in self.surfaces
            for argument, completion in surface.completions.items()
            if completion.handler
        )

    @property
    def has_functions(self) -> bool:
        """Whether it is generated."""
        return bool(self.tools or self.completers)

    @property
    def handler_modules(self) -> tuple[str, ...]:
        """Modules of its handlers, sorted."""
        handlers = (*(tool.handler for tool in self.tools), *(completion.handler for _, completion in self.completers))
        return tuple(sorted({handler.module for handler in handlers if handler}))
