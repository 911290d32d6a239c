"""docs/serving-http.md: its server answers as the page says, and its tables are those of the code."""

from __future__ import annotations

import http.client
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import pytest
from pages import quoted, read
from toolmason_runtime.server.flags import own_flags
from toolmason_runtime.transports import http_settings
from toolmason_runtime.transports.http_connection import MAX_UNSENT_BYTES, REQUEST_TIMEOUT_S, STALL_S
from toolmason_runtime.transports.limits import (
    BODY_TIMEOUT_S,
    CLIENT_SHARE,
    MAX_REQUESTS,
    MAX_SESSIONS,
    client_share,
)
from toolmason_runtime.transports.messages import MAX_MESSAGE_BYTES
from toolmason_runtime.transports.request_framing import MAX_CHUNKS

PAGE: Final = read("docs/serving-http.md")
HANDLER: Final = """
from toolmason_runtime import ToolCall
from notes_server.notes.models import AddNoteParams


async def add_note(params: AddNoteParams, call: ToolCall) -> str:
    return params.text
"""
PATIENCE_S: Final = 60


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The project of the page, generated."""
    directory = tmp_path_factory.mktemp("notes")
    handlers = directory / "handlers" / "notes_handlers"
    handlers.mkdir(parents=True)
    (handlers / "__init__.py").touch()
    (handlers / "notes.py").write_text(HANDLER, encoding="utf-8")
    (handlers / "web.py").write_text(PAGE.block("python", "# handlers"), encoding="utf-8")
    (directory / "manifest.toml").write_text(PAGE.block("toml"), encoding="utf-8")
    command = [sys.executable, "-m", "toolmason", "generate", "--manifest", "manifest.toml"]
    subprocess.run(command, cwd=directory, check=True, timeout=PATIENCE_S)
    return directory


@pytest.fixture(params=["uvicorn notes_server.asgi:app --port 0 --no-access-log", "notes_server --http --port 0"])
def server(project: Path, request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[tuple[str, Path]]:
    """The server, started in both ways, and its log."""
    path = os.pathsep.join(str(project / name) for name in ("generated", "handlers"))
    command = [sys.executable, "-m", *request.param.split()]
    (tmp_path / "token").write_text("a-token-that-only-tests-use", encoding="utf-8")
    (tmp_path / "token").chmod(0o600)
    environ = {**os.environ, "PYTHONPATH": path, "NOTES_TOKEN_FILE": str(tmp_path / "token")}
    log = tmp_path / "log"
    with log.open("wb") as file, subprocess.Popen(command, stderr=file, env=environ, cwd=project) as process:
        try:
            found = None
            while not (found := re.search(r"(?:running on|MCP at) http://(127\.0\.0\.1:\d+)", log.read_text("utf-8"))):
                assert process.poll() is None, log.read_text("utf-8")
            yield found[1], log
        finally:
            process.kill()


def fetch(host: str, method: str, path: str, **headers: str) -> tuple[int, str]:
    connection = http.client.HTTPConnection(host, timeout=PATIENCE_S)
    connection.request(method, path, headers=headers)
    response = connection.getresponse()
    text = response.read().decode()
    connection.close()
    return response.status, text


def test_the_routes_of_the_page_are_served_and_logged(server: tuple[str, Path]) -> None:
    host, log = server
    token = {"Authorization": "Bearer a-token-that-only-tests-use"}

    assert fetch(host, "GET", "/reports/may", **token) == (200, "Report may\n")
    assert fetch(host, "GET", "/reports/june")[0] == 401
    assert fetch(host, "POST", "/webhook")[0] == 204
    assert fetch(host, "GET", "/healthz", Host="192.0.2.1") == (200, '{"status":"ok"}')
    logged = re.findall(r"(?:GET|POST) /[a-z/]+", log.read_text("utf-8"))
    assert logged == ["GET /reports/may", "POST /webhook"]


def test_the_settings_of_the_page_have_these_flags_and_variables(monkeypatch: pytest.MonkeyPatch) -> None:
    read_names: set[str] = set()

    def text(_: str, name: str) -> str:
        read_names.add(name)
        return ""

    monkeypatch.setattr(http_settings, "_text", text)
    http_settings.http_settings("notes")
    rows = PAGE.rows("setting", "flag of `notes --http`", "variable")
    flags = {quoted(flag)[0].removeprefix("--") for _, flag, _ in rows if flag}
    variables = {quoted(variable)[0] for _, _, variable in rows}

    assert flags < own_flags()
    assert variables == {http_settings.variable("notes", name) for name in read_names}


def test_the_limits_of_the_page_are_those_of_the_code() -> None:
    values = {limit: value for limit, value, _ in PAGE.rows("limit", "value", "a client that exceeds it gets")}

    assert values["bytes of a request"] == f"{MAX_MESSAGE_BYTES:,}"
    assert values["seconds until a request has arrived"] == f"{BODY_TIMEOUT_S:g}" == f"{REQUEST_TIMEOUT_S:g}"
    assert values["concurrent POST requests of a process"].startswith(f"{MAX_REQUESTS:,}, or `--max-requests`")
    assert values["sessions of a process"] == f"{MAX_SESSIONS:,}"
    assert values["sessions of one client"] == f"{client_share(MAX_SESSIONS)}, or `--max-client-sessions`"
    assert values["concurrent POST requests of one client"] == "half of them, or `--max-client-requests`"
    assert CLIENT_SHARE == 2
    assert values["chunks of a request"] == f"{MAX_CHUNKS:,}"
    assert values["seconds without reading an answer that waits"] == f"{STALL_S:g}"
    assert values["bytes of a process that wait for clients"] == f"{MAX_UNSENT_BYTES:,}"
