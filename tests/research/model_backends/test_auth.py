"""How the program would authenticate, determined without running it.

The rows of variables were tried with the real CLI, 0.61.0: where `configured` is False it ended with exit code 41, and
where it is not it went on to ask the network. `test_command` runs some of them again.
"""

from __future__ import annotations

import json
import os
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import pytest

from workbench_research.model_backends.auth import Auth, find_auth

SECRET = "AIzaSyPlantedSecretThatMustNotLeak012345"
SETTINGS = ".gemini/settings.json"
VERTEX = {"GOOGLE_GENAI_USE_VERTEXAI": "true", "GOOGLE_CLOUD_PROJECT": "p", "GOOGLE_CLOUD_LOCATION": "l"}
KEY = {"GEMINI_API_KEY": SECRET}
NO_JSON = ["{,}", "[]", "\ufeff{}", '{"a": 1,}', "[" * 100_000]


def selected(method: str) -> dict[str, str]:
    return {SETTINGS: json.dumps({"security": {"auth": {"selectedType": method}}})}


@dataclass(frozen=True)
class Row:
    """Variables and files below the home directory, and the result. `text` is in the hint or the detail."""

    configured: bool | None
    method: str
    text: str
    variables: dict[str, str] = field(default_factory=dict)
    files: dict[str, str] = field(default_factory=dict)


ROWS = {
    "nothing": Row(False, "none", "set GEMINI_API_KEY"),
    # Variables
    "a key": Row(True, "api_key", "GEMINI_API_KEY is set in the environment", KEY),
    "an empty key": Row(False, "none", "set GEMINI_API_KEY", {"GEMINI_API_KEY": ""}),
    "a Google key alone": Row(False, "none", "GOOGLE_GENAI_USE_VERTEXAI=true", {"GOOGLE_API_KEY": SECRET}),
    "a Google key for Vertex AI": Row(
        True, "vertex_ai", "", {"GOOGLE_API_KEY": SECRET, "GOOGLE_GENAI_USE_VERTEXAI": "true"}
    ),
    "Vertex AI without a project": Row(
        False, "vertex_ai", "GOOGLE_CLOUD_PROJECT", {"GOOGLE_GENAI_USE_VERTEXAI": "true"}
    ),
    "another word than true": Row(True, "api_key", "", {"GOOGLE_GENAI_USE_VERTEXAI": "1", **KEY}),
    "Vertex AI with a project": Row(None, "vertex_ai", "gcloud", VERTEX),
    "Vertex AI with a file": Row(
        True, "vertex_ai", "", {**VERTEX, "GOOGLE_APPLICATION_CREDENTIALS": "{home}/key.json"}, {"key.json": SECRET}
    ),
    "Vertex AI with a missing file": Row(
        False, "vertex_ai", "does not exist", {**VERTEX, "GOOGLE_APPLICATION_CREDENTIALS": "{home}/key.json"}
    ),
    "Google without a sign-in": Row(False, "google_login", "run `gemini`", {"GOOGLE_GENAI_USE_GCA": "true"}),
    "Google with a token": Row(
        True, "google_login", "", {"GOOGLE_GENAI_USE_GCA": "true", "GOOGLE_CLOUD_ACCESS_TOKEN": SECRET}
    ),
    "a gateway without a selection": Row(
        False, "gateway", "selectedType", {**KEY, "GOOGLE_GEMINI_BASE_URL": "http://127.0.0.1:9"}
    ),
    "a machine of Google": Row(None, "compute_adc", "", {"GEMINI_CLI_USE_COMPUTE_ADC": "true"}),
    "Cloud Shell": Row(None, "compute_adc", "", {"CLOUD_SHELL": "true"}),
    # Settings
    "a selection goes before variables": Row(False, "vertex_ai", "GOOGLE_CLOUD_PROJECT", KEY, selected("vertex-ai")),
    "a selected key may be in the keyring": Row(None, "api_key", "keyring", {}, selected("gemini-api-key")),
    "an unknown selection": Row(False, "unknown", "selectedType", KEY, selected("telepathy")),
    "settings with comments": Row(
        True,
        "api_key",
        "",
        {**KEY, "GOOGLE_GEMINI_BASE_URL": "http://127.0.0.1:9"},
        {
            SETTINGS: '{ // the "way in"\n "security": {/* chosen */ "auth": {"selectedType": "gemini-api-key"}},'
            ' "a": "// no" }'
        },
    ),
    **{
        f"settings that are invalid ({text[:10]})": Row(
            False, "none", "~/.gemini/settings.json is not", {}, {SETTINGS: text}
        )
        for text in NO_JSON
    },
    "invalid settings beside a key": Row(True, "api_key", "", KEY, {SETTINGS: "{,}"}),
    # A sign-in with Google
    "a sign-in, with the end of personal accounts": Row(
        True,
        "google_login",
        "since 2026-06-18",
        {},
        {**selected("oauth-personal"), ".gemini/oauth_creds.json": SECRET},
    ),
    "a selected sign-in that is gone": Row(False, "google_login", "run `gemini`", {}, selected("oauth-personal")),
    "a sign-in that is not selected": Row(False, "none", "selects no method", {}, {".gemini/oauth_creds.json": SECRET}),
    "an encrypted sign-in": Row(
        None, "google_login", "keyring", {"GEMINI_FORCE_ENCRYPTED_FILE_STORAGE": "true"}, selected("oauth-personal")
    ),
    "another home of the CLI": Row(
        True,
        "google_login",
        "",
        {"GEMINI_CLI_HOME": "{home}/other"},
        {
            **selected("vertex-ai"),
            f"other/{SETTINGS}": selected("oauth-personal")[SETTINGS],
            "other/.gemini/oauth_creds.json": SECRET,
        },
    ),
    # `.env` files
    "a key in the CLI's .env": Row(True, "api_key", "~/.gemini/.env", {}, {".gemini/.env": f"GEMINI_API_KEY={SECRET}"}),
    "a key in the user's .env": Row(
        True, "api_key", "~/.env", {}, {".env": f"# mine\nexport GEMINI_API_KEY='{SECRET}' # the key\r\n"}
    ),
    "a mark and a colon in .env": Row(True, "api_key", "", {}, {".env": f"\ufeffGEMINI_API_KEY: {SECRET}"}),
    "no value in .env": Row(False, "none", "", {}, {".env": "GEMINI_API_KEY=\nGEMINI_API_KEY=''\nGEMINI_API_KEY:x\n"}),
    "the CLI's .env hides the user's": Row(
        False, "none", "", {}, {".gemini/.env": "DEBUG=1\n", ".env": f"GEMINI_API_KEY={SECRET}\n"}
    ),
    ".env selects no other method": Row(
        False, "none", "", {}, {".env": f"GOOGLE_GENAI_USE_VERTEXAI=true\nGOOGLE_API_KEY={SECRET}\n"}
    ),
    ".env has the key of a selected method": Row(
        True, "vertex_ai", "~/.env", {}, {".env": f"GOOGLE_API_KEY={SECRET}\n", **selected("vertex-ai")}
    ),
    "an empty variable goes before .env": Row(
        False, "none", "", {"GEMINI_API_KEY": ""}, {".env": f"GEMINI_API_KEY={SECRET}\n"}
    ),
    "a key in the project's CLI files": Row(
        False, "none", "ignored", {}, {"project/.gemini/.env": f"GEMINI_API_KEY={SECRET}\n"}
    ),
    "a key in the project's .env": Row(
        False, "none", "~/project/.env is ignored", {}, {"project/.env": f"GEMINI_API_KEY={SECRET}\n"}
    ),
    "a large hostile .env": Row(False, "none", "", {}, {"project/.env": " \n" * 400_000 + "A" * 199_000}),
}


