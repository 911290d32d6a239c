"""Make the helpers of this directory, docs/source, the stand-ins for models and the pseudo-terminal importable."""

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
for path in (
    "tests/docs/support",
    "docs/source",
    "tests/clients/support",
    "tests/research/support",
    "tests/workbench/editing/surfaces/support",
):
    sys.path.insert(0, str(ROOT / path))


@pytest.fixture
def tracker() -> Iterator[dict[str, str]]:
    """Start the issue tracker of the examples, and yield the variables with its URL and token."""
    command = [sys.executable, str(ROOT / "examples" / "issues" / "tracker.py"), "0"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, encoding="utf-8") as process:
        assert process.stdout is not None
        url = process.stdout.readline().split()[0]
        yield {"TRACKER_URL": url, "TRACKER_TOKEN": "demo"}
        process.terminate()


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Print the times of the commands of a page, which tests record and do not assert."""
    for report in terminalreporter.getreports("passed"):
        for name, seconds in report.user_properties:
            if name == "seconds":
                total, test = sum(seconds.values()), report.nodeid.partition("::")[2]
                terminalreporter.write_line(f"{test}: {total:.1f} s in {len(seconds)} commands")
