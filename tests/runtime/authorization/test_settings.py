"""The settings of authorization: from the manifest, the environment and the command line."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import httpx2
import pytest
from issuer import Issuer
from notes_process import PATIENCE_S, Environment, serving_notes
from toolmason_runtime.server.authorization import authorization
from toolmason_runtime.transports.http_access import AccessError

VALID = {"issuer": "https://login.example", "jwks_url": "https://login.example/jwks"}
RESOURCE = "https://notes.example/mcp"


@pytest.fixture
def catalogue(notes_project: Path) -> Any:
    return json.loads((notes_project / "generated/notes_server/catalogue.json").read_bytes())


@pytest.mark.parametrize(
    ("flags", "message"),
    [
        ({}, r"environment variable NOTES_ISSUER, used by `issuer` of \[server.auth\], is not set; .*--auth-issuer"),
        (VALID, "NOTES_URL, used by `resource`"),
        ({**VALID, "issuer": "http://login.example"}, "must be an https URL .*--auth-issuer"),
        ({**VALID, "issuer": "https://login.example?tenant=1"}, "must be an https URL without query"),
        ({**VALID, "issuer": "https://[login.example"}, "must be an https URL"),
        ({**VALID, "jwks_url": "ftp://login.example/jwks"}, "`jwks_url` of .* must be an https URL"),
        ({**VALID, "jwks_url": "https://user:key@login.example/jwks"}, "`jwks_url` of .* must be an https URL"),
        ({**VALID, "resource": "notes"}, "set the address of this server's endpoint with --auth-resource"),
    ],
)
def test_a_setting_that_would_accept_or_reveal_too_much_is_refused(
    catalogue: Any, flags: dict[str, str], message: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("NOTES_ISSUER", raising=False)
    monkeypatch.delenv("NOTES_URL", raising=False)

    with pytest.raises(AccessError, match=message):
        authorization(catalogue, flags)


def test_a_server_with_invalid_settings_does_not_start(notes_environment: Environment) -> None:
    server = [sys.executable, "-m", "notes_server", "--http", "--port", "0"]
    ended = subprocess.run(
        server, env=notes_environment, capture_output=True, text=True, timeout=PATIENCE_S, check=False
    )

    assert ended.returncode == 2
    assert "NOTES_ISSUER" in ended.stderr
    assert "Traceback" not in ended.stderr


def test_flags_replace_the_settings_of_the_manifest(issuer: Issuer, notes_environment: Environment) -> None:
    flags = ("--auth-audience", "other", "--auth-resource", RESOURCE)
    with serving_notes(issuer, notes_environment, *flags) as notes:
        statuses = [notes.call(issuer.token(aud=audience)).status_code for audience in ("other", RESOURCE)]
        metadata = httpx2.get(f"{notes.origin}/.well-known/oauth-protected-resource/mcp").json()

    assert statuses == [200, 401]
    assert metadata["resource"] == RESOURCE
