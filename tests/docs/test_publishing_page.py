"""The options, files, jobs and settings of docs/publishing.md are those of `toolmason init`."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path
from typing import Final

import pytest
import yaml
from pages import check, quoted, read

from toolmason.publishing.artefacts import BUILDERS
from toolmason.publishing.names import PLACES, PROFILES

PAGE: Final = read("docs/publishing.md")
OPTIONS: Final = PAGE.rows("option", "file", "content")


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The project that the command of the page creates."""
    directory = tmp_path_factory.mktemp("publishing")
    (command, expected), (entering, _) = PAGE.sessions()
    assert all(quoted(option)[0].split()[0] in command for option, *_ in OPTIONS if option)
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
    assert set(shown["outputs"]["include"]) == set(manifest["outputs"]["include"])


def test_the_jobs_of_the_page_are_those_of_the_workflow_with_their_rights(project: Path) -> None:
    workflow = yaml.safe_load((project / ".github" / "workflows" / "release.yml").read_text(encoding="utf-8"))
    rows = {quoted(job)[0]: rights for job, _, rights in PAGE.rows("job", "does", "may write")}

    assert list(rows) == list(workflow["jobs"])
    for name, rights in rows.items():
        writes = [scope for scope, level in workflow["jobs"][name]["permissions"].items() if level == "write"]
        assert (rights == "nothing") == (writes == []), name


def test_the_sessions_of_the_page_exist(project: Path) -> None:
    named = {session for command in re.findall(r"nox -s ((?:[a-z]+ ?)+)", PAGE.text) for session in command.split()}
    text = (project / "noxfile.py").read_text(encoding="utf-8")

    assert named >= {"audit", "build", "lock", "release"}
    assert [session for session in named if f"\ndef {session}(" not in text] == []


def test_the_table_of_places_has_each_of_them_with_its_files() -> None:
    rows = {quoted(place)[0]: files for place, files, *_ in PAGE.rows("place", "files", "validated by", "uploaded by")}

    assert set(rows) == set(PLACES)
    assert {place for place, files in rows.items() if files.startswith("none")} == set(PLACES) - set(BUILDERS)


def test_the_profiles_of_the_page_exist() -> None:
    named = re.findall(r"--profile ([a-z-]+)", PAGE.text)

    assert named
    assert set(named) <= set(PROFILES)
