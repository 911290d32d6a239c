"""Defaults and choices that stand in a manifest and that no call could pass, told before a model comes upon them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any, Final

from toolmason_runtime.programs.argv import UnsafeArgumentError, invocation, items
from toolmason_runtime.programs.spec import CommandTool, PlacementKind
from toolmason_runtime.toml.problems import quoted

from toolmason.model.types import Value
from toolmason.resolve.context import Resolution

_BETTER: Final = {
    PlacementKind.FLAG: 'join it to its flag: `flag = "--name="`',
    PlacementKind.POSITIONAL: "write it without that, or give the program `ends_options = true` if it takes `--`",
    PlacementKind.CWD: "write the path of a folder",
    PlacementKind.STDIN: "write it without that",
}


def check_passable(run: Resolution, tool: CommandTool, params: Sequence[Value]) -> None:
    """Refuse each default and each choice that the runtime would refuse to pass, whatever else is sent."""
    places = {each.name: each for each in tool.placements}
    # Nothing but the value in question, and nothing that an environment would have to say.
    bare = replace(tool, program=replace(tool.program, command=("x",), env={}, working_dir="", placements=()))
    for value in params:
        placement = places[value.name]
        alone = replace(bare, placements=(replace(placement, default=None, default_env=""),))
        for key, what, written in _written(value):
            if reason := _refusal(alone, value.name, written):
                message = f"{what} of `{value.name}` can never be passed: it {reason}"
                run.error("TM327", message, (*value.at, key), hint=_BETTER[placement.place])


def _written(value: Value) -> Iterator[tuple[str, str, Any]]:
    """Give the values that the manifest writes of a parameter: under which key, what each is called, and itself."""
    choices = value.constraints.get("enum", ())
    for each in choices:
        yield "enum", quoted(str(each)), each
    if value.has_default and not all(each in choices for each in items(value.default)):
        yield "default", "the default", value.default


def _refusal(tool: CommandTool, name: str, written: Any) -> str:
    """Say why a value is refused; empty if it is not."""
    try:
        invocation(tool, {name: written}, environ={})
    except UnsafeArgumentError as error:
        return error.reason
    return ""
