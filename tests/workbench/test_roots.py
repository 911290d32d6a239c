from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from toolmason_runtime.programs.search_path import is_too_wide

from workbench_handlers.state import workspace


def directories(answer: Any) -> list[tuple[str, str]]:
    return [(path, answer.data["source"]) for path in answer.data["directories"]]


def test_roots_given_at_start_win_over_those_of_the_client(room: Any, client: Any) -> None:
    client.capabilities, client.roots = {"roots": {}}, [{"uri": room.outside.as_uri()}]
    answer = room.call("list_allowed_directories", client=client)
    assert directories(answer) == [(str(room.project), "given when the server was started")]


def test_without_them_the_folders_of_the_client_are_allowed(room: Any, client: Any) -> None:
    spaced = room.project / "with space"
    spaced.mkdir()
    client.capabilities = {"roots": {}}
    client.roots = [{"uri": spaced.as_uri()}, {"uri": "https://example.com"}, {"uri": "file:///not/there"}]
    answer = room.call("list_allowed_directories", client=client, options={})
    assert directories(answer) == [(str(spaced), "a directory of the client")]


def test_a_client_that_came_over_the_network_cannot_name_folders(room: Any, client: Any) -> None:
    client.capabilities, client.roots = {"roots": {}}, [{"uri": "file:///"}]
    client.is_local = False
    answer = room.call("list_allowed_directories", client=client, options={})
    assert all(source != "a directory of the client" for _path, source in directories(answer))


@pytest.mark.parametrize("roots", [[], [{"uri": "https://example.com"}]])
def test_without_any_the_working_directory_is_allowed(
    room: Any, client: Any, roots: list[dict[str, str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(room.project)
    client.capabilities, client.roots = {"roots": {}}, roots
    answer = room.call("list_allowed_directories", client=client, options={"root": ()})
    assert directories(answer) == [(str(room.project), "the directory the server was started in")]


def test_a_server_started_in_a_whole_home_asks_for_a_root(room: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(room.project))
    monkeypatch.chdir(room.project)
    answer = room.call("list_allowed_directories", options={})
    assert answer.is_error
    assert "--root or WORKBENCH_ROOTS" in answer.text


def test_disks_and_homes_are_too_wide_and_projects_are_not(room: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(room.project))
    assert is_too_wide(Path("/"))
    assert is_too_wide(room.project)
    assert is_too_wide(room.project.parent)
    assert not is_too_wide(room.project / "code")


def test_a_root_that_is_not_a_directory_is_reported_and_not_replaced(room: Any) -> None:
    missing = str(room.project / "nothing")
    answer = room.call("read_files", options={"root": (missing,)}, files=[{"path": "a.txt"}])
    assert answer.is_error
    assert "not a directory" in answer.text
    both = room.call("list_allowed_directories", options={"root": (missing, str(room.project))})
    assert directories(both) == [(str(room.project), "given when the server was started")]


def test_only_a_root_that_is_not_a_directory_is_logged(room: Any, caplog: pytest.LogCaptureFixture) -> None:
    workspace([str(room.project)])
    assert not caplog.records
    workspace([str(room.project / "nothing"), str(room.write("a.txt", "x")), str(room.project)])
    assert [record.levelname for record in caplog.records] == ["WARNING", "WARNING"]
    assert [record.getMessage() for record in caplog.records] == [
        f"--root or WORKBENCH_ROOTS: {room.project / name} is not a directory" for name in ("nothing", "a.txt")
    ]


def test_roots_are_expanded_resolved_and_deduplicated(room: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(room.project.parent))
    (room.project.parent / "link").symlink_to(room.project)
    made = workspace(["~/proj", str(room.project.parent / "link"), " "])
    assert [root.path for root in made.roots] == [room.project]


def test_unresolvable_roots_are_reported(room: Any) -> None:
    (room.project / "loop").symlink_to("loop")
    answer = room.call("list_allowed_directories", options={"root": (str(room.project / "loop"), "~nobody-here/x")})
    assert answer.is_error
    assert "not a directory" in answer.text


def test_paths_are_validated_as_in_the_contract(room: Any) -> None:
    room.write("src/auth.ts", "x")
    (room.project / "out").symlink_to(room.outside)
    answer = room.call(
        "validate_paths", paths=["src/auth.ts", "../../../../../../etc/passwd", "out/secret.txt", "src/aut.ts", "@src"]
    )
    assert answer.data == {
        "tool": "validate_paths",
        "results": [
            {"input": "src/auth.ts", "resolved": str(room.project / "src/auth.ts"), "exists": True, "allowed": True},
            {
                "input": "../../../../../../etc/passwd",
                "resolved": "/etc/passwd",
                "exists": True,
                "allowed": False,
                "reason": "Path is outside project root",
            },
            {
                "input": "out/secret.txt",
                "resolved": str(room.outside / "secret.txt"),
                "exists": True,
                "allowed": False,
                "reason": "Path is outside project root",
            },
            {
                "input": "src/aut.ts",
                "resolved": str(room.project / "src/aut.ts"),
                "exists": False,
                "allowed": True,
                "reason": "No such file or directory; did you mean `src/auth.ts`?",
            },
            {"input": "@src", "resolved": str(room.project / "src"), "exists": True, "allowed": True},
        ],
    }


@pytest.mark.parametrize(
    ("path", "reason"),
    [("", "Path is empty"), ("a\0b", "Path contains a NUL character"), ("a/" * 3000, "Path is too long")],
)
def test_an_invalid_path_is_not_allowed(room: Any, path: str, reason: str) -> None:
    [result] = room.call("validate_paths", paths=[path]).data["results"]
    assert (result["exists"], result["allowed"], result["reason"]) == (False, False, reason)
