"""Each rule has a case in both directions: `cases/RULE/` with two contracts, and the reports of each to the other.

The reports name places in `old` and `new` as a project has them. `nox -s goldens` rewrites them.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Final

import pytest
from click.testing import CliRunner, Result
from pytest_regressions.file_regression import FileRegressionFixture

from toolmason.commands import toolmason
from toolmason.diff.rules import Severity, rules

CASES: Final = Path(__file__).parent / "cases"
NAMES: Final = sorted(path.name for path in CASES.iterdir())
_USED: Final = re.compile(r"\[([a-z-]+)\]$", re.MULTILINE)


def compare(case: Path, first: str, second: str, monkeypatch: pytest.MonkeyPatch) -> Result:
    monkeypatch.chdir(case)
    monkeypatch.delenv("COLUMNS", raising=False)
    suffix = ".toml" if (case / "old.toml").exists() else ".json"
    queries = ["--queries", "queries.toml"] if (case / "queries.toml").exists() else []
    return CliRunner().invoke(toolmason, ["diff", f"{first}{suffix}", f"{second}{suffix}", *queries])


@pytest.mark.parametrize("name", NAMES)
def test_a_change_has_the_expected_report_in_both_directions(
    name: str, file_regression: FileRegressionFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    for first, second, file in (("old", "new", "expected.txt"), ("new", "old", "expected-back.txt")):
        result = compare(CASES / name, first, second, monkeypatch)
        used = _USED.findall(result.output)
        if first == "old":
            assert name in used, result.output
        is_breaking = any(rules()[rule].severity is Severity.BREAKING for rule in used)
        assert result.exit_code == int(is_breaking), result.output
        file_regression.check(result.output, encoding="utf-8", newline="", fullpath=CASES / name / file)


def test_each_rule_occurs_in_a_report() -> None:
    texts = [path.read_text(encoding="utf-8") for path in CASES.glob("*/expected*.txt")]
    assert {rule for text in texts for rule in _USED.findall(text)} == rules().keys()


@pytest.mark.parametrize("name", ["prompt-removed", "result-schema-widened", "result-schema-undecided", "policy-wider"])
def test_a_contract_has_no_changes_to_itself(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    for side in ("old", "new"):
        result = compare(CASES / name, side, side, monkeypatch)
        assert result.exit_code == 0
        assert result.output.startswith("No changes between ")
