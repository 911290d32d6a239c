"""Taking a packaged template over, and knowing later who changed it."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from hashlib import sha256
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from toolmason.commands import toolmason
from toolmason.project import Project
from toolmason.render.overrides import State, TemplateExistsError, UnknownTemplateError, eject, overrides, packaged

NAME = "docs/index.md.jinja"


def state_of(folder: Path) -> State:
    (only,) = overrides(folder)
    return only.state


def as_if_taken_from_an_older_one(path: Path) -> None:
    """Give the template the record it would have if ours had been another text when it was taken."""
    head, body = path.read_text(encoding="utf-8").split("\n", 1)
    before, digest = head.split("sha256:")[0], head.split("sha256:")[1][:64]
    path.write_text(head.replace(digest, digest[::-1]) + "\n" + body, encoding="utf-8")
    assert before


def test_every_packaged_template_but_those_of_init_is_listed() -> None:
    shown = CliRunner().invoke(toolmason, ["templates", "list"]).stdout.split()

    assert shown == sorted(packaged())
    assert NAME in shown
    assert not [name for name in shown if name.startswith("init/")]


def test_ejected_template_changes_nothing_in_the_output(run: Callable[..., Result], project: Project) -> None:
    for name in packaged():
        eject(name, project.template_directory)

    assert run("check").exit_code == 0


def test_ejected_template_is_the_one_that_is_used(run: Callable[..., Result], project: Project) -> None:
    path = eject(NAME, project.template_directory)
    with path.open("a", encoding="utf-8") as file:
        file.write("\nAsk us anything.\n")

    assert run("generate").exit_code == 0
    assert "Ask us anything." in (project.generated / "docs" / "index.md").read_text(encoding="utf-8")


def test_template_of_yours_is_left_alone_by_a_second_eject(tmp_path: Path) -> None:
    path = eject(NAME, tmp_path)
    path.write_text("mine", encoding="utf-8")

    with pytest.raises(TemplateExistsError):
        eject(NAME, tmp_path)
    assert path.read_text(encoding="utf-8") == "mine"


@pytest.mark.parametrize("name", ["nothing.jinja", "../__init__.py", "init/pyproject.toml.jinja", ""])
def test_only_templates_that_make_output_can_be_ejected(name: str, tmp_path: Path) -> None:
    with pytest.raises(UnknownTemplateError):
        eject(name, tmp_path / "templates")
    assert not (tmp_path / "templates").exists()


def test_template_as_taken_is_unchanged(tmp_path: Path) -> None:
    eject(NAME, tmp_path)

    assert state_of(tmp_path) is State.UNCHANGED


def test_template_checked_out_with_other_line_ends_is_unchanged(tmp_path: Path) -> None:
    path = eject(NAME, tmp_path)
    path.write_bytes(path.read_bytes().replace(b"\n", b"\r\n"))

    assert state_of(tmp_path) is State.UNCHANGED


def test_edited_template_is_yours_changed(tmp_path: Path) -> None:
    path = eject(NAME, tmp_path)
    path.write_text(path.read_text(encoding="utf-8") + "more\n", encoding="utf-8")

    assert state_of(tmp_path) is State.YOURS_CHANGED


def test_template_taken_from_an_older_text_of_ours_shows_when_both_changed(tmp_path: Path) -> None:
    path = eject(NAME, tmp_path)
    path.write_text(path.read_text(encoding="utf-8") + "more\n", encoding="utf-8")
    as_if_taken_from_an_older_one(path)

    assert state_of(tmp_path) is State.BOTH_CHANGED


def test_template_whose_older_text_is_kept_shows_that_ours_changed(tmp_path: Path) -> None:
    older = "An older index\n"
    digest = sha256(older.encode()).hexdigest()
    record = eject(NAME, tmp_path).read_text(encoding="utf-8").split("\n", 1)[0]
    taken = record.split("sha256:")[0] + f"sha256:{digest}" + record.split("sha256:")[1][64:]
    (tmp_path / NAME).write_text(f"{taken}\n{older}", encoding="utf-8")

    assert state_of(tmp_path) is State.OURS_CHANGED


def test_same_change_on_both_sides_is_unchanged(tmp_path: Path) -> None:
    as_if_taken_from_an_older_one(eject(NAME, tmp_path))

    assert state_of(tmp_path) is State.UNCHANGED


def test_template_without_a_record_is_unrecorded(tmp_path: Path) -> None:
    path = tmp_path / NAME
    path.parent.mkdir()
    path.write_text('{% extends "toolmason/docs/index.md.jinja" %}\n', encoding="utf-8")

    assert state_of(tmp_path) is State.UNRECORDED


def test_template_that_replaces_nothing_is_yours_alone(tmp_path: Path) -> None:
    (tmp_path / "own.md.jinja").write_text("own\n", encoding="utf-8")

    assert state_of(tmp_path) is State.ALONE


def test_unreadable_template_is_listed_and_a_directory_is_not(tmp_path: Path) -> None:
    (tmp_path / "bytes.jinja").write_bytes(b"\xff")
    (tmp_path / "dangling.jinja").symlink_to("nowhere")
    (tmp_path / "folder.jinja").mkdir()

    assert [(each.name, each.state) for each in overrides(tmp_path)] == [
        ("bytes.jinja", State.UNREADABLE),
        ("dangling.jinja", State.UNREADABLE),
    ]


@pytest.mark.parametrize("in_the_way", ["templates", "templates/docs"])
def test_file_in_the_place_of_a_folder_is_named_and_left(in_the_way: str, project: Project) -> None:
    blocking = project.root / in_the_way
    if blocking.is_dir():
        shutil.rmtree(blocking)
    blocking.write_text("mine", encoding="utf-8")
    result = CliRunner().invoke(toolmason, ["templates", "eject", NAME, "--manifest", str(project.manifest)])

    assert result.exit_code == 4
    assert f"{blocking} is not a directory; move it away; nothing was written" in result.stderr
    assert blocking.read_text(encoding="utf-8") == "mine"


def test_status_and_eject_report_their_results(project: Project) -> None:
    def templates(*words: str) -> Result:
        return CliRunner().invoke(toolmason, ["templates", *words, "--manifest", str(project.manifest)])

    assert templates("status").stdout == "no project templates: all files use the packaged ones\n"
    assert templates("eject", NAME).stdout == f"templates/{NAME}: created; `toolmason generate` uses it\n"
    assert templates("status").stdout == f"{NAME}  unchanged\n"
    assert templates("eject", NAME).exit_code == 4
    assert "did you mean `docs/index.md.jinja`?" in templates("eject", "docs/idnex.md.jinja").stderr
