"""The MCP Inspector, as a user runs it, against the generated Workbench over stdio: a client that is not ours."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Any

import pytest

REPOSITORY = Path(__file__).parents[2]
NODE_MODULES = REPOSITORY / "tests" / "node_modules"
ERAS = ("legacy", "modern")
TOOL_FAILED = 5
"""Exit status of the Inspector when a tool is not found or says that it failed."""


class Inspector:
    """The Inspector's command line; `era` is how it opens the connection."""

    def __init__(
        self,
        era: str,
        home: Path,
        *,
        server: str = "workbench_server",
        variables: Mapping[str, str] = MappingProxyType({}),
    ) -> None:
        self._era = era
        self._server = ["-m", server, *(["--root", str(REPOSITORY)] if server == "workbench_server" else [])]
        self._variables = [option for name, value in variables.items() for option in ("-e", f"{name}={value}")]
        self._environment = os.environ | {"MCP_CATALOG_PATH": str(home / "mcp.json")}

    def run(self, method: str, *options: str) -> subprocess.CompletedProcess[str]:
        node = NODE_MODULES / ".bin" / "node"
        assert node.exists(), "the npm packages of the tests are missing: run `nox -s tests`, or `npm ci` in tests/"
        script = NODE_MODULES / "@modelcontextprotocol" / "inspector" / "clients" / "launcher" / "build" / "index.js"
        asked = [*self._variables, "--protocol-era", self._era, "--format", "json", "--method", method, *options]
        return subprocess.run(
            [node, script, "--cli", *asked, "--", sys.executable, *self._server],
            cwd=REPOSITORY,
            env=self._environment,
            capture_output=True,
            encoding="utf-8",
            timeout=60,
            check=False,
        )

    def result(self, method: str, *options: str) -> dict[str, Any]:
        """Give the result of a request that must go well."""
        run = self.run(method, *options)
        assert run.returncode == 0, run.stderr
        result: dict[str, Any] = json.loads(run.stdout)["result"]
        return result

    def call(self, tool: str, **arguments: Any) -> dict[str, Any]:
        """Give the result of a tool that must go well."""
        return self.result("tools/call", "--tool-name", tool, "--tool-args-json", json.dumps(arguments))


@pytest.fixture(params=ERAS)
def inspector(request: pytest.FixtureRequest, tmp_path: Path) -> Inspector:
    return Inspector(request.param, tmp_path)


def test_a_slow_call_is_a_task_for_the_inspector(tmp_path: Path) -> None:
    project = tmp_path / "project"
    shutil.copytree(REPOSITORY / "tests" / "runtime" / "tasks" / "project", project)
    subprocess.run([sys.executable, "-m", "toolmason", "generate"], cwd=project, check=True, timeout=120)
    sources = os.pathsep.join([str(project / "generated"), str(project / "handlers")])
    variables = {"PYTHONPATH": sources, "XDG_STATE_HOME": str(tmp_path / "state")}
    inspector = Inspector("modern", tmp_path, server="desk_server", variables=variables)

    answer = inspector.call("compute", seconds=1.5)

    assert answer["content"][0]["text"] == "computed for 1.5 s"
    assert len(list((tmp_path / "state").glob("toolmason/tasks/desk/task_*"))) == 1


def test_the_list_is_the_meta_tools_and_the_pinned_ones(inspector: Inspector) -> None:
    listed = [tool["name"] for tool in inspector.result("tools/list")["tools"]]

    assert listed == ["workbench_search", "workbench_call", "workbench_call_read"]


def test_a_tool_is_found_and_called_on_the_files_of_this_repository(inspector: Inspector) -> None:
    answer = inspector.call("workbench_search", query="the first lines of a file")
    found = json.loads(answer["content"][0]["text"])["results"][0]
    assert found["tool_name"] == "read_files"
    assert found["signature"].startswith("(files:{path:str")

    request = {"files": [{"path": "pyproject.toml", "head": 1}]}
    read = inspector.call("workbench_call_read", tool_name=found["tool_name"], args=request)

    first_line = (REPOSITORY / "pyproject.toml").read_text(encoding="utf-8").splitlines()[0]
    assert first_line in "".join(block["text"] for block in read["content"])


def test_a_hidden_tool_called_by_its_own_name_is_unknown(inspector: Inspector) -> None:
    run = inspector.run("tools/call", "--tool-name", "read_files", "--tool-args-json", '{"files": []}')

    assert run.returncode == TOOL_FAILED
    assert "read_files" in run.stderr


def test_no_schema_in_the_list_has_a_portability_problem(inspector: Inspector) -> None:
    run = inspector.run("tools/list", "--strict")

    assert run.returncode == 0, run.stderr
    # The Inspector prints the log of the server too, one JSON object per line: a machine may have no research backend.
    assert not [line for line in run.stderr.splitlines() if not line.startswith('{"time": ')]
