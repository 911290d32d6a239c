from __future__ import annotations

import os
import socket
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from toolmason_runtime import ToolError

from workbench_handlers.workspace.open import existing, open_directory, open_file
from workbench_handlers.workspace.roots import RefusedPathError, Root, locate, root_of_uri


def content(room: Any, path: str, *, walk: bool = True) -> str:
    with open_file(locate(path, room.roots), walk=walk) as stream:
        return str(stream.read().decode())


@pytest.mark.parametrize("path", ["a.txt", "./a.txt", "sub/../a.txt", "sub//deep/../../a.txt"])
@pytest.mark.parametrize("walk", [True, False], ids=["walking", "by path"])
def test_a_path_that_stays_inside_is_read(room: Any, path: str, walk: bool) -> None:
    room.write("a.txt", "inside")
    room.write("sub/deep/b.txt", "deep")
    assert content(room, path, walk=walk) == "inside"
    assert content(room, str(room.project / path), walk=walk) == "inside"


@pytest.mark.parametrize(
    "path",
    ["../proj-evil/secret.txt", "sub/../../proj-evil/secret.txt", "/etc/passwd", "/", "..", "~root", "~/../etc/passwd"],
)
def test_a_path_that_leads_outside_is_refused(room: Any, path: str) -> None:
    (room.project / "sub").mkdir()
    with pytest.raises(RefusedPathError, match="outside the allowed directories"):
        locate(path, room.roots)


def test_a_sibling_whose_name_begins_the_same_is_refused(room: Any) -> None:
    with pytest.raises(RefusedPathError):
        locate(str(room.outside / "secret.txt"), room.roots)


def test_a_tilde_means_the_home_directory(room: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(room.project))
    monkeypatch.setenv("USERPROFILE", str(room.project))
    room.write("a.txt", "inside")
    assert content(room, "~/a.txt") == "inside"
    monkeypatch.setenv("HOME", str(room.outside))
    monkeypatch.setenv("USERPROFILE", str(room.outside))
    with pytest.raises(RefusedPathError):
        locate("~/secret.txt", room.roots)


@pytest.mark.parametrize(
    ("path", "message"),
    [("", "empty"), ("  ", "empty"), ("a\0b", "NUL"), ("\udfff", "not valid"), ("a/" * 3000, "6,000 characters")],
)
def test_an_invalid_path_is_refused_with_the_reason(room: Any, path: str, message: str) -> None:
    with pytest.raises(RefusedPathError, match=message):
        locate(path, room.roots)


def test_links_are_followed_inside_and_refused_to_the_outside(room: Any) -> None:
    room.write("real/a.txt", "inside")
    (room.project / "file").symlink_to(room.project / "real" / "a.txt")
    (room.project / "folder").symlink_to("real")
    (room.project / "out-file").symlink_to(room.outside / "secret.txt")
    (room.project / "out-folder").symlink_to(room.outside)
    assert content(room, "file") == "inside"
    assert content(room, "folder/a.txt") == "inside"
    for path in ("out-file", "out-folder", "out-folder/secret.txt", "folder/../out-folder/secret.txt"):
        with pytest.raises(RefusedPathError):
            locate(path, room.roots)


def test_a_link_back_into_the_project_through_the_outside_is_judged_by_where_it_ends(room: Any) -> None:
    room.write("a.txt", "inside")
    (room.outside / "back").symlink_to(room.project)
    assert content(room, str(room.outside / "back" / "a.txt")) == "inside"


def test_dots_after_a_link_are_those_of_its_target(room: Any) -> None:
    (room.outside / "deep").mkdir()
    (room.project / "link").symlink_to(room.outside / "deep")
    with pytest.raises(RefusedPathError):
        locate("link/../secret.txt", room.roots)


@pytest.mark.parametrize("walk", [True, False], ids=["walking", "by path"])
def test_links_that_lead_nowhere_or_in_a_circle_are_not_found(room: Any, walk: bool) -> None:
    (room.project / "dangling").symlink_to("nothing")
    (room.project / "a").symlink_to("b")
    (room.project / "b").symlink_to("a")
    for path in ("dangling", "a"):
        with (
            pytest.raises(ToolError, match=r"no such file|is a link loop|cannot read"),
            open_file(locate(path, room.roots), walk=walk),
        ):
            pass
    (room.project / "dangling-out").symlink_to(room.outside / "nothing")
    with pytest.raises(RefusedPathError):
        locate("dangling-out", room.roots)


