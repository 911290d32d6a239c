"""What is remembered of the last run saves the next one only where nothing that matters has changed."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import Result

from toolwright.diagnostics import Diagnostics
from toolwright.memory import named_schemas, recall, remember
from toolwright.pipeline import render_files
from toolwright.project import Project


@pytest.fixture
def known(project: Project, run: Callable[..., Result]) -> Project:
    """A project whose last run is remembered."""
    assert run("generate").exit_code == 0
    assert recall(project) is not None
    return project


def test_what_is_recalled_is_what_a_run_would_render(known: Project) -> None:
    recalled = recall(known)
    record(known).unlink()
    rendered = render_files(known, diagnostics=Diagnostics())
    assert recalled == rendered


def test_a_recalled_run_imports_neither_templates_nor_the_model_generator(known: Project) -> None:
    script = (
        "import sys; from click.testing import CliRunner; from toolwright.cli import toolwright;"
        "result = CliRunner().invoke(toolwright, ['check', '--manifest', sys.argv[1]]);"
        "assert result.exit_code == 0, result.output;"
        "print('datamodel_code_generator' in sys.modules, 'toolwright.render' in sys.modules)"
    )
    ran = subprocess.run(
        [sys.executable, "-c", script, str(known.manifest)], capture_output=True, check=True, encoding="utf-8"
    )
    assert ran.stdout.split() == ["False", "False"]


@pytest.mark.parametrize("name", ["manifest", "handler", "new handler", "template"])
def test_a_changed_input_is_not_recalled(known: Project, name: str) -> None:
    assert known.handlers
    handler = next(path for path in sorted(known.handlers.rglob("*.py")) if path.stat().st_size)
    template = known.override_folder / "python" / "init.py.jinja"
    changed = {
        "manifest": known.manifest,
        "handler": handler,
        "new handler": handler.with_name("another.py"),
        "template": template,
    }[name]
    changed.parent.mkdir(parents=True, exist_ok=True)
    with changed.open("a", encoding="utf-8") as file:
        file.write("# changed\n")
    assert recall(known) is None


def test_a_changed_schema_that_the_manifest_names_is_not_recalled(known: Project) -> None:
    schema = known.root / "a.json"
    schema.write_text("{}", encoding="utf-8")
    files = recall(known)
    assert files
    remember(known, files, ["a.json"], began_ns=time.time_ns())
    assert recall(known) == files
    schema.write_text("[]", encoding="utf-8")
    assert recall(known) is None
    schema.unlink()
    assert recall(known) is None


def test_an_input_saved_while_the_run_was_under_way_leaves_nothing_to_recall(known: Project) -> None:
    files = recall(known)
    assert files
    record(known).unlink()
    began_ns = time.time_ns()
    os.utime(known.manifest, ns=(began_ns, began_ns))
    remember(known, files, [], began_ns=began_ns)
    assert not record(known).exists()
    remember(known, files, [], began_ns=began_ns + 1)
    assert recall(known) == files


def test_schemas_are_those_that_tools_give_by_file_name() -> None:
    data = {"tools": {"a": {"input_schema": "a.json"}, "b": {"input_schema": {"type": "object"}}, "c": {}}}
    assert named_schemas(data) == ["a.json"]
    assert named_schemas({}) == []


def test_a_hand_edit_is_still_refused_after_a_remembered_run(known: Project, run: Callable[..., Result]) -> None:
    edited = next(known.generated.rglob("catalogue.py"))
    edited.write_text(edited.read_text(encoding="utf-8") + "# mine\n", encoding="utf-8")
    assert recall(known) is None
    assert run("generate").exit_code == 4
    assert edited.read_text(encoding="utf-8").endswith("# mine\n")


def test_a_missing_file_is_made_again_and_a_stale_one_is_pruned(known: Project, run: Callable[..., Result]) -> None:
    lost = next(known.generated.rglob("index.md"))
    lost.unlink()
    assert run("check").exit_code == 3
    assert run("generate").exit_code == 0
    assert lost.exists()


@pytest.mark.parametrize("text", ["", "{}", "[]", "{", '{"inputs": 1, "schemas": [], "files": {}}', "\x00"])
def test_a_broken_record_is_worth_nothing(known: Project, text: str) -> None:
    record(known).write_text(text, encoding="utf-8")
    assert recall(known) is None


def test_crlf_line_ends_are_recalled_as_they_were_made(known: Project) -> None:
    made = recall(known)
    page = next(known.generated.rglob("index.md"))
    page.write_bytes(page.read_bytes().replace(b"\n", b"\r\n"))
    assert recall(known) == made


def test_one_part_alone_is_not_taken_for_the_whole(known: Project, run: Callable[..., Result]) -> None:
    record(known).unlink()
    assert run("generate", "--only", "docs").exit_code == 0
    assert not record(known).exists()


def test_the_record_is_not_committed(known: Project) -> None:
    assert (record(known).parent / ".gitignore").read_text(encoding="utf-8") == "*\n"
    assert json.loads(record(known).read_text(encoding="utf-8"))["files"]


def record(project: Project) -> Path:
    return project.root / ".toolwright" / f"{project.manifest.stem}.json"
