"""What it costs to import what everything else stands on: the part of each figure that no change of ours can save."""

from __future__ import annotations

from functools import partial
from statistics import median
from typing import Final

from bench.rounds import alternate
from bench.session import Room, run

IMPORTED: Final = {
    "Python itself": "sys",
    "the SDK's low-level server": "mcp.server.lowlevel",
    "FastMCP": "fastmcp",
    "a generated server's dispatcher": "toolmason_runtime.server.dispatch",
    "the toolkit's pipeline": "toolmason.pipeline",
    "datamodel-code-generator": "datamodel_code_generator.parser.jsonschema",
}
"""What is imported, each in a process of its own."""


def measure_imports(room: Room, rounds: int) -> dict[str, float]:
    """Give the seconds from spawning Python to the end of a program that only imports."""
    for number, module in enumerate(IMPORTED.values()):
        room.folder.joinpath(f"import_{number}.py").write_text(f"import {module}\n", encoding="utf-8")
    work = {label: partial(run, room, [f"import_{number}"], cwd=room.folder) for number, label in enumerate(IMPORTED)}
    return {label: median(seconds for seconds, _ in found) for label, found in alternate(rounds, work).items()}
