"""What holds for every file of the repository, whoever writes it."""

from __future__ import annotations

import ast
import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

REPOSITORY = Path(__file__).parents[1]
OF_AUTHORS = {"toolwright", "jinja2", "toolwright_templates"}
"""Packages that an author of servers has, and a server that runs has not."""
SERVED = ("runtime", "handlers", "generated")
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


def imported(path: Path) -> Iterator[str]:
    """The packages that a module imports, anywhere in it."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            yield from (alias.name.partition(".")[0] for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            yield node.module.partition(".")[0]


def modules(root: str) -> list[Path]:
    return [path for path in FILES if path.suffix == ".py" and path.is_relative_to(REPOSITORY / root)]


@pytest.mark.parametrize("root", SERVED)
def test_what_a_server_runs_imports_nothing_of_authors(root: str) -> None:
    found = {path.relative_to(REPOSITORY): OF_AUTHORS.intersection(imported(path)) for path in modules(root)}

    assert found
    assert {path: names for path, names in found.items() if names} == {}


def test_the_runtime_knows_no_server() -> None:
    found = {name for path in modules("runtime") for name in imported(path)}

    assert "toolwright_runtime" in found
    assert found.isdisjoint({"workbench", "workbench_server"})


def test_only_the_toolkit_renders() -> None:
    assert {"jinja2", "toolwright"} <= {name for path in modules("generator") for name in imported(path)}


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
