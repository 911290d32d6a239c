"""Report known vulnerabilities of the locked packages, or that they were not checked.

Run it as `nox -s audit`. `pip-audit` asks the PyPI advisory database. It reports packages that it cannot look up as
skipped and still succeeds; here they count as not checked.

Exit codes: 0 if there are none, or if nothing could be checked; 1 if there are some; 2 with `--required` if a package
was not checked.
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

DIRECTORY: Final = Path(__file__).parent
TIMEOUT_S: Final = 600
"""Maximum seconds for one lock."""


@dataclass(frozen=True, slots=True)
class Report:
    """The result for one lock."""

    lock: str
    checked: int = 0
    skipped: int = 0
    findings: tuple[str, ...] = ()
    """One line for each vulnerability: package, version, identifier, fixed versions."""
    problem: str = ""
    """Why nothing was checked; empty otherwise."""

    @property
    def is_complete(self) -> bool:
        """Whether every package was checked."""
        return self.checked > 0 and not self.skipped and not self.problem

    def __str__(self) -> str:
        if self.problem:
            return f"{self.lock}: NOT CHECKED: {self.problem}"
        if not self.checked:
            return f"{self.lock}: NOT CHECKED: the vulnerability data was not reachable for its {self.skipped} packages"
        text = f"{self.lock}: {self.checked} packages checked, {len(self.findings)} vulnerabilities"
        return f"{text}; {self.skipped} packages NOT CHECKED" if self.skipped else text


def read_report(lock: str, output: str, errors: str) -> Report:
    """Return the report in the JSON that pip-audit printed; with a `problem` if it printed none."""
    try:
        packages: Sequence[Mapping[str, Any]] = json.loads(output)["dependencies"]
    except (ValueError, KeyError, TypeError):
        lines = [line for line in errors.splitlines() if line.strip()]
        return Report(lock, problem=lines[-1][:300] if lines else "pip-audit printed nothing")
    skipped = [package for package in packages if "skip_reason" in package]
    findings = tuple(
        f"  {package['name']} {package['version']}: {found['id']}, fixed in {' '.join(found['fix_versions']) or 'none'}"
        for package in packages
        for found in package.get("vulns", ())
    )
    return Report(lock, len(packages) - len(skipped), len(skipped), findings)


def audit(lock: Path) -> Report:
    """Run pip-audit for a lock, without installing or resolving anything."""
    command = [sys.executable, "-m", "pip_audit", "--disable-pip", "--require-hashes", "--format=json"]
    command += ["--progress-spinner=off", f"--requirement={lock}"]
    try:
        result = subprocess.run(  # noqa: S603  our own command
            command, capture_output=True, encoding="utf-8", timeout=TIMEOUT_S, check=False
        )
    except subprocess.TimeoutExpired:
        return Report(lock.name, problem=f"no answer within {TIMEOUT_S} s")
    return read_report(lock.name, result.stdout, result.stderr)


def exit_code(reports: Sequence[Report], *, is_required: bool) -> int:
    """Return the exit code of the whole run."""
    if any(report.findings for report in reports):
        return 1
    is_complete = bool(reports) and all(report.is_complete for report in reports)
    return 2 if is_required and not is_complete else 0


def main(options: Sequence[str]) -> int:
    """Check every lock beside this file; print the reports."""
    reports = [audit(lock) for lock in sorted(DIRECTORY.glob("*.txt"))]
    for report in reports:
        print(report, *report.findings, sep="\n")  # noqa: T201  the report
    return exit_code(reports, is_required="--required" in options)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
