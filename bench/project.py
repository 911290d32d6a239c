"""A project of synthetic tools on disk, with manifest and handlers."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final

from bench.parameters import Kind, Parameter
from bench.synthetic import SyntheticTool, categories_of

PACKAGE: Final = "synthetic_server"
HANDLERS: Final = "synthetic"

_HEAD: Final = """\
edition = 1

[server]
name = "synthetic"
package = "{package}"
handlers = "{handlers}"
page_size = {page_size}

[discovery]
style = "search-call"
split_calls = {split_calls}
"""

_HINTS: Final = {
    True: "{ read_only = true, destructive = false, idempotent = true, open_world = false }",
    False: "{ read_only = false, destructive = true, idempotent = false, open_world = false }",
}
"""By whether the tool reads."""

_TARGET: Final = """\
[types.{target}]
description = "Which {one} is meant"
fields.id = {{ type = "string", description = "Number or name of the {one}" }}
fields.revision = {{ type = "integer", description = "Revision of the {one}", minimum = 1, required = false }}
"""


@dataclass(frozen=True, slots=True)
class SyntheticProject:
    """A directory with a manifest of `tools` and their handlers; toolmason writes `generated/`."""

    directory: Path
    tools: tuple[SyntheticTool, ...]
    split_calls: bool = False
    page_size: int | None = None
    """Tools in a page of `tools/list`; None for all."""

    @property
    def generated(self) -> Path:
        """The directory that `toolmason generate` writes."""
        return self.directory / "generated"

    @property
    def import_path(self) -> tuple[Path, Path]:
        """The import path of the generated server."""
        return self.generated, self.directory / "handlers"

    def write(self, *, edited: str = "", narrowed: int = 0) -> None:
        """Write the manifest.

        For the tool in the middle, `edited` is appended to its description, and `narrowed` added to the bound of its
        number.
        """
        place = self._middle
        tools = list(self.tools)
        tools[place] = _edited(tools[place], edited, narrowed)
        nouns = categories_of(self.tools)
        head = _HEAD.format(
            package=PACKAGE,
            handlers=HANDLERS,
            page_size=self.page_size or len(tools),
            split_calls=str(self.split_calls).lower(),
        )
        categories = [f'[categories.{noun.category}]\nsummary = "All about {noun.words["many"]}"\n' for noun in nouns]
        changed = dict.fromkeys(tool.noun for tool in tools if not tool.reads)
        types = [_TARGET.format(target=noun.target, one=noun.words["one"]) for noun in changed]
        path = self.directory / "manifest" / "synthetic.toml"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("\n".join([head, *categories, *types, *map(_tool, tools)]), encoding="utf-8", newline="\n")

    @property
    def _middle(self) -> int:
        """Index of a reading tool near the middle."""
        return min(
            range(len(self.tools)), key=lambda place: (not self.tools[place].reads, abs(place - len(self.tools) // 2))
        )


def make_project(
    directory: Path, tools: Sequence[SyntheticTool], *, split_calls: bool = False, page_size: int | None = None
) -> SyntheticProject:
    """Create a project in `directory`, not yet generated."""
    project = SyntheticProject(directory, tuple(tools), split_calls, page_size)
    project.write()
    handlers = directory / "handlers" / HANDLERS
    handlers.mkdir(parents=True)
    handlers.joinpath("__init__.py").touch()
    for noun in categories_of(tools):
        names = [tool.name for tool in tools if tool.noun is noun]
        text = "from toolmason_runtime import ToolCall\n" + "".join(_handler(name) for name in names)
        handlers.joinpath(f"{noun.category}.py").write_text(text, encoding="utf-8", newline="\n")
    return project


def _tool(tool: SyntheticTool) -> str:
    lines = [
        f"[tools.{tool.name}]",
        f"summary = {_text(tool.summary)}",
        f'category = "{tool.category}"',
        f"description = {_text(tool.description)}",
        f"use_cases = [{_text(tool.use_case)}]",
        f'handler = "{tool.category}:{tool.name}"',
    ]
    arguments = ", ".join(f"{part.name} = {_value(part.example)}" for part in tool.parameters)
    return "\n".join(
        (
            *lines,
            f"hints = {_HINTS[tool.reads]}",
            *(f"params.{part.name} = {_parameter(part, tool)}" for part in tool.parameters),
            f"\n[[tools.{tool.name}.examples]]",
            f"description = {_text(tool.use_case)}",
            f"arguments = {{ {arguments} }}\n",
        )
    )


def _parameter(parameter: Parameter, tool: SyntheticTool) -> str:
    """Return the inline table of a parameter."""
    types = {Kind.NUMBER: "integer", Kind.LIST: "string[]", Kind.TARGET: tool.noun.target}
    keys: dict[str, Any] = {"type": types.get(parameter.kind, "string"), "description": parameter.description}
    match parameter.kind:
        case Kind.NUMBER:
            keys |= {"minimum": 1, "maximum": parameter.bound}
        case Kind.CHOICE:
            keys |= {"enum": list(parameter.choices)}
        case Kind.LIST:
            keys |= {"max_items": parameter.bound, "required": False}
    keys |= {} if parameter.default is None else {"default": parameter.default}
    return _value(keys)


def _value(value: object) -> str:
    """Return a TOML value. JSON and TOML write the other types in the same way."""
    if isinstance(value, dict):
        return f"{{ {', '.join(f'{key} = {_value(part)}' for key, part in value.items())} }}"
    return json.dumps(value)


def _edited(tool: SyntheticTool, text: str, bound: int) -> SyntheticTool:
    parameters = tuple(
        replace(part, bound=part.bound + bound) if part.kind is Kind.NUMBER else part for part in tool.parameters
    )
    return replace(tool, description=tool.description + text, parameters=parameters)


def _handler(name: str) -> str:
    return f'\n\nasync def {name}(params: object, call: ToolCall) -> str:\n    return "done"\n'


def _text(text: str) -> str:
    """Return a TOML string. JSON and TOML quote the characters of the vocabulary in the same way."""
    return json.dumps(text)
