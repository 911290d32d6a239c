"""Each command with `--header` sends the values of environment variables, and refuses variables that are not set."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Final

import pytest
from click.testing import CliRunner

from toolmason.commands import toolmason

COMMANDS: Final = {
    "schema check": ("schema", "check", "--server"),
    "diff": ("diff",),
    "import server": ("import", "server"),
    "import openapi": ("import", "openapi"),
    "import graphql": ("import", "graphql"),
}


class Recorder(ThreadingHTTPServer):
    """A server that refuses each request and records its header `X-Key`."""

    def __init__(self) -> None:
        """Listen on a free port."""
        super().__init__(("127.0.0.1", 0), Refusal)
        self.keys: set[str | None] = set()


class Refusal(BaseHTTPRequestHandler):
    server: Recorder

    def do_GET(self) -> None:
        self.server.keys.add(self.headers["x-key"])
        self.rfile.read(int(self.headers["content-length"] or 0))
        self.send_response(401)
        self.send_header("content-length", "0")
        self.end_headers()

    def do_POST(self) -> None:
        self.do_GET()

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002  the signature of the base class
        pass


@pytest.fixture
def recorder() -> Iterator[Recorder]:
    """A server on loopback."""
    with Recorder() as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        yield server
        server.shutdown()
        thread.join()


@pytest.mark.parametrize("command", COMMANDS)
def test_a_header_can_have_the_value_of_a_variable(
    command: str, recorder: Recorder, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("A_TOKEN", "sesame")
    url = f"http://127.0.0.1:{recorder.server_port}/mcp"
    result = CliRunner().invoke(toolmason, [*COMMANDS[command], url, "--header", "X-Key: open $A_TOKEN"])
    assert result.exit_code in {1, 2}
    assert "401" in result.stderr
    assert recorder.keys == {"open sesame"}


@pytest.mark.parametrize("command", COMMANDS)
def test_a_variable_without_a_value_is_refused(command: str, recorder: Recorder) -> None:
    url = f"http://127.0.0.1:{recorder.server_port}/mcp"
    result = CliRunner().invoke(toolmason, [*COMMANDS[command], url, "--header", "X-Key: ${NO_TOKEN}"])
    assert result.exit_code in {1, 2}
    assert "environment variable NO_TOKEN" in result.stderr
    assert "is not set" in result.stderr
    assert recorder.keys == set()
