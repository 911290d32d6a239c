"""CLImax itself says what its tools run: its six configurations, imported and generated, build the same command lines.

It asks for an older mcp, so `nox -s tests` installs it alone: `pip install --no-deps climax-mcp==0.5.0`.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator, Mapping
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest
from toolmason_runtime.calls.binding import Binding, load_model
from toolmason_runtime.programs.argv import build_invocation
from toolmason_runtime.programs.handler import CommandRun, sent_arguments
from toolmason_runtime.programs.invocation import Invocation

from toolmason.diagnostics import Diagnostics
from toolmason.importers.command_line.climax import Imported, import_climax
from toolmason.importers.manifest_writer import manifest_text
from toolmason.importers.notes import Notes
from toolmason.manifest.document import load
from toolmason.manifest.validate import validate
from toolmason.render.renderer import render
from toolmason.resolve import resolve

CALLS = Path(__file__).parent / "fixtures" / "climax_calls.py"
ENVIRON = {"HOME": "/home/ada", "PATH": "/usr/bin", "OBSIDIAN_VAULT": "Notes of Ada", "OBSIDIAN_VAULT_NAME": "Ada"}


@pytest.fixture(scope="module")
def oracle() -> dict[str, Any]:
    """The files that climax-mcp ships, and random calls of their tools with the command lines it builds."""
    told = subprocess.run(
        [sys.executable, str(CALLS)], env=os.environ | ENVIRON, check=True, capture_output=True, encoding="utf-8"
    )
    found: dict[str, Any] = json.loads(told.stdout)
    return found


class Server:
    """The generated server of all files: it builds command lines and runs nothing."""

    def __init__(self, imported: Imported, bindings: Mapping[str, Binding], notes: Notes) -> None:
        self.imported = imported
        self.bindings = bindings
        self.notes = notes

    def built(self, tool: str, arguments: Mapping[str, Any]) -> Invocation:
        """Return what a call runs, after the generated model has checked its arguments."""
        names = self.imported.arguments[tool]
        binding = self.bindings[self.imported.tools[tool]]
        assert isinstance(binding.run, CommandRun)
        model = load_model(binding.params) if isinstance(binding.params, str) else binding.params
        assert model is not None
        params = model.model_validate({names[name]: value for name, value in arguments.items()})
        return build_invocation(binding.run.tool, sent_arguments(params), environ=ENVIRON)


@pytest.fixture(scope="module")
def server(oracle: dict[str, Any], tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    folder = tmp_path_factory.mktemp("climax")
    notes, diagnostics = Notes(), Diagnostics()
    imported = import_climax([Path(each) for each in oracle["files"]], notes, name="oracle")
    path = folder / "manifest.toml"
    path.write_text(manifest_text(imported.data, notes, sources=[path]), encoding="utf-8")
    document = load(path, root=folder, diagnostics=diagnostics)
    assert document is not None
    tables = validate(document, diagnostics=diagnostics)
    assert tables is not None
    model = resolve(tables, document, root=folder, diagnostics=diagnostics)
    assert model is not None, list(map(str, diagnostics))
    for file in render(model, part="python"):
        target = folder / file.path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(file.text, encoding="utf-8")
    sys.path.insert(0, str(folder))
    modules = [import_module(f"{model.package}.{each.module}.bindings") for each in model.categories]
    yield Server(imported, {name: each for module in modules for name, each in module.BINDINGS.items()}, notes)
    sys.path.remove(str(folder))


@pytest.mark.uncovered
def test_every_tool_and_every_argument_is_imported(oracle: dict[str, Any], server: Server) -> None:
    assert len(oracle["files"]) == 6
    assert len({each["tool"] for each in oracle["calls"]}) == 191 == len(server.imported.tools)
    assert [str(each) for each in server.notes if "manifest refuses" in str(each) or "is no option" in str(each)] == []


@pytest.mark.uncovered
def test_random_calls_build_the_command_lines_and_the_input_that_climax_builds(
    oracle: dict[str, Any], server: Server
) -> None:
    assert len(oracle["calls"]) == 764
    different = []
    for each in oracle["calls"]:
        ours = server.built(each["tool"], each["arguments"])
        if [*ours.argv] != each["argv"] or ours.stdin != each["stdin"]:
            different.append((each, ours))
    assert different == []


def test_a_note_is_overwritten_with_a_bare_word_as_climax_does(server: Server) -> None:
    """Without `overwrite`, a default of CLImax, the same call would make another note."""
    argv = server.built("obsidian_write", {"content": "x"}).argv
    assert argv[1:4] == ("create", "content=x", "overwrite")
