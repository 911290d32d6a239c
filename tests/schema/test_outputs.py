"""Every output for the corpus is the recorded one, so that a change of the code shows whether it changes an output."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any

import pytest
from bench.schemas.corpus import CORPUS
from pytest_regressions.file_regression import FileRegressionFixture

from toolmason.schema import Target, check, project

RECORD = Path(__file__).with_name("output_hashes.txt")


def output(schema: Any, target: Target) -> str:
    """Return the projection of a schema and both lists of findings, in their order."""
    projection = project(schema, target)
    findings = [[finding.as_data() for finding in part] for part in (projection.findings, check(schema, target))]
    return json.dumps([projection.schema, dict(projection.renamed), findings])


def hash_lines() -> list[str]:
    """Return one line for each file of the corpus and each target, with the SHA-256 of all outputs."""
    lines = []
    for path in sorted(CORPUS.glob("*.jsonl")):
        schemas = [json.loads(line)["schema"] for line in path.read_text(encoding="utf-8").splitlines()]
        for target in Target:
            outputs = "\n".join(output(schema, target) for schema in schemas)
            lines.append(f"{path.name} {target} {hashlib.sha256(outputs.encode()).hexdigest()}\n")
    return lines


@pytest.mark.uncovered
def test_outputs_for_the_corpus_are_the_recorded_ones(file_regression: FileRegressionFixture, tmp_path: Path) -> None:
    file_regression.check(
        "".join(hash_lines()), encoding="utf-8", newline="", fullpath=RECORD, obtained_filename=tmp_path / RECORD.name
    )
