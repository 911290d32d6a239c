"""docs/handlers.md: its code fits its manifest, its tests pass, and its tables are those of the code."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Final, get_args, get_type_hints

import pytest
from pages import check, quoted, read

from toolmason.manifest.tables import OptionTable
from toolmason.model.implementation import Handler
from toolmason.model.types import Identifier
from toolmason.resolve.stubs import (
    completion_stub,
    guard_stub,
    lifespan_stub,
    middleware_stub,
    routes_stub,
    startup_check_stub,
    subcommand_stub,
)

PAGE: Final = read("docs/handlers.md")


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The project of the page: stubs are written, then replaced by its code."""
    directory = tmp_path_factory.mktemp("notes")
    (directory / "notes.toml").write_text(PAGE.block("toml"), encoding="utf-8")
    [(command, expected)] = PAGE.sessions()
    check(command, expected, directory)
    for block in PAGE.blocks("python"):
        path = directory / block.partition("\n")[0].removeprefix("# In ").removesuffix(":")
        path.parent.mkdir(exist_ok=True)
        path.write_text(block.partition("\n")[2], encoding="utf-8")
    check(command.replace("--stubs", "--check"), "generated/ is up to date ...", directory)
    return directory


def environment(project: Path, **variables: str) -> dict[str, str]:
    own = {name: value for name, value in os.environ.items() if not name.startswith("NOTES_")}
    roots = [str(project / root) for root in ("generated", "handlers")]
    return {**own, "PYTHONPATH": os.pathsep.join([*roots, *sys.path]), **variables}


def test_the_tests_of_the_page_pass(project: Path) -> None:
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "tests"]
    done = subprocess.run(
        command, cwd=project, env=environment(project), capture_output=True, encoding="utf-8", timeout=120, check=False
    )
    assert "3 passed" in done.stdout, done.stdout


def test_missing_options_are_reported_as_on_the_page(project: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "notes_server"],
        env=environment(project, NOTES_LIMIT="many"),
        input="",
        capture_output=True,
        encoding="utf-8",
        timeout=60,
        check=False,
    )
    assert done.stderr == PAGE.block("text")


def test_the_types_of_options_are_complete() -> None:
    rows = PAGE.rows("`type`", "field", "flag", "in the environment")
    assert tuple(quoted(kind)[0] for kind, *_ in rows) == get_args(get_type_hints(OptionTable)["type"])


def test_the_signatures_of_hooks_are_those_of_the_stubs() -> None:
    shown = {quoted(key)[0]: quoted(function)[0] for key, function in PAGE.rows("key in the manifest", "function")}

    def handler(name: str) -> Handler:
        return Handler(module="notes_tools.state", function=Identifier(name))

    assert shown == {
        "lifespan": lifespan_stub(handler("lifespan"), "notes_server").signature,
        "guard": guard_stub(handler("guard")).signature,
        "startup_check": startup_check_stub(handler("startup_check")).signature,
        "routes": routes_stub(handler("routes")).signature,
        "middleware": middleware_stub(handler("middleware")).signature,
        "[server.subcommands.NAME]": subcommand_stub(handler("main"), "").signature,
        "complete": completion_stub(handler("complete"), "").signature,
    }
