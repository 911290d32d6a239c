"""Make the drivers of real clients importable, and print the tokens of their requests."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent / "support"))

from real_clients import REPORT


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    properties = [pair for report in terminalreporter.getreports("passed") for pair in report.user_properties]
    rows = [row for name, row in properties if name == REPORT]
    if rows:
        terminalreporter.section("Estimated tokens of the field `tools`")
        for row in sorted(rows, key=json.dumps):
            terminalreporter.line(json.dumps(row))
