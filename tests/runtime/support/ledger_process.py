"""The server generated from `../audit/ledger/`, over stdio and HTTP, and its audit log."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urljoin

import httpx2
import pytest
from issuer import Issuer
from notes_process import META, PATIENCE_S, free_port
from oracle import LEGACY
from stdio_peer import Peer, talking
from toolmason_runtime.audit.command import audit_command

LEDGER = Path(__file__).parents[1] / "audit" / "ledger"
Fields = dict[str, Any]


@dataclass
class Trail:
    """The audit log of one or more servers; `read` is the command that a person uses."""

    path: Path

    def read(self, capsys: pytest.CaptureFixture[str], *arguments: str) -> list[Fields]:
        """Return the lines that `audit FILE ARGUMENTS` prints."""
        capsys.readouterr()
        audit_command([str(self.path), *arguments, "--format", "json"], prog="audit")
        return [json.loads(line) for line in capsys.readouterr().out.splitlines()]

    def text(self) -> str:
        """Return everything in the directory of the log."""
        return "".join(file.read_text(encoding="ascii") for file in sorted(self.path.parent.iterdir()))


@dataclass
class Ledger:
    """The generated project."""

    environment: Mapping[str, str]
    issuer: Issuer
    command: tuple[str, ...] = (sys.executable, "-m", "ledger_server")

    @contextmanager
    def stdio(
        self, trail: Trail, *flags: str, version: str = LEGACY, name: str = "editor", exit_status: int = 0, **more: Any
    ) -> Iterator[Peer]:
        env = {**self.environment, "LEDGER_AUDIT": str(trail.path), **more.pop("env", {})}
        policy = ("--policy", str(LEDGER / "policy.toml"))
        with talking(version, *policy, *flags, command=self.command, env=env, name=name, **more) as peer:
            yield peer
            peer.end_of_input()
            assert peer.exit_status() == exit_status

    @contextmanager
    def http(self, trail: Trail, *flags: str, **more: str) -> Iterator[Http]:
        port = free_port()
        url = f"http://127.0.0.1:{port}/mcp"
        env = {**os.environ, **self.environment, "LEDGER_AUDIT": str(trail.path), "LEDGER_URL": url, **more}
        process = subprocess.Popen(
            [*self.command, "--http", "--port", str(port), *flags],
            stderr=subprocess.PIPE,
            encoding="utf-8",
            env=env,
        )
        try:
            assert process.stderr is not None
            line = process.stderr.readline()
            assert re.match(r"serving MCP at ", line), line + process.stderr.read()
            with httpx2.Client(timeout=PATIENCE_S) as client:
                yield Http(url, client, self.issuer)
            process.terminate()
            process.wait(PATIENCE_S)
        finally:
            process.kill()
            process.communicate(timeout=PATIENCE_S)


@dataclass
class Http:
    """A client of the server over HTTP."""

    url: str
    client: httpx2.Client
    issuer: Issuer

    def call(self, token: str, tool: str, /, headers: Mapping[str, str] | None = None, **arguments: Any) -> int:
        """Call a tool; return the status of the response."""
        params = {"name": tool, "arguments": arguments, "_meta": META}
        message = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}
        sent = {
            "accept": "application/json, text/event-stream",
            "mcp-method": "tools/call",
            "mcp-name": tool,
            "mcp-protocol-version": "2026-07-28",
            **({"authorization": f"Bearer {token}"} if token else {}),
            **(headers or {}),
        }
        status = self.client.post(self.url, json=message, headers=sent).status_code
        # The audit log gets the line after the answer, and before the server reads the next request.
        assert self.client.get(urljoin(self.url, "/healthz")).is_success
        return status
