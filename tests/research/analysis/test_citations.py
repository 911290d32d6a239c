from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from workbench_research.analysis.citations import (
    MAX_FILES,
    Citation,
    CitationChecker,
    parse_citation,
    parse_line_range,
)
from workbench_research.analysis.scope import Scope


@pytest.mark.parametrize(
    ("text", "place"),
    [
        ("src/app.py", Citation("src/app.py")),
        ("`./src/app.py`", Citation("src/app.py")),
        ("@src/app.py", Citation("src/app.py")),
        ("src/app.py:4", Citation("src/app.py", 4, 4)),
        ("src/app.py:4-6", Citation("src/app.py", 4, 6)),
        ("src/app.py:4\u20136", Citation("src/app.py", 4, 6)),
        ("src/app.py:6-4", Citation("src/app.py", 4, 6)),
        ("src/app.py:4:12", Citation("src/app.py", 4, 4)),
        ("src/app.py#L4-L6", Citation("src/app.py", 4, 6)),
        ("src/app.py (lines 4-6)", Citation("src/app.py", 4, 6)),
        ("node_modules/\\@types/a.d.ts:1", Citation("node_modules/@types/a.d.ts", 1, 1)),
        ("my notes.md", Citation("my notes.md")),
        ("", None),
        (" \n", None),
        ("a\0b", None),
        ("x" * 501, None),
    ],
)
def test_a_place_is_read_as_models_write_it(text: str, place: Citation | None) -> None:
    assert parse_citation(text) == place


@pytest.mark.parametrize(
    ("lines", "place"),
    [("4-6", (4, 6)), ("4", (4, 4)), (4, (4, 4)), ("L4-L6", (4, 6)), ("all", (None, None)), ([4], (None, None))],
)
def test_lines_are_read_as_models_write_them(lines: Any, place: tuple[int | None, int | None]) -> None:
    assert parse_line_range("a", lines) == Citation("a", *place)


@given(st.text())
def test_no_text_breaks_the_reading_of_places(text: str) -> None:
    parse_citation(text)
    parse_line_range("a", text)


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
            {"path": "../proj-evil/secret.txt", "exists": False, "note": "outside the project"},
        ),
        ("/etc/passwd", {"path": "/etc/passwd", "exists": False, "note": "outside the project"}),
    ],
)
def test_a_place_is_looked_up(tools: Any, text: str, expected: dict[str, Any]) -> None:
    place = parse_citation(text)
    assert place is not None
    assert CitationChecker(tools.root).check(place) == expected


def test_an_absolute_path_is_shown_relative(tools: Any) -> None:
    assert CitationChecker(tools.root).check(Citation(str(tools.root / "src/app.py")))["path"] == "src/app.py"


def test_a_path_from_the_scope_on_is_completed(tools: Any) -> None:
    evidence = CitationChecker(tools.root, Scope(("src",)))
    assert evidence.check(Citation("app.py"))["path"] == "src/app.py"
    assert evidence.warnings == []


def test_a_name_at_another_place_is_reported(tools: Any) -> None:
    evidence = CitationChecker(tools.root)
    assert "note" not in evidence.check(Citation("src/store.py", 5, 6), symbol="Store.load(key)")
    assert evidence.check(Citation("src/store.py", 1, 2), symbol="load")["note"] == (
        "`load` is not in these lines, but in line 5"
    )
    assert evidence.check(Citation("src/store.py", 1, 2), symbol="save")["note"] == (
        "`save` is not in these lines or elsewhere in the file"
    )
    assert evidence.warnings == ["the model cited lines or names that do not exist: `src/store.py:1-2`"]


def test_warnings_name_a_few_and_count_the_rest(tools: Any) -> None:
    evidence = CitationChecker(tools.root)
    for number in range(7):
        evidence.check(Citation(f"gone{number}.py"))
    (warning,) = evidence.warnings
    assert warning.endswith("`gone4.py` and 2 more")


def test_a_snippet_is_the_content_of_a_file_inside_the_project(tools: Any) -> None:
    evidence = CitationChecker(tools.root)
    assert evidence.snippet(Citation("src/app.py", 4, 5), max_lines=40) == "def main():\n    return store.load('x')"
    assert evidence.snippet(Citation("src/app.py", 4, 9), max_lines=1) == "def main():"
    for place in (
        Citation("../proj-evil/secret.txt", 1, 1),
        Citation("src/app.py", 1, 99),
        Citation("src/app.py"),
        Citation("src"),
    ):
        assert evidence.snippet(place, max_lines=40) == ""


@pytest.mark.parametrize("path", [".env", ".env.local", "src/.ENV", "build.log", "old/a.py", "link.py"])
def test_no_line_is_quoted_that_the_model_would_not_be_given(tools: Any, path: str) -> None:
    (tools.root / ".gitignore").write_text("*.log\nold/\n", encoding="utf-8")
    (tools.root / "link.py").symlink_to("build.log")
    (tools.root / "old").mkdir()
    for name in (".env", ".env.local", "src/.ENV", "build.log", "old/a.py"):
        (tools.root / name).write_text("A=1\n", encoding="utf-8")
    evidence = CitationChecker(tools.root)

    assert evidence.check(Citation(path, 1, 1))["exists"]
    assert evidence.snippet(Citation(path, 1, 1), max_lines=40) == ""
    assert evidence.snippet(Citation("src/app.py", 1, 1), max_lines=40)
    (warning,) = evidence.warnings
    assert "ignored files" in warning


def test_a_link_out_of_the_project_is_not_followed(tools: Any) -> None:
    (tools.root / "link.txt").symlink_to(tools.root.parent / "proj-evil" / "secret.txt")
    evidence = CitationChecker(tools.root)
    assert evidence.check(Citation("link.txt", 1, 1))["exists"] is False
    assert evidence.snippet(Citation("link.txt", 1, 1), max_lines=5) == ""


@pytest.mark.parametrize("data", [b"", b"a\r\nb\r\n", b"a\x0cb\xe2\x80\xa8c\nd", b"\0binary", b"x" * 2_000_001])
def test_lines_are_counted_as_editors_do(tools: Any, data: bytes) -> None:
    (tools.root / "file").write_bytes(data)
    note = CitationChecker(tools.root).check(Citation("file", 3, 3)).get("note")
    lines = {b"": 0, b"\0binary": None}.get(data, None if len(data) > 2_000_000 else 2)
    assert note == (None if lines is None else f"the file has {lines} lines")


def test_only_so_many_files_are_looked_at(tools: Any) -> None:
    evidence = CitationChecker(tools.root)
    for number in range(MAX_FILES):
        evidence.check(Citation(f"gone{number}.py"))
    assert evidence.check(Citation("src/app.py"))["note"] == f"not checked: more than {MAX_FILES} files were named"
    assert not any("do not exist" in each and "app.py" in each for each in evidence.warnings)
    assert evidence.warnings[-1].endswith("were not checked: `src/app.py`")


def test_paths_in_prose_are_looked_up_and_other_code_is_not(tools: Any) -> None:
    evidence = CitationChecker(tools.root)
    evidence.check_text("See `src/app.py:4`, `src/gone.py`, `load()`, `and/or`, `https://x.y/z.html` and `a.b`.")
    assert evidence.warnings == ["the model named files that do not exist: `src/gone.py`"]
