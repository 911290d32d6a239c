"""Generation: the real commands as subprocesses, compared with datamodel-code-generator on the same schemas."""

# ruff: noqa: TID251  both use schemas of the toolkit

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import count
from pathlib import Path
from statistics import median

from bench.contestants import Contestants
from bench.project import PACKAGE, SyntheticProject
from bench.rounds import Cost, Ratio, alternate, ratio, typical
from bench.session import TIMEOUT_S, Workspace, run
from toolmason.diagnostics import Diagnostics
from toolmason.pipeline import read
from toolmason.project import find_project
from toolmason.render.pydantic_models import schemas

ALONE = "datamodel-code-generator alone"
FULL = "full, nothing there"
NOTHING = "nothing changed"
CHECK = "check"
CHECK_EMPTY = "check in CI, empty cache"
CHECK_RESTORED = "check in CI, restored cache"
TEXT = "description of one tool edited"
SCHEMA = "parameter of one tool edited"
REFUSED = 4
"""Exit code of `toolmason generate` if edits would be lost."""

_ALONE = (
    "--input-file-type",
    "jsonschema",
    "--output-model-type",
    "pydantic_v2.BaseModel",
    "--target-python-version",
    "3.11",
    "--disable-timestamp",
    "--enum-field-as-literal",
    "all",
    "--field-constraints",
    "--skip-root-model",
    "--strict-nullable",
    "--use-annotated",
    "--use-double-quotes",
    "--use-field-description",
    "--use-schema-description",
    "--use-single-line-docstring",
    "--use-standard-collections",
    "--use-union-operator",
    "--formatters",
    "ruff-format",
)


@dataclass(frozen=True, slots=True)
class Generation:
    """Results at one size: costs of each command by round, and seconds of each stage."""

    size: int
    files: int
    costs: dict[str, list[Cost]]
    stages: dict[str, dict[str, float]]
    rewritten: int
    edits_lost: int

    def typical(self, command: str) -> Cost:
        """Return the medians of one command."""
        return typical(self.costs[command])

    def to_alone(self, command: str) -> Ratio:
        """Compare with datamodel-code-generator alone."""
        return ratio(self.costs[command], self.costs[ALONE])


def measure_generation(workspace: Workspace, contestants: Contestants, rounds: int) -> Generation:
    """Run each command `rounds` times in turn, then check rewritten files and lost edits."""
    project = contestants.project
    bench = _Bench(workspace, project, _schema_file(project))
    work = {
        ALONE: bench.alone,
        FULL: bench.full,
        NOTHING: bench.nothing,
        CHECK: bench.check,
        TEXT: bench.edited_text,
        SCHEMA: bench.edited_schema,
        CHECK_EMPTY: bench.check_with_empty_cache,
        CHECK_RESTORED: bench.check_with_restored_cache,
    }
    costs = alternate(rounds, work)
    bench.settle()
    return Generation(
        size=contestants.size,
        files=len(_states(project.generated)),
        costs=costs,
        stages=bench.stages(rounds),
        rewritten=bench.rewritten(),
        edits_lost=bench.edits_lost(),
    )


