"""A project cannot supply the decisions of reviews: the state directory is outside of all allowed directories."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest
from oracle import LEGACY
from toolmason_runtime import ToolError

from workbench_handlers.doctor.checks import reviews_check
from workbench_handlers.editing.reviews.state_files import check_state, state_problem
from workbench_handlers.editing.surfaces.command import main

needs_links = pytest.mark.skipif(sys.platform == "win32", reason="links need a privilege there")


def linked(target: Path, link: Path) -> str:
    link.symlink_to(target)
    return str(link)


@pytest.fixture
def project(tmp_path: Path) -> Path:
    directory = tmp_path / "clone" / "part"
    (directory / "st").mkdir(parents=True)
    (directory.parent / ".git").mkdir()
    (directory.parent / "beside").mkdir()
    return directory


@needs_links
@pytest.mark.parametrize(
    "chosen",
    [
        lambda project: str(project / "st"),
        str,
        lambda project: str(project / "missing" / "deep"),
        lambda project: f"{project}/st/../st/",
        lambda project: f"{project.parent}/../clone/part/st",
        lambda project: f"/proc/self/root{project}/st",
        lambda project: linked(project / "st", project.parent.parent / "link"),
        lambda project: linked(project, project.parent.parent / "link") + "/st",
        lambda project: str(project.parent / "beside"),
        lambda project: str(project.parent.parent / "clone"),
        lambda project: str(project.parent.parent),
        lambda project: os.path.relpath(project.parent.parent / "state"),
        lambda _project: "st",
        lambda _project: "./st",
        lambda _project: ".",
        lambda _project: "~nobody-of-this-name/st",
    ],
    ids=[
        *("inside", "the root", "missing", "dots", "dots above", "proc", "link", "link to the root", "repository"),
        *("around the repository", "around", "relative outside", "relative", "dot slash", "dot", "unknown home"),
    ],
)
def test_a_state_directory_that_a_project_could_supply_is_refused(chosen: Callable[[Path], str], project: Path) -> None:
    environ = {"WORKBENCH_STATE": chosen(project)}
    with pytest.raises(ToolError, match="a project could decide") as caught:
        check_state(environ, [project])
    assert caught.value.code == "NO_STATE_DIRECTORY"
    check = reviews_check(environ, project)
    assert check
    assert check.status == "error"


@needs_links
def test_every_root_counts_also_a_link_to_it(project: Path, tmp_path: Path) -> None:
    roots = [tmp_path / "clone" / "beside", Path(linked(project, tmp_path / "link"))]
    assert state_problem({"WORKBENCH_STATE": str(project / "st")}, roots)
    assert state_problem({"WORKBENCH_STATE": str(tmp_path / "state")}, roots) == ""


@pytest.mark.parametrize(
    "environ",
    [
        {"WORKBENCH_STATE": "{above}/state"},
        {"WORKBENCH_STATE": "{above}/clone-state"},
        {"HOME": "{above}"},
        {"HOME": "{above}/clone/part"},
        {"HOME": "{above}", "WORKBENCH_STATE": " "},
        {"HOME": "{above}", "XDG_STATE_HOME": "{above}/clone/part/st"},
    ],
    ids=["outside", "same beginning", "default", "the home is the root", "empty", "XDG_STATE_HOME is not used"],
)
def test_a_state_directory_outside_of_projects_is_accepted(
    environ: Mapping[str, str], project: Path, tmp_path: Path
) -> None:
    filled = {name: value.format(above=tmp_path) for name, value in environ.items()}
    assert state_problem(filled, [project]) == ""
    assert reviews_check(filled, project) is None


def test_a_root_inside_the_default_state_directory_is_refused(tmp_path: Path) -> None:
    state = {"linux": ".local/state", "darwin": "Library/Application Support"}.get(sys.platform, "AppData/Local")
    root = tmp_path / state / "toolmason-workbench" / "reviews"
    root.mkdir(parents=True)
    assert "inside the state directory" in state_problem({"HOME": str(tmp_path), "LOCALAPPDATA": ""}, [root])


@pytest.mark.parametrize("flags", [["--list"], [], ["--web"], ["--undo"]], ids=str)
def test_the_review_command_refuses_a_relative_directory(
    flags: list[str], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("WORKBENCH_STATE", "st")
    assert main(flags) == 1
    assert "must be an absolute path, not `st`" in capsys.readouterr().err


def test_a_planted_decision_of_a_clone_writes_nothing(place: Any) -> None:
    place.write("a.txt", b"old")
    planted = place.project / "st"
    with place.server(LEGACY, env={"WORKBENCH_STATE": str(planted)}) as client:
        for tool, arguments in (
            ("propose_and_review", {"path": "a.txt", "match_text": "old", "new_string": "new"}),
            ("review_status", {"session_path": "rv_1"}),
            ("commit_review", {"session_path": "rv_1", "original_path": "a.txt"}),
        ):
            result = client.raw(tool, **arguments)
            assert "a project could decide" in str(result), tool
    assert (place.project / "a.txt").read_bytes() == b"old"
    assert not planted.exists()
