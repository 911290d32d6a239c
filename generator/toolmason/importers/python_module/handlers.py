"""Write the module of handlers that call the imported functions."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from toolmason.model.identifiers import identifier, params_class_name
from toolmason.model.python_text import docstring


@dataclass(frozen=True, slots=True, kw_only=True)
class ImportedTool:
    """A tool and the function that it calls.

    `has_params` is False if the tool has `input_schema`. `result` is the class of the result, empty for text;
    `is_wrapped` if the class has the value in its only field `result`. `names` has the parameters of the function by
    those of the tool, where they differ.
    """

    name: str
    path: str
    summary: str
    has_params: bool = True
    result: str = ""
    is_wrapped: bool = False
    names: Mapping[str, str] = field(default_factory=dict)

    @property
    def params(self) -> str:
        """The class of the arguments."""
        return params_class_name(self.name) if self.has_params else "dict[str, Any]"


def handlers_text(module: str, models: str, tools: Sequence[ImportedTool]) -> str:
    """Return the source of the handlers. `models` is the generated module with the classes."""
    names = {identifier(tool.name) for tool in tools}
    alias = module.partition(".")[0]
    source = module
    imported = f"import {module}"
    if alias in names:
        source = f"{alias}_module"
        imported = f"import {module} as {source}"
    classes = sorted(
        {tool.params for tool in tools if tool.has_params} | {tool.result for tool in tools if tool.result}
    )
    third_party = [imported, "from toolmason_runtime import ImportedFunction, ToolCall"]
    lines = [
        f'"""Handlers that call the functions of `{module}`."""',
        "",
        "from __future__ import annotations",
        "",
        *(["from typing import Any", ""] if any(not tool.has_params for tool in tools) else []),
        *third_party,
        *(["", f"from {models} import (", *(f"    {name}," for name in classes), ")"] if classes else []),
        "",
        *(f"_{identifier(tool.name)} = {_function(source, tool)}" for tool in tools),
        *(line for tool in tools for line in _handler(tool)),
    ]
    return "\n".join(lines) + "\n"


def _function(source: str, tool: ImportedTool) -> str:
    names = ", ".join(f"{json.dumps(name)}: {json.dumps(own, ensure_ascii=False)}" for name, own in tool.names.items())
    return f"ImportedFunction({source}.{tool.path}{f', {{{names}}}' if names else ''})"


def _handler(tool: ImportedTool) -> Iterable[str]:
    name = identifier(tool.name)
    call = f"_{name}.data(params)"
    if not tool.result:
        value = f"await _{name}.text(params)"
    elif tool.is_wrapped:
        value = f'{tool.result}.model_validate({{"result": await {call}}})'
    else:
        value = f"{tool.result}.model_validate(await {call})"
    return (
        "",
        "",
        f"async def {name}(params: {tool.params}, call: ToolCall) -> {tool.result or 'str'}:",
        f"    {docstring(tool.summary)}",
        f"    return {value}",
    )
