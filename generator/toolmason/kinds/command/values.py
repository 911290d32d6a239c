"""Check that the runtime accepts the defaults, choices and examples of a command tool as arguments."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any, Final

from toolmason_runtime.shared.errors import ToolError
from toolmason_runtime.shared.specs.program import CommandTool, PlacementKind
from toolmason_runtime.shared.toml.problems import quoted
from toolmason_runtime.toolkit import UnsafeArgumentError, build_invocation, items, with_joined_maps

from toolmason.manifest.tables import ExampleTable
from toolmason.model.types import Property
from toolmason.resolve.context import ResolveContext

_HINTS: Final = {
    PlacementKind.FLAG: 'join it to its flag: `flag = "--name="`',
    PlacementKind.POSITIONAL: (
        "set `ends_options = true` on the program if it supports `--`, use the type `integer` or `number` for numbers, "
        "or change the value"
    ),
    PlacementKind.CWD: "write the path of a directory",
    PlacementKind.STDIN: "change the value",
}


def check_values(context: ResolveContext, tool: CommandTool, params: Sequence[Property]) -> None:
    """Report each default and each choice that the runtime rejects in every call."""
    placements = {placement.name: placement for placement in tool.placements}
    # A tool with one parameter and no environment, so that any rejection is due to the value.
    bare = _without_environment(tool)
    bare = replace(bare, program=replace(bare.program, placements=()))
    for param in params:
        placement = placements[param.name]
        single = replace(bare, placements=(replace(placement, default=None, default_env=""),))
        for key, label, value in _manifest_values(param):
            if reason := _rejection_reason(single, param.name, value):
                message = f"{label} of `{param.name}` is always rejected: it {reason}"
                context.error("TM327", message, (*param.at, key), hint=_HINTS[placement.place])


def check_examples(context: ResolveContext, tool: CommandTool, examples: Sequence[ExampleTable]) -> None:
    """Report each example whose command line the runtime rejects. Other faults are reported with its schema."""
    bare = _without_environment(tool)
    places = {placement.name: placement.place for placement in (*tool.program.placements, *tool.placements)}
    for index, example in enumerate(examples):
        known = {name: value for name, value in example.arguments.items() if name in places}
        try:
            build_invocation(bare, with_joined_maps(bare, known), environ={})
        except UnsafeArgumentError as error:
            name = error.name.partition("[")[0].partition(".")[0]
            message = f"this example is always rejected: `{error.name}` {error.reason}"
            at = ("tools", tool.name, "examples", index, "arguments", name)
            context.error("TM327", message, at, hint=_HINTS[places[name]])
        except ToolError:
            continue


def _without_environment(tool: CommandTool) -> CommandTool:
    """Return the tool with a program that needs no environment."""
    program = replace(tool.program, command=("x",), env={}, working_dir="")
    shared = tuple(replace(placement, default_env="") for placement in program.placements)
    own = tuple(replace(placement, default_env="") for placement in tool.placements)
    return replace(tool, program=replace(program, placements=shared), placements=own)


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
