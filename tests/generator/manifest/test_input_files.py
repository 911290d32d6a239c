"""A file is read if it is inside the project after links are resolved, for each path of the project's directory."""

from __future__ import annotations

from pathlib import Path

import pytest

from toolmason.manifest.input_files import UnsafeInputError, hash_input, is_inside, read_input

DIRECTORIES = {
    "path": "project",
    "link": "link",
    "below a link": "links/project",
    "with a parent": "project-old/../project",
    "with a dot": "./project",
    "link to a link": "second",
}
"""Paths of the directory of one project."""
OUTSIDE = {
    "sibling with its name at the start": "../project-old/private.toml",
    "parent": "../private.toml",
    "link to a file": "link.toml",
    "file in a linked directory": "linked/private.toml",
    "chain of links": "chain.toml",
}


@pytest.fixture
def top(tmp_path: Path) -> Path:
    project = tmp_path / "project"
    for directory in (project / "tools", tmp_path / "project-old", tmp_path / "elsewhere"):
        directory.mkdir(parents=True)
    (project / "tools" / "own.toml").write_bytes(b"own")
    for directory in (tmp_path, tmp_path / "project-old", tmp_path / "elsewhere"):
        (directory / "private.toml").write_bytes(b"private")
    (project / "inner.toml").symlink_to(Path("tools", "own.toml"))
    (project / "link.toml").symlink_to(tmp_path / "elsewhere" / "private.toml")
    (project / "chain.toml").symlink_to("link.toml")
    (project / "linked").symlink_to(tmp_path / "elsewhere")
    (tmp_path / "link").symlink_to(project)
    (tmp_path / "second").symlink_to("link")
    (tmp_path / "links").symlink_to(tmp_path)
    return tmp_path


@pytest.mark.parametrize("name", ["tools/own.toml", "inner.toml", "tools/../inner.toml"])
@pytest.mark.parametrize("directory", DIRECTORIES.values(), ids=DIRECTORIES)
def test_a_file_of_the_project_is_read(directory: str, name: str, top: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(top)
    for root in (Path(directory), top / directory):
        assert read_input(root / name, root) == b"own"
        assert hash_input(root / name, root)[0] == len(b"own")
        assert is_inside(root / name, root)
        assert read_input(top / "project" / name, root) == b"own"


@pytest.mark.parametrize("name", OUTSIDE.values(), ids=OUTSIDE)
@pytest.mark.parametrize("directory", DIRECTORIES.values(), ids=DIRECTORIES)
def test_a_file_outside_the_project_is_refused(
    directory: str, name: str, top: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(top)
    for root in (Path(directory), top / directory):
        for path in (root / name, top / "project" / name):
            assert path.exists()
            assert not is_inside(path, root)
            for read in (read_input, hash_input):
                with pytest.raises(UnsafeInputError, match="it is outside the project"):
                    read(path, root)


def test_every_path_is_inside_the_top_of_the_file_system(top: Path) -> None:
    assert read_input(top / "private.toml", Path(top.anchor)) == b"private"
