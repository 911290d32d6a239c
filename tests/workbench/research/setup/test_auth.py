"""How Gemini CLI would authenticate, found without running it.

The rows of variables were tried with the real CLI, 0.61.0: what is here said to be missing ended with exit code 41
there, and what is said to be there went on to ask the network.
"""

from __future__ import annotations

import json
import os
from dataclasses import asdict
from pathlib import Path
from typing import Any

import pytest

from workbench_handlers.setup.auth import Auth, find_auth

SECRET = "AIzaSyPlantedSecretThatMustNotLeak012345"


class Machine:
    """A home folder, a project and an environment."""

    def __init__(self, folder: Path) -> None:
        self.home, self.project = folder / "home", folder / "home" / "work" / "project"
        self.project.mkdir(parents=True)
        self.environ = {
            "HOME": str(self.home),
            "USERPROFILE": str(self.home),
            "PATH": "",
            "GEMINI_CLI_SYSTEM_SETTINGS_PATH": str(folder / "system" / "settings.json"),
        }

    def write(self, name: str, content: str | dict[str, Any] = "") -> Path:
        """Write a file below the home folder."""
        path = self.home / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(content if isinstance(content, str) else json.dumps(content), encoding="utf-8")
        return path

    def select(self, method: str, **auth: Any) -> None:
        self.write(".gemini/settings.json", {"security": {"auth": {"selectedType": method, **auth}}})

    def auth(self, *, backend: str = "gemini", **variables: str) -> Auth:
        found = find_auth({**self.environ, **variables}, self.project, backend=backend)
        assert SECRET not in json.dumps(asdict(found))
        return found


@pytest.fixture
def machine(tmp_path: Path) -> Machine:
    return Machine(tmp_path)


def test_nothing_at_all_is_no_authentication_and_says_what_to_do(machine: Machine) -> None:
    found = machine.auth()

    assert (found.configured, found.method) == (False, "none")
    assert "set GEMINI_API_KEY" in found.hint


@pytest.mark.parametrize(
    ("variables", "configured", "method"),
    [
        ({"GEMINI_API_KEY": SECRET}, True, "api_key"),
        ({"GEMINI_API_KEY": ""}, False, "none"),
        ({"GOOGLE_API_KEY": SECRET}, False, "none"),
        ({"GOOGLE_API_KEY": SECRET, "GOOGLE_GENAI_USE_VERTEXAI": "true"}, True, "vertex_ai"),
        ({"GOOGLE_GENAI_USE_VERTEXAI": "true"}, False, "vertex_ai"),
        ({"GOOGLE_GENAI_USE_VERTEXAI": "1", "GEMINI_API_KEY": SECRET}, True, "api_key"),
        (
            {"GOOGLE_GENAI_USE_VERTEXAI": "true", "GOOGLE_CLOUD_PROJECT": "p", "GOOGLE_CLOUD_LOCATION": "l"},
            None,
            "vertex_ai",
        ),
        ({"GOOGLE_GENAI_USE_GCA": "true"}, False, "google_login"),
        ({"GOOGLE_GENAI_USE_GCA": "true", "GOOGLE_CLOUD_ACCESS_TOKEN": SECRET}, True, "google_login"),
        ({"GEMINI_API_KEY": SECRET, "GOOGLE_GEMINI_BASE_URL": "http://127.0.0.1:9"}, False, "gateway"),
        ({"GEMINI_CLI_USE_COMPUTE_ADC": "true"}, None, "compute_adc"),
        ({"CLOUD_SHELL": "true"}, None, "compute_adc"),
    ],
    ids=[
        "a key",
        "an empty key",
        "a Google key alone",
        "a Google key for Vertex AI",
        "Vertex AI without a project",
        "a word that is no yes",
        "Vertex AI with a project",
        "Google without a sign-in",
        "Google with a token",
        "another address without a choice",
        "a machine of Google",
        "Cloud Shell",
    ],
)
def test_variables_alone_decide_as_the_cli_has_it(
    machine: Machine, variables: dict[str, str], configured: bool | None, method: str
) -> None:
    found = machine.auth(**variables)

    assert (found.configured, found.method) == (configured, method)
    assert found.hint or found.found


def test_selected_method_goes_before_the_variables(machine: Machine) -> None:
    machine.select("vertex-ai")

    found = machine.auth(GEMINI_API_KEY=SECRET)

    assert (found.configured, found.method) == (False, "vertex_ai")
    assert "GOOGLE_CLOUD_PROJECT" in found.hint


