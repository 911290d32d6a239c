"""Each line of docs/threat-model.md names tests that exist, and the page names every attacker."""

from __future__ import annotations

import ast
from functools import cache
from pathlib import Path
from typing import Final

import pytest
from pages import ROOT, Text, quoted, read

PAGE: Final = read("docs/threat-model.md")
ATTACKERS: Final = (
    *("The author of a repository", "A model", "A remote client", "An API", "An upstream MCP server"),
    *("Another local user", "The supply chain"),
)
ROWS: Final = [(attacker, *row) for attacker in ATTACKERS for row in PAGE.section(attacker).rows("cannot", "test")]


@cache
def names_in(path: Path) -> frozenset[str]:
    """Return the names of the test functions of a module, without importing it."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    functions = (node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef))
    return frozenset(node.name for node in functions if node.name.startswith("test_"))


def missing(tests: list[str]) -> list[str]:
    """Return the tests that no module has."""
    result = []
    for test in tests:
        path, _, name = test.partition("::")
        file = ROOT / path
        if not (path.startswith("tests/") and file.is_file() and name in names_in(file)):
            result.append(test)
    return result


@pytest.mark.parametrize(("attacker", "cannot", "tests"), ROWS, ids=[f"{row[0]}: {row[1][:50]}" for row in ROWS])
def test_each_line_of_the_threat_model_names_existing_tests(attacker: str, cannot: str, tests: str) -> None:  # noqa: ARG001  its id
    assert quoted(tests)
    assert missing(quoted(tests)) == []


def test_every_attacker_has_lines() -> None:
    counts = {attacker: sum(1 for row in ROWS if row[0] == attacker) for attacker in ATTACKERS}

    assert min(counts.values()) >= 3, counts
    assert len({tests for *_, tests in ROWS}) == len(ROWS)


@pytest.mark.parametrize(
    "test",
    [
        "tests/docs/test_threat_model.py::test_that_nobody_wrote",
        "tests/docs/test_no_such_module.py::test_every_attacker_has_lines",
        "tests/docs/test_threat_model.py::missing",
        "tests/docs/test_threat_model.py",
        "docs/test_threat_model.py::test_every_attacker_has_lines",
    ],
)
def test_a_name_without_a_test_is_found(test: str) -> None:
    assert missing([test, "tests/docs/test_threat_model.py::test_every_attacker_has_lines"]) == [test]


def test_the_page_has_assets_boundaries_and_limits() -> None:
    for heading in ("Assets", "Trust boundaries", "Not defended"):
        assert len(PAGE.section(heading).text.split()) > 40, heading


@pytest.mark.parametrize("page", ["README.md", "SECURITY.md", "docs/strangers-projects.md"])
def test_other_pages_lead_to_the_threat_model(page: str) -> None:
    assert "threat-model.md" in read(page).text


def test_the_policy_explains_reports_versions_and_scope() -> None:
    policy: Text = read("SECURITY.md")

    assert "Report a vulnerability" in policy.section("Report a vulnerability").text
    assert policy.rows("version", "security fixes")
    assert policy.rows("within", "you get")
    assert "threat model" in policy.section("Scope").text
    assert "SECURITY.md" in read("README.md").text
