"""The files with which a new project is checked and published, judged by the programs that read them."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from pseudo_terminal import TerminalProgram

from toolmason.commands import toolmason

TESTS = Path(__file__).parents[2]
PROGRAMS = Path(sys.executable).parent
EVERYTHING = ["--ci", "github", "--pre-commit", "--docker", "--registry", "io.github.ada", "--bundle"]

FILES = {
    ("--ci", "github"): {
        ".github/allowed_signers",
        ".github/dependabot.yml",
        ".github/workflows/ci.yml",
        ".github/workflows/release.yml",
        "SECURITY.md",
    },
    ("--pre-commit",): {".pre-commit-config.yaml"},
    ("--docker",): {".dockerignore", "generated/plugins/docker/Dockerfile"},
    ("--registry", "io.github.ada"): {"generated/plugins/mcp-registry/server.json"},
    ("--bundle",): {
        "generated/plugins/claude-desktop/manifest.json",
        "generated/plugins/claude-desktop/pyproject.toml",
        "generated/plugins/claude-desktop/server.py",
    },
}
"""Options of `init` -> the files that they add."""


def create(directory: Path, *options: str) -> set[str]:
    """Create a project that passes its checks, and return its files."""
    assert CliRunner().invoke(toolmason, ["init", str(directory), *options]).exit_code == 0
    manifest = next((directory / "manifest").iterdir())
    for command in ("check", "lint"):
        result = CliRunner().invoke(toolmason, [command, "--manifest", str(manifest)])
        assert result.exit_code == 0, result.output
    return {path.relative_to(directory).as_posix() for path in directory.rglob("*") if path.is_file()}


def run(command: list[str | Path], cwd: Path, **variables: str) -> subprocess.CompletedProcess[str]:
    path = os.pathsep.join([str(PROGRAMS), os.environ["PATH"]])
    environ = {**os.environ, "PATH": path, "NO_COLOR": "1", **variables}
    return subprocess.run(command, cwd=cwd, env=environ, capture_output=True, encoding="utf-8", check=False)


@pytest.fixture(scope="module")
def published(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A project with every file."""
    directory = tmp_path_factory.mktemp("published") / "notes"
    create(directory, *EVERYTHING)
    return directory


@pytest.mark.uncovered
@pytest.mark.parametrize(("options", "added"), FILES.items(), ids=[" ".join(options) for options in FILES])
def test_an_option_adds_its_files_and_no_others(
    options: tuple[str, ...], added: set[str], laid_out_once: Path, tmp_path: Path
) -> None:
    plain = {path.relative_to(laid_out_once).as_posix() for path in laid_out_once.rglob("*") if path.is_file()}

    assert create(tmp_path / "notes", *options) - plain == added


def test_all_options_together_add_all_files(laid_out_once: Path, published: Path) -> None:
    plain = {path.relative_to(laid_out_once).as_posix() for path in laid_out_once.rglob("*") if path.is_file()}
    files = {path.relative_to(published).as_posix() for path in published.rglob("*") if path.is_file()}

    assert files - plain == set.union(*FILES.values())


def read_json(path: Path) -> Any:
    return json.loads(path.read_text(encoding="utf-8"))


def test_the_entry_of_the_registry_follows_the_manifest_and_has_its_mark_in_the_readme(tmp_path: Path) -> None:
    create(tmp_path / "notes", "--registry", "io.github.ada")
    manifest = tmp_path / "notes" / "manifest" / "notes.toml"
    text = manifest.read_text(encoding="utf-8")
    manifest.write_text(text.replace('version = "0.1.0"', 'version = "0.2.0"'), encoding="utf-8")
    assert CliRunner().invoke(toolmason, ["generate", "--manifest", str(manifest)]).exit_code == 0

    entry = read_json(tmp_path / "notes" / "generated" / "plugins" / "mcp-registry" / "server.json")

    assert entry["name"] == "io.github.ada/notes"
    assert entry["version"] == entry["packages"][0]["version"] == "0.2.0"
    assert "mcp-name: io.github.ada/notes " in (tmp_path / "notes" / "README.md").read_text(encoding="utf-8")


@pytest.mark.parametrize("namespace", ["ada", "io.github.ada/notes", "io..ada", "https://github.com/ada"])
def test_a_namespace_that_the_registry_rejects_is_refused(namespace: str, tmp_path: Path) -> None:
    result = CliRunner().invoke(toolmason, ["init", str(tmp_path / "notes"), "--registry", namespace])

    assert result.exit_code == 2
    assert f"`{namespace}` is not a namespace of the MCP Registry: write `io.github.USER`" in result.stderr
    assert not (tmp_path / "notes").exists()


# The judges


@pytest.mark.skipif(sys.platform == "win32", reason="hadolint has no wheel for Windows")
@pytest.mark.parametrize("root", ["project", "workbench"])
def test_the_dockerfile_has_no_findings_of_hadolint(root: str, published: Path) -> None:
    project = published if root == "project" else TESTS.parent
    result = run([PROGRAMS / "hadolint", project / "generated" / "plugins" / "docker" / "Dockerfile"], project)

    assert (result.returncode, result.stdout) == (0, "")


