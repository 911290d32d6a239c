"""Tools of the model: one tool with its parameters, examples and implementation."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

from toolmason.manifest.tables import ExampleTable, ToolTable
from toolmason.model.from_table import FromTable
from toolmason.model.implementation import Hints, Implementation
from toolmason.model.json_schema import rules
from toolmason.model.types import ClassName, Identifier, JsonSchema, Property


@dataclass(frozen=True, slots=True, kw_only=True)
class Example(FromTable):
    """A valid call. `invocation` is its Python expression: `read_files(files=[...])`."""

    table: ExampleTable
    arguments: Mapping[str, Any]
    """Its arguments, with the names that callers see."""
    invocation: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ClaimParam:
    """A parameter whose value is the claim `claim` of the caller's access token."""

    value: Property
    claim: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Tool(FromTable):
    """One tool, ready to print.

    Arguments are checked against `schema`; clients get `input_schema`. Results are checked against `output_schema`.
    `renamed` maps names in `input_schema` to names in `schema` that some provider rejects. `params_class` is empty for
    raw JSON Schema, whose handler gets a plain dict; `result_class` is empty for a tool that returns content.
    """

    name: str
    table: ToolTable
    description: str
    """Description for models, with the scopes that a call needs."""
    category: str
    implementation: Implementation
    params: tuple[Property, ...]
    """Parameters that callers see."""
    claims: tuple[ClaimParam, ...]
    """Parameters that are filled from claims: they are in the parameter model only."""
    schema: JsonSchema
    input_schema: JsonSchema
    renamed: Mapping[str, str]
    argument_aliases: Mapping[str, str]
    """Another name of a parameter -> its name in `input_schema`."""
    complete_schema: JsonSchema | None
    """The schema in search answers, without references; None if `input_schema` has all rules as keywords."""
    output_schema: JsonSchema | None
    examples: tuple[Example, ...]
    protocol: ClassName
    constant: Identifier
    params_class: ClassName | Literal[""]
    result_class: ClassName | Literal[""]
    allow: Mapping[str, str]
    """Suppressed lint code -> reason."""

    @property
    def hints(self) -> Hints:
        """Effects of the tool."""
        return self.implementation.hints

    @property
    def fields(self) -> tuple[Property, ...]:
        """Fields of its parameter model."""
        return (*self.params, *(param.value for param in self.claims))

    @property
    def has_lazy_params(self) -> bool:
        """Whether a server can check its arguments without its model: `input_schema` has every rule of `schema`."""
        has_lazy_model = bool(self.implementation.takes_dict and self.params_class and not self.claims)
        return has_lazy_model and rules(self.input_schema) == rules(self.schema)
