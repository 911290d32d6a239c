"""`python -m bench.counts`: count the instructions of typical work, and compare them with the committed numbers.

Times differ from run to run; the number of instructions in a process differs by less than one percent. The numbers are
of one counter, processor type, version and build of Python, and are compared only with the same.
"""

# ruff: noqa: T201  a command prints

from __future__ import annotations

import argparse
import json
import platform
import re
import shutil
import subprocess
import sys
import sysconfig
import tempfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, Final

from bench.project import PACKAGE, SyntheticProject, make_project
from bench.session import Program, SessionError, Workspace, run, session
from bench.synthetic import synthetic_tools

BASELINE: Final = Path(__file__).with_name("counts.json")
MAX_GROWTH: Final = 0.1
"""Growth above which the work is reported."""
SIZE: Final = 20
"""Tools of the measured project."""
CALLS: Final = 500
SEARCHES: Final = 20
NO_COUNTER: Final = (
    "bench.counts: NOT COUNTED: `perf stat -e instructions:u` is not available here (virtual machines often lack the "
    "counter, and containers the permission), and neither is valgrind: apt-get install valgrind"
)
UPDATE: Final = "If the growth is intended, update the committed numbers: nox -s counts -- --write"
_TIMEOUT_S: Final = 900.0
_SUMMARY: Final = re.compile(r"^summary: (\d+)", re.MULTILINE)
_PERF: Final = re.compile(r"^(\d+),[^,]*,instructions", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Counter:
    """A program that counts the instructions of another one in user space. It writes its report to a file.

    Programs that the counted one starts are not part of the count of cachegrind; they are part of that of perf.
    """

    name: str
    command: Callable[[Path], tuple[str, ...]]
    pattern: re.Pattern[str]

    def count(self, report: Path) -> int:
        """Return the number in a report.

        Raises:
            SessionError: there is none.
        """
        match = self.pattern.search(report.read_text(encoding="utf-8")) if report.exists() else None
        if match is None:
            raise SessionError(f"{self.name} has counted nothing")
        return int(match[1])


PERF: Final = Counter(
    "perf", lambda report: ("perf", "stat", "-x,", "-e", "instructions:u", "-o", str(report), "--"), _PERF
)
CACHEGRIND: Final = Counter(
    "cachegrind",
    lambda report: (
        *("valgrind", "--tool=cachegrind", "--cache-sim=no", f"--cachegrind-out-file={report}"),
        f"--log-file={report.with_suffix('.log')}",
    ),
    _SUMMARY,
)


def find_counter(directory: Path, preferred: str = "") -> Counter | None:
    """Return the counter with the preferred name, or another one that works on this machine; None without one."""
    for counter in sorted((PERF, CACHEGRIND), key=lambda counter: counter.name != preferred):
        report = directory / "probe"
        command = counter.command(report)
        if shutil.which(command[0]) is None:
            continue
        subprocess.run([*command, sys.executable, "-S", "-c", ""], capture_output=True, check=False)  # noqa: S603  ours
        try:
            counter.count(report)
        except SessionError:
            continue
        return counter
    return None


class Work:
    """The counted work on one project. Everything runs once before it is counted, so that byte code is not compiled."""

    def __init__(self, workspace: Workspace, project: SyntheticProject, counter: Counter) -> None:
        self._workspace = workspace
        self._project = project
        self._counter = counter

    def all(self) -> dict[str, int]:
        """Return the instructions of each work."""
        work: dict[str, Callable[[tuple[str, ...]], None]] = {
            "start to list": self._list,
            f"start and {CALLS} calls": partial(self._call, is_through=False),
            f"start and {CALLS} calls through `call`": partial(self._call, is_through=True),
            f"start and {SEARCHES} searches": self._search,
            f"generation of {SIZE} tools": self._generate,
        }
        return {name: self._counted(each) for name, each in work.items()}

    def _counted(self, work: Callable[[tuple[str, ...]], None]) -> int:
        report = self._workspace.directory / "report"
        report.unlink(missing_ok=True)
        work(())
        work(self._counter.command(report))
        return self._counter.count(report)

    def _list(self, prefix: tuple[str, ...]) -> None:
        self._serve(prefix, (), [("tools/list", {})])

    def _call(self, prefix: tuple[str, ...], *, is_through: bool) -> None:
        tool = next(tool for tool in self._project.tools if tool.reads)
        call = {"name": tool.name, "arguments": tool.arguments}
        if is_through:
            call = {"name": "call", "arguments": {"tool_name": tool.name, "args": tool.arguments}}
        self._serve(prefix, () if is_through else ("--classic",), [("tools/call", call)] * (CALLS if prefix else 1))

    def _search(self, prefix: tuple[str, ...]) -> None:
        calls = [{"name": "search", "arguments": {"query": tool.use_case}} for tool in self._project.tools[:SEARCHES]]
        self._serve(prefix, (), [("tools/call", call) for call in calls])

    def _generate(self, prefix: tuple[str, ...]) -> None:
        self._workspace.clear(self._project.generated)
        command = [*prefix, sys.executable, "-m", "toolmason", "generate"]
        environment = {**self._workspace.environment(), "PYTHONHASHSEED": "0"}
        done = subprocess.run(  # noqa: S603  our own command
            command, cwd=self._project.directory, env=environment, capture_output=True, check=False, timeout=_TIMEOUT_S
        )
        if done.returncode:
            raise SessionError(f"generate: {done.stderr.decode('utf-8', 'replace')[-2000:]}")

    def _serve(
        self, prefix: tuple[str, ...], arguments: tuple[str, ...], requests: Sequence[tuple[str, dict[str, Any]]]
    ) -> None:
        program = Program(
            "counted",
            PACKAGE,
            import_path=self._project.import_path,
            variables={"PYTHONHASHSEED": "0"},
            command=(*prefix, sys.executable, "-m", PACKAGE, *arguments),
        )
        with session(self._workspace, program, timeout_s=_TIMEOUT_S) as running:
            for method, params in requests:
                answer = running.request(method, params)
                if answer.get("isError"):
                    raise SessionError(f"{method}: {answer}")
            running.end()


def measure(workspace: Workspace, counter: Counter) -> dict[str, int]:
    """Make a project, and return the instructions of each work on it.

    Raises:
        SessionError: a program failed.
    """
    project = make_project(workspace.directory / "project", synthetic_tools(SIZE))
    run(workspace, ["toolmason", "generate"], cwd=project.directory)
    return Work(workspace, project, counter).all()


def conditions(counter: Counter) -> dict[str, str]:
    """Return what the numbers depend on besides the code."""
    version = ".".join(map(str, sys.version_info[:2]))
    is_optimized = "--enable-optimizations" in str(sysconfig.get_config_var("CONFIG_ARGS"))
    build = f"{platform.python_compiler()}, {'optimized' if is_optimized else 'not optimized'}"
    return {"counter": counter.name, "machine": platform.machine(), "python": version, "build": build}


def compare(counts: Mapping[str, int], baseline: Mapping[str, int]) -> tuple[list[str], bool]:
    """Return a line for each work, and whether one has grown by more than `MAX_GROWTH`."""
    lines, has_grown = [], False
    for name, count in counts.items():
        before = baseline.get(name)
        if before is None:
            lines.append(f"{name}: {count / 1e6:,.0f} million instructions, new")
            continue
        growth = count / before - 1
        is_more = count > before * (1 + MAX_GROWTH)
        has_grown = has_grown or is_more
        mark = f"  <-- more than {MAX_GROWTH:.0%} growth" if is_more else ""
        lines.append(f"{name}: {count / 1e6:,.0f} million instructions, {growth:+.1%}{mark}")
    return lines, has_grown


def main(arguments: Sequence[str] | None = None) -> int:
    """Count, compare and print; return the exit code: 1 if the work failed or, with `--strict`, has grown."""
    parser = argparse.ArgumentParser(
        prog="python -m bench.counts", description="Count the instructions of typical work with perf or valgrind."
    )
    parser.add_argument("--strict", action="store_true", help=f"exit with 1 if a count grew by over {MAX_GROWTH:.0%}%")
    parser.add_argument("--write", action="store_true", help=f"write the numbers to bench/{BASELINE.name}")
    options = parser.parse_args(arguments)
    with tempfile.TemporaryDirectory(prefix="bench-") as directory:
        counter = find_counter(Path(directory), _stored(BASELINE).get("conditions", {}).get("counter", ""))
        if counter is None:
            print(NO_COUNTER, file=sys.stderr)
            return 0
        try:
            counts = measure(Workspace(Path(directory)), counter)
        except SessionError as error:
            print(f"bench.counts: {error}", file=sys.stderr)
            return 1
    return report(counts, conditions(counter), BASELINE, is_strict=options.strict, is_written=options.write)


def report(
    counts: Mapping[str, int], given: Mapping[str, str], baseline: Path, *, is_strict: bool, is_written: bool
) -> int:
    """Print the comparison with the file `baseline`, or write it; return the exit code."""
    stored = _stored(baseline)
    before = stored.get("conditions", {})
    if is_written or before == given:
        lines, has_grown = compare(counts, stored.get("instructions", {}) if before == given else {})
    else:
        had = ", ".join(before.values()) or "nothing"
        lines, has_grown = compare(counts, {})
        print(f"NOT COMPARED: the committed numbers are of {had}, these of {', '.join(given.values())}")
    print("\n".join(lines))
    if is_written:
        text = json.dumps({"conditions": given, "instructions": counts}, indent=2)
        baseline.write_text(f"{text}\n", encoding="utf-8", newline="\n")
        return 0
    if has_grown:
        print(UPDATE)
    return int(is_strict and has_grown)


def _stored(baseline: Path) -> dict[str, Any]:
    stored: dict[str, Any] = json.loads(baseline.read_text(encoding="utf-8")) if baseline.exists() else {}
    return stored


if __name__ == "__main__":
    sys.exit(main())
