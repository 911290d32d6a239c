"""Clients without generated files read the configuration that `install` has written, and reach the server.

Copilot CLI and Qwen Code list it. Continue and Cline have no such command, so a scripted model calls one of its tools.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import pytest
from real_clients import NODE_PROGRAMS, TIMEOUT_S, Place, write
from scripted_model import ScriptedModel, serving

pytestmark = pytest.mark.skipif(
    os.environ.get("TOOLMASON_CLIENTS") != "all", reason="the clients are large; run `nox -s clients`"
)
QWEN_NODE = 22
"""Lowest version of Node.js for Qwen Code."""
STEP = ("call_read", {"tool_name": "read_files", "args": {"files": [{"path": "greeting.txt"}]}})
COMMENTED = """{
  // Ada's settings
  "mcpServers": {
    "other": { "command": "true", "args": [] } // stays
  }
}
"""
CONTINUE = """# Ada's models
name: Ada
version: 1.0.0
schema: v1
models:
  - name: scripted # on loopback
    provider: openai
    model: scripted
    apiBase: {url}/v1
    apiKey: none
    roles: [chat]
    capabilities: [tool_use]
"""


@pytest.fixture
def place(tmp_path: Path) -> Place:
    place = Place(tmp_path)
    for directory in (place.project, place.home):
        directory.mkdir()
    subprocess.run(["git", "init", "--quiet"], cwd=place.project, check=True)
    write(place.project / "greeting.txt", "Hello from the file\n")
    return place


def run(place: Place, program: str, *arguments: str, environ: Mapping[str, str] | None = None) -> str:
    """Run a program in the project, with the home of the place; return its output."""
    directories = [str(Path(sys.executable).parent), *map(str, NODE_PROGRAMS), os.environ["PATH"]]
    path = shutil.which(program, path=os.pathsep.join(directories))
    assert path, f"{program} is missing: run `nox -s clients`, or `npm install` in tests/clients/"
    own = {"HOME": str(place.home), "PATH": os.pathsep.join(directories), "NO_COLOR": "1", "TERM": "dumb", "CI": "1"}
    process = subprocess.run(
        [path, *arguments],
        cwd=place.project,
        env={**os.environ, **own, **(environ or {})},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        encoding="utf-8",
        check=False,
        timeout=TIMEOUT_S,
    )
    assert process.returncode == 0, process.stdout
    return process.stdout


def install(place: Place, client: str, *options: str) -> None:
    assert ": 3 tools in " in run(place, "toolmason-workbench", "install", client, *options)


def offline(url: str) -> Mapping[str, str]:
    """Return the variables with which a client reaches only the model on loopback."""
    return {"HTTPS_PROXY": url, "HTTP_PROXY": url, "NO_PROXY": "127.0.0.1,localhost"}


def test_copilot_cli_lists_the_servers_of_the_user_and_of_a_trusted_project(place: Place) -> None:
    user = write(place.home / ".copilot" / "mcp-config.json", COMMENTED)
    install(place, "copilot-cli")
    assert user.read_text(encoding="utf-8").startswith(COMMENTED.partition(" // stays")[0])
    with serving(ScriptedModel()) as url:
        listed = run(place, "copilot", "mcp", "list", environ=offline(url))
        shown = run(place, "copilot", "mcp", "get", "workbench", environ=offline(url))
        assert "workbench (local)" in listed
        assert "other (local)" in listed
        assert "Status: Enabled" in shown
        assert "Tools: * (all)" in shown

        run(place, "toolmason-workbench", "install", "copilot-cli", "--uninstall")
        assert user.read_text(encoding="utf-8") == COMMENTED
        install(place, "copilot-cli", "--scope", "project")
        write(place.home / ".copilot" / "config.json", f'{{"trusted_folders": ["{place.project}"]}}')
        listed = run(place, "copilot", "mcp", "list", environ=offline(url))
        assert "workbench (local)" in listed.partition("Workspace servers:")[2]


def test_qwen_code_connects_to_an_installed_server(place: Place) -> None:
    version = run(place, "node", "--version")
    if int(version.lstrip("v").partition(".")[0]) < QWEN_NODE:
        pytest.skip(f"Qwen Code needs Node.js {QWEN_NODE}")
    write(place.home / ".qwen" / "settings.json", COMMENTED)
    install(place, "qwen-code")
    with serving(ScriptedModel()) as url:
        listed = run(place, "qwen", "mcp", "list", environ=offline(url))
    [line] = [line for line in listed.splitlines() if "workbench: " in line]
    assert line.endswith("(stdio) - Connected")


def set_up_continue(place: Place, url: str) -> Sequence[str]:
    file = write(place.home / ".continue" / "config.yaml", CONTINUE.format(url=url))
    return ("cn", "--config", str(file), "--auto", "-p", "Read the greeting")


def set_up_cline(place: Place, url: str) -> Sequence[str]:
    model = ("openai-compatible", "-m", "scripted")
    run(place, "cline", "auth", "-p", *model, "-k", "none", "-b", f"{url}/v1", environ=offline(url))
    return ("cline", "--json", "-P", *model, "Read the greeting")


@pytest.mark.parametrize(("client", "set_up"), [("continue", set_up_continue), ("cline-cli", set_up_cline)])
def test_a_model_reads_a_file_with_the_installed_server(
    place: Place, client: str, set_up: Callable[[Place, str], Sequence[str]]
) -> None:
    model = ScriptedModel([STEP])
    with serving(model) as url:
        command = set_up(place, url)
        install(place, client)
        environ = {"CONTINUE_TELEMETRY_ENABLED": "0", **offline(url)}
        run(place, *command, environ=environ)
    assert [name for name in model.tools if name.endswith("call_read")]
    assert ["Hello from the file" in result for result in model.results] == [True]
