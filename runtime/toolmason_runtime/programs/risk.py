"""The risk of a call: that of its tool, raised by its values."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from toolmason_runtime.programs.argv import argument_text, effective_values, items, placements_of
from toolmason_runtime.shared.errors import ToolError
from toolmason_runtime.shared.specs.program import CommandTool, Risk


def risk_of(tool: CommandTool, arguments: Mapping[str, Any], *, environ: Mapping[str, str]) -> Risk:
    """Return the risk of a call: the greatest of the tool's own and those of its values, defaults included.

    Values are compared by their text on the command line, with case. An unlisted value is destructive, and so is an
    absent one unless `""` is listed. A switch that is off adds no risk.

    Raises:
        ToolError: see `effective_values`.
    """
    values = effective_values(tool, arguments, environ=environ)
    switches = {placement.name for placement in placements_of(tool) if placement.switch}
    risks = [tool.risk]
    for name, listed in tool.risk_by_value.items():
        for text in _texts(name, values.get(name), is_switch=name in switches):
            unlisted = tool.risk if name in switches and text == "false" else Risk.DESTRUCTIVE
            risks.append(unlisted if text is None else listed.get(text, unlisted))
    return max(risks, key=lambda risk: risk.rank)


def _texts(name: str, value: Any, *, is_switch: bool) -> Iterator[str | None]:
    """Yield the texts of a value on the command line; None for an item without a text."""
    if value is None or value in ([], ()):
        yield "false" if is_switch else ""
        return
    for item in items(value):
        try:
            yield argument_text(name, item)
        except ToolError:
            yield None