def auth(home: Path, variables: dict[str, str]) -> Auth:
    environ = {
        "HOME": str(home),
        "USERPROFILE": str(home),
        "GEMINI_CLI_SYSTEM_SETTINGS_PATH": str(home / "system.json"),
        **{name: value.replace("{home}", str(home)) for name, value in variables.items()},
    }
    found = find_auth(environ, home / "project")
    assert SECRET not in json.dumps(asdict(found))
    return found


def write(home: Path, files: dict[str, str]) -> None:
    for name, text in files.items():
        (home / name).parent.mkdir(parents=True, exist_ok=True)
        (home / name).write_text(text, encoding="utf-8", newline="")


@pytest.mark.parametrize("row", ROWS.values(), ids=ROWS.keys())
def test_the_method_and_its_credentials_are_found(row: Row, tmp_path: Path) -> None:
    write(tmp_path, row.files)

    found = auth(tmp_path, row.variables)

    assert (found.configured, found.method) == (row.configured, row.method)
    assert found.hint or found.detail
    assert row.text in f"{found.detail} {found.hint}"


def test_settings_of_the_machine_go_before_those_of_the_user(tmp_path: Path) -> None:
    write(tmp_path, {**selected("vertex-ai"), "system.json": selected("gemini-api-key")[SETTINGS]})

    assert auth(tmp_path, {"GEMINI_API_KEY": SECRET}).method == "api_key"


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="Windows has no such pipes")
def test_a_pipe_in_place_of_a_file_is_not_opened(tmp_path: Path) -> None:
    (tmp_path / ".gemini").mkdir()
    for name in (".env", SETTINGS):
        os.mkfifo(tmp_path / name)

    assert auth(tmp_path, {}).configured is False


def test_no_value_of_a_setting_is_repeated(tmp_path: Path) -> None:
    settings: dict[str, Any] = {"security": {"auth": {"selectedType": SECRET}}}
    write(tmp_path, {SETTINGS: json.dumps(settings)})

    assert auth(tmp_path, {}).method == "unknown"