class _Bench:
    """The measured commands of one project. Each leaves the tree up to date for the next."""

    def __init__(self, workspace: Workspace, project: SyntheticProject, source: Path) -> None:
        self._workspace = workspace
        self._project = project
        self._source = source
        self._numbers = count(1)

    def alone(self) -> Cost:
        """Generate only the models of all categories in one call."""
        files = ["--input", str(self._source), "--output", str(self._source.with_suffix(".py"))]
        return run(self._workspace, ["datamodel_code_generator", *files, *_ALONE], cwd=self._project.directory)[0]

    def full(self) -> Cost:
        self._workspace.clear(self._project.generated)
        return self._toolmason("generate")

    def nothing(self) -> Cost:
        return self._toolmason("generate")

    def check(self) -> Cost:
        return self._toolmason("check")

    def edited_text(self) -> Cost:
        with self._edited(edited=f" Edition {next(self._numbers)}."):
            return self._toolmason("generate")

    def edited_schema(self) -> Cost:
        with self._edited(narrowed=next(self._numbers)):
            return self._toolmason("generate")

    def check_with_empty_cache(self) -> Cost:
        """Check as in CI, where no record of an earlier run is read."""
        directory = self._workspace.directory / "ci-cache-empty"
        shutil.rmtree(directory, ignore_errors=True)
        return self._check_in_ci(directory)

    def check_with_restored_cache(self) -> Cost:
        """Check as in CI, with the cache that a check has left."""
        directory = self._workspace.directory / f"ci-cache-{len(self._project.tools)}"
        if not directory.exists():
            self._check_in_ci(directory)
        return self._check_in_ci(directory)

    def _check_in_ci(self, cache: Path) -> Cost:
        variables = {"CI": "1", "TOOLMASON_CI_CACHE": "1", "XDG_CACHE_HOME": str(cache), "LOCALAPPDATA": str(cache)}
        return self._toolmason("check", variables=variables)

    def settle(self) -> None:
        """Update the tree."""
        self._toolmason("generate")

    def stages(self, rounds: int) -> dict[str, dict[str, float]]:
        """Return the median seconds of each stage of a full run and of a check."""
        full, check = [], []
        for _ in range(rounds):
            self._workspace.clear(self._project.generated)
            full.append(self._stages("generate"))
            check.append(self._stages("compare"))
        return {FULL: _medians(full), CHECK: _medians(check)}

    def rewritten(self) -> int:
        """Return the number of files that a run without changes writes."""
        before = _states(self._project.generated)
        self._toolmason("generate")
        after = _states(self._project.generated)
        return sum(after.get(path) != state for path, state in before.items())

    def edits_lost(self) -> int:
        """Edit a generated file, generate, and return 1 if the edit is lost; the run must fail."""
        path = self._project.generated / "docs" / "index.md"
        before = path.read_text(encoding="utf-8")
        edited = f"{before}\nA line that somebody wrote.\n"
        path.write_text(edited, encoding="utf-8", newline="\n")
        self._project.write(edited=" Edited.")
        run(self._workspace, ["toolmason", "generate"], cwd=self._project.directory, expected=(0, REFUSED))
        is_lost = path.read_text(encoding="utf-8") != edited
        path.write_text(before, encoding="utf-8", newline="\n")
        self._project.write()
        return int(is_lost)

    def _toolmason(self, *arguments: str, variables: Mapping[str, str] | None = None) -> Cost:
        return run(self._workspace, ["toolmason", *arguments], cwd=self._project.directory, variables=variables)[0]

    @contextmanager
    def _edited(self, *, edited: str = "", narrowed: int = 0) -> Iterator[None]:
        """Edit the manifest for one run, then restore it and the tree."""
        self._project.write(edited=edited, narrowed=narrowed)
        yield
        self._project.write()
        self._toolmason("generate")

    def _stages(self, work: str) -> dict[str, float]:
        ran = subprocess.run(  # noqa: S603  our own module
            [sys.executable, "-m", "bench.stages", work, "manifest/synthetic.toml"],
            cwd=self._project.directory,
            env=self._workspace.environment(Path(__file__).parents[1]),
            capture_output=True,
            check=True,
            timeout=TIMEOUT_S,
        )
        return dict(json.loads(ran.stdout))


def _schema_file(project: SyntheticProject) -> Path:
    """Write the schemas of our models to one document next to the project."""
    reading = read(find_project(project.directory), diagnostics=Diagnostics())
    assert reading is not None  # noqa: S101  it has been generated
    definitions = {
        name: schema
        for category in reading.server.categories
        for name, schema in schemas(category, PACKAGE)["$defs"].items()
    }
    path = project.directory.parent / "schemas.json"
    path.write_text(json.dumps({"$defs": definitions}), encoding="utf-8")
    return path


def _states(directory: Path) -> dict[Path, tuple[int, int]]:
    """Return inode and modification time of every file: a rewrite with the same text changes them."""
    return {path: (path.stat().st_ino, path.stat().st_mtime_ns) for path in directory.rglob("*") if path.is_file()}


def _medians(runs: list[dict[str, float]]) -> dict[str, float]:
    return {stage: median(run_stages[stage] for run_stages in runs) for stage in runs[0]}
