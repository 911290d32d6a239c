from __future__ import annotations

import errno
import os
import sys
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path, PurePosixPath
from unittest.mock import Mock

import pytest

import toolmason.write as write_module
from toolmason.model.checksum import add_checksum
from toolmason.model.parts import STAGING
from toolmason.model.rendered_file import RenderedFile
from toolmason.write import LOCK, EditedFilesError, MisplacedDirectoryError, WriteError, check, write
from toolmason.write.changes import ChangeKind, Changes
from toolmason.write.compare import compare
from toolmason.write.journal import Disk, recover

OLD = {"a.py": "A = 1\n", "docs/a.md": "# A\n", "old/b.py": "B = 1\n", "a.json": "{}\n", "old.json": "{}\n"}
NEW = {"a.py": "A = 2\n", "docs/a.md": "# A\n", "new/c.py": "C = 1\n", "a.json": "[]\n", "docs/d.md": "# D\n"}


class FailingDisk(Disk):
    """A disk that refuses one operation, counted from 1, and all from number `for_good` on, if that is not 0."""

    def __init__(self, number: int, code: int, *, for_good: int = 0) -> None:
        self.count = 0
        self.number = number
        self.code = code
        self.for_good = for_good

    def make_directory(self, path: Path) -> None:
        self.step(path)
        super().make_directory(path)

    def create(self, path: Path, data: bytes, mode: int | None) -> None:
        if self.count + 1 == self.number:
            path.write_bytes(data[: len(data) // 2])
        self.step(path)
        super().create(path, data, mode)

    def back_up(self, path: Path, copy: Path) -> None:
        self.step(path)
        super().back_up(path, copy)

    def replace(self, path: Path, target: Path) -> None:
        self.step(target)
        super().replace(path, target)

    def remove(self, path: Path) -> None:
        self.step(path)
        super().remove(path)

    def remove_directory(self, path: Path) -> None:
        self.step(path)
        super().remove_directory(path)

    def sync(self, folder: Path) -> None:
        self.step(folder)
        super().sync(folder)

    def step(self, path: Path) -> None:
        self.count += 1
        if self.count == self.number or 0 < self.for_good <= self.count:
            raise OSError(self.code, os.strerror(self.code), str(path))


def rendered(texts: Mapping[str, str]) -> list[RenderedFile]:
    return [RenderedFile(PurePosixPath(name), add_checksum(PurePosixPath(name), text)) for name, text in texts.items()]


def state_of(folder: Path) -> dict[str, tuple[int, int, int, bytes]]:
    """Path -> inode, mode, modification time and content of each file, caches and all."""
    found = {}
    for path in folder.rglob("*"):
        if path.is_file():
            stat = path.stat()
            found[path.relative_to(folder).as_posix()] = (
                stat.st_ino,
                stat.st_mode,
                stat.st_mtime_ns,
                path.read_bytes(),
            )
    return found


def names(changes: Changes, kind: ChangeKind) -> list[str]:
    return [str(change.path) for change in changes.all if change.kind is kind]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    target = tmp_path / "generated"
    write(rendered(OLD), target)
    return target


def test_writing_again_touches_nothing(folder: Path) -> None:
    before = state_of(folder)

    assert write(rendered(OLD), folder).is_clean
    assert state_of(folder) == before


@pytest.mark.parametrize(("texts", "line_end"), [(OLD, "\n"), (OLD, "\r\n"), (NEW, "\n")])
def test_the_directory_is_compared_once(
    texts: Mapping[str, str], line_end: str, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Without changes, it is not locked; with a file of another size, only the comparison under the lock counts."""
    for path in folder.rglob("*"):
        if path.is_file():
            path.write_bytes(path.read_bytes().replace(b"\n", line_end.encode()))
    (folder.parent / LOCK).unlink()
    spy = Mock(side_effect=compare)
    monkeypatch.setattr(write_module, "compare", spy)
    assert write(rendered(texts), folder).is_clean == (texts is OLD)
    assert spy.call_count == 1
    assert (folder.parent / LOCK).exists() == (texts is NEW)


def test_only_changed_files_are_written(folder: Path) -> None:
    before = state_of(folder)
    changes = write(rendered(NEW), folder)
    after = state_of(folder)

    assert names(changes, ChangeKind.CREATED) == ["docs/d.md", "new/c.py"]
    assert names(changes, ChangeKind.CHANGED) == ["SHA256SUMS", "a.json", "a.py"]
    assert names(changes, ChangeKind.PRUNED) == ["old.json", "old/b.py"]
    assert after["docs/a.md"] == before["docs/a.md"]
    assert not (folder / "old").exists()
    assert not (folder / STAGING).exists()
    assert check(rendered(NEW), folder).is_clean


def test_output_is_utf_8_with_lf_line_ends(tmp_path: Path) -> None:
    write(rendered({"a.json": '"ä\u2028"\r\n'}), tmp_path / "generated")

    assert (tmp_path / "generated/a.json").read_bytes() == '"ä\u2028"\n'.encode()


def test_a_hand_edit_is_refused_with_its_diff_and_nothing_is_written(folder: Path) -> None:
    with (folder / "a.py").open("a", encoding="utf-8") as file:
        file.write("MINE = 1\n")
    before = state_of(folder)

    with pytest.raises(EditedFilesError, match=r"^a\.py$") as caught:
        write(rendered(NEW), folder)

    assert names(caught.value.changes, ChangeKind.EDITED) == ["a.py"]
    assert "\n+MINE = 1\n" in caught.value.changes.diff(PurePosixPath("a.py"))
    assert state_of(folder) == before


@pytest.mark.parametrize("name", ["a.json", "SHA256SUMS", "docs/a.md"])
def test_every_kind_of_file_is_guarded(folder: Path, name: str) -> None:
    (folder / name).write_bytes(b"\n" + (folder / name).read_bytes())

    with pytest.raises(EditedFilesError) as caught:
        write(rendered(OLD), folder)
    assert names(caught.value.changes, ChangeKind.EDITED) == [name]


def test_discarding_edits_overwrites_them(folder: Path) -> None:
    (folder / "a.py").write_bytes(b"mine = 1\n" + (folder / "a.py").read_bytes())

    assert names(write(rendered(OLD), folder, discard_edits=True), ChangeKind.EDITED) == ["a.py"]
    assert check(rendered(OLD), folder).is_clean


def test_an_edit_equal_to_the_rendered_file_is_not_an_edit(folder: Path) -> None:
    for file in rendered(NEW):
        (folder / file.path).parent.mkdir(exist_ok=True)
        (folder / file.path).write_bytes(file.text.encode("utf-8"))

    assert names(write(rendered(NEW), folder), ChangeKind.EDITED) == []


def test_a_file_of_a_user_survives_even_when_its_neighbours_go(folder: Path) -> None:
    (folder / "old/mine.py").write_text("mine = 1\n", encoding="utf-8")
    (folder / "mine.json").write_text("{}\n", encoding="utf-8")

    for discard_edits in (False, True):
        changes = write(rendered(NEW), folder, discard_edits=discard_edits)
        assert names(changes, ChangeKind.FOREIGN) == ["mine.json", "old/mine.py"]
    assert (folder / "old/mine.py").read_text(encoding="utf-8") == "mine = 1\n"
    assert not (folder / "old/b.py").exists()


def test_an_edited_file_that_is_not_rendered_any_more_is_not_pruned(folder: Path) -> None:
    (folder / "old/b.py").write_bytes(b"mine = 1\n" + (folder / "old/b.py").read_bytes())
    (folder / "old.json").write_bytes(b"[1]\n")
    before = state_of(folder)

    with pytest.raises(EditedFilesError) as caught:
        write(rendered(NEW), folder)
    assert names(caught.value.changes, ChangeKind.EDITED) == ["old.json", "old/b.py"]
    assert state_of(folder) == before

    write(rendered(NEW), folder, discard_edits=True)
    assert not (folder / "old").exists()
    assert not (folder / "old.json").exists()


def test_a_foreign_file_in_the_way_is_refused_and_gives_way_only_on_demand(folder: Path) -> None:
    (folder / "new").mkdir()
    (folder / "new/c.py").write_text("mine = 1\n", encoding="utf-8")

    with pytest.raises(EditedFilesError) as caught:
        write(rendered(NEW), folder)
    assert names(caught.value.changes, ChangeKind.BLOCKED) == ["new/c.py"]
    assert (folder / "new/c.py").read_text(encoding="utf-8") == "mine = 1\n"

    write(rendered(NEW), folder, discard_edits=True)
    assert check(rendered(NEW), folder).is_clean


def test_a_foreign_file_where_a_folder_must_be_is_refused(folder: Path) -> None:
    (folder / "new").write_text("mine\n", encoding="utf-8")

    with pytest.raises(EditedFilesError) as caught:
        write(rendered(NEW), folder)
    assert names(caught.value.changes, ChangeKind.BLOCKED) == ["new"]

    write(rendered(NEW), folder, discard_edits=True)
    assert check(rendered(NEW), folder).is_clean


def test_a_folder_with_files_of_others_never_gives_way(folder: Path) -> None:
    (folder / "docs/d.md").mkdir()
    (folder / "docs/d.md/mine.txt").write_text("mine\n", encoding="utf-8")

    for discard_edits in (False, True):
        with pytest.raises(EditedFilesError) as caught:
            write(rendered(NEW), folder, discard_edits=discard_edits)
        assert names(caught.value.changes, ChangeKind.BLOCKED) == ["docs/d.md"]
    assert (folder / "docs/d.md/mine.txt").read_text(encoding="utf-8") == "mine\n"


def test_a_file_becomes_a_folder_and_a_folder_a_file(tmp_path: Path) -> None:
    flat, deep = rendered({"a.py": "A = 1\n"}), rendered({"a.py/b/c.py": "C = 1\n"})
    for files in (flat, deep, flat):
        write(files, tmp_path / "generated")
        assert check(files, tmp_path / "generated").is_clean


def test_bytecode_does_not_keep_the_folder_of_a_removed_module_alive(folder: Path) -> None:
    (folder / "old/__pycache__").mkdir()
    (folder / "old/__pycache__/b.cpython-311.pyc").write_bytes(b"x")

    write(rendered(NEW), folder)

    assert not (folder / "old").exists()


def test_nothing_is_written_through_a_link(folder: Path, tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "target.py").write_text("mine = 1\n", encoding="utf-8")
    (folder / "a.py").unlink()
    (folder / "a.py").symlink_to(outside / "target.py")
    (folder / "new").symlink_to(outside, target_is_directory=True)

    with pytest.raises(EditedFilesError) as caught:
        write(rendered(NEW), folder)
    assert names(caught.value.changes, ChangeKind.BLOCKED) == ["a.py", "new"]
    assert [path.name for path in outside.iterdir()] == ["target.py"]

    write(rendered(NEW), folder, discard_edits=True)
    assert [path.name for path in outside.iterdir()] == ["target.py"]
    assert (outside / "target.py").read_text(encoding="utf-8") == "mine = 1\n"
    assert not (folder / "new").is_symlink()
    assert check(rendered(NEW), folder).is_clean


def test_nothing_is_written_to_a_folder_that_is_a_link(tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    (tmp_path / "generated").symlink_to(tmp_path / "real", target_is_directory=True)

    with pytest.raises(MisplacedDirectoryError, match="it is a link"):
        write(rendered(OLD), tmp_path / "generated")

    assert list((tmp_path / "real").iterdir()) == []


def test_a_folder_in_a_linked_project_is_written(tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    (tmp_path / "project").symlink_to(tmp_path / "real", target_is_directory=True)

    write(rendered(OLD), tmp_path / "project" / "generated")

    assert (tmp_path / "real/generated/a.py").is_file()


@pytest.mark.skipif(sys.platform == "win32", reason="no pipes in folders there")
@pytest.mark.parametrize("kind", ["link", "pipe"])
def test_a_lock_that_leads_elsewhere_is_refused(kind: str, tmp_path: Path) -> None:
    victim = tmp_path / "victim"
    victim.write_text("precious", encoding="utf-8")
    lock = tmp_path / "project" / LOCK
    lock.parent.mkdir()
    if kind == "link":
        lock.symlink_to(victim)
    else:
        os.mkfifo(lock)

    with pytest.raises(MisplacedDirectoryError, match=LOCK):
        write(rendered(OLD), lock.parent / "generated")

    assert victim.read_text(encoding="utf-8") == "precious"
    assert not (lock.parent / "generated").exists()


def test_a_replaced_file_keeps_its_mode_also_if_it_was_read_only(folder: Path) -> None:
    (folder / "a.py").chmod(0o444)
    (folder / "a.json").chmod(0o750)

    write(rendered(NEW), folder)

    assert (folder / "a.py").stat().st_mode & 0o777 == 0o444
    assert (folder / "a.json").stat().st_mode & 0o777 == 0o750


def test_a_part_is_written_and_the_list_keeps_the_others(folder: Path) -> None:
    write(rendered(NEW | {"docs/d.json": "{}\n"}), folder, part=lambda path: path.parts[0] == "docs")

    assert sorted(state_of(folder)) == sorted([*OLD, "docs/d.md", "docs/d.json", "SHA256SUMS"])
    assert check(rendered(OLD | {"docs/d.md": "# D\n", "docs/d.json": "{}\n"}), folder).is_clean


def test_rendered_text_without_a_signature_is_our_bug(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=r"a\.py was rendered without a signature"):
        write([RenderedFile(PurePosixPath("a.py"), "A = 1\n")], tmp_path / "generated")


@pytest.mark.uncovered
@pytest.mark.parametrize("code", [errno.ENOSPC, errno.EROFS, errno.EACCES], ids=["full", "read-only", "forbidden"])
def test_whichever_operation_fails_once_the_tree_is_old_or_new(tmp_path: Path, code: int) -> None:
    number = 0
    while True:
        number += 1
        target = tmp_path / str(number) / "generated"
        write(rendered(OLD), target)
        before = state_of(target)
        disk = FailingDisk(number, code)
        try:
            write(rendered(NEW), target, disk=disk)
        except WriteError as failure:
            assert os.strerror(code) in failure.reason  # noqa: PT017 - the loop ends when nothing fails
            assert failure.path.is_relative_to(target)  # noqa: PT017 - likewise
        if disk.count < number:
            break
        if (target / STAGING).exists():
            # The failure fell into the tidying up, after all was written.
            assert check(rendered(NEW), target).all == ()
        else:
            assert state_of(target) == before
        write(rendered(NEW), target)
        assert check(rendered(NEW), target).is_clean
        assert not (target / STAGING).exists()
    assert number > 30


@pytest.mark.uncovered
def test_whichever_operation_is_the_last_one_possible_the_next_run_settles_it(tmp_path: Path) -> None:
    number = 0
    while True:
        number += 1
        target = tmp_path / str(number) / "generated"
        write(rendered(OLD), target)
        disk = FailingDisk(number, errno.EROFS, for_good=number)
        try:
            write(rendered(NEW), target, disk=disk)
        except WriteError:
            assert number <= disk.count
        if disk.count < number:
            break
        foreseen = [check(rendered(texts), target) for texts in (OLD, NEW)]
        assert any(changes.all == () for changes in foreseen)
        write(rendered(NEW), target)
        assert check(rendered(NEW), target).is_clean
    assert number > 30


@pytest.mark.uncovered
def test_a_way_back_that_is_cut_short_too_is_finished_by_the_next_run(tmp_path: Path) -> None:
    write(rendered(OLD), tmp_path / "old")
    old = {name: state[3] for name, state in state_of(tmp_path / "old").items()}
    unfinished = 0
    for number in range(20, 45):
        for later in range(2, 8):
            target = tmp_path / f"{number} {later}" / "generated"
            write(rendered(OLD), target)
            with suppress(WriteError):
                write(rendered(NEW), target, disk=FailingDisk(number, errno.EIO, for_good=number + later))
            if not (target / STAGING / "back.json").exists():
                continue
            unfinished += 1
            assert check(rendered(OLD), target).all == ()
            assert check(rendered(OLD), target).is_interrupted
            assert recover(target, Disk())
            assert {name: state[3] for name, state in state_of(target).items()} == old
    assert unfinished > 10


class MeddlingDisk(Disk):
    """A disk on which somebody saves `path` just before it would be replaced."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def sync(self, folder: Path) -> None:
        super().sync(folder)
        if folder.name == STAGING and not self.path.read_bytes().startswith(b"mine"):
            self.path.write_bytes(b"mine = 1\n")


def test_a_file_saved_while_we_write_is_not_lost(folder: Path) -> None:
    before = state_of(folder)

    with pytest.raises(WriteError, match="changed while it was being written"):
        write(rendered(NEW), folder, disk=MeddlingDisk(folder / "a.py"))

    after = state_of(folder)
    assert after.pop("a.py")[3] == b"mine = 1\n"
    assert before.pop("a.py")
    assert after == before
