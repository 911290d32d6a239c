"""`toolmason-workbench doctor` shows the generated configuration of each client, with the command of this machine."""

from __future__ import annotations

import json
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
import yaml

from workbench_handlers.doctor.client_files import ClientFile, client_files, client_names

GENERATED = Path(__file__).parents[3] / "generated" / "clients"


def parsed(file: ClientFile) -> Any:
    if file.path.endswith(".yaml"):
        return yaml.safe_load(file.content)
    return tomllib.loads(file.content) if file.path.endswith(".toml") else json.loads(file.content)


def commands(files: Mapping[str, ClientFile]) -> dict[str, Any]:
    """Return the command of each client, from the table of the only server."""
    entries = {}
    for name, file in files.items():
        servers = next(value for value in parsed(file).values() if isinstance(value, dict | list))
        entries[name] = servers[0] if isinstance(servers, list) else servers["workbench"]
    return {name: entry.get("command", entry.get("cmd")) for name, entry in entries.items()}


def installed(directory: Path) -> Path:
    directory.mkdir(parents=True)
    program = directory / "toolmason-workbench"
    program.touch()
    program.chmod(0o755)
    return program


def test_a_command_on_path_leaves_the_generated_files_as_they_are(tmp_path: Path) -> None:
    program = installed(tmp_path / "my programs")

    files = client_files({"PATH": str(program.parent)}, tmp_path / "project")

    generated = {path.name for path in GENERATED.iterdir()}
    assert set(files) == set(client_names()) > generated
    for name in generated:
        file = files[name]
        text = (GENERATED / name / file.path).read_text(encoding="utf-8")
        assert name == "claude-desktop" or parsed(file) == parsed(ClientFile(file.path, text))
        assert "do not edit" not in file.content
        assert "sha256" not in file.content
    # A client without the user's PATH and without a project.
    desktop = parsed(files["claude-desktop"])["mcpServers"]["workbench"]
    assert desktop == {"command": str(program), "args": ["--root", str(tmp_path / "project")]}


@pytest.mark.parametrize("place", ["nowhere", "in the project", "in the working directory"])
def test_a_command_that_is_not_on_path_is_absolute(place: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    project, elsewhere = tmp_path / "project", tmp_path / "elsewhere"
    planted = installed(project / "node_modules" / ".bin")
    elsewhere.mkdir()
    monkeypatch.chdir(project if place == "in the working directory" else elsewhere)

    files = client_files(
        {"PATH": "" if place == "nowhere" else str(planted.parent)},
        elsewhere if place == "in the working directory" else project,
    )

    for command in commands(files).values():
        path = Path(command[0] if isinstance(command, list) else command)
        assert path.is_absolute()
        assert path.name == "toolmason-workbench"
        assert "node_modules" not in path.parts
