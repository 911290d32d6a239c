"""Random calls of every tool that climax-mcp ships, each with the command line that CLImax itself builds, as JSON.

`climax-mcp`, MIT licence. It runs in a process of its own, since its import sets up logging.
"""

from __future__ import annotations

import json
import random
import sys
from typing import Any

import climax_mcp

CALLS_PER_TOOL = 4
TEXTS = (
    *("main", "src/a b.py", "{owner}/{repo}", "$HOME", "~", "a=b", "'quoted' \"twice\"", "*.md", "100%", "a\\b"),
    *("\u00fcber", "\u65e5\u672c", "x" * 300, "a-b", "@me", "#1", "; ls", "$(id)", "True", "3"),
)


def random_value(chance: random.Random, argument: Any) -> Any:
    if argument.enum:
        return chance.choice(argument.enum)
    match argument.type.value:
        case "boolean":
            return chance.random() < 0.5
        case "integer":
            return chance.choice([0, 1, 7, 10**9])
        case "number":
            return chance.choice([0.5, 2.5, 12345.75])
        case _ if argument.stdin:
            return "one\n\ntwo\n"
        case _:
            return chance.choice(TEXTS)


def random_call(chance: random.Random, tool: Any) -> dict[str, Any]:
    """Leave positionals out from the end alone: in their middle, CLImax lets the next one take their place."""
    positionals = [each for each in tool.args if each.positional]
    kept = positionals[: chance.randint(sum(each.required for each in positionals), len(positionals))]
    rest = [each for each in tool.args if not each.positional and (each.required or chance.random() < 0.5)]
    return {each.name: random_value(chance, each) for each in (*kept, *rest)}


def main() -> None:
    chance = random.Random(0)
    paths = sorted(climax_mcp.CONFIGS_DIR.glob("*.yaml"))
    _, tools, _ = climax_mcp.load_configs(paths)
    calls = []
    for name, resolved in tools.items():
        for _ in range(CALLS_PER_TOOL):
            arguments, mistakes = climax_mcp.validate_tool_args(random_call(chance, resolved.tool), resolved.tool)
            assert not mistakes, mistakes
            argv = climax_mcp.build_command(resolved.base_command, resolved.tool, arguments, resolved.global_args)
            stdin = next(
                (arguments[each.name] for each in resolved.tool.args if each.stdin and each.name in arguments), None
            )
            calls.append({"tool": name, "arguments": arguments, "argv": argv, "stdin": stdin})
    json.dump({"files": [str(each) for each in paths], "calls": calls}, sys.stdout)


if __name__ == "__main__":
    main()
