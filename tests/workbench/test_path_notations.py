"""Paths in the notation of another program get a proposal; names that differ by normalization alone are found."""

from __future__ import annotations

import os
import unicodedata
from pathlib import Path
from typing import Any, Literal

import pytest
from workbench_room import SECRET, Room

from workbench_handlers.workspace.roots import Root, locate

CAFE = "caf\u00e9.txt"
Form = Literal["NFC", "NFD"]
FORMS: tuple[Form, ...] = ("NFC", "NFD")
HANGUL = "\ud55c\uad6d\uc5b4"


@pytest.mark.parametrize(
    ("form", "meant"),
    [
        ("file://{project}/sub/a.txt", "sub/a.txt"),
        ("file://localhost{project}/sub/a.txt", "sub/a.txt"),
        ("file://{project}/sub/a%20b.txt", "sub/a b.txt"),
        ("file:sub/a.txt", "sub/a.txt"),
        ("FILE:///sub/a.txt", "sub/a.txt"),
        ("@sub/a.txt", "sub/a.txt"),
        ("@/sub/a.txt", "sub/a.txt"),
        ('@"sub/a b.txt"', "sub/a b.txt"),
        ("/sub/a.txt", "sub/a.txt"),
        ("/sub", "sub"),
        ("/proj/sub/a.txt", "sub/a.txt"),
        ("proj/sub/a.txt", "sub/a.txt"),
        ("/workspace/sub/a.txt", "sub/a.txt"),
        ("a/sub/a.txt", "sub/a.txt"),
        ("`sub/a.txt`", "sub/a.txt"),
        ("<sub/a.txt>", "sub/a.txt"),
        ("sub/a.txt:12", "sub/a.txt"),
        ("sub/a.txt:12:5", "sub/a.txt"),
        ("sub/a.txt#L12-L20", "sub/a.txt"),
        ("sub\\\\a.txt", "sub/a.txt"),
        (" sub/a.txt ", "sub/a.txt"),
    ],
)
def test_a_path_in_another_notation_gets_the_path_to_send(room: Room, form: str, meant: str) -> None:
    room.write("sub/a.txt", "a\n")
    room.write("sub/a b.txt", "b\n")
    path = form.replace("\\\\", "\\").replace("{project}", str(room.project))

    calls: tuple[tuple[str, dict[str, Any]], ...] = (
        ("read_files", {"files": [{"path": path}]}),
        ("get_file_info", {"path": path}),
        ("grep_content", {"pattern": "a", "search_path": path}),
        ("query_json", {"file_path": path, "jq_expression": "."}),
    )
    for tool, arguments in calls:
        answer = room.call(tool, **arguments)
        assert answer.is_error, tool
        assert f'did you mean "{meant}"? Send that instead of ' in answer.text, tool


@pytest.mark.parametrize(
    "path",
    [
        *("file:///etc/passwd", "/etc/passwd", "@/etc/passwd", "@../proj-evil/secret.txt", "/../proj-evil/secret.txt"),
        *("file:../proj-evil/secret.txt", "a/../../proj-evil/secret.txt:1", "@link/secret.txt", "/nothing.txt", "@"),
    ],
)
def test_a_proposal_never_names_a_path_outside(room: Room, path: str) -> None:
    (room.project / "link").symlink_to(room.outside)

    answer = room.call("read_files", files=[{"path": path}])

    assert answer.is_error
    assert "did you mean" not in answer.text
    assert SECRET not in answer.text


@pytest.mark.parametrize("form", ["NFC", "NFD"])
@pytest.mark.parametrize("names", [(CAFE,), (HANGUL, "a.txt"), ("\u00e9t\u00e9", CAFE), ("\u2126", "\u212b.txt")])
def test_a_name_is_found_in_either_normal_form(room: Room, person: Any, form: Form, names: tuple[str, ...]) -> None:
    other: Form = "NFD" if form == "NFC" else "NFC"
    stored = unicodedata.normalize(form, "/".join(names))
    sent = unicodedata.normalize(other, "/".join(names))
    file = room.write(stored, "one\n")

    for path in (sent, f"{room.project}/{sent}", f"./{sent}"):
        assert room.call("read_files", files=[{"path": path}]).text.endswith("one\n")
    assert not room.run("append_text", path=sent, content="two\n", client=person).is_error

    assert file.read_text(encoding="utf-8") == "one\ntwo\n"
    assert [path.name for path in file.parent.iterdir()] == [file.name]


