"""`toolmason dev`: the time from a saved edit to an answer that has it."""

from __future__ import annotations

import http.client
import json
import socket
import subprocess
import sys
import time
from collections.abc import Sequence
from contextlib import suppress
from statistics import median
from time import perf_counter
from typing import Final

from bench.project import SyntheticProject, make_project
from bench.session import SessionError, Workspace
from bench.synthetic import synthetic_tools

SIZES: Final = (10, 1000)
SHORT_SIZES: Final = (10,)
TIMEOUT_S: Final = 120.0
_POLL_S: Final = 0.01
_ERA: Final = "2026-07-28"
_META: Final = {
    "io.modelcontextprotocol/protocolVersion": _ERA,
    "io.modelcontextprotocol/clientInfo": {"name": "bench", "version": "1"},
    "io.modelcontextprotocol/clientCapabilities": {},
}


def measure_developing(workspace: Workspace, rounds: int, *, is_short: bool = False) -> dict[int, float]:
    """Return the median seconds from a saved description to a list that has it, by number of tools.

    Raises:
        SessionError: the answer did not come in time.
    """
    sizes: Sequence[int] = SHORT_SIZES if is_short else SIZES
    return {size: _measure(workspace, size, rounds) for size in sizes}


def _measure(workspace: Workspace, size: int, rounds: int) -> float:
    project = make_project(workspace.directory / f"dev-{size}", synthetic_tools(size))
    with socket.create_server(("127.0.0.1", 0)) as reserved:
        port = reserved.getsockname()[1]
    with workspace.directory.joinpath(f"dev-{size}.log").open("w+b") as log:
        process = subprocess.Popen(  # noqa: S603  our own command
            [sys.executable, "-m", "toolmason", "dev", "--port", str(port), "--", "--classic"],
            cwd=project.directory,
            env=workspace.environment(),
            stdout=log,
            stderr=log,
        )
        try:
            _wait(process, port, "tools")
            return median(_save_to_answer(process, project, port, number) for number in range(rounds))
        except SessionError as error:
            log.seek(0)
            raise SessionError(f"{error}\n{log.read().decode('utf-8', 'replace')[-2000:]}") from error
        finally:
            process.terminate()
            process.wait(30)


def _save_to_answer(process: subprocess.Popen[bytes], project: SyntheticProject, port: int, number: int) -> float:
    time.sleep(0.5)  # an edit does not follow the last restart at once
    mark = f"Edition {number} of the text."
    project.write(edited=f" {mark}")
    started = perf_counter()
    _wait(process, port, mark)
    return perf_counter() - started


def _wait(process: subprocess.Popen[bytes], port: int, text: str) -> None:
    """Wait until the list of tools contains the text."""
    deadline = time.monotonic() + TIMEOUT_S
    while time.monotonic() < deadline and process.poll() is None:
        with suppress(OSError, http.client.HTTPException):
            if text.encode() in _list(port):
                return
        time.sleep(_POLL_S)
    raise SessionError("`toolmason dev` did not answer with the saved text")


def _list(port: int) -> bytes:
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=TIMEOUT_S)
    headers = {
        "Content-Type": "application/json",
        "Accept": "application/json, text/event-stream",
        "MCP-Protocol-Version": _ERA,
        "Mcp-Method": "tools/list",
    }
    body = {"jsonrpc": "2.0", "id": 1, "method": "tools/list", "params": {"_meta": _META}}
    try:
        connection.request("POST", "/mcp", json.dumps(body), headers)
        return connection.getresponse().read()
    finally:
        connection.close()
