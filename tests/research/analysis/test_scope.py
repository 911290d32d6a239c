from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from toolmason_runtime import ToolError

from workbench_research.analysis.scope import Scope, parse_scope, split_list


@pytest.mark.parametrize("written", ["src", "src/", "./src", "src/../src/", "tests/../src"])
def test_a_folder_may_be_written_in_any_way(tools: Any, written: str) -> None:
    assert parse_scope(tools.root, directories=[written]) == Scope(("src",))


def test_an_absolute_path_within_the_project_is_taken_as_relative(tools: Any) -> None:
    assert parse_scope(tools.root, directories=[str(tools.root / "src")]).directories == ("src",)


@pytest.mark.parametrize("written", [[], ["."], ["./"], ["src", "."]])
def test_the_root_is_the_whole_project(tools: Any, written: list[str]) -> None:
    assert parse_scope(tools.root, directories=written).is_whole


@pytest.mark.parametrize("written", ["..", "../proj-evil", "/etc", "~", "src/../../proj-evil", "link", "", "a\0b"])
def test_a_folder_outside_is_not_allowed(tools: Any, written: str) -> None:
    (tools.root / "link").symlink_to(tools.root.parent / "proj-evil")
    with pytest.raises(ToolError) as failed:
        parse_scope(tools.root, directories=[written])
    assert failed.value.code == "PATH_NOT_ALLOWED"


def test_a_folder_that_is_not_there_is_an_argument_to_correct(tools: Any) -> None:
    with pytest.raises(ToolError, match="did you mean `src`") as failed:
        parse_scope(tools.root, directories=["srv"])
    assert failed.value.code == "INVALID_ARGUMENT"


@pytest.mark.parametrize("glob", ["../**", "/etc/*", "src/../../*", "~/x", "{a,../b}", "C:/x", "..\\x"])
def test_a_glob_that_leads_outside_is_not_allowed(tools: Any, glob: str) -> None:
    with pytest.raises(ToolError) as failed:
        parse_scope(tools.root, exclude=[glob])
    assert failed.value.code == "PATH_NOT_ALLOWED"


@pytest.mark.parametrize("glob", ["", "  ", "/", "!*.py", "a\nb", "x" * 301, "{a,b}" * 10])
def test_an_invalid_glob_is_refused(tools: Any, glob: str) -> None:
    with pytest.raises(ToolError) as failed:
        parse_scope(tools.root, include=[glob])
    assert failed.value.code in {"INVALID_ARGUMENT", "PATH_NOT_ALLOWED"}


@pytest.mark.parametrize(
    ("scope", "path", "is_covered"),
    [
        (Scope(), "any/file.py", True),
        (Scope(("src",)), "src/a.py", True),
        (Scope(("src",)), "src2/a.py", False),
        (Scope(("src/app.py",)), "src/app.py", True),
        (Scope(include=("*.py",)), "deep/down/a.py", True),
        (Scope(include=("*.py",)), "a.pyc", False),
        (Scope(include=("src/**/*.{ts,tsx}",)), "src/x/y/a.tsx", True),
        (Scope(include=("src/**/*.{ts,tsx}",)), "lib/a.ts", False),
        (Scope(exclude=("tests",)), "pkg/tests/test_a.py", False),
        (Scope(exclude=("tests/",)), "pkg/latests/a.py", True),
        (Scope(exclude=("docs/*",)), "docs/api/a.md", False),
        (Scope(("src",), ("*.py",), ("*_test.py",)), "src/a_test.py", False),
    ],
)
def test_a_scope_knows_which_files_it_covers(scope: Scope, path: str, is_covered: bool) -> None:
    assert scope.covers(path) is is_covered


@pytest.mark.parametrize(
    ("text", "values"),
    [(None, ()), ("", ()), ("a, b ,,c", ("a", "b", "c")), ("*.{ts,tsx}, docs", ("*.{ts,tsx}", "docs"))],
)
def test_commas_part_values_but_not_braces(text: str | None, values: tuple[str, ...]) -> None:
    assert split_list(text) == values


def test_the_real_path_of_the_root_may_be_reached_by_a_link(tools: Any, tmp_path: Path) -> None:
    link = tmp_path / "by-link"
    link.symlink_to(tools.root)
    assert parse_scope(link.resolve(), directories=["src"]).directories == ("src",)
