from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path, PurePosixPath

import pytest

from toolmason.model.checksum import add_checksum
from toolmason.model.rendered_file import RenderedFile
from toolmason.write import check, write
from toolmason.write.changes import ChangeKind, Changes
from toolmason.write.snapshot import ReadError, disk_state

TEXTS = {"a.py": "A = 1\n", "docs/a.md": "# A\n", "docs/b.md": "---\nname: b\n---\nB\n", "a.json": "{}\n"}


def rendered(texts: Mapping[str, str]) -> list[RenderedFile]:
    return [RenderedFile(PurePosixPath(name), add_checksum(PurePosixPath(name), text)) for name, text in texts.items()]


def names(changes: Changes, kind: ChangeKind) -> list[str]:
    return [str(change.path) for change in changes.all if change.kind is kind]


def everything_in(folder: Path) -> dict[str, tuple[int, int, bytes]]:
    """Path -> inode, modification time and content of all files, hidden ones included."""
    return {
        path.relative_to(folder).as_posix(): (path.stat().st_ino, path.stat().st_mtime_ns, path.read_bytes())
        for path in folder.rglob("*")
        if path.is_file()
    }


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    target = tmp_path / "generated"
    write(rendered(TEXTS), target)
    return target


def test_a_tree_that_was_just_written_is_clean(folder: Path) -> None:
    changes = check(rendered(TEXTS), folder)

    assert changes.is_clean
    assert changes.all == ()


@pytest.mark.parametrize("is_replaced", [False, True])
def test_a_file_that_changed_after_it_was_read_is_an_edit(is_replaced: bool, folder: Path) -> None:
    path = folder / "a.py"
    text = path.read_text(encoding="utf-8")
    read = RenderedFile(PurePosixPath("a.py"), text, disk_state(path))
    others = rendered({name: text for name, text in TEXTS.items() if name != "a.py"})
    assert check([read, *others], folder).is_clean

    edited = path.with_name("edited") if is_replaced else path
    edited.write_text(text.replace("A = 1", "A = 2"), encoding="utf-8")
    edited.replace(path)

    assert names(check([read, *others], folder), ChangeKind.EDITED) == ["a.py"]


def test_a_folder_that_does_not_exist_misses_everything(tmp_path: Path) -> None:
    changes = check(rendered(TEXTS), tmp_path / "generated")

    assert names(changes, ChangeKind.CREATED) == ["SHA256SUMS", "a.json", "a.py", "docs/a.md", "docs/b.md"]
    assert not changes.is_clean
    assert not (tmp_path / "generated").exists()


def test_each_kind_of_difference_is_distinguished(folder: Path) -> None:
    (folder / "a.py").unlink()
    (folder / "docs/b.md").write_text("---\nname: mine\n---\nB\n", encoding="utf-8")
    (folder / "a.json").write_text("[]\n", encoding="utf-8")
    (folder / "notes.md").write_text("mine\n", encoding="utf-8")
    (folder / "b.py").write_text("mine = 1\n", encoding="utf-8")
    before = everything_in(folder)
    now = {name: text for name, text in TEXTS.items() if name != "docs/a.md"} | {"b.py": "B = 1\n"}

    changes = check(rendered(now), folder)

    assert names(changes, ChangeKind.CREATED) == ["a.py"]
    assert names(changes, ChangeKind.CHANGED) == []
    assert names(changes, ChangeKind.PRUNED) == ["docs/a.md"]
    assert names(changes, ChangeKind.EDITED) == ["a.json"]
    assert names(changes, ChangeKind.BLOCKED) == ["b.py", "docs/b.md"]
    assert names(changes, ChangeKind.FOREIGN) == ["notes.md"]
    assert everything_in(folder) == before


def test_a_stale_file_is_changed_and_so_is_the_list_that_names_it(folder: Path) -> None:
    changes = check(rendered(TEXTS | {"a.py": "A = 2\n", "a.json": "[]\n"}), folder)

    assert names(changes, ChangeKind.CHANGED) == ["SHA256SUMS", "a.json", "a.py"]


def test_only_files_of_others_do_not_make_a_tree_unclean(folder: Path) -> None:
    (folder / "notes.md").write_text("mine\n", encoding="utf-8")

    changes = check(rendered(TEXTS), folder)

    assert changes.is_clean
    assert names(changes, ChangeKind.FOREIGN) == ["notes.md"]
    assert changes.diff(PurePosixPath("notes.md")) == ""