def test_settings_may_hold_comments(machine: Machine) -> None:
    text = '{ // the "way in"\n "security": {/* chosen */ "auth": {"selectedType": "gemini-api-key"}}, "a": "// no" }'
    machine.write(".gemini/settings.json", text)

    assert machine.auth(GEMINI_API_KEY=SECRET, GOOGLE_GEMINI_BASE_URL="http://127.0.0.1:9").configured is True


def test_selected_key_that_no_variable_holds_may_be_in_the_keyring(machine: Machine) -> None:
    machine.select("gemini-api-key")

    found = machine.auth()

    assert (found.configured, found.method) == (None, "api_key")
    assert "keyring" in found.found


def test_keyring_that_is_a_file_is_looked_for(machine: Machine) -> None:
    machine.select("gemini-api-key")

    assert machine.auth(GEMINI_FORCE_FILE_STORAGE="true").configured is False
    machine.write(".gemini/gemini-credentials.json", SECRET)
    assert machine.auth(GEMINI_FORCE_FILE_STORAGE="true").configured is None


BROKEN = ["{,}", "[]", "\ufeff{}", '{"a": 1,}', "[" * 100_000]
BROKEN_IDS = ["no JSON", "a list", "a mark", "a comma", "deep"]


@pytest.mark.parametrize("text", BROKEN, ids=BROKEN_IDS)
def test_settings_of_the_user_that_cannot_be_read_are_named_where_they_may_be_missed(
    machine: Machine, text: str
) -> None:
    machine.write(".gemini/settings.json", text)

    assert machine.auth(GEMINI_API_KEY=SECRET).configured is True
    found = machine.auth()
    assert found.configured is False
    assert found.hint.startswith("~/.gemini/settings.json ")


@pytest.mark.parametrize("text", BROKEN, ids=BROKEN_IDS)
def test_settings_of_the_machine_that_cannot_be_read_end_the_cli(machine: Machine, tmp_path: Path, text: str) -> None:
    system = tmp_path / "system" / "settings.json"
    system.parent.mkdir()
    system.write_text(text, encoding="utf-8")

    found = machine.auth(GEMINI_API_KEY=SECRET)

    assert (found.configured, found.method) == (False, "unknown")
    assert str(system) in found.hint


def test_place_of_a_mistake_in_the_settings_is_told(machine: Machine) -> None:
    machine.write(".gemini/settings.json", '{\n/* two\nlines */\n"a": }')

    assert "(line 4)" in machine.auth().hint


def test_unknown_method_is_named_as_such(machine: Machine) -> None:
    machine.select("telepathy")

    found = machine.auth(GEMINI_API_KEY=SECRET)

    assert (found.configured, found.method) == (False, "unknown")
    assert "selectedType" in found.hint


def test_settings_of_the_machine_go_before_those_of_the_user(machine: Machine, tmp_path: Path) -> None:
    machine.select("vertex-ai")
    system = tmp_path / "system" / "settings.json"
    system.parent.mkdir()
    system.write_text('{"security": {"auth": {"selectedType": "gemini-api-key"}}}', encoding="utf-8")

    assert machine.auth(GEMINI_API_KEY=SECRET).method == "api_key"


def test_enforced_method_that_is_not_the_chosen_one_ends_the_cli(machine: Machine) -> None:
    machine.select("gemini-api-key", enforcedType="vertex-ai")

    found = machine.auth(GEMINI_API_KEY=SECRET)

    assert found.configured is False
    assert "Vertex AI" in found.hint


def test_enforced_method_that_is_the_chosen_one_is_fine(machine: Machine) -> None:
    machine.select("gemini-api-key", enforcedType="gemini-api-key")

    assert machine.auth(GEMINI_API_KEY=SECRET).configured is True


def test_external_authentication_cannot_be_known(machine: Machine) -> None:
    machine.select("gemini-api-key", useExternal=True)

    assert machine.auth().configured is None


# Sign-in with Google


def test_sign_in_with_google_is_a_file_and_personal_accounts_are_warned(machine: Machine) -> None:
    machine.select("oauth-personal")
    machine.write(".gemini/oauth_creds.json", {"refresh_token": SECRET})

    found = machine.auth()

    assert (found.configured, found.method) == (True, "google_login")
    assert "2026-06-18" in found.hint
    assert "~/.gemini/oauth_creds.json" in found.found


def test_sign_in_that_is_selected_but_gone_is_missing(machine: Machine) -> None:
    machine.select("oauth-personal")

    found = machine.auth()

    assert found.configured is False
    assert "run `gemini`" in found.hint


def test_sign_in_that_is_there_but_not_selected_is_missing(machine: Machine) -> None:
    machine.write(".gemini/oauth_creds.json", {"refresh_token": SECRET})

    found = machine.auth()

    assert found.configured is False
    assert "no method is chosen" in found.hint


