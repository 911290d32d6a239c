"""Check that the runtime accepts the defaults and choices of a command tool as arguments."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any, Final

from toolmason_runtime.programs.argv import UnsafeArgumentError, build_invocation, items, with_joined_maps
from toolmason_runtime.programs.spec import CommandTool, PlacementKind
from toolmason_runtime.toml.problems import quoted

from toolmason.model.types import Property
from toolmason.resolve.context import ResolveContext

_HINTS: Final = {
    PlacementKind.FLAG: 'join it to its flag: `flag = "--name="`',
    PlacementKind.POSITIONAL: "change the value, or set `ends_options = true` on the program if it supports `--`",
    PlacementKind.CWD: "write the path of a directory",
    PlacementKind.STDIN: "change the value",
}


def check_values(context: ResolveContext, tool: CommandTool, params: Sequence[Property]) -> None:
    """Report each default and each choice that the runtime rejects in every call."""
    placements = {placement.name: placement for placement in tool.placements}
    # A tool with one parameter and no environment, so that any rejection is due to the value.
    bare = replace(tool, program=replace(tool.program, command=("x",), env={}, working_dir="", placements=()))
    for param in params:
        placement = placements[param.name]
        single = replace(bare, placements=(replace(placement, default=None, default_env=""),))
        for key, label, value in _manifest_values(param):
            if reason := _rejection_reason(single, param.name, value):
                message = f"{label} of `{param.name}` is always rejected: it {reason}"
                context.error("TM327", message, (*param.at, key), hint=_HINTS[placement.place])


def _manifest_values(param: Property) -> Iterator[tuple[str, str, Any]]:
    """Yield each value that the manifest gives a parameter, with its key and its label in messages."""
    choices = param.constraints.get("enum", ())
    for choice in choices:
        yield "enum", quoted(str(choice)), choice
    if param.has_default and not all(item in choices for item in items(param.default)):
        yield "default", "the default", param.default


def _rejection_reason(tool: CommandTool, name: str, value: Any) -> str:
    try:
        build_invocation(tool, with_joined_maps(tool, {name: value}), environ={})
    except UnsafeArgumentError as error:
        return error.reason
    return ""
