"""The time of imports: the lower bound of the other figures."""

from __future__ import annotations

from functools import partial
from typing import Final

from bench.rounds import Cost, alternate, typical
from bench.session import Workspace, run

IMPORTED: Final = {
    "Python itself": "sys",
    "the SDK's low-level server": "mcp.server.lowlevel",
    "FastMCP": "fastmcp",
    "a generated server's dispatcher": "toolmason_runtime.server.dispatch",
    "the toolkit's pipeline": "toolmason.pipeline",
    "datamodel-code-generator": "datamodel_code_generator.parser.jsonschema",
}
"""Imported modules by label, each measured in its own process."""


def measure_imports(workspace: Workspace, rounds: int) -> dict[str, Cost]:
    """Return the cost of a process that only imports the module, by label."""
    for number, module in enumerate(IMPORTED.values()):
        workspace.directory.joinpath(f"import_{number}.py").write_text(f"import {module}\n", encoding="utf-8")
    work = {
        label: partial(run, workspace, [f"import_{number}"], cwd=workspace.directory)
        for number, label in enumerate(IMPORTED)
    }
    return {label: typical([cost for cost, _ in runs]) for label, runs in alternate(rounds, work).items()}
