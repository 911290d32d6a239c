"""`[outputs]` selects the files besides the package, and an existing tree loses none without a word."""

from __future__ import annotations

import tomllib
from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from toolmason.commands import toolmason

MANIFEST = """
edition = 1
server = { name = "three", package = "three_server" }
categories.code.summary = "Code of a repository"
clis.git = { command = ["git"], category = "code" }
"""
TOOLS = "".join(
    f'[tools.git_{name}]\nsummary = "Show the {name} of a repository"\ncli = "git"\nargv = ["{name}"]\nrisk = "read"\n'
    for name in ("log", "show", "diff")
)
DEFAULT = {
    "SHA256SUMS",
    "docs/discovery.md",
    "docs/index.md",
    "docs/tools/code.md",
    "schemas/manifest.schema.json",
    "schemas/mcp.json",
}
EVERYTHING = '["clients", "docs", "plugins", "schemas", "skills"]'
COMMAND = '[commands.look]\nsummary = "Look around"\nprompt = "Look."\n'
Generate = Callable[..., Result]


@pytest.fixture
def generate(tmp_path: Path) -> Generate:
    """Generate a manifest with the tools of the test and these tables."""
    manifest = tmp_path / "manifest" / "three.toml"
    manifest.parent.mkdir()

    def run(outputs: str = "", more: str = "", command: str = "generate") -> Result:
        manifest.write_text(f"{MANIFEST}{outputs}\n{TOOLS}{more}", encoding="utf-8")
        return CliRunner().invoke(toolmason, [command, "--manifest", str(manifest)])

    return run


def written(directory: Path) -> set[str]:
    """Return the generated files outside of the package."""
    root = directory / "generated"
    files = (path.relative_to(root) for path in root.rglob("*") if path.is_file())
    return {path.as_posix() for path in files if path.parts[0] != "three_server"}


def test_three_tools_are_twenty_three_files(generate: Generate, tmp_path: Path) -> None:
    assert generate().output == "generated/: 23 written\n"
    assert written(tmp_path) == DEFAULT


INCLUDED: dict[str, tuple[str, set[str]]] = {
    "nothing": ("[]", set()),
    "a provider": ('["schemas/openai_strict.json"]', {"schemas/openai_strict.json"}),
    "a client": ('["clients/codex"]', {"clients/codex/.codex/config.toml"}),
    "the skill": ('["skills"]', {"skills/three/SKILL.md", "skills/three-shell/SKILL.md"}),
    "a page": ('["docs/llms.txt"]', {"docs/llms.txt"}),
    "a default file": ('["docs/index.md"]', set()),
}


@pytest.mark.uncovered
@pytest.mark.parametrize(("entries", "files"), INCLUDED.values(), ids=INCLUDED)
def test_entries_of_include_are_added(entries: str, files: set[str], generate: Generate, tmp_path: Path) -> None:
    assert generate(f"outputs.include = {entries}").exit_code == 0
    assert written(tmp_path) == DEFAULT | files


def test_omit_takes_away_from_include_and_from_the_default(generate: Generate, tmp_path: Path) -> None:
    assert generate('outputs = { include = ["clients"], omit = ["docs", "clients/cursor"] }').exit_code == 0
    files = written(tmp_path)
    assert "clients/codex/.codex/config.toml" in files
    assert not [path for path in files if path.startswith(("docs/", "clients/cursor/"))]


def test_omit_alone_means_all_other_files_as_in_earlier_versions(generate: Generate, tmp_path: Path) -> None:
    assert generate(f"outputs.include = {EVERYTHING}").exit_code == 0
    everything = written(tmp_path)
    assert generate('outputs.omit = ["schemas/openai.json"]').exit_code == 0
    assert everything - written(tmp_path) == {"schemas/openai.json"}


def test_commands_of_the_manifest_are_files_by_default(generate: Generate, tmp_path: Path) -> None:
    assert generate(more=COMMAND).exit_code == 0
    assert {path.split("/")[1] for path in written(tmp_path) if path.startswith("commands/")} >= {"claude-code"}


@pytest.mark.parametrize("command", ["generate", "check"])
def test_an_existing_tree_is_not_reduced_without_a_decision(command: str, generate: Generate, tmp_path: Path) -> None:
    assert generate(f"outputs.include = {EVERYTHING}").exit_code == 0
    before = written(tmp_path)
    result = generate(command=command)

    assert result.exit_code == 1
    assert "three.toml:3:1: error[TM617]: generated/ contains files that are no longer" in result.output
    assert written(tmp_path) == before
    (hint,) = [line for line in result.output.splitlines() if "= hint: write `" in line]
    keep, remove = hint.split("`")[1::2][0], hint.split("`")[1::2][-1]

    assert generate(f"outputs.{keep}").exit_code == 0
    assert written(tmp_path) == before
    assert generate(f"outputs.{remove}").exit_code == 0
    assert written(tmp_path) == DEFAULT


def test_a_part_without_such_files_can_be_written(generate: Generate, tmp_path: Path) -> None:
    assert generate('outputs.include = ["clients"]').exit_code == 0
    manifest = tmp_path / "manifest" / "three.toml"
    manifest.write_text(MANIFEST + TOOLS, encoding="utf-8")
    results = {
        part: CliRunner().invoke(toolmason, ["generate", "--only", part, "--manifest", str(manifest)]).exit_code
        for part in ("python", "docs", "clients")
    }
    assert results == {"python": 0, "docs": 0, "clients": 1}


@pytest.mark.parametrize(
    ("options", "include"),
    [
        ((), []),
        (("--include", "skills", "--include", "clients"), ["clients", "skills"]),
        (("--include", "schemas", "--bundle"), ["plugins/claude-desktop", "schemas"]),
        (("--include", "plugins", "--docker"), ["plugins"]),
    ],
)
def test_init_writes_the_surfaces_that_are_asked_for(
    options: tuple[str, ...], include: list[str], tmp_path: Path
) -> None:
    project = tmp_path / "notes"
    result = CliRunner().invoke(toolmason, ["init", str(project), *options])

    assert result.exit_code == 0, result.output
    manifest = tomllib.loads((project / "manifest" / "notes.toml").read_text(encoding="utf-8"))
    assert manifest["outputs"] == {"include": include}
    for entry in include:
        assert (project / "generated" / entry).exists()
