"""The official conformance suite against a server generated from `project/`, at both revisions of the protocol."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

HERE = Path(__file__).parent
NODE_MODULES = HERE.parent / "node_modules"
REVISIONS = ("2025-11-25", "2026-07-28")


def conformance(*arguments: str, cwd: Path = HERE) -> subprocess.CompletedProcess[str]:
    """Run the suite's command with the Node.js that its package needs."""
    node = NODE_MODULES / ".bin" / "node"
    assert node.exists(), "the npm packages of the tests are missing: run `nox -s tests`, or `npm ci` in tests/"
    script = NODE_MODULES / "@modelcontextprotocol" / "conformance" / "dist" / "index.js"
    return subprocess.run(
        [node, script, *arguments], cwd=cwd, capture_output=True, encoding="utf-8", timeout=300, check=False
    )


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The fixtures' project, generated a moment ago."""
    project = tmp_path_factory.mktemp("conformance") / "project"
    shutil.copytree(HERE / "project", project)
    subprocess.run([sys.executable, "-m", "toolmason", "generate"], cwd=project, check=True, timeout=120)
    return project


def sources(project: Path) -> str:
    """Where the packages of a project are imported from, as search paths are written."""
    before = os.environ.get("PYTHONPATH")
    return os.pathsep.join([str(project / "generated"), str(project / "handlers"), *([before] if before else [])])


@pytest.fixture(scope="module")
def url(project: Path) -> Iterator[str]:
    """The address of the generated server, which runs."""
    command = [sys.executable, "-m", "conformance_server", "--http", "--port", "0"]
    environment = os.environ | {"PYTHONPATH": sources(project)}
    with subprocess.Popen(command, cwd=project, env=environment, stderr=subprocess.PIPE, encoding="utf-8") as server:
        try:
            yield address_of(server)
            server.terminate()
            assert server.wait(timeout=10) == 0
        finally:
            server.kill()


@pytest.fixture(scope="module")
def extensions(url: str, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The reports of the scenarios that no revision requires, of one run: the start of Node.js takes the most time."""
    reports = tmp_path_factory.mktemp("extensions")
    conformance("server", "--url", url, "--suite", "pending", "--output-dir", str(reports), cwd=reports)
    return reports


def checks_of(reports: Path, scenario: str) -> list[tuple[str, str]]:
    """Return the id and the outcome of each check."""
    (report,) = reports.glob(f"server-{scenario}-*/checks.json")
    return [(check["id"], check["status"]) for check in json.loads(report.read_text(encoding="utf-8"))]


def address_of(server: subprocess.Popen[str]) -> str:
    """What a server says first on standard error."""
    assert server.stderr
    said = server.stderr.readline()
    address = re.search(r"http://\S+", said)
    assert address, said
    return address[0]


@pytest.mark.parametrize("revision", REVISIONS)
def test_every_scenario_passes(revision: str, url: str, tmp_path: Path) -> None:
    options = ["--url", url, "--spec-version", revision, "--suite", "all", "--output-dir", str(tmp_path)]
    run = conformance("server", *options, cwd=tmp_path)

    assert run.returncode == 0, run.stdout[run.stdout.find("=== SUMMARY") :] + run.stderr
    ran = {path.name for path in tmp_path.iterdir()}
    missing = [name for name in required(revision) if not any(each.startswith(f"server-{name}-") for each in ran)]
    assert not missing


TASKS = (
    *("capability-negotiation", "dispatch-and-envelope", "lifecycle", "mrtr-composition", "mrtr-input"),
    *("request-headers", "request-state-removal", "required-task-error", "status-notifications", "wire-fields"),
)


def test_all_scenarios_of_tasks_are_listed() -> None:
    listed = conformance("list", "--server")

    assert sorted(re.findall(r"^\s+- tasks-(\S+) \[extension\]", listed.stdout, re.MULTILINE)) == list(TASKS)


@pytest.mark.parametrize("scenario", TASKS)
def test_every_scenario_of_tasks_passes(scenario: str, extensions: Path) -> None:
    checks = checks_of(extensions, f"tasks-{scenario}")

    # The suite itself skips the notifications; tests/runtime/tasks/ has them.
    passed = {"SKIPPED"} if scenario == "status-notifications" else {"SUCCESS"}
    assert {status for _, status in checks} == passed, checks


@pytest.mark.parametrize("scenario", ["enumeration", "manifest", "directory"])
def test_every_scenario_of_skills_passes(scenario: str, extensions: Path) -> None:
    checks = checks_of(extensions, f"sep-2640-skills-{scenario}")

    assert {status for _, status in checks} <= {"SUCCESS", "WARNING"}, checks
    # Skills are listed by `skills/list` only, so that the list of resources stays short.
    warned = {name for name, status in checks if status == "WARNING"}
    assert warned <= {"sep-2640-skillmd-metadata-name", "sep-2640-skillmd-metadata-description"}


def test_the_inspector_verifies_every_skill_of_workbench() -> None:
    script = NODE_MODULES / "@modelcontextprotocol" / "inspector" / "clients" / "launcher" / "build" / "index.js"
    options = ["--cli", "--method", "skills/list", "--verify", "--protocol-era", "modern"]
    run = subprocess.run(
        [NODE_MODULES / ".bin" / "node", script, *options, "--", sys.executable, "-m", "workbench_server"],
        capture_output=True,
        encoding="utf-8",
        timeout=300,
        check=False,
    )

    assert run.returncode == 0, run.stdout + run.stderr
    assert "Verified 7 skills and 7 files: no conformance errors." in run.stdout + run.stderr


def required(revision: str) -> list[str]:
    """The scenarios that the revision requires of a server."""
    listed = conformance("list", "--server", "--requirements", revision)
    of_servers, _, _ = listed.stdout.partition("Client scenarios")
    names = re.findall(r"^\s+- (\S+)", of_servers, re.MULTILINE)
    assert len(names) > 25, listed.stdout + listed.stderr
    return names


def test_the_fixtures_fit_the_contract_that_was_generated_for_them(project: Path) -> None:
    run = subprocess.run(
        [sys.executable, "-m", "mypy", "--strict", "-p", "conformance_server", "-p", "conformance_tools"],
        cwd=project,
        env=os.environ | {"MYPYPATH": sources(project)},
        capture_output=True,
        encoding="utf-8",
        timeout=300,
        check=False,
    )
    assert run.returncode == 0, run.stdout + run.stderr
