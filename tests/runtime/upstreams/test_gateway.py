"""A gateway to three issue trackers: the recorded answers of each discovery style, and calls of the found tools.

The servers are processes; one of them does not start. `pytest --regen-all` rewrites `gateway/answers/`.
"""

from __future__ import annotations

import importlib
import json
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from mcp import Client
from mcp.types import TextContent
from pytest_regressions.file_regression import FileRegressionFixture
from toolmason_runtime.serving import ProgramSettings
from toolmason_runtime.shared.selection import Selection

HERE = Path(__file__).parent
PROJECT = HERE / "gateway"
pytestmark = pytest.mark.anyio

ANSWERS: dict[str, list[tuple[str, dict[str, Any]]]] = {
    "search-call": [
        ("search", {"query": "create an issue"}),
        ("search", {"query": "create an issue in beta"}),
        ("search", {"query": "beta_create_issue"}),
        ("search", {"query": "create an issue and then list the issues of a repository"}),
        ("call", {"tool_name": "beta_create_issue", "args": {"project": "shop", "title": "Broken"}}),
        ("call", {"tool_name": "alpha_list_issues", "args": {"repo": "shop"}}),
    ],
    "discover-schema": [
        ("discover_tools", {"query": "create an issue"}),
        ("discover_tools", {"query": "list issues", "detail_level": "name_only"}),
        ("call_tool", {"tool_name": "alpha_create_issue", "arguments": {"repo": "shop", "title": "Broken"}}),
    ],
    "list-describe": [
        ("list_available_tools", {}),
        ("list_available_tools", {"category": "knowledge"}),
    ],
    "code": [
        ("search", {"query": "create an issue"}),
        ("search", {"query": "create issue in beta; list issues"}),
    ],
}


@pytest.fixture(scope="module")
def gateway(tmp_path_factory: pytest.TempPathFactory) -> Path:
    project = tmp_path_factory.mktemp("gateway") / "project"
    shutil.copytree(PROJECT, project)
    subprocess.run([sys.executable, "-m", "toolmason", "generate"], cwd=project, check=True, timeout=120)
    return project


@pytest.fixture
def build(gateway: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[..., Any]]:
    monkeypatch.setenv("PYTHON", sys.executable)
    monkeypatch.setenv("TRACKER_SERVER", str(HERE / "tracker_server.py"))
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    monkeypatch.syspath_prepend(str(gateway / "generated"))
    yield importlib.import_module("gateway_server.server").build_server
    for name in [name for name in sys.modules if name.partition(".")[0] == "gateway_server"]:
        del sys.modules[name]


@pytest.mark.parametrize("style", ANSWERS)
async def test_answers_are_the_recorded_ones(
    style: str, build: Callable[..., Any], file_regression: FileRegressionFixture
) -> None:
    recorded = []
    async with Client(build(Selection(style), commands=ProgramSettings(headless_approve=True))) as client:
        for name, arguments in ANSWERS[style]:
            result = await client.call_tool(name, arguments)
            [block] = result.content
            assert isinstance(block, TextContent)
            recorded.append({"call": name, "arguments": arguments, "answer": _lines(block.text)})
    text = json.dumps(recorded, indent=2, ensure_ascii=False)
    file_regression.check(f"{text}\n", encoding="utf-8", newline="", fullpath=PROJECT / "answers" / f"{style}.json")


def _lines(text: str) -> Any:
    return json.loads(text) if text.startswith("{") else text.splitlines()


async def test_a_server_that_is_down_is_found_and_does_not_stop_the_others(build: Callable[..., Any]) -> None:
    async with Client(build(commands=ProgramSettings(headless_approve=True))) as client:
        failed = await client.call_tool("call", {"tool_name": "create_issue", "args": {"title": "Broken"}})
        worked = await client.call_tool(
            "call", {"tool_name": "alpha_create_issue", "args": {"repo": "a", "title": "b"}}
        )

    assert failed.is_error
    assert not worked.is_error
    assert worked.content == [TextContent(type="text", text='alpha: create_issue {"repo": "a", "title": "b"}')]
