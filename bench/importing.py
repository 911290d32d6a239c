"""The time of imports, the lower bound of the other figures, and of commands that do little more."""

from __future__ import annotations

import time
from functools import partial
from typing import Final

from bench.project import make_project
from bench.rounds import Cost, alternate, typical
from bench.session import Workspace, run
from bench.synthetic import synthetic_tools

FASTMCP_IMPORT: Final = "import of FastMCP"
HELP: Final = "`toolmason --help`"
CHECK: Final = "`toolmason check`, 10 tools, nothing changed"
SETTLING_S: Final = 2.1
"""Files that changed in the last 2 s may change again with the same times, so `check` reads their contents."""
IMPORTED: Final = {
    "Python itself": "sys",
    "import of the SDK's low-level server": "mcp.server.lowlevel",
    FASTMCP_IMPORT: "fastmcp",
    "import of a generated server's dispatcher": "toolmason_runtime.server.dispatch",
    "import of the toolkit's pipeline": "toolmason.pipeline",
    "import of datamodel-code-generator": "datamodel_code_generator.parser.jsonschema",
}
"""Imported modules by label, each measured in its own process."""


def measure_imports(workspace: Workspace, rounds: int) -> dict[str, Cost]:
    """Return the cost of a process that only imports the module, and of two commands, by label."""
    for number, module in enumerate(IMPORTED.values()):
        workspace.directory.joinpath(f"import_{number}.py").write_text(f"import {module}\n", encoding="utf-8")
    project = make_project(workspace.directory / "commands", synthetic_tools(10))
    run(workspace, ["toolmason", "generate"], cwd=project.directory)
    time.sleep(SETTLING_S)
    run(workspace, ["toolmason", "check"], cwd=project.directory)
    work = {
        label: partial(run, workspace, [f"import_{number}"], cwd=workspace.directory)
        for number, label in enumerate(IMPORTED)
    }
    work[HELP] = partial(run, workspace, ["toolmason", "--help"], cwd=project.directory)
    work[CHECK] = partial(run, workspace, ["toolmason", "check"], cwd=project.directory)
    return {label: typical([cost for cost, _ in runs]) for label, runs in alternate(rounds, work).items()}
