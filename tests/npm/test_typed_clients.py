"""Generated TypeScript clients: compiled by the strict compiler in one run, and run with real servers."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from npm_package import SOURCE

sys.path.insert(0, str(Path(__file__).parents[1] / "generator" / "typed_clients" / "support"))
sys.path.insert(0, str(Path(__file__).parents[1] / "runtime" / "support"))

from generated_clients import CASE, write_clients
from http_peer import BEARER, TOKEN_FILE, serving
from odd_tools import TOOLS

PAGE = Path(__file__).parents[2] / "docs" / "clients.md"
USES = Path(__file__).with_name("typed_client_uses")
SUPPORT = Path(__file__).parents[1] / "generator" / "typed_clients" / "support"


@pytest.fixture(scope="module")
def compiled(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A directory with the project of the diary, and the clients and their uses compiled to `dist/`."""
    root = tmp_path_factory.mktemp("typed")
    project = root / "project"
    project.mkdir()
    shutil.copy(CASE / "manifest.toml", project)
    shutil.copytree(CASE / "handlers", project / "handlers")
    subprocess.run(
        [sys.executable, "-m", "toolmason", "generate", "--manifest", "manifest.toml"], cwd=project, check=True
    )
    write_clients(TOOLS, root / "odd", name="odd/server", command=(sys.executable, str(SUPPORT / "strange_server.py")))
    diary = project / "generated" / "typed-clients" / "typescript"
    shutil.copytree(diary / "src", root / "src" / "diary")
    shutil.copytree(root / "odd" / "typescript" / "src", root / "src" / "odd")
    for path in USES.iterdir():
        shutil.copy(path, root / "src")
    (program,) = re.findall(r"^```ts\n(.*?)^```", PAGE.read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL)
    text = program.replace('"diary-client"', '"./diary/index.js"')
    (root / "src" / "page.ts").write_text(text, encoding="utf-8")
    shutil.copy(diary / "tsconfig.json", root)
    (root / "package.json").write_text('{"type": "module"}', encoding="utf-8")
    (root / "node_modules").symlink_to(SOURCE / "node_modules")
    compiler = SOURCE / "node_modules" / ".bin" / "tsc"
    ran = subprocess.run([compiler, "--project", "."], cwd=root, check=False, capture_output=True, encoding="utf-8")
    assert ran.stdout == ""
    return root


@pytest.fixture(scope="module")
def address(compiled: Path) -> Iterator[str]:
    command = ("-m", "toolmason", "run", str(compiled / "project" / "manifest.toml"), "--http", "--port", "0")
    with serving("--token-file", TOKEN_FILE, command=command) as (_, url):
        yield url


def run(compiled: Path, name: str, **facts: Any) -> Any:
    """Return the JSON that a compiled program prints for the facts in its environment."""
    environ = {**os.environ, "FACTS": json.dumps(facts)}
    ran = subprocess.run(
        ["node", f"dist/{name}.js"], cwd=compiled, env=environ, check=False, capture_output=True, encoding="utf-8"
    )
    assert ran.returncode == 0, ran.stderr
    return json.loads(ran.stdout)


@pytest.mark.parametrize("transport", ["stdio", "http"])
def test_a_client_calls_the_server_that_it_was_generated_for(
    compiled: Path, transport: str, request: pytest.FixtureRequest
) -> None:
    manifest = str(compiled / "project" / "manifest.toml")
    facts: dict[str, Any] = {"command": [sys.executable, "-m", "toolmason", "run", manifest]}
    if transport == "http":
        facts = {"url": request.getfixturevalue("address"), "headers": BEARER}

    assert run(compiled, "diary_use", **facts) == {
        "found": [1, "home", "Oslo"],
        "added": {"city": "Rome", "altitude-m": 5},
        "old": "Note: old_notes is deprecated: since 1.1.0; use `find_notes`\nBake bread",
        "missing": ["ToolError", "find_notes", "NOT_FOUND", "Try fewer words"],
        "wrong": ["INVALID_ARGUMENT", 'find_notes {"text": "x", "limit": 2}'],
        "unknown": ["RequestError", -32602],
        "questions": ["Delete 2 notes?"],
        "progress": [[1, 2, "asking"]],
        "cleaned": "accept: {'sure': True}",
        "timeout": "ToolTimeoutError",
        "aborted": "AbortError",
        "after": True,
    }


def test_the_program_of_the_page_runs(compiled: Path) -> None:
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    ran = subprocess.run(
        ["node", compiled / "dist" / "page.js"],
        cwd=compiled / "project",
        env={**os.environ, "PATH": path},
        check=False,
        capture_output=True,
        encoding="utf-8",
    )
    assert ran.stdout == "Buy bread\n", ran.stderr


def test_a_client_of_an_odd_server_checks_results_and_sends_names_of_the_wire(compiled: Path) -> None:
    assert run(compiled, "odd_use") == {
        "args": {"from": "a", "self": "b"},
        "union": "because",
        "tree": "leaf",
        "in_process": {"content-type": "x", "$top": 1},
        "mismatch": ["ResultError", "plain_result"],
        "no_server": "ConnectionFailedError",
    }