def test_the_diff_of_a_stale_file_goes_from_disk_to_generated(folder: Path) -> None:
    path = PurePosixPath("a.py")
    diff = check(rendered(TEXTS | {"a.py": "A = 2\n"}), folder).diff(path)

    assert diff.startswith("--- a.py (on disk)\n+++ a.py (generated)\n@@")
    assert "\n-A = 1\n+A = 2\n" in diff


def test_the_diff_of_an_edited_file_shows_the_edit(folder: Path) -> None:
    text = (folder / "a.py").read_text(encoding="utf-8")
    (folder / "a.py").write_text(text.replace("A = 1\n", "A = 1\nB = 2"), encoding="utf-8", newline="\r\n")

    diff = check(rendered(TEXTS), folder).diff(PurePosixPath("a.py"))

    assert diff.startswith("--- a.py (generated)\n+++ a.py (on disk)\n@@")
    assert [line for line in diff.splitlines()[2:] if line[0] in "+-"] == ["-", "+B = 2"]


def test_a_diff_shows_a_missing_final_newline(folder: Path) -> None:
    (folder / "docs/a.md").write_bytes((folder / "docs/a.md").read_bytes().removesuffix(b"\n"))

    assert "\\ No newline at end of file\n" in check(rendered(TEXTS), folder).diff(PurePosixPath("docs/a.md"))


def test_a_file_that_is_missing_or_extra_is_compared_with_nothing(folder: Path) -> None:
    changes = check(rendered({"a.py": "A = 1\n", "b.py": "B = 1\n"}), folder)

    assert changes.diff(PurePosixPath("b.py")).startswith("--- /dev/null\n+++ b.py (generated)\n")
    assert changes.diff(PurePosixPath("docs/a.md")).startswith("--- docs/a.md (on disk)\n+++ /dev/null\n")
    assert changes.diff(PurePosixPath("a.py")) == ""


def test_a_crlf_checkout_is_clean(folder: Path) -> None:
    for path in folder.rglob("*.*"):
        if path.is_file():
            path.write_bytes(path.read_bytes().replace(b"\n", b"\r\n"))

    assert check(rendered(TEXTS), folder).is_clean


@pytest.mark.parametrize("name", ["__pycache__/a.pyc", ".DS_Store", "docs/.idea/a.py", ".git/a.py", "x/CACHEDIR.TAG"])
def test_caches_and_hidden_files_are_not_reported(folder: Path, name: str) -> None:
    (folder / name).parent.mkdir(exist_ok=True, parents=True)
    (folder / name).write_bytes(b"x")

    assert check(rendered(TEXTS), folder).all == ()


def test_a_hidden_file_of_ours_is_looked_after_like_any_other(folder: Path) -> None:
    with_hidden = rendered(TEXTS | {".claude/a.md": "A\n"})
    write(with_hidden, folder)

    assert check(with_hidden, folder).is_clean
    assert names(check(rendered(TEXTS), folder), ChangeKind.PRUNED) == [".claude/a.md"]


def test_only_the_asked_for_part_is_looked_at(folder: Path) -> None:
    (folder / "a.py").unlink()
    (folder / "docs/a.md").unlink()

    assert names(check(rendered(TEXTS), folder, part=lambda path: path.parts[0] == "docs"), ChangeKind.CREATED) == [
        "docs/a.md"
    ]


def test_a_pipe_is_never_opened(folder: Path) -> None:
    os.mkfifo(folder / "pipe.py")
    (folder / "a.py").unlink()
    os.mkfifo(folder / "a.py")

    changes = check(rendered(TEXTS), folder)

    assert names(changes, ChangeKind.FOREIGN) == ["pipe.py"]
    assert [change.note for change in changes.all if change.kind is ChangeKind.BLOCKED] == [
        "neither a file nor a directory"
    ]


def test_a_file_in_the_place_of_the_folder_is_an_error_with_its_path(tmp_path: Path) -> None:
    (tmp_path / "generated").write_text("", encoding="utf-8")

    with pytest.raises(ReadError, match="Not a directory") as caught:
        check(rendered(TEXTS), tmp_path / "generated")
    assert caught.value.path == tmp_path / "generated"
