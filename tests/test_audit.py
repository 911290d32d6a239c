"""`nox -s audit` says what it did not check: no skipped package counts as one without vulnerabilities."""

from __future__ import annotations

import importlib.util
import json
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

SCRIPT = Path(__file__).parent.parent / "requirements" / "audit.py"
CHECKED = {"name": "click", "version": "8.1", "vulns": []}
VULNERABLE = {"name": "mcp", "version": "1.0", "vulns": [{"id": "PYSEC-2026-1", "fix_versions": ["1.1", "2.0"]}]}
UNFIXED = {"name": "jq", "version": "1.0", "vulns": [{"id": "GHSA-1", "fix_versions": []}]}
SKIPPED = {"name": "anyio", "skip_reason": "Dependency not found on PyPI and could not be audited: anyio (4)"}
UNREACHABLE = "Traceback (most recent call last):\n  File ...\nConnectionError: no address for the host\n\n"


@pytest.fixture(scope="module")
def audit() -> ModuleType:
    spec = importlib.util.spec_from_file_location("requirements_audit", SCRIPT)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module  # where a dataclass looks up its annotations
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize(
    ("packages", "errors", "shown", "codes"),
    [
        ([CHECKED], "", "x.txt: 1 packages checked, 0 vulnerabilities", (0, 0)),
        ([CHECKED, VULNERABLE], "", "x.txt: 2 packages checked, 1 vulnerabilities", (1, 1)),
        ([UNFIXED], "", "x.txt: 1 packages checked, 1 vulnerabilities", (1, 1)),
        (
            [SKIPPED, SKIPPED],
            "",
            "x.txt: NOT CHECKED: the vulnerability data was not reachable for its 2 packages",
            (0, 2),
        ),
        ([CHECKED, SKIPPED], "", "x.txt: 1 packages checked, 0 vulnerabilities; 1 packages NOT CHECKED", (0, 2)),
        ([VULNERABLE, SKIPPED], "", "x.txt: 1 packages checked, 1 vulnerabilities; 1 packages NOT CHECKED", (1, 1)),
        ([], "", "x.txt: NOT CHECKED: the vulnerability data was not reachable for its 0 packages", (0, 2)),
        (None, UNREACHABLE, "x.txt: NOT CHECKED: ConnectionError: no address for the host", (0, 2)),
        (None, "", "x.txt: NOT CHECKED: pip-audit printed nothing", (0, 2)),
        ("an error page", "", "x.txt: NOT CHECKED: pip-audit printed nothing", (0, 2)),
    ],
    ids=[
        *("clean", "vulnerable", "without a fix", "all skipped", "some skipped", "both"),
        *("no package", "no network", "no output", "other output"),
    ],
)
def test_a_report_counts_checked_and_unchecked_packages(
    packages: Any, errors: str, shown: str, codes: tuple[int, int], *, audit: ModuleType
) -> None:
    output = (
        packages
        if isinstance(packages, str)
        else json.dumps({"dependencies": packages})
        if packages is not None
        else ""
    )

    report = audit.read_report("x.txt", output, errors)

    assert str(report) == shown
    assert tuple(audit.exit_code([report], is_required=required) for required in (False, True)) == codes


def test_a_finding_names_the_versions_that_fix_it(audit: ModuleType) -> None:
    report = audit.read_report("x.txt", json.dumps({"dependencies": [VULNERABLE, UNFIXED]}), "")

    assert report.findings == ("  mcp 1.0: PYSEC-2026-1, fixed in 1.1 2.0", "  jq 1.0: GHSA-1, fixed in none")


def test_a_run_without_locks_is_not_a_success_where_it_is_required(audit: ModuleType) -> None:
    assert audit.exit_code([], is_required=True) == 2
