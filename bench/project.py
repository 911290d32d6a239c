"""A project of synthetic tools on disk, with manifest and handlers."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

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

_READING: Final = """\
hints = { read_only = true, destructive = false, idempotent = true, open_world = false }
params.path = { type = "string", description = "Folder or file, relative to the workspace" }
params.limit = { type = "integer", description = "Most entries to give", minimum = 1, maximum = 100, default = 20 }
params.order.type = "string"
params.order.description = "What comes first"
params.order.enum = ["newest", "oldest", "name"]
params.order.default = "newest"
"""

_CHANGING: Final = """\
hints = {{ read_only = false, destructive = true, idempotent = false, open_world = false }}
params.mode = {{ type = "string", description = "Try it or do it", enum = ["draft", "final"] }}
params.labels = {{ type = "string[]", description = "Words to file it under", max_items = 10, required = false }}
params.target = {{ type = "{target}", description = "What it is done to" }}
"""

_READING_EXAMPLE: Final = '{ path = "2026/spring", limit = 5 }'
_CHANGING_EXAMPLE: Final = '{ mode = "draft", labels = ["spring"], target = { id = "A-17" } }'

_TARGET: Final = """\
[types.{target}]
description = "Which {one} is meant"
fields.id = {{ type = "string", description = "Its number or name" }}
fields.revision = {{ type = "integer", description = "Revision to start from", minimum = 1, required = false }}
"""


@dataclass(frozen=True, slots=True)
class SyntheticProject:
    """A directory with a manifest of `tools` and their handlers; toolmason writes `generated/`."""

    directory: Path
    tools: tuple[SyntheticTool, ...]
    split_calls: bool = False

    @property
    def generated(self) -> Path:
        """The directory that `toolmason generate` writes."""
        return self.directory / "generated"

    @property
    def import_path(self) -> tuple[Path, Path]:
        """The import path of the generated server."""
        return self.generated, self.directory / "handlers"

    def write(self, *, edited: str = "", narrowed: int = 100) -> None:
        """Write the manifest.

        For the tool in the middle, `edited` is the end of its description and `narrowed` the bound of `limit`.
        """
        place = self._middle
        tools = list(self.tools)
        tools[place] = replace(tools[place], description=f"{tools[place].description}{edited}")
        texts = [_tool(tool) for tool in tools]
        texts[place] = texts[place].replace("maximum = 100", f"maximum = {narrowed}")
        nouns = categories_of(self.tools)
        head = _HEAD.format(
            package=PACKAGE, handlers=HANDLERS, page_size=len(tools), split_calls=str(self.split_calls).lower()
        )
        categories = [f'[categories.{noun.many}]\nsummary = "All about {noun.many}"\n' for noun in nouns]
        changed = {tool.noun: tool.target for tool in tools if not tool.reads}
        types = [_TARGET.format(target=target, one=noun.one) for noun, target in changed.items()]
        path = self.directory / "manifest" / "synthetic.toml"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("\n".join([head, *categories, *types, *texts]), encoding="utf-8", newline="\n")

    @property
    def _middle(self) -> int:
        """Index of a reading tool near the middle."""
        return min(
            range(len(self.tools)), key=lambda place: (not self.tools[place].reads, abs(place - len(self.tools) // 2))
        )


def make_project(directory: Path, tools: Sequence[SyntheticTool], *, split_calls: bool = False) -> SyntheticProject:
    """Create a project in `directory`, not yet generated."""
    project = SyntheticProject(directory, tuple(tools), split_calls)
    project.write()
    handlers = directory / "handlers" / HANDLERS
    handlers.mkdir(parents=True)
    handlers.joinpath("__init__.py").touch()
    for noun in categories_of(tools):
        names = [tool.name for tool in tools if tool.noun is noun]
        text = "from toolmason_runtime import ToolCall\n" + "".join(_handler(name) for name in names)
        handlers.joinpath(f"{noun.many}.py").write_text(text, encoding="utf-8", newline="\n")
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
    rest = _READING if tool.reads else _CHANGING.format(target=tool.target)
    arguments = _READING_EXAMPLE if tool.reads else _CHANGING_EXAMPLE
    example = f"[[tools.{tool.name}.examples]]\ndescription = {_text(tool.use_case)}\narguments = {arguments}\n"
    return "\n".join(lines) + f"\n{rest}\n{example}"


def _handler(name: str) -> str:
    return f'\n\nasync def {name}(params: object, call: ToolCall) -> str:\n    return "done"\n'


def _text(text: str) -> str:
    """Return a TOML string. JSON and TOML quote the characters of the vocabulary in the same way."""
    return json.dumps(text)
