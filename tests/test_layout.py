"""What holds for every file of the repository, whoever writes it."""

from __future__ import annotations

import ast
import json
import re
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path

import pytest

from toolmason.scaffold import lay_out, project_names

REPOSITORY = Path(__file__).parents[1]
PROJECT = tomllib.loads((REPOSITORY / "pyproject.toml").read_text(encoding="utf-8"))["project"]
OF_AUTHORS = {"toolmason", "toolmason_templates"} | {
    re.split(r"[^\w-]", requirement)[0].replace("-", "_") for requirement in PROJECT["optional-dependencies"]["toolkit"]
}
"""Packages that an author of servers has, and a server that runs has not."""
SERVED = ("runtime", "handlers", "generated", "templates")
BINARY = {".png", ".jpg", ".gif", ".wav", ".ico", ".pdf", ".zip"}
OF_ONE_MACHINE = tuple(f"{place}/" for place in (REPOSITORY, Path.home(), Path(sys.prefix)))
"""Where things lie here, and so nowhere else."""


def committed() -> list[Path]:
    """Every file that is committed, or would be."""
    listed = subprocess.run(
        ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
        cwd=REPOSITORY,
        capture_output=True,
        encoding="utf-8",
        check=True,
    )
    paths = {REPOSITORY / name for name in listed.stdout.split("\0") if name}
    return sorted(path for path in paths if path.is_file())


FILES = committed()
TEXTS = [path for path in FILES if path.suffix not in BINARY]


def imported(source: str) -> Iterator[str]:
    """The dotted names that a module imports, anywhere in it: modules, and what is taken from them."""
    for node in ast.walk(ast.parse(source)):
        match node:
            case ast.Import():
                yield from (alias.name for alias in node.names)
            case ast.ImportFrom(module=str(module), level=0):
                yield from (f"{module}.{alias.name}" for alias in node.names)
            case ast.Call(args=[ast.Constant(value=str(name)), *_]):
                if ast.unparse(node.func).endswith(("import_module", "__import__")):
                    yield name


def forbidden_to_handlers(source: str, package: str) -> list[str]:
    """What handlers must not import: of their generated package all but models and types, and nothing of authors."""
    models = re.compile(rf"{package}\.(\w+\.models|types)(\.|$)")
    names = [name for name in imported(source) if not models.match(name)]
    return [name for name in names if top(name) in OF_AUTHORS | {package}]


def forbidden_to_the_runtime(source: str) -> list[str]:
    """What the runtime must not import: any server, and nothing of authors."""
    return [name for name in imported(source) if top(name) in OF_AUTHORS | {"workbench", "workbench_server"}]


def forbidden_to_what_is_served(source: str) -> list[str]:
    """What nothing that a server runs may import."""
    return [name for name in imported(source) if top(name) in OF_AUTHORS]


def forbidden_to_the_toolkit(source: str) -> list[str]:
    """What the toolkit must not import: the server we ship is one of many."""
    return [name for name in imported(source) if top(name) in {"workbench", "workbench_server"}]


def top(name: str) -> str:
    return name.partition(".")[0]


def sources(root: str) -> dict[str, str]:
    """The text of each Python file below a folder."""
    found = [path for path in FILES if path.suffix == ".py" and path.is_relative_to(REPOSITORY / root)]
    assert found
    return {path.relative_to(REPOSITORY).as_posix(): path.read_text(encoding="utf-8") for path in found}


def broken(found: dict[str, list[str]]) -> dict[str, list[str]]:
    return {path: names for path, names in found.items() if names}


@pytest.mark.parametrize("root", SERVED)
def test_what_a_server_runs_imports_nothing_of_authors(root: str) -> None:
    assert broken({path: forbidden_to_what_is_served(source) for path, source in sources(root).items()}) == {}


def test_the_runtime_knows_no_server() -> None:
    assert broken({path: forbidden_to_the_runtime(source) for path, source in sources("runtime").items()}) == {}


def test_the_toolkit_knows_no_server() -> None:
    assert broken({path: forbidden_to_the_toolkit(source) for path, source in sources("generator").items()}) == {}


def test_handlers_import_only_models_of_what_is_generated_for_them() -> None:
    found = sources("handlers")
    assert "workbench_server.files.models.FileInfo" in {name for source in found.values() for name in imported(source)}
    assert broken({path: forbidden_to_handlers(source, "workbench_server") for path, source in found.items()}) == {}


