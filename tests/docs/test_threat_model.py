"""Each line of docs/threat-model.md names tests that exist, and the page names every attacker."""

from __future__ import annotations

from typing import Final

import pytest
from named_tests import missing
from pages import Text, quoted, read

PAGE: Final = read("docs/threat-model.md")
ATTACKERS: Final = (
    *("The author of a repository", "A model", "A remote client", "An API", "An upstream MCP server"),
    *("Another local user", "The supply chain"),
)
ROWS: Final = [(attacker, *row) for attacker in ATTACKERS for row in PAGE.section(attacker).rows("cannot", "test")]


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