def test_encrypted_sign_in_cannot_be_known(machine: Machine) -> None:
    machine.select("oauth-personal")

    assert machine.auth(GEMINI_FORCE_ENCRYPTED_FILE_STORAGE="true").configured is None


def test_another_home_of_the_cli_is_looked_at(machine: Machine, tmp_path: Path) -> None:
    machine.select("vertex-ai")
    other = tmp_path / "other"
    (other / ".gemini").mkdir(parents=True)
    (other / ".gemini" / "settings.json").write_text('{"security": {"auth": {"selectedType": "oauth-personal"}}}')
    (other / ".gemini" / "oauth_creds.json").write_text("{}")

    assert machine.auth(GEMINI_CLI_HOME=str(other)).configured is True


# Vertex AI

PROJECT = {"GOOGLE_GENAI_USE_VERTEXAI": "true", "GOOGLE_CLOUD_PROJECT": "p", "GOOGLE_CLOUD_LOCATION": "l"}


def test_credentials_file_of_vertex_ai_must_be_there(machine: Machine) -> None:
    path = machine.home / "key.json"

    assert machine.auth(**PROJECT, GOOGLE_APPLICATION_CREDENTIALS=str(path)).configured is False
    path.write_text(json.dumps({"private_key": SECRET}), encoding="utf-8")
    assert machine.auth(**PROJECT, GOOGLE_APPLICATION_CREDENTIALS=str(path)).configured is True


def test_default_credentials_of_gcloud_are_found(machine: Machine, tmp_path: Path) -> None:
    (tmp_path / "application_default_credentials.json").write_text(SECRET)

    assert machine.auth(**PROJECT, CLOUDSDK_CONFIG=str(tmp_path)).configured is True


# `.env` files


@pytest.mark.parametrize("name", [".gemini/.env", ".env"])
def test_env_file_of_the_user_is_read(machine: Machine, name: str) -> None:
    machine.write(name, f"# mine\nexport GEMINI_API_KEY='{SECRET}' # the key\n")

    found = machine.auth()

    assert (found.configured, found.method) == (True, "api_key")
    assert f"~/{name}" in found.found


def test_env_file_of_the_cli_hides_the_other_one(machine: Machine) -> None:
    machine.write(".gemini/.env", "DEBUG=1\n")
    machine.write(".env", f"GEMINI_API_KEY={SECRET}\n")

    assert machine.auth().configured is False


def test_env_file_chooses_no_method_but_the_key(machine: Machine) -> None:
    machine.write(".env", "GOOGLE_GENAI_USE_VERTEXAI=true\nGOOGLE_API_KEY=k\n")

    assert machine.auth().configured is False
    machine.select("vertex-ai")
    assert machine.auth().configured is True


@pytest.mark.parametrize("name", [".gemini/.env", ".env"])
def test_key_in_the_project_does_not_count_and_that_is_told(machine: Machine, name: str) -> None:
    machine.write(f"work/project/{name}", f"GEMINI_API_KEY={SECRET}\n")

    found = machine.auth()

    assert found.configured is False
    assert f"~/work/project/{name} is not read" in found.hint


def test_variable_of_the_environment_goes_before_the_file_even_if_it_is_empty(machine: Machine) -> None:
    machine.write(".env", f"GEMINI_API_KEY={SECRET}\n")

    assert machine.auth(GEMINI_API_KEY="").configured is False


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="there are no such pipes here")
def test_env_file_that_is_a_pipe_is_not_waited_for(machine: Machine) -> None:
    os.mkfifo(machine.project / ".env")
    os.mkfifo(machine.home / ".env")

    assert machine.auth().configured is False


def test_hostile_env_file_costs_little(machine: Machine) -> None:
    machine.write("work/project/.env", " \n" * 400_000 + "A" * 199_000)

    assert machine.auth().configured is False


# agy


def test_agy_keeps_its_sign_in_where_nobody_can_look(machine: Machine) -> None:
    found = machine.auth(backend="agy", GEMINI_API_KEY=SECRET)

    assert (found.configured, found.method) == (None, "google_login")
    assert "run `agy` once" in found.hint


def test_key_of_agy_is_seen(machine: Machine) -> None:
    found = machine.auth(backend="agy", ANTIGRAVITY_API_KEY=SECRET)

    assert (found.configured, found.method) == (None, "api_key")


def test_agy_without_a_keyring_has_a_file(machine: Machine) -> None:
    machine.write(".gemini/antigravity-cli/antigravity-oauth-token", SECRET)

    assert machine.auth(backend="agy").configured is True