def test_a_name_in_both_forms_is_that_of_the_call(room: Room) -> None:
    for form in FORMS:
        room.write(unicodedata.normalize(form, CAFE), form)

    for form in FORMS:
        path = unicodedata.normalize(form, CAFE)
        assert room.call("read_files", files=[{"path": path}]).text.endswith(form)


def test_names_behind_a_link_that_leads_outside_are_not_found(room: Room) -> None:
    (room.outside / unicodedata.normalize("NFD", CAFE)).write_text(SECRET, encoding="utf-8")
    (room.project / "link").symlink_to(room.outside)

    answer = room.call("read_files", files=[{"path": f"link/{CAFE}"}])

    assert "outside the allowed directories" in answer.text
    assert SECRET not in answer.text


NEW = "file://{project}/sub/new.txt"


@pytest.mark.parametrize(
    "path", [NEW, "FILE://{project}/sub/new.txt", "file:sub/new.txt", " file://localhost{project}/sub/new.txt"]
)
@pytest.mark.parametrize(
    ("tool", "name", "rest"),
    [
        ("propose_and_review", "path", {"match_text": "", "new_string": "n\n"}),
        ("write_file", "path", {"content": "n\n"}),
        ("create_directory", "path", {}),
        ("move_file", "destination", {"source": "a.txt"}),
    ],
)
def test_no_file_has_a_uri_as_its_name(  # noqa: PLR0917  two dimensions of rows
    room: Room, person: Any, path: str, tool: str, name: str, rest: dict[str, Any]
) -> None:
    room.write("a.txt", "a\n")
    before = sorted(room.project.iterdir())

    answer = room.run(tool, client=person, **{name: path.replace("{project}", str(room.project))}, **rest)

    assert answer.is_error
    assert '; did you mean "' in answer.text
    assert 'sub/new.txt"? Send that instead of ' in answer.text
    assert sorted(room.project.iterdir()) == before


def test_a_uri_of_a_new_file_outside_has_no_proposal(room: Room, person: Any) -> None:
    answer = room.run("write_file", client=person, path="file:///etc/new.txt", content="n\n")

    assert answer.is_error
    assert "did you mean" not in answer.text
    assert not (room.project / "file:").exists()


@pytest.mark.parametrize(
    "path", ["@sub/a.txt", "file://{project}/sub/a.txt", "sub/a.txt:12", "`sub/a.txt`", "sub/a.tx"]
)
@pytest.mark.parametrize(
    ("tool", "name", "rest"),
    [
        ("propose_and_review", "path", {"match_text": "a", "new_string": "b"}),
        ("append_text", "path", {"content": "b\n"}),
        ("move_file", "source", {"destination": "b.txt"}),
    ],
)
def test_a_tool_that_changes_files_gives_the_path_to_send(  # noqa: PLR0917  two dimensions of rows
    room: Room, person: Any, path: str, tool: str, name: str, rest: dict[str, Any]
) -> None:
    room.write("sub/a.txt", "a\n")

    answer = room.run(tool, client=person, **{name: path.replace("{project}", str(room.project))}, **rest)

    assert answer.is_error
    assert "did you mean" in answer.text
    assert "sub/a.txt" in answer.text.partition("did you mean")[2]


@pytest.mark.parametrize("name", ["\u00e9", "\udc82", "\u4e2d", "e\u0301"])
def test_below_a_missing_directory_nothing_is_looked_for(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    root = Root.of(str(tmp_path), "a test")
    resolved: list[str] = []
    resolve = os.path.realpath

    def counted(path: Any, **options: Any) -> Any:
        resolved.append(path)
        return resolve(path, **options)

    monkeypatch.setattr(os.path, "realpath", counted)

    located = locate("/".join([name] * 300), (root,))

    assert len(located.parts) == 300
    assert len(resolved) < 5