@pytest.mark.parametrize("walk", [True, False], ids=["walking", "by path"])
@pytest.mark.parametrize("swapped", ["file", "folder"])
def test_a_link_created_between_check_and_open_is_not_followed(room: Any, swapped: str, walk: bool) -> None:
    room.write("sub/secret.txt", "inside")
    located = locate("sub/secret.txt", room.roots)
    if swapped == "file":
        (room.project / "sub" / "secret.txt").unlink()
        (room.project / "sub" / "secret.txt").symlink_to(room.outside / "secret.txt")
    else:
        (room.project / "sub").rename(room.project / "was")
        (room.project / "sub").symlink_to(room.outside)
    with pytest.raises(ToolError) as error, open_file(located, walk=walk):
        pass
    assert error.value.code == "PATH_CHANGED"


@pytest.mark.parametrize("walk", [True, False], ids=["walking", "by path"])
def test_a_folder_swapped_for_a_link_is_not_listed(room: Any, walk: bool) -> None:
    (room.project / "sub").mkdir()
    located = locate("sub", room.roots)
    (room.project / "sub").rmdir()
    (room.project / "sub").symlink_to(room.outside)
    with pytest.raises(ToolError, match="was replaced by a link"), open_directory(located, walk=walk):
        pass


def test_pipes_sockets_and_devices_are_refused_without_waiting(room: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    os.mkfifo(room.project / "pipe")
    monkeypatch.chdir(room.project)  # a socket's path must be short
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind("socket")
        for name in ("pipe", "socket"):
            with pytest.raises(ToolError, match="not a regular file"):
                content(room, name)
    with (
        pytest.raises(ToolError, match="not a regular file"),
        open_file(locate("/dev/null", (Root.of("/dev", "a test"),))),
    ):
        pass


def test_directories_and_files_are_not_interchangeable(room: Any) -> None:
    room.write("sub/a.txt", "inside")
    for path in ("sub", "."):
        with pytest.raises(ToolError, match="is a directory"):
            content(room, path)
    with pytest.raises(ToolError, match="is a file, not a directory"), open_directory(locate("sub/a.txt", room.roots)):
        pass


def test_a_missing_path_is_reported_with_similar_names(room: Any) -> None:
    room.write("LICENSE", "text")
    with pytest.raises(ToolError, match=r"no such file or directory: `licence`; did you mean `LICENSE`\?"):
        existing("licence", room.roots)


def test_names_are_taken_in_their_own_case(room: Any) -> None:
    room.write("a.txt", "inside")
    upper = Path(str(room.project).replace("proj", "PROJ"))
    with pytest.raises(RefusedPathError):
        locate(str(upper / "a.txt"), room.roots)


def test_a_relative_path_is_looked_for_in_every_root(room: Any) -> None:
    other = room.project.parent / "other"
    other.mkdir()
    (other / "b.txt").write_text("second", encoding="utf-8")
    roots = (*room.roots, Root.of(str(other), "a test"))
    located = existing("b.txt", roots)
    assert located.path == other / "b.txt"
    assert located.shown == str(other / "b.txt")
    assert locate("nowhere.txt", roots).path == room.project / "nowhere.txt"


@pytest.mark.parametrize("part", ["..", ".", "", "../proj-evil"])
def test_a_place_is_made_of_names_alone(room: Any, part: str) -> None:
    with pytest.raises(ValueError, match="not a name"):
        existing(".", room.roots).child(part)


@pytest.mark.parametrize(
    ("uri", "path"),
    [
        ("file:///home/me/a%20b%C3%A9", "/home/me/a bé"),
        ("file://localhost/srv", "/srv"),
        ("file://elsewhere/srv", None),
        ("https://example.com/x", None),
        ("file:relative", None),
        ("file:///a%00b", None),
    ],
)
def test_file_addresses_become_paths(uri: str, path: str | None) -> None:
    assert root_of_uri(uri) == path


PIECES = st.sampled_from(["..", ".", "sub", "deep", "in", "out", "loop", "secret.txt", "a.txt", "", "~", "proj-evil"])


@settings(max_examples=300, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(pieces=st.lists(PIECES, max_size=8), is_absolute=st.booleans(), walk=st.booleans())
def test_no_path_reads_files_outside_the_roots(room: Any, pieces: list[str], is_absolute: bool, walk: bool) -> None:
    if not (room.project / "sub").exists():
        room.write("sub/deep/a.txt", "inside")
        (room.project / "in").symlink_to("sub/deep")
        (room.project / "sub" / "out").symlink_to("../../proj-evil")
        (room.project / "out").symlink_to(room.outside)
        (room.project / "loop").symlink_to("loop")
    path = "/".join(pieces)
    try:
        text = content(room, f"{room.project}/{path}" if is_absolute else path, walk=walk)
    except ToolError:
        return
    assert text == "inside"
