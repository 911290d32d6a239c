"""What `workbench init` tells each client is what the generator wrote for it."""

from __future__ import annotations

import json
import tomllib
from pathlib import Path

import pytest

from workbench_handlers.setup.clients import CLIENTS, here, snippets

GENERATED = Path(__file__).parents[4] / "generated" / "clients"
AS_GENERATED = snippets("workbench", path="<absolute path of workbench>", folder="<DIR>")


def test_every_client_that_has_a_generated_configuration_is_known() -> None:
    assert set(CLIENTS) == set(AS_GENERATED) == {each.name for each in GENERATED.iterdir()}


@pytest.mark.parametrize("name", [name for name in CLIENTS if name not in {"codex", "gemini-cli"}])
def test_configuration_is_the_generated_one(name: str) -> None:
    each = AS_GENERATED[name]

    assert each.content == (GENERATED / name / each.file).read_text(encoding="utf-8")


def test_configuration_of_codex_is_the_generated_one_for_what_research_needs() -> None:
    each = AS_GENERATED["codex"]
    ours = tomllib.loads(each.content)["mcp_servers"]["workbench"]
    generated = tomllib.loads((GENERATED / "codex" / each.file).read_text(encoding="utf-8"))["mcp_servers"]["workbench"]

    assert {**generated, "env_vars": ours["env_vars"]} == ours
    manifest = tomllib.loads((GENERATED.parents[1] / "manifest" / "workbench.toml").read_text(encoding="utf-8"))
    assert ours["env_vars"] == ["WORKBENCH_ROOTS", *manifest["server"]["pass_env"]]
    assert set(ours["env_vars"]) <= set(generated["env_vars"])


def test_configuration_of_gemini_cli_is_the_generated_one_but_for_variables_that_are_not_set_here() -> None:
    each = AS_GENERATED["gemini-cli"]
    ours = json.loads(each.content)["mcpServers"]["workbench"]
    text = (GENERATED / "gemini-cli" / each.file).read_text(encoding="utf-8")
    generated = json.loads(text)["mcpServers"]["workbench"]
    with_keys = snippets("workbench", path="", folder="", variables=list(generated["env"]))["gemini-cli"]

    assert generated.items() >= ours.items()
    env = json.loads(with_keys.content)["mcpServers"]["workbench"]["env"]
    assert generated["env"].items() >= env.items() >= {"GEMINI_API_KEY": "${GEMINI_API_KEY:-}"}.items()


def test_command_that_is_not_on_path_is_named_whole(tmp_path: Path) -> None:
    found = here({"PATH": str(tmp_path)}, tmp_path)

    command = json.loads(found["vscode"].content)["servers"]["workbench"]["command"]
    assert Path(command).is_absolute()
    assert Path(command).name == "workbench"
    assert found["claude-code"].command.startswith("claude mcp add workbench -- /")
    assert tomllib.loads(found["codex"].content)["mcp_servers"]["workbench"]["command"] == command


def test_command_on_path_is_named_shortly_but_for_clients_without_our_path(tmp_path: Path) -> None:
    program = tmp_path / "workbench"
    program.write_text("")
    program.chmod(0o755)

    project = tmp_path / "project"
    found = here({"PATH": str(tmp_path)}, project)

    assert json.loads(found["cursor"].content)["mcpServers"]["workbench"]["command"] == "workbench"
    desktop = json.loads(found["claude-desktop"].content)["mcpServers"]["workbench"]
    assert desktop == {"command": str(program), "args": ["--root", str(project)]}


@pytest.mark.parametrize("is_working_directory", [False, True])
def test_command_that_a_project_plants_on_path_is_not_written_into_files_of_clients(
    is_working_directory: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    project, elsewhere = tmp_path / "project", tmp_path / "elsewhere"
    planted = project / "node_modules" / ".bin" / "workbench"
    planted.parent.mkdir(parents=True)
    elsewhere.mkdir()
    planted.write_text("")
    planted.chmod(0o755)
    monkeypatch.chdir(project if is_working_directory else elsewhere)

    found = here({"PATH": str(planted.parent)}, elsewhere if is_working_directory else project)

    assert "node_modules" not in repr(found)
    assert Path(json.loads(found["cursor"].content)["mcpServers"]["workbench"]["command"]).is_absolute()


def test_path_with_a_blank_is_quoted_for_the_shell() -> None:
    command = "/my programs/workbench"

    assert snippets(command, path=command, folder="/")["claude-code"].command.endswith(f'-- "{command}"')


def test_variables_that_a_client_hides_are_passed_on_by_name(tmp_path: Path) -> None:
    secret = "AIzaSyPlantedSecretThatMustNotLeak012345"
    found = here({"PATH": "", "GEMINI_API_KEY": secret, "GOOGLE_CLOUD_PROJECT": "p"}, tmp_path)

    assert json.loads(found["gemini-cli"].content)["mcpServers"]["workbench"]["env"] == {
        "GEMINI_API_KEY": "${GEMINI_API_KEY:-}",
        "GOOGLE_CLOUD_PROJECT": "${GOOGLE_CLOUD_PROJECT:-}",
    }
    assert "GEMINI_API_KEY, GOOGLE_CLOUD_PROJECT" in found["claude-desktop"].note
    assert secret not in repr(found)
