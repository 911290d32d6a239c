"""An import adds the extra of toolmason that its tools need to the project's pyproject.toml."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner

from toolmason.commands import toolmason
from toolmason.model.client_launch import required_extras
from toolmason.scaffold.requirement import add_extra

PYPROJECT = """\
[project]
name = "shop"  # of books
dependencies = [
    "anyio",
    "toolmason>=0.1,<0.2", # the runtime
    "toolmason-extras",
]
"""


def write(root: Path, text: str) -> Path:
    path = root / "pyproject.toml"
    path.write_text(text, encoding="utf-8")
    return path


@pytest.mark.parametrize(
    ("dependencies", "extras"),
    [
        (["toolmason"], set()),
        (["toolmason>=0.1,<0.2"], set()),
        (["toolmason @ file:///tmp/toolmason"], set()),
        (["toolmason[http]@https://example.org/toolmason.tar.gz#sha256=0c"], {"http"}),
        (["toolmason[http] @ git+https://example.org/toolmason@main ; os_name == 'nt'"], {"http"}),
        (["toolmason[sql](>=0.1)", "toolmason[jq]==0.1.*,!=0.1.3"], {"sql", "jq"}),
        (["\tTOOLMASON[]~=0.1"], set()),
        (["toolmason[http] # a comment", "toolmason[http", "toolmason[http]>=0.1.*", "# toolmason", ""], None),
        (["Toolmason [ http , jq ] >= 0.1"], {"http", "jq"}),
        (["toolmason[apis]", "toolmason[JQ]; python_version > '3.11'"], {"apis", "jq"}),
        (["toolmason-extras[http]", "toolmason.extras", "toolmason_runtime", "mcp", 1], None),
        ([], None),
    ],
)
def test_the_extras_of_a_project_are_those_of_its_requirement(
    dependencies: list[object], extras: set[str] | None
) -> None:
    assert required_extras(dependencies) == extras


def test_an_extra_is_added_and_everything_else_stays(tmp_path: Path) -> None:
    path = write(tmp_path, PYPROJECT)

    assert add_extra(tmp_path, "apis") == ("pyproject.toml: requires `toolmason[apis]` now; install the project again")
    assert path.read_text(encoding="utf-8") == PYPROJECT.replace("toolmason>=", "toolmason[apis]>=")

    assert add_extra(tmp_path, "http")
    assert path.read_text(encoding="utf-8") == PYPROJECT.replace("toolmason>=", "toolmason[apis,http]>=")


@pytest.mark.parametrize(
    "text",
    [
        PYPROJECT.replace("toolmason>=", "toolmason[apis]>="),
        PYPROJECT.replace("toolmason>=", "toolmason[http]>="),
        PYPROJECT.replace('"toolmason>', '"another>'),
        "[project]\ndependencies = 'toolmason'\n",
        "project = 1\n",
        "[project\n",
    ],
)
def test_a_project_that_has_the_extra_or_does_not_list_toolmason_is_unchanged(tmp_path: Path, text: str) -> None:
    path = write(tmp_path, text)

    assert add_extra(tmp_path, "apis") == ""
    assert path.read_text(encoding="utf-8") == text


@pytest.mark.parametrize(
    ("requirement", "changed"),
    [
        (" ToolMason >= 0.1, <2", " ToolMason[apis] >= 0.1, <2"),
        ("toolmason [ jq ,HTTPX ]>=0.1", "toolmason[apis,httpx,jq]>=0.1"),
        ("toolmason @ https://example.org/t.whl", "toolmason[apis] @ https://example.org/t.whl"),
        ("toolmason@https://example.org/[t].whl", "toolmason[apis]@https://example.org/[t].whl"),
        ("toolmason; sys_platform == 'linux'", "toolmason[apis]; sys_platform == 'linux'"),
    ],
)
def test_the_other_parts_of_a_requirement_stay_as_written(tmp_path: Path, requirement: str, changed: str) -> None:
    path = write(tmp_path, f'[project]\ndependencies = ["{requirement}"]\n')

    assert add_extra(tmp_path, "apis")
    assert path.read_text(encoding="utf-8") == f'[project]\ndependencies = ["{changed}"]\n'


def test_an_extra_that_another_one_contains_is_not_added(tmp_path: Path) -> None:
    write(tmp_path, PYPROJECT.replace("toolmason>=", "toolmason[postgresql]>="))

    assert add_extra(tmp_path, "sql") == ""
    assert add_extra(tmp_path, "duckdb")


def test_a_directory_without_a_pyproject_gets_none(tmp_path: Path) -> None:
    assert add_extra(tmp_path, "http") == ""
    assert list(tmp_path.iterdir()) == []


def test_import_openapi_adds_the_extra_once(tmp_path: Path) -> None:
    path = write(tmp_path, PYPROJECT)
    operation = {"operationId": "listBooks", "summary": "List books", "responses": {"200": {"description": "Books"}}}
    document = {
        "openapi": "3.1.0",
        "info": {"title": "Shop", "version": "1"},
        "servers": [{"url": "https://shop.example"}],
        "paths": {"/books": {"get": operation}},
    }
    (tmp_path / "openapi.json").write_text(json.dumps(document), encoding="utf-8")
    command = ["import", "openapi", str(tmp_path / "openapi.json"), "-o", str(tmp_path / "manifest" / "shop.toml")]
    (tmp_path / "manifest").mkdir()

    first = CliRunner().invoke(toolmason, command)
    again = CliRunner().invoke(toolmason, command)

    assert (first.exit_code, again.exit_code) == (0, 0), first.output + again.output
    assert first.output.count("requires `toolmason[apis]` now") == 1
    assert "requires" not in again.output
    assert '"toolmason[apis]>=0.1,<0.2", # the runtime' in path.read_text(encoding="utf-8")
