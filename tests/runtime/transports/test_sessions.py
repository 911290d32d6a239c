"""Recorded sessions of real clients with Workbench: each engine answers them alike, and as the protocol requires.

`python tests/clients/support/record_sessions.py` records `sessions/` anew.
"""

from __future__ import annotations

import json
import shutil
import signal
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

import pytest
from oracle import MODERN
from stdio_peer import Message, Peer
from toolmason_runtime.shared.engines import ENGINES

SESSIONS: Final = sorted(Path(__file__).with_name("sessions").glob("*.jsonl"))
STARTS: Final = [*(("--engine", engine) for engine in ENGINES), ()]
"""The last one is a start without flags, as from a client's configuration."""
GREETING: Final = "Hello from the file\n"


@dataclass
class Heard:
    """The messages of a server: responses and requests by id, and notifications in their order."""

    responses: dict[Any, Message] = field(default_factory=dict)
    requests: list[Message] = field(default_factory=list)
    notifications: list[Message] = field(default_factory=list)

    def add(self, message: Message) -> None:
        if "method" not in message:
            self.responses[message["id"]] = message
        else:
            (self.requests if "id" in message else self.notifications).append(message)

    def normal(self) -> Any:
        """Return the messages without the sealed states, and the ids of the server's requests."""
        responses = {identity: _normal_response(response) for identity, response in self.responses.items()}
        return responses, [{**request, "id": 0} for request in self.requests], self.notifications


def _normal_response(response: Message) -> Message:
    """An error without data is the same as one with null."""
    match response:
        case {"result": {"requestState": _} as result}:
            return {**response, "result": {**result, "requestState": "sealed"}}
        case {"error": {"data": None, **error}}:
            return {**response, "error": error}
    return response


class Replay:
    """A client that sends the messages of a session to a server, and waits where the recorded client did."""

    def __init__(self, session: Path, project: Path, *flags: str) -> None:
        text = session.read_text(encoding="utf-8").replace("<project>", str(project))
        self._events = [json.loads(line) for line in text.splitlines()]
        first = self._events[0]["send"]["params"]
        command = (sys.executable, "-m", "workbench_server", *flags)
        self._peer = Peer(command, first.get("protocolVersion", MODERN), cwd=str(project))
        self.heard = Heard()

    def run(self) -> Heard:
        try:
            for event in self._events:
                self._do(event)
            assert self._peer.exit_status() == 0
            assert self._peer.rest() == []
        finally:
            self._peer.close()
        return self.heard

    def _do(self, event: Mapping[str, Any]) -> None:
        match event:
            case {"send": message}:
                self._send(message)
            case {"receive": method, "id": int(number)}:
                self._wait_for(lambda: len(self.heard.requests) >= number)
                assert self.heard.requests[number - 1]["method"] == method
            case {"receive": identity}:
                self._wait_for(lambda: identity in self.heard.responses)
            case {"end": "end of input"}:
                self._peer.end_of_input()
            case {"end": name}:
                self._peer.process.send_signal(signal.Signals[name])

    def _send(self, message: Message) -> None:
        if "method" not in message:
            message = {**message, "id": self.heard.requests[message["id"] - 1]["id"]}
        elif "requestState" in message.get("params", {}):
            message["params"]["requestState"] = self._state()
        self._peer.oracle.from_client(message)
        self._peer.write(json.dumps(message).encode())

    def _state(self) -> str:
        """Return the state of the last response that has one."""
        results = [response.get("result", {}) for response in self.heard.responses.values()]
        state: str = [result["requestState"] for result in results if "requestState" in result][-1]
        return state

    def _wait_for(self, condition: Any) -> None:
        while not condition():
            self.heard.add(self._peer.next_message())


@pytest.mark.parametrize("session", SESSIONS, ids=lambda path: path.stem)
def test_a_recorded_session_gets_the_same_messages_from_each_engine(
    session: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    found = []
    for flags in STARTS:
        project = tmp_path / "project"
        project.mkdir()
        (project / ".git").mkdir()
        (project / "greeting.txt").write_text(GREETING, encoding="utf-8")
        found.append(Replay(session, project, *flags).run().normal())
        shutil.rmtree(project)

    by_sdk, *others = found
    for flags, other in zip(STARTS[1:], others, strict=True):
        assert other == by_sdk, flags


def test_the_sessions_are_those_of_four_clients_in_both_eras() -> None:
    texts = [path.read_text(encoding="utf-8") for path in SESSIONS]
    methods = {json.loads(text.partition("\n")[0])["send"]["method"] for text in texts}
    assert {path.stem.rpartition("-")[0] for path in SESSIONS} >= {"codex", "gemini-cli", "opencode"}
    assert methods == {"initialize", "server/discover"}
    assert any('"receive": "elicitation/create"' in text for text in texts)
    assert any('"inputResponses"' in text for text in texts)
