"""Keep proposed tools below a number of tokens: shorten their texts, then leave out the flags of least use."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from itertools import pairwise
from typing import Any, Final

from toolmason_runtime.shared.catalogue import WireTool
from toolmason_runtime.shared.tokens import estimate_tokens

from toolmason.importers.command_line.help.parser import Option
from toolmason.importers.command_line.help.tools import Param, ProposedTool
from toolmason.importers.names import shorten

_LEVELS: Final = ((1200, 300), (500, 160), (240, 90))
"""Maximum characters of a tool's description and of a parameter's, from generous to short."""
_DEPRECATED: Final = re.compile(
    r"\W*(?:this (?:flag|option) is )?(?:deprecated|obsolete|no-op|does nothing)\b|.*\((?:deprecated|obsolete)\b",
    re.IGNORECASE,
)
_SORTED: Final = 0.8
"""A list is sorted by name if this share of its neighbours is."""

Measure = Callable[[], Mapping[str, WireTool]]
"""Returns the tools as they are sent to clients, by name."""


def drop_deprecated(params: dict[str, Param]) -> list[str]:
    """Remove the parameters whose flags are deprecated, and return the flags."""
    names = [name for name, param in params.items() if param.option and _DEPRECATED.match(param.option.description)]
    return [option.flag for name in names if (option := params.pop(name).option)]


def fit(tools: Mapping[str, ProposedTool], measure: Measure, *, max_tokens: int) -> dict[str, list[str]]:
    """Shorten tools that have more than `max_tokens`, and return the flags that were left out by tool."""
    wire: Mapping[str, WireTool] = {}
    large = list(tools)
    for description, parameter in _LEVELS:
        for name in large:
            _shorten(tools[name], description, parameter)
        wire = measure()
        large = [name for name in large if name in wire and _tokens(wire[name]) > max_tokens]
        if not large:
            return {}
    return {name: flags for name in large if (flags := _drop(tools[name].params, wire[name], max_tokens))}


def _shorten(tool: ProposedTool, description: int, parameter: int) -> None:
    if "description" in tool.table:
        tool.table["description"] = shorten(tool.table["description"], description)
    for param in tool.params.values():
        param.table["description"] = shorten(param.table["description"], parameter)


def _drop(params: dict[str, Param], tool: WireTool, max_tokens: int) -> list[str]:
    """Remove parameters, those of least use first, until the tool fits."""
    schema = tool["inputSchema"]
    properties = dict(schema["properties"])
    dropped = []
    order = {name: number for number, name in enumerate(params)}
    use = _use(params)
    for name in sorted(params, key=lambda name: (use[name], -order[name])):
        if _tokens({**tool, "inputSchema": {**schema, "properties": properties}}) <= max_tokens:
            break
        if (option := params[name].option) and name not in schema.get("required", ()):
            dropped.append((order[name], option.flag))
            del params[name]
            properties.pop(name, None)
    return [flag for _, flag in sorted(dropped)]


def _use(params: Mapping[str, Param]) -> dict[str, float]:
    """Return an estimate of each flag's use.

    Flags with a letter or an alias, those of one word, and those that the help mentions elsewhere are used more often
    than negations and flags that all subcommands share. Unless the help is sorted by name, frequent flags come first.
    """
    names = [name for name, param in params.items() if param.option]
    pairs = list(pairwise(names))
    is_sorted = sum(first < second for first, second in pairs) >= _SORTED * len(pairs)
    use = {}
    for position, (name, param) in enumerate(params.items()):
        option = param.option or Option(flags=(name,))
        has_letter = any(len(flag) == 2 for flag in option.flags)
        start = 0 if is_sorted else 2 * (1 - position / len(params))
        bonus = has_letter + min(len(option.flags) - 1, 1) / 2 + min(option.mentions, 4) / 4 + start
        bonus -= min(name.count("_"), 2) / 4 + min(len(name), 12) / 48
        use[name] = bonus - 3 * name.startswith("no_") - 6 * option.inherited
    return use


def _tokens(tool: Mapping[str, Any]) -> int:
    return estimate_tokens(json.dumps(tool, ensure_ascii=False, separators=(",", ":")))
