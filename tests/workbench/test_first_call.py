"""A first call imports no module that only searches, prompts or other tools need."""

from __future__ import annotations

import subprocess
from pathlib import Path
from typing import Any

import pytest
from fresh_interpreter import run_code

CALL = """
import asyncio, sys
from quiet_context import QuietContext
from toolmason_runtime.serving import Dispatcher
from workbench_server.catalogue import CATALOGUE
from workbench_server.options import Options
from workbench_server.server import load_index

async def main():
    server = Dispatcher(CATALOGUE, load_index=load_index, options=Options(root=(".",)))
    arguments = {"tool_name": TOOL, "args": ARGUMENTS}
    result = await server.dispatch("tools/call", {"name": "call", "arguments": arguments}, QuietContext())
    await server.aclose()
    assert not result.get("isError"), result

asyncio.run(main())
print(*sys.modules)
"""
NOT_FOR_CALLS = ("toolmason_runtime.shared.search.ranking", "toolmason_runtime.server.prompts", "difflib", "tomllib")
OTHER_TOOLS = {
    "validate_paths": ("workbench_research.tools", "workbench_research.health_check", "workbench_handlers.files"),
    "read_files": ("workbench_handlers.files.grep", "workbench_handlers.files.list", "workbench_research.tools"),
    "list_allowed_directories": ("workbench_handlers.files.read", "workbench_handlers.editing.reviews.store"),
    "git_status": ("workbench_research.redaction", "pydantic"),
    "query_json": ("workbench_handlers.files", "workbench_handlers.workflows.settings"),
}
ARGUMENTS: dict[str, dict[str, Any]] = {
    "validate_paths": {"paths": ["a.json"]},
    "read_files": {"files": [{"path": "a.json"}]},
    "query_json": {"file_path": "a.json", "jq_expression": "."},
}


@pytest.mark.parametrize("tool", OTHER_TOOLS)
def test_a_call_imports_no_module_that_only_other_tools_need(tool: str, tmp_path: Path) -> None:
    (tmp_path / "a.json").write_text("{}", encoding="utf-8")
    subprocess.run(["git", "init", "--quiet", str(tmp_path)], check=True)
    code = CALL.replace("TOOL", repr(tool)).replace("ARGUMENTS", repr(ARGUMENTS.get(tool, {})))

    imported = run_code(code, tmp_path, PATH="/usr/bin:/bin").split()

    assert {*NOT_FOR_CALLS, *OTHER_TOOLS[tool]} & {*imported} == set()
