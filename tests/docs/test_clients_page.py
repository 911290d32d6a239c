"""docs/clients.md: its program runs with the client of a golden case, and its names are those of the code."""

from __future__ import annotations

import ast
import os
import shutil
import subprocess
import sys
import textwrap
import tomllib
from pathlib import Path
from typing import Final, get_args

import pytest
from pages import ROOT, quoted, read, run

from toolmason.commands.client import client
from toolmason.frameworks.tools import Framework, tools_for
from toolmason.render.typed_clients.files import LANGUAGES

PAGE: Final = read("docs/clients.md")
CASE: Final = ROOT / "tests" / "golden" / "clients-are-packages-in-two-languages"
ERRORS: Final = CASE / "expected" / "typed-clients" / "python" / "diary_client" / "errors.py"


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The golden case, generated."""
    root = tmp_path_factory.mktemp("diary")
    shutil.copy(CASE / "manifest.toml", root)
    shutil.copytree(CASE / "handlers", root / "handlers")
    result = run("toolmason generate --manifest manifest.toml", root)
    assert result.returncode == 0, result.stderr
    return root


def test_the_manifest_of_the_page_is_that_of_the_client() -> None:
    shown = tomllib.loads(PAGE.block("toml"))

    assert shown["outputs"] == tomllib.loads((CASE / "manifest.toml").read_text(encoding="utf-8"))["outputs"]
    assert set(shown["outputs"]["clients"]) == set(LANGUAGES)


def test_the_packages_are_in_the_directories_of_the_page(project: Path) -> None:
    (commands,) = [block for block in PAGE.blocks("bash") if "install" in block]

    for command in commands.splitlines():
        program, _, directory = command.split()
        assert (project / directory / {"pip": "pyproject.toml", "npm": "package.json"}[program]).is_file()


def test_the_program_of_the_page_runs(project: Path) -> None:
    imports, _, body = PAGE.blocks("python")[0].partition("\n\n")
    code = f"import asyncio\n{imports}\n\nasync def main():\n{textwrap.indent(body, '    ')}\nasyncio.run(main())\n"
    bin_directory = str(Path(sys.executable).parent)
    environ = {
        **os.environ,
        "PATH": f"{bin_directory}{os.pathsep}{os.environ['PATH']}",
        "PYTHONPATH": str(project / "generated" / "typed-clients" / "python"),
    }

    result = subprocess.run(
        [sys.executable, "-c", code], cwd=project, env=environ, check=False, capture_output=True, encoding="utf-8"
    )

    assert result.stdout == "Buy bread\nNOT_FOUND no note matches Try fewer words \n", result.stderr


def test_the_options_of_the_page_are_those_of_the_command() -> None:
    options = {name for parameter in client.params for name in parameter.opts}
    section = PAGE.section("For any server")
    _, commands, text = section.text.split("```")
    named = {*quoted(text), *(word for line in commands.splitlines() for word in line.partition(" -- ")[0].split())}

    assert {word for word in named if word.startswith("-")} <= options
    assert {"--reads", "--writes", "--pass-env", "--language", "--name"} <= named


def test_the_table_has_every_error() -> None:
    tree = ast.parse(ERRORS.read_text(encoding="utf-8"))
    errors = {node.name for node in tree.body if isinstance(node, ast.ClassDef)} - {"ClientError"}

    assert {quoted(name)[0] for name, _ in PAGE.rows("error", "cause")} == errors


def test_the_table_has_every_framework() -> None:
    rows = PAGE.rows("framework", "tool objects", "a failed tool returns")

    assert {quoted(row[0])[0] for row in rows} == set(get_args(Framework))
    assert tools_for.__name__ in PAGE.blocks("python")[-1]


def test_the_methods_that_the_page_lists_are_those_of_the_diff(tmp_path: Path) -> None:
    text = (CASE / "manifest.toml").read_text(encoding="utf-8")
    for name, maximum in (("old", "100"), ("new", "50")):
        (tmp_path / f"{name}.toml").write_text(text.replace("maximum = 100", f"maximum = {maximum}"), encoding="utf-8")

    output = run("toolmason diff old.toml new.toml", tmp_path).stdout

    shown = [line for line in PAGE.block("text").splitlines() if line != "..."]
    assert [line for line in output.splitlines() if line in shown] == shown, output
