"""A configuration file is replaced without loss: encoding, line ends, mode, links and edits of others remain."""

from __future__ import annotations

import codecs
import errno
import os
import stat
import sys
from pathlib import Path

import pytest
from toolmason_runtime.install import files
from toolmason_runtime.install.errors import FileSyntaxError, InstallError

FORMS = {
    "plain": b"{}\n",
    "a byte order mark": codecs.BOM_UTF8 + b"{}\n",
    "CRLF": b"{\r\n}\r\n",
    "both line ends": b"{\r\n}\n",
    "both": codecs.BOM_UTF8 + b"{\r\n}\r\n",
    "empty": b"",
}


@pytest.mark.parametrize("data", FORMS.values(), ids=FORMS)
def test_the_form_of_a_file_remains(tmp_path: Path, data: bytes) -> None:
    path = tmp_path / "settings.json"
    path.write_bytes(data)

    file = files.read(path)

    assert file.encode(file.text) == data
    assert not file.text.startswith("\ufeff")
    if data == FORMS["CRLF"]:
        assert file.encode("{\n\n}") == b"{\r\n\r\n}"


def test_mode_and_link_remain_and_the_old_content_is_in_a_backup(tmp_path: Path) -> None:
    target, link = tmp_path / "dotfiles" / "settings.json", tmp_path / "settings.json"
    target.parent.mkdir()
    target.write_text("old", encoding="utf-8")
    target.chmod(0o640)
    link.symlink_to(target)

    backup = files.write(files.read(link), b"new")

    assert link.is_symlink()
    assert target.read_bytes() == b"new"
    assert backup == target.with_name("settings.json.bak")
    assert backup.read_bytes() == b"old"
    assert {stat.S_IMODE(path.stat().st_mode) for path in (target, backup)} == {0o640}


@pytest.mark.skipif(sys.platform == "win32", reason="links need a privilege")
def test_a_link_to_the_file_is_not_its_backup(tmp_path: Path) -> None:
    path = tmp_path / "settings.json"
    path.write_bytes(b"old")
    path.with_name("settings.json.bak").symlink_to(path)

    backup = files.write(files.read(path), b"new")

    assert backup == path.with_name("settings.json.bak2")
    assert backup.read_bytes() == b"old"


def test_a_backup_that_cannot_be_completed_is_removed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "settings.json"
    path.write_bytes(b"old")
    file = files.read(path)

    def fail(descriptor: int) -> None:
        if os.fstat(descriptor).st_size == len(b"old"):
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(os, "fsync", fail)

    with pytest.raises(InstallError, match="No space left"):
        files.write(file, b"newer")

    assert list(tmp_path.iterdir()) == [path]
    assert path.read_bytes() == b"old"


def test_a_new_file_is_for_its_owner_and_has_no_backup(tmp_path: Path) -> None:
    path = tmp_path / "new" / "settings.json"
    assert files.write(files.read(path), b"new") is None
    assert stat.S_IMODE(path.stat().st_mode) == files.NEW_FILE_MODE or sys.platform == "win32"
    assert list(path.parent.iterdir()) == [path]


def test_a_backup_is_never_overwritten(tmp_path: Path) -> None:
    path = tmp_path / "a.json"
    for content in (b"1", b"2", b"1", b"3"):
        path.write_bytes(content)
        files.write(files.read(path), b"new")
    backups = {file.name: file.read_bytes() for file in tmp_path.glob("*.bak*")}
    assert backups == {"a.json.bak": b"1", "a.json.bak2": b"2", "a.json.bak3": b"3"}


@pytest.mark.parametrize("created", [False, True])
def test_a_file_that_another_program_changes_meanwhile_is_not_overwritten(tmp_path: Path, created: bool) -> None:
    path = tmp_path / "settings.json"
    if not created:
        path.write_bytes(b"old")
    file = files.read(path)
    path.write_bytes(b"of another program")

    with pytest.raises(InstallError, match="was changed by another program"):
        files.write(file, b"new")

    assert path.read_bytes() == b"of another program"
    assert not list(tmp_path.glob(".*"))


def test_a_second_installation_waits_for_the_first(tmp_path: Path) -> None:
    path = tmp_path / "settings.json"
    path.write_bytes(b"old")
    (tmp_path / ".settings.json.installing").touch()

    with pytest.raises(InstallError, match="another installation is writing"):
        files.write(files.read(path), b"new")

    assert path.read_bytes() == b"old"


def test_files_that_cannot_be_replaced_are_refused(tmp_path: Path) -> None:
    (tmp_path / "directory").mkdir()
    (tmp_path / "one").write_bytes(b"x")
    os.link(tmp_path / "one", tmp_path / "two")
    for name, message in {"directory": "not a regular file", "two": "2 hard links"}.items():
        with pytest.raises(InstallError, match=message):
            files.read(tmp_path / name)


def test_text_that_is_not_utf_8_is_refused_with_its_position(tmp_path: Path) -> None:
    path = tmp_path / "settings.json"
    path.write_bytes(b'{\n  "a": "\xe9"}')
    with pytest.raises(FileSyntaxError, match=r"^2:9: not UTF-8: byte 0xE9"):
        files.read(path)
