"""The token of a server: created for its user alone, away from projects, and refused where others may know it."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest
from toolmason_runtime.transports.bearer_token import own_token, read_token
from toolmason_runtime.transports.http_access import AccessError

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="the directory is that of Linux")


@pytest.fixture
def state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A state directory, and a home and a working directory beside it."""
    for name in ("home", "project"):
        (tmp_path / name).mkdir()
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    monkeypatch.chdir(tmp_path / "project")
    return tmp_path / "state"


def test_token_is_created_once_and_is_long(state: Path) -> None:
    token, path = own_token("sample")

    assert path == state / "sample" / "http-token"
    assert len(token) >= 43
    assert own_token("sample") == (token, path)
    assert own_token("other")[0] != token


@pytest.mark.parametrize("stated", ["", "state", "../project/state", "{project}", "{project}/.state"])
def test_token_is_never_created_within_the_working_directory(
    state: Path, monkeypatch: pytest.MonkeyPatch, stated: str
) -> None:
    project, home = state.parent / "project", state.parent / "home"
    monkeypatch.setenv("XDG_STATE_HOME", stated.format(project=project))

    assert own_token("sample")[1] == home / ".local" / "state" / "sample" / "http-token"
    assert list(project.iterdir()) == []


@pytest.mark.usefixtures("state")
def test_token_that_other_users_can_read_is_refused_with_instructions() -> None:
    _, path = own_token("sample")
    path.chmod(0o640)

    with pytest.raises(AccessError, match=r"other users can read the token file .*: remove it, and a new one"):
        own_token("sample")


def test_link_in_place_of_the_token_is_not_followed(state: Path) -> None:
    (state / "sample").mkdir(parents=True)
    elsewhere = state / "elsewhere"
    elsewhere.write_text("a-token-of-somebody-else\n", encoding="ascii")
    elsewhere.chmod(0o600)
    (state / "sample" / "http-token").symlink_to(elsewhere)

    with pytest.raises(AccessError, match=r"cannot create a token file: .*; set one with --token-file"):
        own_token("sample")


@pytest.mark.parametrize(
    "text", ["", "\n", "short", "two words of a sentence", "twenty-characters\nmore", "x" * 16 + "\u00e4"]
)
def test_file_without_a_token_is_refused(tmp_path: Path, text: str) -> None:
    path = tmp_path / "token"
    path.write_text(text, encoding="utf-8")
    path.chmod(0o600)

    with pytest.raises(AccessError, match=r"must contain one token of at least 16"):
        read_token(path)


def test_white_space_around_a_token_is_stripped(tmp_path: Path) -> None:
    path = tmp_path / "token"
    path.write_text(" abcdefghijklmnop+/==\r\n", encoding="utf-8")
    path.chmod(0o600)

    assert read_token(path) == "abcdefghijklmnop+/=="


TOKEN = "abcdefghijklmnop"


@pytest.fixture
def token_file(tmp_path: Path) -> Path:
    """A private file with a token."""
    path = tmp_path / "private-token"
    path.write_text(TOKEN, encoding="ascii")
    path.chmod(0o600)
    return path


@pytest.mark.parametrize("mode", [0o600, 0o400, 0o700, 0o500, 0o4600])
def test_private_file_is_accepted(token_file: Path, mode: int) -> None:
    token_file.chmod(mode)

    assert read_token(token_file) == TOKEN


@pytest.mark.parametrize("mode", [0o644, 0o640, 0o604, 0o440, 0o444, 0o660, 0o620, 0o602, 0o666, 0o777, 0o610, 0o601])
def test_file_that_others_can_use_is_refused_with_the_fix(token_file: Path, mode: int) -> None:
    token_file.chmod(mode)

    with pytest.raises(
        AccessError, match=rf"other users can read or write .* \(mode {mode:04o}\): run `chmod 600 .*token`"
    ):
        read_token(token_file)


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give a file to another user")
def test_file_of_another_user_is_refused(token_file: Path) -> None:
    os.chown(token_file, 12345, 12345)

    with pytest.raises(AccessError, match="belongs to another user: copy it to a file of your own"):
        read_token(token_file)


@pytest.mark.parametrize(
    ("mode", "is_accepted"),
    [(0o400, True), (0o440, True), (0o640, True), (0o444, False), (0o460, False), (0o644, False), (0o660, False)],
)
def test_group_may_read_a_file_of_root_such_as_a_mounted_secret(
    token_file: Path, monkeypatch: pytest.MonkeyPatch, mode: int, is_accepted: bool
) -> None:
    token_file.chmod(mode)
    about = token_file.stat()
    of_root = os.stat_result((about.st_mode, 0, 0, 1, 0, 0, about.st_size, 0, 0, 0))
    monkeypatch.setattr(os, "fstat", lambda _: of_root)
    monkeypatch.setattr(os, "geteuid", lambda: 12345)

    if is_accepted:
        assert read_token(token_file) == TOKEN
    else:
        with pytest.raises(AccessError, match=r"run `chmod 640 .*` as root; for a mounted secret"):
            read_token(token_file)


def test_links_are_followed_to_the_file_as_those_of_kubernetes(tmp_path: Path, token_file: Path) -> None:
    (tmp_path / "..2026").mkdir()
    token_file.rename(tmp_path / "..2026" / "token")
    (tmp_path / "..data").symlink_to("..2026")
    link = tmp_path / "token"
    link.symlink_to("..data/token")

    assert read_token(link) == TOKEN
    (tmp_path / "..2026" / "token").chmod(0o644)
    with pytest.raises(AccessError, match="defaultMode: 0400"):
        read_token(link)


def test_special_files_are_refused_at_once(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe, 0o600)
    reader, writer = os.pipe()
    os.write(writer, TOKEN.encode())

    for path in (pipe, Path("/dev/null"), Path("/dev/zero"), Path(f"/dev/fd/{reader}")):
        with pytest.raises(AccessError, match="must be a regular file, not a pipe or device"):
            read_token(path)
    os.close(reader)
    os.close(writer)


def test_large_file_and_missing_target_are_refused(tmp_path: Path, token_file: Path) -> None:
    os.truncate(token_file, 50_000_000_000)
    (tmp_path / "link").symlink_to("nowhere")

    with pytest.raises(AccessError, match="has 50000000000 bytes; it must contain one token"):
        read_token(token_file)
    with pytest.raises(AccessError, match=r"cannot read the token file .*: Is a directory"):
        read_token(tmp_path)
    with pytest.raises(AccessError, match=r"cannot read the token file .*: No such file or directory"):
        read_token(tmp_path / "link")