def test_handlers_of_a_new_project_do_so_too() -> None:
    names = project_names("notes")
    found = {path: text for path, text in lay_out(names).items() if path.startswith("handlers/") and text}
    assert f"{names.package}.text.models.TextSize" in {name for source in found.values() for name in imported(source)}
    assert broken({path: forbidden_to_handlers(source, names.package) for path, source in found.items()}) == {}


def test_packages_of_authors_are_those_of_the_extra() -> None:
    assert {"toolmason", "jinja2", "datamodel_code_generator", "jsonref", "tomli_w", "click", "filelock"} <= OF_AUTHORS


def test_only_who_makes_and_measures_servers_imports_the_toolkit() -> None:
    importing = {
        path.partition("/")[0]
        for path, source in sources(".").items()
        if "tests/golden/" not in path and forbidden_to_what_is_served(source)
    }
    assert importing == {"generator", "tests", "bench"}


@pytest.mark.parametrize(
    "source",
    [
        "import workbench_server",
        "import workbench_server.server as server",
        "from workbench_server import files",
        "from workbench_server.catalogue import CATALOGUE",
        "from workbench_server.files import contract",
        "from workbench_server.files.contract import ReadFiles",
        "from workbench_server.files.models_of_old import ReadFiles",
        "from workbench_server import models",
        "def late():\n    import workbench_server.files.bindings",
        "importlib.import_module('workbench_server.server')",
        "from toolmason.model.identifiers import identifier",
        "import os, jinja2",
        "if TYPE_CHECKING:\n    import filelock",
    ],
)
def test_a_handler_that_imports_more_is_found(source: str) -> None:
    assert forbidden_to_handlers(source, "workbench_server")


@pytest.mark.parametrize(
    "source",
    [
        "from workbench_server.files.models import ReadFilesParams, ReadFilesResult",
        "from workbench_server.files import models",
        "from workbench_server.types import CodeReference",
        "import workbench_server.files.models",
        "from toolmason_runtime import ToolCall",
        "from workbench_handlers.workspace.roots import Root",
        "from . import toolmason",
        "print('import jinja2')",
    ],
)
def test_a_handler_that_imports_what_it_may_is_not_found(source: str) -> None:
    assert forbidden_to_handlers(source, "workbench_server") == []


@pytest.mark.parametrize(
    ("source", "found"),
    [
        ("import workbench", True),
        ("from workbench_server.files.models import PathCheck", True),
        ("from toolmason import names", True),
        ("from toolmason_runtime.protocol.call import ToolCall", False),
        ("import toolmason_runtime", False),
    ],
)
def test_a_runtime_that_imports_a_server_or_the_toolkit_is_found(source: str, found: bool) -> None:
    assert bool(forbidden_to_the_runtime(source)) is found


@pytest.mark.parametrize("package", sorted(OF_AUTHORS))
def test_each_package_of_authors_is_found_wherever_it_is_imported(package: str) -> None:
    for source in (f"import {package}", f"from {package}.inner import name", f"def late():\n    import {package}"):
        assert forbidden_to_what_is_served(source)
        assert forbidden_to_the_runtime(source)


def test_no_file_names_a_place_on_one_machine() -> None:
    found = [
        f"{path.relative_to(REPOSITORY)}:{number}: {place}"
        for path in TEXTS
        for number, line in enumerate(path.read_text(encoding="utf-8", errors="replace").splitlines(), start=1)
        for place in OF_ONE_MACHINE
        if place in line
    ]
    assert found == []


def test_the_lock_of_npm_packages_names_no_address_to_fetch_them_from() -> None:
    packages = json.loads((REPOSITORY / "tests" / "package-lock.json").read_text(encoding="utf-8"))["packages"]

    assert len(packages) > 1
    assert [name for name, package in packages.items() if "resolved" in package] == []


def test_every_text_ends_with_one_line_feed_and_has_no_carriage_return() -> None:
    # The manifests of golden cases are what people get wrong.
    wrong = [
        str(path.relative_to(REPOSITORY))
        for path in TEXTS
        if not path.match("tests/golden/*/manifest.toml")
        for data in (path.read_bytes(),)
        if b"\r" in data or (data and (not data.endswith(b"\n") or data.endswith(b"\n\n")))
    ]
    assert wrong == []
