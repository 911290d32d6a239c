"""Each directory of `golden/` is one behaviour: a manifest, and its diagnostics or some of its files.

Only the case `WHOLE` has all files. Each other case has those that show its behaviour: `touch` an expected file to add
it. `nox -s goldens` rewrites the expected files; review the diff like any other change.
"""

from __future__ import annotations

import hashlib
import sys
from dataclasses import dataclass, replace
from pathlib import Path, PurePosixPath

import pytest
from pytest_regressions.file_regression import FileRegressionFixture

from toolmason.diagnostics import Diagnostics, Severity
from toolmason.diagnostics.printers import report
from toolmason.diagnostics.rules import RULES
from toolmason.lint import lint
from toolmason.manifest.files import load_manifest
from toolmason.manifest.validate import validate
from toolmason.model.rendered_file import RenderedFile
from toolmason.project import Project
from toolmason.render.plan import check_files, check_omitted
from toolmason.render.renderer import render
from toolmason.render.self_check import self_check
from toolmason.resolve import resolve
from toolmason.semantic.committed import load_postings

GOLDEN = Path(__file__).parent / "golden"
CASES = sorted(path for path in GOLDEN.iterdir() if path.is_dir())
WHOLE = "one-tool-gives-a-whole-server"
"""The case with all files of a server, so that no new kind of file is added unseen."""
SAME_EVERYWHERE = PurePosixPath("schemas/manifest.schema.json")
"""Describes the language, not the case; `generated/` contains it."""


@dataclass(frozen=True)
class Run:
    """What the pipeline made of a case."""

    files: tuple[RenderedFile, ...]
    stderr: str


def run_pipeline(case: Path) -> Run:
    """Take a case through every stage but the writing, linting included."""
    diagnostics = Diagnostics()
    files: tuple[RenderedFile, ...] = ()
    document = load_manifest(case / "manifest.toml", root=case, diagnostics=diagnostics)
    tables = validate(document, diagnostics=diagnostics) if document else None
    if document and tables:
        handlers = case / "handlers" if (case / "handlers").is_dir() else None
        server = resolve(tables, document, root=case, diagnostics=diagnostics, handlers=handlers)
        if server:
            postings = load_postings(Project(case, case / "manifest.toml"), diagnostics=diagnostics)
            server = replace(server, postings=postings)
            templates = case / "templates" if (case / "templates").is_dir() else None
            check_files(server, document, templates=templates, diagnostics=diagnostics)
            if not diagnostics.has_errors:
                check_omitted(server, document, diagnostics=diagnostics)
            lint(server, document, diagnostics=diagnostics)
            if (case / "expected").is_dir():
                files = render(server, templates=templates)
                self_check(server, files, previous={})
    return Run(files, report(diagnostics))


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_case_gives_its_expected_files(case: Path, file_regression: FileRegressionFixture) -> None:
    run = run_pipeline(case)
    rendered = {case / "expected" / file.path: file.text for file in run.files if file.path != SAME_EVERYWHERE}
    named = {path for path in (case / "expected").rglob("*") if path.is_file() and "__pycache__" not in path.parts}
    expected = {path: text for path, text in rendered.items() if path in named or case.name == WHOLE}
    if run.stderr:
        expected[case / "expected.stderr"] = run.stderr
    for path, text in rendered.items():
        assert text.endswith("\n"), path
        assert not text.endswith("\n\n"), path
        assert "\r" not in text, path
    for path, text in expected.items():
        file_regression.check(text, encoding="utf-8", newline="", fullpath=path)

    given = {
        case / "manifest.toml",
        *(case / "handlers").rglob("*"),
        *(case / "templates").rglob("*"),
        *(case / "tools").rglob("*.toml"),
        *case.glob("*.json"),
        *case.glob("*.sql"),
        *case.glob("pyproject.toml"),
        *case.glob("semantic.postings"),
    }
    committed = {path for path in case.rglob("*") if path.is_file() and "__pycache__" not in path.parts}
    assert committed - given == expected.keys()


def test_every_code_of_a_manifest_has_a_case_and_every_code_in_a_case_is_registered() -> None:
    shown = {
        word
        for path in GOLDEN.glob("*/expected.stderr")
        for word in path.read_text(encoding="utf-8").replace("[", " ").replace("]", " ").split()
        if word.startswith("TM") and word[2:].isdigit()
    }
    # TM6xx is about the folder that is written, not the manifest: see tests/generator/commands/test_commands.py.
    of_manifests = {code for code in RULES if not code.startswith("TM6")}
    assert shown == of_manifests


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_a_case_is_either_refused_or_gives_files(case: Path) -> None:
    stderr = case / "expected.stderr"
    refused = stderr.exists() and f": {Severity.ERROR}[" in stderr.read_text(encoding="utf-8")
    assert refused or stderr.exists() or (case / "expected").is_dir()


def print_hashes() -> None:
    """Print the SHA-256 of each file of each case, one a line: `nox -s versions` compares two runs."""
    for case in CASES:
        for file in run_pipeline(case).files:
            sys.stdout.write(f"{hashlib.sha256(file.text.encode()).hexdigest()} {case.name}/{file.path}\n")


if __name__ == "__main__":
    print_hashes()
