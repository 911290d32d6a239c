from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from workbench_handlers.research.analysis.evidence import MAX_FILES, Evidence, Place, lines_of, place_in
from workbench_handlers.research.analysis.scope import Scope


@pytest.mark.parametrize(
    ("text", "place"),
    [
        ("src/app.py", Place("src/app.py")),
        ("`./src/app.py`", Place("src/app.py")),
        ("@src/app.py", Place("src/app.py")),
        ("src/app.py:4", Place("src/app.py", 4, 4)),
        ("src/app.py:4-6", Place("src/app.py", 4, 6)),
        ("src/app.py:4\u20136", Place("src/app.py", 4, 6)),
        ("src/app.py:6-4", Place("src/app.py", 4, 6)),
        ("src/app.py:4:12", Place("src/app.py", 4, 4)),
        ("src/app.py#L4-L6", Place("src/app.py", 4, 6)),
        ("src/app.py (lines 4-6)", Place("src/app.py", 4, 6)),
        ("node_modules/\\@types/a.d.ts:1", Place("node_modules/@types/a.d.ts", 1, 1)),
        ("my notes.md", Place("my notes.md")),
        ("", None),
        (" \n", None),
        ("a\0b", None),
        ("x" * 501, None),
    ],
)
def test_a_place_is_read_as_models_write_it(text: str, place: Place | None) -> None:
    assert place_in(text) == place


@pytest.mark.parametrize(
    ("lines", "place"),
    [("4-6", (4, 6)), ("4", (4, 4)), (4, (4, 4)), ("L4-L6", (4, 6)), ("all", (None, None)), ([4], (None, None))],
)
def test_lines_are_read_as_models_write_them(lines: Any, place: tuple[int | None, int | None]) -> None:
    assert lines_of("a", lines) == Place("a", *place)


@given(st.text())
def test_no_text_breaks_the_reading_of_places(text: str) -> None:
    place_in(text)
    lines_of("a", text)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("src/app.py:4-5", {"path": "src/app.py", "startLine": 4, "endLine": 5, "exists": True}),
        ("src", {"path": "src", "exists": True}),
        (".", {"path": ".", "exists": True}),
        (
            "src/gone.py:1",
            {"path": "src/gone.py", "startLine": 1, "endLine": 1, "exists": False, "note": "no such file"},
        ),
        (
            "src/app.py:9-10",
            {"path": "src/app.py", "startLine": 9, "endLine": 10, "exists": True, "note": "the file has 9 lines"},
        ),
        (
            "src/app.py:0",
            {"path": "src/app.py", "startLine": 0, "endLine": 0, "exists": True, "note": "the file has 9 lines"},
        ),
        (
            "../proj-evil/secret.txt",
            {"path": "../proj-evil/secret.txt", "exists": False, "note": "outside of the project"},
        ),
        ("/etc/passwd", {"path": "/etc/passwd", "exists": False, "note": "outside of the project"}),
    ],
)
def test_a_place_is_looked_up(tools: Any, text: str, expected: dict[str, Any]) -> None:
    place = place_in(text)
    assert place is not None
    assert Evidence(tools.root).reference(place) == expected


def test_an_absolute_path_is_shown_relative(tools: Any) -> None:
    assert Evidence(tools.root).reference(Place(str(tools.root / "src/app.py")))["path"] == "src/app.py"


def test_a_path_from_the_scope_on_is_completed(tools: Any) -> None:
    evidence = Evidence(tools.root, Scope(("src",)))
    assert evidence.reference(Place("app.py"))["path"] == "src/app.py"
    assert evidence.warnings == []


def test_a_name_that_stands_elsewhere_is_said_to(tools: Any) -> None:
    evidence = Evidence(tools.root)
    assert "note" not in evidence.reference(Place("src/store.py", 5, 6), symbol="Store.load(key)")
    assert evidence.reference(Place("src/store.py", 1, 2), symbol="load")["note"] == (
        "`load` is not in these lines, but in line 5"
    )
    assert evidence.reference(Place("src/store.py", 1, 2), symbol="save")["note"] == (
        "`save` is not in these lines, nor elsewhere in the file"
    )
    assert evidence.warnings == ["the model named lines or names that are not there: `src/store.py:1-2`"]


