"""`[[files]]` of a manifest: written, signed, checked and removed like every other generated file."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path, PurePosixPath
from types import SimpleNamespace

import pytest
from click.testing import Result
from hypothesis import given
from hypothesis import strategies as st

from toolmason.project import Project
from toolmason.render.plan import FIELDS, MAX_PATH, PathError, expand_path

Toolmason = Callable[..., Result]

DOCUMENTATION = (Path(__file__).parents[3] / "docs" / "templates.md").read_text(encoding="utf-8")
"""Its first rows and its template are those of the tests."""


def example(language: str) -> str:
    """Return the first block of `language` on the page."""
    return DOCUMENTATION.partition(f"```{language}\n")[2].partition("```")[0]


SECOND_ROW = '[[files]]\npath = "editor/settings.json"\ntemplate = "editor.json.jinja"\n'
ROWS = "\n" + example("toml") + SECOND_ROW
PAGE = example("jinja")


def put(path: Path, text: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8", newline="\n")
    return path


@pytest.fixture
def rows(project: Project) -> Project:
    """A project whose manifest adds two files."""
    manifest = project.manifest.read_text(encoding="utf-8")
    put(project.manifest, manifest + ROWS)
    put(project.template_directory / "docs" / "reference.md.jinja", PAGE)
    put(project.template_directory / "editor.json.jinja", '{"tools": {{ server.tools | length }}}')
    return project


def test_added_files_are_written_signed_and_up_to_date(rows: Project, run: Toolmason) -> None:
    assert run("generate").exit_code == 0
    page = (rows.generated / "docs/reference/count_words.md").read_text(encoding="utf-8")

    assert "\n# count_words\n\nMeasures a text" in page
    assert "toolmason: sha256 " in page
    assert "editor/settings.json" in (rows.generated / "SHA256SUMS").read_text(encoding="utf-8")
    assert run("check").exit_code == 0


def test_an_edit_of_an_added_file_or_of_its_template_is_noticed(rows: Project, run: Toolmason) -> None:
    assert run("generate").exit_code == 0
    page = rows.generated / "docs/reference/count_words.md"
    put(rows.template_directory / "docs" / "reference.md.jinja", PAGE + "\nMore.\n")
    assert run("check").exit_code == 3
    page.write_text(page.read_text(encoding="utf-8").replace("# count_words", "# mine"), encoding="utf-8")

    assert run("generate").exit_code == 4


def test_a_file_whose_row_is_gone_is_removed(rows: Project, run: Toolmason) -> None:
    assert run("generate").exit_code == 0
    manifest = rows.manifest.read_text(encoding="utf-8")
    put(rows.manifest, manifest.replace(ROWS, ""))

    assert run("generate").exit_code == 0
    assert not (rows.generated / "docs/reference").exists()
    assert not (rows.generated / "editor").exists()


def test_a_template_of_an_added_file_runs_in_the_sandbox(rows: Project, run: Toolmason) -> None:
    put(rows.template_directory / "docs" / "reference.md.jinja", "Fine.\n{{ server.__class__.__mro__ }}\n")
    result = run("generate")

    assert result.exit_code == 1
    assert "templates/docs/reference.md.jinja:2: " in result.stderr
    assert "unsafe" in result.stderr
    assert not (rows.generated / "docs/reference").exists()


def test_generate_and_lint_report_a_clash_before_anything_is_written(rows: Project, run: Toolmason) -> None:
    manifest = rows.manifest.read_text(encoding="utf-8")
    put(rows.manifest, manifest.replace("docs/reference/{tool.name}.md", "docs/index.md"))

    for command in ("generate", "lint"):
        result = run(command)
        assert result.exit_code == 1
        assert "error[TM401]: the path `docs/index.md` is already used by a file of every server" in result.stderr


SUBJECTS = {"server": SimpleNamespace(name="Notes", package="notes_server", skill="notes")}


@given(st.text(max_size=MAX_PATH + 50) | st.from_regex(r"[a-z./{}\\:~]{0,20}", fullmatch=True))
def test_a_path_stays_below_the_directory_or_is_refused(path: str) -> None:
    try:
        expanded = expand_path(path, SUBJECTS)
    except PathError:
        return
    assert not expanded.is_absolute()
    assert ".." not in expanded.parts
    assert expanded.as_posix() == path.replace("{server.name}", "Notes")
    assert len(expanded.as_posix()) <= MAX_PATH


@pytest.mark.parametrize(
    ("path", "expanded"),
    [
        ("docs/{server.skill}/SKILL.md", "docs/notes/SKILL.md"),
        (".editor/{server.package}/a+b@c-d.txt", ".editor/notes_server/a+b@c-d.txt"),
    ],
)
def test_fields_of_a_path_are_filled_in(path: str, expanded: str) -> None:
    assert expand_path(path, SUBJECTS) == PurePosixPath(expanded)


OUTSIDE = ("", "/a", "../a", "a//b", "a/", "./a", "a/.", "C:/a", "a\\b", "~/a")
UNFIT = ("a b", "a.", "a\n", "é.md", "COM1.txt", "a/.git/b", "__pycache__/a")
UNKNOWN = ("{server.title}", "{server.name.lower}", "{tool.name}", "{}", "{{server.name}}", "{server.name")


@pytest.mark.parametrize("path", [*OUTSIDE, *UNFIT, *UNKNOWN])
def test_other_paths_are_refused(path: str) -> None:
    with pytest.raises(PathError):
        expand_path(path, SUBJECTS)


def test_the_page_lists_every_field_of_a_path() -> None:
    listed = {line.split("`")[1]: line for line in DOCUMENTATION.splitlines() if line.startswith("| `")}

    assert listed.keys() == FIELDS.keys()
    for name, fields in FIELDS.items():
        assert all(f"`{{{name}.{field}}}`" in listed[name] for field in fields)
