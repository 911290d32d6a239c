"""Changes of a project's own files: the diff, and writing all files or none."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from toolmason.edits import EditError, Edits, apply, finish_interrupted, read_text, show
from toolmason.model.parts import STAGING
from toolmason.write.journal import Disk


class FullDisk(Disk):
    """A disk on which the replacement number `fails_at` fails."""

    def __init__(self, fails_at: int, error: BaseException) -> None:
        self.left, self.error = fails_at, error

    def replace(self, path: Path, target: Path) -> None:
        # The first replacement is that of the journal.
        if self.left == 0:
            self.left -= 1
            raise self.error
        self.left -= 1
        super().replace(path, target)


@pytest.fixture
def project(tmp_path: Path) -> Path:
    for name in ("a.toml", "b.py", "c.md"):
        (tmp_path / name).write_text(f"old {name}\n", encoding="utf-8")
    return tmp_path


def new_texts(project: Path) -> dict[Path, str]:
    return {project / name: f"new {name}\n" for name in ("a.toml", "b.py", "c.md", "deep/new/d.py")}


def contents(project: Path) -> dict[str, bytes]:
    return {path.relative_to(project).as_posix(): path.read_bytes() for path in project.rglob("*") if path.is_file()}


def written(project: Path) -> dict[str, bytes]:
    return {path.relative_to(project).as_posix(): text.encode() for path, text in new_texts(project).items()}


def test_all_files_are_written_and_no_other_is_left(project: Path) -> None:
    apply(Edits.of(project, new_texts(project)))
    assert contents(project) == written(project)


@pytest.mark.parametrize("fails_at", [0, 1, 2, 3, 4])
def test_a_failed_write_changes_no_file(project: Path, fails_at: int) -> None:
    before = contents(project)
    with pytest.raises(EditError, match="No space left"):
        apply(Edits.of(project, new_texts(project)), disk=FullDisk(fails_at, OSError(28, "No space left on device")))
    assert contents(project) == before


def test_the_next_run_finishes_the_work_of_a_killed_one(project: Path) -> None:
    with pytest.raises(KeyboardInterrupt):
        apply(Edits.of(project, new_texts(project)), disk=FullDisk(2, KeyboardInterrupt()))
    assert (project / STAGING).exists()
    assert finish_interrupted(project)
    assert contents(project) == written(project)
    assert not finish_interrupted(project)


@pytest.mark.parametrize("saved", ["mine\n", "new b.py\n"])
def test_a_file_that_was_saved_since_its_text_was_read_is_refused(saved: str, project: Path) -> None:
    read = {path: path.read_text(encoding="utf-8") for path in project.iterdir()}
    assert len(Edits.of(project, new_texts(project), read=read).all) == 4
    (project / "b.py").write_text(saved, encoding="utf-8")

    with pytest.raises(EditError, match=r"b\.py: the file was saved meanwhile"):
        Edits.of(project, new_texts(project), read=read)


def test_a_file_that_was_changed_meanwhile_stops_the_run(project: Path) -> None:
    edits = Edits.of(project, new_texts(project))
    (project / "b.py").write_text("mine\n", encoding="utf-8")
    before = contents(project)
    with pytest.raises(EditError, match=r"b\.py: changed while it was being written; no file was changed"):
        apply(edits)
    assert contents(project) == before


def test_equal_texts_are_no_change(project: Path) -> None:
    assert not Edits.of(project, {project / "a.toml": "old a.toml\n"})


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (b"\xff\xfe", "c.md: the file is not UTF-8"),
        (b"one\n<<<<<<< HEAD\na\n=======\nb\n>>>>>>> theirs\n", "c.md:2: the file has a merge conflict"),
        (b"one\r\n<<<<<<< HEAD\r\na\r\n", "c.md:2: the file has a merge conflict"),
        (b"a\n>>>>>>>\n", "c.md:2: the file has a merge conflict"),
    ],
)
def test_unreadable_files_are_refused(project: Path, content: bytes, reason: str) -> None:
    (project / "c.md").write_bytes(content)
    with pytest.raises(EditError) as caught:
        Edits.of(project, {project / "c.md": "new\n"})
    assert str(caught.value).startswith(reason)


@pytest.mark.parametrize("text", ["<<<<<<<<<< a heading\n", "x = 1 <<<<<<< 2\n", "<<<<<<<a\n"])
def test_other_lines_with_angle_brackets_are_no_conflict(project: Path, text: str) -> None:
    (project / "c.md").write_text(text, encoding="utf-8")
    assert read_text(project / "c.md", project) == text


def test_a_read_only_file_is_refused(project: Path) -> None:
    (project / "a.toml").chmod(0o444)
    with pytest.raises(EditError, match=r"^a\.toml: the file is read-only$"):
        Edits.of(project, new_texts(project))


def test_a_link_out_of_the_project_is_refused(project: Path, tmp_path_factory: pytest.TempPathFactory) -> None:
    outside = tmp_path_factory.mktemp("outside") / "x.toml"
    outside.write_text("x\n", encoding="utf-8")
    (project / "a.toml").unlink()
    (project / "a.toml").symlink_to(outside)
    with pytest.raises(EditError, match="it is outside the project"):
        Edits.of(project, new_texts(project))
    with pytest.raises(EditError, match="it is outside the project"):
        Edits.of(project, {project / ".." / "y.toml": "y\n"})


def test_the_target_of_a_link_changes_and_mode_and_link_stay(project: Path) -> None:
    (project / "link.py").symlink_to("b.py")
    (project / "b.py").chmod(0o755)
    apply(Edits.of(project, {project / "link.py": "new\n"}))
    assert (project / "link.py").is_symlink()
    assert (project / "b.py").read_text(encoding="utf-8") == "new\n"
    assert (project / "b.py").stat().st_mode & 0o777 == 0o755


def test_the_diff_shows_new_files_and_escapes_control_characters(
    project: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    edits = Edits.of(project, {project / "a.toml": "x = '\x1b[2J'\n\ty\n", project / "n.py": "1"})
    show(edits, colour=False)
    assert capsys.readouterr().out == (
        "--- a.toml\n+++ a.toml\n@@ -1 +1,2 @@\n-old a.toml\n+x = '\\u001b[2J'\n+\ty\n"
        "--- /dev/null\n+++ n.py\n@@ -0,0 +1 @@\n+1\n\\ No newline at end of file\n"
    )
    show(edits, colour=True)
    assert "\x1b[32m+\ty\x1b[0m" in capsys.readouterr().out


@given(st.text(st.characters(exclude_categories=["Cs"]), max_size=40).filter(lambda text: "<<<<<<<" not in text))
def test_texts_are_written_to_the_byte(tmp_path_factory: pytest.TempPathFactory, text: str) -> None:
    root = tmp_path_factory.mktemp("p")
    path = root / "x.toml"
    path.write_bytes(b"something else that no example has \r\n")
    apply(Edits.of(root, {path: text}))
    assert path.read_bytes() == text.encode()
    assert list(root.iterdir()) == [path]
