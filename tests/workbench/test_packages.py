from __future__ import annotations

import subprocess
import sys
from typing import Any

import pytest
from toolmason_runtime.shared.extras import needs_extra

from workbench_handlers.workspace.packages import NotInstalledError, require


@pytest.mark.parametrize(
    ("package", "tool", "arguments"),
    [
        ("pathspec", "directory_tree", {"path": "."}),
        ("pathspec", "search_files", {"path": ".", "pattern": "*"}),
        ("pathspec", "grep_content", {"pattern": "x"}),
        ("pathspec", "grep_content", {"pattern": "x", "search_path": "folder"}),
        ("jq", "query_json", {"file_path": "folder/a.json", "jq_expression": "."}),
        ("msgspec", "query_json", {"file_path": "folder/a.json", "jq_expression": "."}),
        ("jq", "query_yaml", {"file_path": "folder/a.yml", "yq_expression": "."}),
        ("yaml", "query_yaml", {"file_path": "folder/a.yml", "yq_expression": "."}),
    ],
)
def test_a_tool_without_its_package_names_the_extra_to_install(
    room: Any, monkeypatch: pytest.MonkeyPatch, package: str, tool: str, arguments: dict[str, Any]
) -> None:
    room.write("folder/a.json", '{"x": 1}')
    room.write("folder/a.yml", "x: 1")
    assert not room.call(tool, **arguments).is_error

    monkeypatch.setitem(sys.modules, package, None)  # to Python, a module that is not installed
    answer = room.call(tool, **arguments)
    assert answer.is_error
    assert (
        answer.text == f"the package `{package}` needs an extra: pip install 'toolmason[workbench]'; "
        "in a project, add it to pyproject.toml"
    )


def test_tools_that_need_no_package_work_without_any(room: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    for package in ("jq", "msgspec", "pathspec", "yaml"):
        monkeypatch.setitem(sys.modules, package, None)
    room.write("a.txt", "word\n")
    assert not room.read("a.txt").is_error
    assert not room.call("list_directory_with_sizes", path=".").is_error
    assert "1: word" in room.call("grep_content", pattern="word", search_path="a.txt").text


def test_handlers_are_imported_without_optional_packages() -> None:
    modules = ("files", "query", "notes", "state")
    code = f"import sys, {', '.join(f'workbench_handlers.{each}' for each in modules)}; print(*sys.modules)"
    loaded = subprocess.run([sys.executable, "-c", code], capture_output=True, encoding="utf-8", check=True).stdout
    assert "workbench_handlers.workspace.ignore" in loaded.split()
    assert not {"jq", "msgspec", "pathspec", "yaml"}.intersection(loaded.split())


def test_a_package_that_is_there_is_found_and_another_is_not() -> None:
    assert require("json").name == "json"
    with pytest.raises(NotInstalledError, match="`no_such_package` needs an extra") as caught:
        require("no_such_package")
    assert str(caught.value) == needs_extra("the package `no_such_package`", "workbench")
