"""Generation: the real commands as subprocesses, against datamodel-code-generator alone on the same schemas."""

# ruff: noqa: TID251  the schemas that both are given come from the toolkit

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import count
from pathlib import Path
from statistics import median

from bench.project import PACKAGE, SyntheticProject
from bench.rounds import Ratio, alternate, ratio
from bench.session import PATIENCE_S, Room, run
from bench.workshop import Workshop
from toolmason.diagnostics import Diagnostics
from toolmason.pipeline import read
from toolmason.project import find_project
from toolmason.render.pydantic_models import schemas

ALONE = "datamodel-code-generator alone"
FULL = "full, nothing there"
NOTHING = "nothing changed"
CHECK = "check"
TEXT = "description of one tool edited"
SCHEMA = "parameter of one tool edited"
REFUSED = 4
"""Exit code of `toolmason generate` when work would be lost."""

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
    """What was measured at one size: seconds of each command, round by round; stages are in seconds too."""

    size: int
    files: int
    seconds: dict[str, list[float]]
    stages: dict[str, dict[str, float]]
    rewritten: int
    edits_lost: int

    def typical(self, what: str) -> float:
        """Give the median of the seconds of one command."""
        return median(self.seconds[what])

    def to_alone(self, what: str) -> Ratio:
        """Compare with datamodel-code-generator alone."""
        return ratio(self.seconds[what], self.seconds[ALONE])


def measure_generation(room: Room, shop: Workshop, rounds: int) -> Generation:
    """Run each command `rounds` times, in turn, and both experiments on what must not be touched."""
    project = shop.project
    bench = _Bench(room, project, _schema_file(project))
    work = {
        ALONE: bench.alone,
        FULL: bench.full,
        NOTHING: bench.nothing,
        CHECK: bench.check,
        TEXT: bench.edited_text,
        SCHEMA: bench.edited_schema,
    }
    seconds = alternate(rounds, work)
    bench.settle()
    return Generation(
        size=shop.size,
        files=len(_states(project.generated)),
        seconds=seconds,
        stages=bench.stages(rounds),
        rewritten=bench.rewritten(),
        edits_lost=bench.edits_lost(),
    )


class _Bench:
    """One project and what is done to it. Every piece of work leaves the tree up to date for the next."""

    def __init__(self, room: Room, project: SyntheticProject, source: Path) -> None:
        self._room = room
        self._project = project
        self._source = source
        self._numbers = count(1)

    def alone(self) -> float:
        """Make the models of all categories, and nothing else, in one call."""
        files = ["--input", str(self._source), "--output", str(self._source.with_suffix(".py"))]
        return run(self._room, ["datamodel_code_generator", *files, *_ALONE], cwd=self._project.folder)[0]

    def full(self) -> float:
        shutil.rmtree(self._project.generated, ignore_errors=True)
        return self._toolmason("generate")

    def nothing(self) -> float:
        return self._toolmason("generate")

    def check(self) -> float:
        return self._toolmason("check")

    def edited_text(self) -> float:
        with self._edited(edited=f" Edition {next(self._numbers)}."):
            return self._toolmason("generate")

    def edited_schema(self) -> float:
        with self._edited(narrowed=100 + next(self._numbers)):
            return self._toolmason("generate")

    def settle(self) -> None:
        """Bring the tree to the manifest."""
        self._toolmason("generate")

    def stages(self, rounds: int) -> dict[str, dict[str, float]]:
        """Give the seconds of each stage, for a full run and a check, each the median of several."""
        full, check = [], []
        for _ in range(rounds):
            shutil.rmtree(self._project.generated, ignore_errors=True)
            full.append(self._stages("generate"))
            check.append(self._stages("compare"))
        return {FULL: _medians(full), CHECK: _medians(check)}

    def rewritten(self) -> int:
        """Count the files that a run with nothing to do writes again."""
        before = _states(self._project.generated)
        self._toolmason("generate")
        after = _states(self._project.generated)
        return sum(after.get(path) != state for path, state in before.items())

    def edits_lost(self) -> int:
        """Edit a generated file by hand, generate, and count the edit if it is gone; the run must refuse."""
        path = self._project.generated / "docs" / "index.md"
        before = path.read_text(encoding="utf-8")
        edited = f"{before}\nA line that somebody wrote.\n"
        path.write_text(edited, encoding="utf-8", newline="\n")
        self._project.write(edited=" Edited.")
        run(self._room, ["toolmason", "generate"], cwd=self._project.folder, expected=(0, REFUSED))
        is_lost = path.read_text(encoding="utf-8") != edited
        path.write_text(before, encoding="utf-8", newline="\n")
        self._project.write()
        return int(is_lost)

    def _toolmason(self, *arguments: str) -> float:
        return run(self._room, ["toolmason", *arguments], cwd=self._project.folder)[0]

    @contextmanager
    def _edited(self, *, edited: str = "", narrowed: int = 100) -> Iterator[None]:
        """Edit the manifest for the time of one run, and bring both back afterwards."""
        self._project.write(edited=edited, narrowed=narrowed)
        yield
        self._project.write()
        self._toolmason("generate")

    def _stages(self, work: str) -> dict[str, float]:
        ran = subprocess.run(  # noqa: S603  our own module
            [sys.executable, "-m", "bench.stages", work, "manifest/synthetic.toml"],
            cwd=self._project.folder,
            env=self._room.environment(Path(__file__).parents[1]),
            capture_output=True,
            check=True,
            timeout=PATIENCE_S,
        )
        return dict(json.loads(ran.stdout))


def _schema_file(project: SyntheticProject) -> Path:
    """Write the schemas that our models are made from into one document, beside the project."""
    reading = read(find_project(project.folder), diagnostics=Diagnostics())
    assert reading is not None  # noqa: S101  it has been generated
    definitions = {
        name: each
        for category in reading.server.categories
        for name, each in schemas(category, PACKAGE)["$defs"].items()
    }
    path = project.folder.parent / "schemas.json"
    path.write_text(json.dumps({"$defs": definitions}), encoding="utf-8")
    return path


def _states(folder: Path) -> dict[Path, tuple[int, int]]:
    """Give identity and time of change of every file: what a rewrite would alter, even with the same text."""
    return {path: (path.stat().st_ino, path.stat().st_mtime_ns) for path in folder.rglob("*") if path.is_file()}


def _medians(runs: list[dict[str, float]]) -> dict[str, float]:
    return {stage: median(each[stage] for each in runs) for stage in runs[0]}
