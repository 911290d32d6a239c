"""`toolmason move`: a tool in another category or file of the manifest."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import Result

from toolmason.project import Project

Run = Callable[..., Result]
CATEGORY = '\n[categories.language]\nsummary = "Language"\n'


@pytest.fixture
def manifest(project: Project) -> Path:
    path = project.manifest
    text = path.read_text(encoding="utf-8").replace("[tools.count_words]", "# Counts.\n[tools.count_words]")
    path.write_text(text + CATEGORY, encoding="utf-8")
    return path


def test_a_tool_moves_to_a_category_with_the_imports_of_its_classes(project: Project, run: Run, manifest: Path) -> None:
    result = run("move", "count_words", "language", "--yes")
    assert result.exit_code == 0, result.output
    assert 'category = "language"\n' in manifest.read_text(encoding="utf-8")
    handler = (project.root / "handlers/notes/text.py").read_text(encoding="utf-8")
    assert "from notes_server.language.models import CountWordsParams, TextSize\n" in handler
    assert run("generate").exit_code == 0
    assert run("check").exit_code == 0


def test_shared_types_stay_where_they_are(project: Project, run: Run, manifest: Path) -> None:
    other = '\n[tools.other]\nsummary = "Other"\ncategory = "text"\nhandler = "text:count_words"\nhints = {}\n'
    manifest.write_text(manifest.read_text(encoding="utf-8") + other + 'returns = "TextSize"\n', encoding="utf-8")
    result = run("move", "count_words", "language", "--yes")
    assert result.exit_code == 0, result.output
    handler = (project.root / "handlers/notes/text.py").read_text(encoding="utf-8")
    assert "from notes_server.language.models import CountWordsParams\n" in handler
    assert "TextSize\n" in handler
    assert run("generate").exit_code == 0


def test_a_tool_moves_to_a_new_file_with_its_comment(
    project: Project, run: Run, manifest: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(project.root)
    before = manifest.read_text(encoding="utf-8")
    result = run("move", "count_words", "manifest/tools/text.toml", "--yes")
    assert result.exit_code == 0, result.output
    moved = (project.root / "manifest/tools/text.toml").read_text(encoding="utf-8")
    start = before.index("# Counts.")
    end = before.index("\n[categories.language]")
    assert moved == before[start:end]
    expected = (before[:start] + before[end + 1 :]).replace(
        "edition = 1\n", 'edition = 1\ninclude = ["tools/text.toml"]\n'
    )
    assert manifest.read_text(encoding="utf-8") == expected
    assert run("check").exit_code == 0


def test_a_file_that_is_included_gets_the_tool_at_its_end(
    project: Project, run: Run, manifest: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(project.root)
    text = manifest.read_text(encoding="utf-8").replace("edition = 1\n", 'edition = 1\ninclude = ["tools/*.toml"]\n')
    manifest.write_text(text, encoding="utf-8")
    (project.root / "manifest/tools").mkdir()
    file = project.root / "manifest/tools/more.toml"
    file.write_text('[types.Note]\nfields.a = { type = "string", description = "A" }\n', encoding="utf-8")
    result = run("move", "count_words", "manifest/tools/more.toml", "language", "--yes")
    assert result.exit_code == 0, result.output
    assert 'include = ["tools/*.toml"]\n' in manifest.read_text(encoding="utf-8")
    assert 'description = "A" }\n\n# Counts.\n[tools.count_words]\n' in file.read_text(encoding="utf-8")
    assert 'category = "language"\n' in file.read_text(encoding="utf-8")
    back = run("move", "count_words", "manifest/notes.toml", "--yes")
    assert back.exit_code == 0, back.output
    assert manifest.read_text(encoding="utf-8").rstrip().endswith('18 characters"')


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (("count_word", "language"), 2, "unknown tool `count_word`; did you mean `count_words`?"),
        (("count_words", "languages"), 2, "unknown category `languages`; did you mean `language`?"),
        (("count_words", "mail"), 2, "To create it, add `[categories.mail]` with a `summary` to the manifest"),
        (("count_words", "text"), 2, "`count_words` is already in the category `text`"),
        (("count_words", "manifest/notes.toml"), 2, "`count_words` is already in manifest/notes.toml"),
        (("count_words", "other.toml"), 2, "name a .toml file in manifest/"),
        (("count_words", "../x.toml"), 2, "name a .toml file in manifest/"),
        (("count_words", "text", "language"), 2, "one category and one file"),
        (("count_words",), 2, "Missing argument"),
    ],
)
def test_impossible_moves_are_refused(  # noqa: PLR0917  a table
    project: Project,
    run: Run,
    manifest: Path,
    monkeypatch: pytest.MonkeyPatch,
    arguments: tuple[str, ...],
    code: int,
    message: str,
) -> None:
    monkeypatch.chdir(project.root)
    before = manifest.read_bytes()
    result = run("move", *arguments, "--yes")
    assert (result.exit_code, message in result.output) == (code, True), result.output
    assert manifest.read_bytes() == before


def test_a_tool_without_a_header_is_not_moved_to_another_file(
    project: Project, run: Run, manifest: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(project.root)
    tool = 'summary = "Other", category = "text", handler = "text:count_words", hints = {}'
    manifest.write_text(
        manifest.read_text(encoding="utf-8").replace("edition = 1\n", f"edition = 1\ntools.other = {{ {tool} }}\n"),
        encoding="utf-8",
    )
    result = run("move", "other", "manifest/tools/other.toml", "--yes")
    assert result.exit_code == 2
    assert "write it with the header `[tools.other]` first" in result.output
