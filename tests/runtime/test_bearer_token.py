"""The token of a server: created for its user alone, away from projects, and refused where others may know it."""

from __future__ import annotations

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
def test_token_that_other_users_can_read_is_refused_with_the_way_out() -> None:
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

    with pytest.raises(AccessError, match=r"must contain one token of at least 16"):
        read_token(path)


def test_white_space_around_a_token_is_no_part_of_it(tmp_path: Path) -> None:
    path = tmp_path / "token"
    path.write_text(" abcdefghijklmnop+/==\r\n", encoding="utf-8")

    assert read_token(path) == "abcdefghijklmnop+/=="