def test_warnings_name_a_few_and_count_the_rest(tools: Any) -> None:
    evidence = Evidence(tools.root)
    for number in range(7):
        evidence.reference(Place(f"gone{number}.py"))
    (warning,) = evidence.warnings
    assert warning.endswith("`gone4.py` and 2 more")


def test_a_snippet_is_what_the_file_holds_and_never_what_lies_outside(tools: Any) -> None:
    evidence = Evidence(tools.root)
    assert evidence.snippet(Place("src/app.py", 4, 5), most=40) == "def main():\n    return store.load('x')"
    assert evidence.snippet(Place("src/app.py", 4, 9), most=1) == "def main():"
    for place in (
        Place("../proj-evil/secret.txt", 1, 1),
        Place("src/app.py", 1, 99),
        Place("src/app.py"),
        Place("src"),
    ):
        assert evidence.snippet(place, most=40) == ""


@pytest.mark.parametrize("path", [".env", ".env.local", "src/.ENV", "build.log", "old/a.py", "refused.py", "link.py"])
def test_no_line_is_quoted_that_the_model_would_not_be_given(tools: Any, path: str) -> None:
    (tools.root / ".gitignore").write_text("*.log\nold/\n", encoding="utf-8")
    (tools.root / "link.py").symlink_to("build.log")
    (tools.root / "old").mkdir()
    for name in (".env", ".env.local", "src/.ENV", "build.log", "old/a.py", "refused.py"):
        (tools.root / name).write_text("A=1\n", encoding="utf-8")
    evidence = Evidence(tools.root, refused=("refused.py",))

    assert evidence.reference(Place(path, 1, 1))["exists"]
    assert evidence.snippet(Place(path, 1, 1), most=40) == ""
    assert evidence.snippet(Place("src/app.py", 1, 1), most=40)
    (warning,) = evidence.warnings
    assert "no code is shown of files that are ignored" in warning


def test_a_link_out_of_the_project_is_not_followed(tools: Any) -> None:
    (tools.root / "link.txt").symlink_to(tools.root.parent / "proj-evil" / "secret.txt")
    evidence = Evidence(tools.root)
    assert evidence.reference(Place("link.txt", 1, 1))["exists"] is False
    assert evidence.snippet(Place("link.txt", 1, 1), most=5) == ""


@pytest.mark.parametrize("data", [b"", b"a\r\nb\r\n", b"a\x0cb\xe2\x80\xa8c\nd", b"\0binary", b"x" * 2_000_001])
def test_lines_are_counted_as_editors_do(tools: Any, data: bytes) -> None:
    (tools.root / "file").write_bytes(data)
    note = Evidence(tools.root).reference(Place("file", 3, 3)).get("note")
    lines = {b"": 0, b"\0binary": None}.get(data, None if len(data) > 2_000_000 else 2)
    assert note == (None if lines is None else f"the file has {lines} lines")


def test_only_so_many_files_are_looked_at(tools: Any) -> None:
    evidence = Evidence(tools.root)
    for number in range(MAX_FILES):
        evidence.reference(Place(f"gone{number}.py"))
    assert evidence.reference(Place("src/app.py"))["note"] == f"not looked up: more than {MAX_FILES} files were named"
    assert not any("do not exist" in each and "app.py" in each for each in evidence.warnings)
    assert evidence.warnings[-1].endswith("were not looked up: `src/app.py`")


def test_paths_in_prose_are_looked_up_and_other_code_is_not(tools: Any) -> None:
    evidence = Evidence(tools.root)
    evidence.check_text("See `src/app.py:4`, `src/gone.py`, `load()`, `and/or`, `https://x.y/z.html` and `a.b`.")
    assert evidence.warnings == ["the model named files that do not exist: `src/gone.py`"]