def test_docker_reads_the_wheels_and_the_lock_alone(published: Path) -> None:
    lines = (published / ".dockerignore").read_text(encoding="utf-8").splitlines()

    assert [line for line in lines if not line.startswith("#")] == ["*", "!dist/*.whl", "!requirements/server.txt"]


@pytest.mark.parametrize("root", ["project", "workbench"])
def test_the_bundle_is_valid_for_the_program_that_packs_it(root: str, published: Path, tmp_path: Path) -> None:
    bundle = (published if root == "project" else TESTS.parent) / "generated" / "plugins" / "claude-desktop"
    mcpb = TESTS / "node_modules" / ".bin" / "mcpb"

    validated = run([mcpb, "validate", bundle / "manifest.json"], tmp_path)
    packed = run([mcpb, "pack", bundle, tmp_path / "server.mcpb"], tmp_path)
    unpacked = run([mcpb, "unpack", tmp_path / "server.mcpb", tmp_path / "unpacked"], tmp_path)

    assert [result.returncode for result in (validated, packed, unpacked)] == [0, 0, 0], packed.stdout + packed.stderr
    assert {path.name for path in (tmp_path / "unpacked").iterdir()} == {"manifest.json", "pyproject.toml", "server.py"}


def test_the_hook_accepts_a_commit_that_agrees_with_the_manifest_and_refuses_another(tmp_path: Path) -> None:
    project = tmp_path / "notes"
    create(project, "--pre-commit")
    home = {"HOME": str(tmp_path), "PRE_COMMIT_HOME": str(tmp_path / "cache"), "GIT_CONFIG_GLOBAL": os.devnull}
    git = ["git", "-c", "user.name=Ada", "-c", "user.email=ada@example.org"]
    for command in (["git", "init", "--quiet"], [str(PROGRAMS / "pre-commit"), "install"], ["git", "add", "."]):
        assert run([*command], project, **home).returncode == 0, command

    accepted = run([*git, "commit", "--message", "Count words"], project, **home)
    manifest = project / "manifest" / "notes.toml"
    text = manifest.read_text(encoding="utf-8")
    manifest.write_text(text.replace("Measures a text.", "Counts words."), encoding="utf-8")
    refused = run([*git, "commit", "--all", "--message", "Describe it"], project, **home)
    run(["toolmason", "generate"], project, **home)
    regenerated = run([*git, "commit", "--all", "--message", "Describe it"], project, **home)

    assert accepted.returncode == 0, accepted.stderr
    assert refused.returncode == 1
    assert "Measures a text." in refused.stderr
    assert "run: nox -s generate" in refused.stderr
    assert regenerated.returncode == 0, regenerated.stderr


# Questions


def ask(directory: Path, *answers: tuple[str, str]) -> tuple[int, str]:
    """Run `init` on a terminal; each answer follows the text before it. Return the exit code and the screen."""
    command = [sys.executable, "-m", "toolmason", "init", "notes"]
    with TerminalProgram(command, {**os.environ, "NO_COLOR": "1"}, directory) as terminal:
        for question, answer in answers:
            terminal.expect(question)
            terminal.type(answer)
        return terminal.end(), terminal.screen


FURTHER = "Further files (ci, pre-commit, docker, registry, bundle; Enter for none)"


def test_on_a_terminal_it_asks_for_further_files_and_repeats_a_question_with_an_invalid_answer(tmp_path: Path) -> None:
    code, screen = ask(
        tmp_path,
        (FURTHER, "ci, dokcer"),
        (FURTHER, "ci, registry"),
        ("(io.github.USER)", "ada"),
        ("(io.github.USER)", "io.github.ada"),
    )

    assert code == 0, screen
    assert "`dokcer` is not one of ci, pre-commit" in screen
    assert "`ada` is not a namespace of the MCP Registry" in screen
    assert (tmp_path / "notes" / ".github" / "workflows" / "ci.yml").is_file()
    manifest = tomllib.loads((tmp_path / "notes" / "manifest" / "notes.toml").read_text(encoding="utf-8"))
    assert manifest["server"]["registry_name"] == "io.github.ada/notes"
    assert manifest["outputs"]["include"] == ["plugins/mcp-registry"]


def test_enter_adds_nothing(tmp_path: Path) -> None:
    assert ask(tmp_path, (FURTHER, ""))[0] == 0
    assert not (tmp_path / "notes" / ".github").exists()


def test_a_directory_that_is_not_empty_is_refused_before_the_question(tmp_path: Path) -> None:
    (tmp_path / "notes").mkdir()
    (tmp_path / "notes" / "file").touch()
    code, screen = ask(tmp_path)

    assert code == 4
    assert FURTHER not in screen


def test_ctrl_c_at_a_question_creates_nothing(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "toolmason", "init", "notes"]
    with TerminalProgram(command, {**os.environ}, tmp_path) as terminal:
        terminal.expect(FURTHER)
        assert terminal.interrupt() == 1

    assert list(tmp_path.iterdir()) == []
