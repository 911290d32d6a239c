"""Record sessions of real clients with Workbench anew: `python tests/clients/support/record_sessions.py [CLIENT...]`.

`tests/runtime/transports/sessions/` gets a file for each session: the messages of the client, in order, and what
it waits for. The answers are not recorded: `test_sessions.py` compares those of the engines. A line of a file is one of

- `{"send": MESSAGE}`
- `{"receive": ID}`: the response to a request of the client arrived
- `{"receive": METHOD, "id": ID}`: a request of the server arrived
- `{"end": KIND}`: a signal, or `end of input`, with which the client ended the server
"""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

from codex_client import codex
from real_clients import REAL_CLIENTS, RECORD, TESTS, Place, RealClient, provide, run, write
from scripted_model import ScriptedModel, Step, serving
from toolmason_runtime.server.package_files import server_files
from toolmason_runtime.shared.engines import LEAN

from toolmason.clients import CLAUDE_CODE, CODEX, clients

SESSIONS: Final = TESTS / "runtime" / "transports" / "sessions"
GREETING: Final = "Hello from the file\n"
SEARCH: Final = "search"
STEPS: Final[Sequence[Step]] = (
    (SEARCH, {"query": "read text files"}),
    ("call_read", {"tool_name": "read_files", "args": {"files": [{"path": "greeting.txt", "head": 1}]}}),
    ("call_read", {"tool_name": "read_files", "args": {"path": "greeting.txt"}}),
    ("call_read", {"tool_name": "read_fils", "args": {}}),
    ("call", {"tool_name": "create_directory", "args": {"path": "notes"}}),
)
COMMANDS: Final = {"claude-code": "/mcp__workbench__{}", "gemini-cli": "/{}", "opencode": "/workbench:{}"}
"""The prompts of the server as commands; Codex has none."""
PROMPT: Final = "workbench-explore"
SLOW_S: Final = 4.0
"""Longer than Claude Code waits for the answer to its first request."""


def main(*keys: str) -> None:
    """Record the sessions of clients, of all by default."""
    for key in keys or REAL_CLIENTS:
        _record(REAL_CLIENTS[key], "calls", "Read the greeting.", STEPS)
        if key == CLAUDE_CODE:  # it opens the connection in another way if the server starts slowly
            _record(REAL_CLIENTS[key], "slow-start", "Read the greeting.", STEPS[:2], delay_s=SLOW_S)
        if key == CODEX:
            _record_approval()
        if key in COMMANDS:
            _record(REAL_CLIENTS[key], "prompt", COMMANDS[key].format(PROMPT) + " the greeting", ())


def _record(client: RealClient, session: str, prompt: str, steps: Sequence[Step], *, delay_s: float = 0) -> None:
    with _new_place() as place:
        provide(place, "toolmason-workbench", "workbench_server", "--engine", LEAN, delay_s=delay_s)
        shutil.copytree(server_files("workbench_server") / "clients" / client.key, place.project, dirs_exist_ok=True)
        done = run(client, place, prompt, _with_names_of(client, steps), approved=True)
        assert done.process.returncode == 0, done.process.stderr
        _save(place, f"{client.key}-{session}")


def _record_approval() -> None:
    """Record Codex with a user who approves a tool that writes."""
    with _new_place() as place:
        server = [sys.executable, "-m", "workbench_server", "--engine", LEAN]
        command = [sys.executable, str(RECORD), str(place.record), *server]
        subprocess.run(["git", "init", "--quiet"], cwd=place.project, check=True)
        with (
            serving(ScriptedModel(_with_names_of(REAL_CLIENTS[CODEX], STEPS))) as url,
            codex(place.home, command, url, action="accept", cwd=place.project) as client,
        ):
            client.run("Read the greeting.")
        _save(place, f"{CODEX}-approval")


def _with_names_of(client: RealClient, steps: Sequence[Step]) -> Sequence[Step]:
    """Return the steps with the client's name of our search: it has a tool of that name, too."""
    names = clients()[client.key].names
    assert names
    return [
        (names.form.format(server="workbench", tool=tool) if tool == SEARCH else tool, args) for tool, args in steps
    ]


@contextmanager
def _new_place() -> Iterator[Place]:
    with tempfile.TemporaryDirectory() as directory:
        place = Place(Path(directory))
        for path in (place.project, place.home):
            path.mkdir()
        write(place.project / "greeting.txt", GREETING)
        yield place


def _save(place: Place, session: str) -> None:
    text = "".join(json.dumps(event, ensure_ascii=False) + "\n" for event in _events(place))
    assert str(place.root) not in text, "a path of this machine"
    write(SESSIONS / f"{session}.jsonl", text)


def _events(place: Place) -> Iterator[Mapping[str, Any]]:
    for line in place.record.read_text(encoding="utf-8").splitlines():
        sender, _, content = line.partition(" ")
        if sender == "!":
            yield {"end": content}
            return
        message = json.loads(content.replace(str(place.project), "<project>"))
        if sender == ">":
            yield {"send": _without_version(message)}
        elif "id" in message:
            yield (
                {"receive": message["method"], "id": message["id"]}
                if "method" in message
                else {"receive": message["id"]}
            )


def _without_version(message: dict[str, Any]) -> dict[str, Any]:
    """Replace the version of the client, which would change with each recording."""
    params = message.get("params", {})
    for info in (params.get("clientInfo"), params.get("_meta", {}).get("io.modelcontextprotocol/clientInfo")):
        if info:
            info["version"] = "0"
    return message


if __name__ == "__main__":
    main(*sys.argv[1:])
