"""What a call may do: the risk of its tool, raised by the values that it is made with."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from toolmason_runtime.programs.argv import items, placements_of, text_of, values_used
from toolmason_runtime.programs.spec import CommandTool, Risk
from toolmason_runtime.protocol.errors import ToolError


def risk_of(tool: CommandTool, arguments: Mapping[str, Any], *, environ: Mapping[str, str]) -> Risk:
    """Give the risk of a call: the greatest of the tool's own and those of its values, defaults included.

    Values are compared as they are written: to a program, `-D` is not `-d`. One that is not listed is destructive, and
    so is one that is left to the program, unless `""` is listed for that. A switch that is off writes nothing, and so
    adds nothing.

    Raises:
        ToolError: as `values_used`.
    """
    values = values_used(tool, arguments, environ=environ)
    switches = {each.name for each in placements_of(tool) if each.switch}
    found = [tool.risk]
    for name, listed in tool.risk_by_value.items():
        for text in _texts(name, values.get(name), is_switch=name in switches):
            unlisted = tool.risk if name in switches and text == "false" else Risk.DESTRUCTIVE
            found.append(unlisted if text is None else listed.get(text, unlisted))
    return max(found, key=lambda risk: risk.rank)


def _texts(name: str, value: Any, *, is_switch: bool) -> Iterator[str | None]:
    """Give each text that is looked up for a value: what is written of it. None for what cannot be written."""
    if value is None or value in ([], ()):
        yield "false" if is_switch else ""
        return
    for item in items(value):
        try:
            yield text_of(name, item)
        except ToolError:
            yield None
