"""`toolmason upgrade`: former names of keys, with everything else as it was."""

from __future__ import annotations

import tomllib
from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import Result

from toolmason.manifest.editor_schema import manifest_schema
from toolmason.manifest.renamed_keys import RENAMED_KEYS, RenamedKey
from toolmason.project import Project
from toolmason.refactor.errors import RefactorError
from toolmason.refactor.upgrade import upgrade

Toolmason = Callable[..., Result]
REPOSITORY = Path(__file__).parents[3]
OLD = """\
# of the server
website = "https://notes.example/" # its page
version = "0.1.0"
"""


def write_old(project: Project) -> str:
    text = project.manifest.read_text(encoding="utf-8").replace('version = "0.1.0"\n', OLD)
    project.manifest.write_text(text, encoding="utf-8", newline="")
    return text


def test_a_former_key_is_renamed_with_its_comments(run: Toolmason, project: Project) -> None:
    text = write_old(project)
    checked = run("check")
    assert "error[TM203]: unknown key `website` in [server]" in checked.stderr
    assert "it is `website_url` since version 0.1: run `toolmason upgrade`" in checked.stderr

    assert run("upgrade").exit_code == 4
    assert run("upgrade", "--dry-run").exit_code == 0
    assert project.manifest.read_text(encoding="utf-8") == text
    result = run("upgrade", "--yes")
    assert result.exit_code == 0
    assert '+website_url = "https://notes.example/" # its page' in result.stdout
    assert project.manifest.read_text(encoding="utf-8") == text.replace("website =", "website_url =")
    assert run("generate").exit_code == 0
    assert "nothing to change" in run("upgrade", "--yes").stderr


def test_other_errors_do_not_matter(run: Toolmason, project: Project) -> None:
    text = f"{write_old(project)}\n[tools.count_words.nosuch]\n"
    project.manifest.write_text(text, encoding="utf-8", newline="")
    assert run("upgrade", "--yes").exit_code == 0
    assert project.manifest.read_text(encoding="utf-8") == text.replace("website =", "website_url =")


@pytest.mark.parametrize(
    ("addition", "error"),
    [("website_url = 'x'\n", "has both `website` and `website_url`: remove `website`"), ("x =\n", "is not TOML")],
)
def test_an_ambiguous_or_broken_file_is_refused(run: Toolmason, project: Project, addition: str, error: str) -> None:
    text = write_old(project).replace('version = "0.1.0"\n', addition)
    project.manifest.write_text(text, encoding="utf-8", newline="")
    result = run("upgrade", "--yes")
    assert result.exit_code == 2
    assert error in result.stderr
    assert project.manifest.read_text(encoding="utf-8") == text


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("[server]\nold = 1 # a\n", "[server]\nnew = 1 # a\n"),
        ("server = { 'old'=1 }\r\n", "server = { 'new'=1 }\r\n"),
        ("server.old = 1", "server.new = 1"),
        ('["server"]\n"old".x = 1\nold-er = 2\n', '["server"]\n"new".x = 1\nold-er = 2\n'),
        ("[server.old]\nold = 1\n[[server.old.a]]\n", "[server.new]\nold = 1\n[[server.new.a]]\n"),
        ("[tools.a]\nold = 1\n[tools.b]\nold = 2\n", "[tools.a]\nnew = 1\n[tools.b]\nnew = 2\n"),
        ("old = 1\nserver = 'old'\ntools = [{ old = 1 }]\n", "old = 1\nserver = 'old'\ntools = [{ old = 1 }]\n"),
    ],
)
def test_each_way_of_writing_a_key(tmp_path: Path, text: str, expected: str) -> None:
    path = tmp_path / "n.toml"
    path.write_text(text, encoding="utf-8", newline="")
    rows = [RenamedKey(("server",), "old", "new", "9"), RenamedKey(("tools", "*"), "old", "new", "9")]
    edits = upgrade(Project(tmp_path, path), rows)
    assert (edits.all[0].new if edits else text) == expected
    tomllib.loads(expected)


def test_both_names_in_one_table_of_many_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "n.toml"
    path.write_text("[tools.a]\nold = 1\n[tools.b]\nold = 2\nnew = 3\n", encoding="utf-8")
    with pytest.raises(RefactorError, match=r"\[tools\.b\] has both"):
        upgrade(Project(tmp_path, path), [RenamedKey(("tools", "*"), "old", "new", "9")])


def test_each_renamed_key_is_documented_and_only_its_new_name_exists() -> None:
    page = (REPOSITORY / "docs" / "changing-a-manifest.md").read_text(encoding="utf-8")
    schema = manifest_schema()
    for table, old, new, since in RENAMED_KEYS:
        assert f"| `[{'.'.join(table)}]` | `{old}` | `{new}` | {since} |" in page
        definition = schema
        for part in table:
            reference = definition["properties"][part]["allOf"][0]["$ref"]
            definition = schema["definitions"][reference.rpartition("/")[2]]
        assert new in definition["properties"]
        assert old not in definition["properties"]
