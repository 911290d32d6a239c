"""The options, files and settings of docs/publishing.md are those of `toolmason init`; its workflow is valid."""

from __future__ import annotations

import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Final

import pytest
from pages import check, quoted, read

PAGE: Final = read("docs/publishing.md")
OPTIONS: Final = PAGE.rows("option", "file", "content")


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The project that the command of the page creates."""
    directory = tmp_path_factory.mktemp("publishing")
    (command, expected), (entering, _) = PAGE.sessions()
    assert all(quoted(option)[0].split()[0] in command for option, *_ in OPTIONS)
    check(command, expected, directory)
    return directory / entering.removeprefix("cd ")


def test_the_project_has_every_file_of_the_table(project: Path) -> None:
    paths = [path for _, files, _ in OPTIONS for path in quoted(files)]

    assert len(paths) > len(OPTIONS)
    assert [path for path in paths if not (project / path).exists()] == []


def test_the_version_is_that_of_the_manifest_as_on_the_page(project: Path) -> None:
    shown = tomllib.loads(PAGE.block("toml", "[project]"))
    pyproject = tomllib.loads((project / "pyproject.toml").read_text(encoding="utf-8"))

    assert shown["project"].items() <= pyproject["project"].items()
    assert shown["tool"]["hatch"]["version"] == pyproject["tool"]["hatch"]["version"]


def test_the_keys_of_an_existing_project_are_those_that_init_writes(project: Path) -> None:
    shown = tomllib.loads(PAGE.block("toml", "[server]"))
    manifest = tomllib.loads((project / "manifest" / "notes.toml").read_text(encoding="utf-8"))

    assert shown["server"].keys() <= manifest["server"].keys()
    assert shown["server"]["registry_name"] == manifest["server"]["registry_name"]
    assert set(shown["outputs"]["omit"]) <= set(manifest["outputs"]["omit"])


def test_the_workflow_with_the_job_of_the_page_fits_the_schema_of_github(project: Path) -> None:
    workflow = project / ".github" / "workflows" / "ci.yml"
    text = workflow.read_text(encoding="utf-8").replace("branches: [main]", 'branches: [main]\n    tags: ["v*"]')
    workflow.write_text(f"{text}\n{PAGE.block('yaml')}", encoding="utf-8")
    program = Path(sys.executable).with_name("check-jsonschema")
    command = [str(program), "--builtin-schema", "vendor.github-workflows", str(workflow)]
    result = subprocess.run(command, capture_output=True, encoding="utf-8", check=False)

    assert result.returncode == 0, result.stdout
