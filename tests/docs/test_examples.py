"""Every tool of the servers in `examples/` answers the calls of its examples, in a real process."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any, Final

import pytest
from mcp import Client, StdioServerParameters
from mcp.client import ClientRequestContext
from mcp.types import ElicitRequestParams, ElicitResult, TextContent
from pages import ROOT
from pytest_regressions.data_regression import DataRegressionFixture

EXAMPLES: Final = ROOT / "examples"
NAMES: Final = sorted(path.parents[1].name for path in EXAMPLES.glob("*/manifest/*.toml"))


@pytest.fixture
def project(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    """Copy an example, generate it, and add files for its programs."""
    root = tmp_path / str(request.param)
    shutil.copytree(EXAMPLES / request.param, root, ignore=shutil.ignore_patterns("generated"))
    toolmason(root, "generate")
    (root / ".gitignore").write_text("generated/\n", encoding="utf-8")
    (root / "package.json").write_text('{"name": "notes", "dependencies": {"left-pad": "^1.3.0"}}', encoding="utf-8")
    (root / "notes.py").write_text("import json\n\n# TODO: read the notes\n", encoding="utf-8")
    (root / "notes.md").write_text("# Notes\n", encoding="utf-8")
    return root


def toolmason(root: Path, *arguments: str) -> str:
    """Run the command `toolmason` in a project, expect success, and return its output."""
    command = [sys.executable, "-m", "toolmason", *arguments]
    run = subprocess.run(command, cwd=root, capture_output=True, encoding="utf-8", check=False)
    assert run.returncode == 0, run.stdout + run.stderr
    return run.stdout


async def call_examples(project: Path, environ: dict[str, str]) -> dict[str, list[dict[str, Any]]]:
    """Return the results of the calls in the manifest's examples, which a user approves, by tool."""

    async def approve(context: ClientRequestContext, params: ElicitRequestParams) -> ElicitResult:  # noqa: ARG001
        return ElicitResult(action="accept", content={})

    (manifest,) = (project / "manifest").glob("*.toml")
    server = StdioServerParameters(
        command=sys.executable,
        args=["-m", "toolmason", "run", str(manifest), "--classic", "--all"],
        env=dict(os.environ) | environ,
        cwd=project,
    )
    results: dict[str, list[dict[str, Any]]] = {}
    async with Client(server, elicitation_callback=approve) as client:
        for name, tool in tomllib.loads(manifest.read_text(encoding="utf-8"))["tools"].items():
            for example in tool["examples"]:
                result = await client.call_tool(name, example["arguments"])
                texts = [block.text for block in result.content if isinstance(block, TextContent)]
                results.setdefault(name, []).append(
                    {"arguments": example["arguments"], "is_error": bool(result.is_error), "texts": texts}
                )
    return results


@pytest.mark.anyio
@pytest.mark.parametrize("project", NAMES, indirect=True, ids=NAMES)
async def test_every_tool_of_an_example_answers_its_example_calls(
    project: Path, tracker: dict[str, str], data_regression: DataRegressionFixture
) -> None:
    results = await call_examples(project, tracker)
    assert not [name for name, calls in results.items() for call in calls if call["is_error"]]
    data_regression.check(results)


@pytest.mark.parametrize("project", NAMES, indirect=True, ids=NAMES)
def test_an_example_has_no_findings_and_its_handlers_have_types(project: Path) -> None:
    assert "no problems" in toolmason(project, "lint")
    if (project / "handlers").exists():
        command = [sys.executable, "-m", "mypy", "--strict", "handlers"]
        environ = os.environ | {"MYPYPATH": os.pathsep.join(("handlers", "generated"))}
        run = subprocess.run(command, cwd=project, env=environ, capture_output=True, encoding="utf-8", check=False)
        assert run.returncode == 0, run.stdout


def test_an_import_of_the_same_document_keeps_the_edits_of_the_manifest(tmp_path: Path) -> None:
    root = tmp_path / "imported"
    shutil.copytree(EXAMPLES / "imported", root, ignore=shutil.ignore_patterns("generated"))
    manifest = root / "manifest" / "tracker.toml"
    before = manifest.read_bytes()

    toolmason(root, "import", "openapi", "tracker.openapi.yaml", "-o", "manifest/tracker.toml")

    assert manifest.read_bytes() == before
