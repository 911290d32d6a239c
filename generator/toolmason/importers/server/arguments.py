"""The arguments of an imported tool: names of words, and a limit of tokens.

`input_schema` stays the schema of the server apart from its texts. `arguments` has the changes for models.
"""

from __future__ import annotations

import copy
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from toolmason.importers.design.budget import fitted_schema
from toolmason.importers.design.parameter_names import argument_names, with_aliases, with_wire_name
from toolmason.kinds.upstream.resolve import NAMING_KEYWORDS


@dataclass(frozen=True, slots=True)
class DesignedArguments:
    """The schema of a tool with shortened texts, and the changes for models.

    `renamed` has the new names by the original ones, `hidden` optional arguments. `is_shortened`: descriptions are
    shorter. `tokens` are those that models read.
    """

    schema: dict[str, Any]
    tokens: int = 0
    renamed: dict[str, str] = field(default_factory=dict)
    hidden: list[str] = field(default_factory=list)
    is_shortened: bool = False
    table: dict[str, dict[str, Any]] = field(default_factory=dict)
    """`arguments` of the tool in the manifest."""


def designed_arguments(schema: Mapping[str, Any], max_tokens: int, words: str) -> DesignedArguments:
    """Return the arguments of a tool for models.

    Args:
        schema: the schema of the server.
        max_tokens: the limit; 0 for none.
        words: the texts of the tool; arguments that they mention matter more.
    """
    whole: dict[str, Any] = copy.deepcopy(dict(schema))
    properties = whole.get("properties")
    has_names = isinstance(properties, dict) and not _names_are_used(whole)
    names = argument_names(properties) if has_names and isinstance(properties, dict) else {}
    for wire, (_, needs_wire_name) in names.items():
        if needs_wire_name and isinstance(whole["properties"][wire], dict):
            part = whole["properties"][wire]
            part["description"] = with_wire_name(str(part.get("description", "")), wire)
    result, hidden, tokens, is_shortened = whole, list[str](), 0, False
    if max_tokens:
        fitted = fitted_schema(whole, max_tokens, (), words=words, is_fixed=not has_names)
        hidden, tokens = fitted.dropped, fitted.tokens
        result, is_shortened = fitted.schema, fitted.schema != whole
    wires = {name: wire for wire, (name, _) in names.items()}
    entries = with_aliases({name: {} for name in wires}, wires)
    renamed = {wire: name for wire, (name, _) in names.items() if name != wire and wire not in hidden}
    table = {
        wire: {"hidden": True} if wire in hidden else {"rename": renamed[wire], **entries[renamed[wire]]}
        for wire in names
        if wire in hidden or wire in renamed
    }
    return DesignedArguments(result, tokens, renamed, hidden, is_shortened, table)


def _names_are_used(schema: Mapping[str, Any]) -> bool:
    """Return whether other parts of a schema name its arguments, so that they cannot be renamed or hidden."""
    return any(keyword in schema for keyword in NAMING_KEYWORDS) or '"#/properties/' in json.dumps(schema)
