"""The real Codex, headless: its app server, with a scripted model and without any network but loopback."""

from __future__ import annotations

import json
import os
import subprocess
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from queue import Empty, SimpleQueue
from typing import Any

NODE_MODULES = Path(__file__).parents[2] / "node_modules"
PATIENCE_S = 60.0
APPROVAL = "mcpServer/elicitation/request"
"""The request with which Codex asks its user, on behalf of a server or for the approval of a tool."""
CONFIG = """
model = "scripted"
model_provider = "scripted"
approval_policy = "on-request"
sandbox_mode = "read-only"
check_for_update_on_startup = false
analytics.enabled = false
features.plugins = false

[model_providers.scripted]
name = "scripted"
base_url = {url}
wire_api = "responses"
env_key = "SCRIPTED_KEY"

[mcp_servers.workbench]
command = {command}
args = {arguments}
required = true
"""

Message = dict[str, Any]


class Codex:
    """A connection to `codex app-server`. Its user answers every question with `action`."""

    def __init__(self, process: subprocess.Popen[bytes], action: str) -> None:
        self._process = process
        self._action = action
        self._messages: SimpleQueue[bytes] = SimpleQueue()
        self._reader = threading.Thread(target=self._read)
        self._reader.start()
        self.questions: list[Message] = []
        """The parameters of the questions to the user."""

    def run(self, prompt: str) -> None:
        """Start a thread with one turn, and wait for the end of the turn."""
        client = {"name": "toolmason-tests", "version": "0"}
        self._request(0, "initialize", clientInfo=client, capabilities={"experimentalApi": True})
        self._send({"method": "initialized"})
        thread = self._request(1, "thread/start")["thread"]["id"]
        self._request(2, "turn/start", threadId=thread, input=[{"type": "text", "text": prompt}])
        while (message := self._next()).get("method") != "turn/completed":
            self._respond(message)
        assert message["params"]["turn"]["status"] == "completed", message

    def close(self) -> None:
        assert self._process.stdin is not None
        self._process.stdin.close()
        try:
            self._process.wait(PATIENCE_S)
        finally:
            self._process.kill()
            self._process.wait()
            self._reader.join()

    def _request(self, number: int, method: str, **params: Any) -> Message:
        self._send({"id": number, "method": method, "params": params})
        while (message := self._next()).get("id") != number or "method" in message:
            self._respond(message)
        result: Message = message["result"]
        return result

    def _respond(self, message: Message) -> None:
        """Answer a request of Codex; its notifications need no answer."""
        if "id" not in message or "method" not in message:
            return
        assert message["method"] == APPROVAL, message
        self.questions.append(message["params"])
        content: Message | None = {} if self._action == "accept" else None
        self._send({"id": message["id"], "result": {"action": self._action, "content": content}})

    def _send(self, message: Message) -> None:
        assert self._process.stdin is not None
        self._process.stdin.write(json.dumps(message).encode() + b"\n")
        self._process.stdin.flush()

    def _next(self) -> Message:
        try:
            line = self._messages.get(timeout=PATIENCE_S)
        except Empty:
            raise AssertionError(f"Codex sent nothing for {PATIENCE_S} s") from None
        assert line, "Codex ended"
        message: Message = json.loads(line)
        return message

    def _read(self) -> None:
        assert self._process.stdout is not None
        for line in self._process.stdout:
            self._messages.put(line)
        self._messages.put(b"")


@contextmanager
def codex(home: Path, server: Sequence[str], model_url: str, *, action: str, cwd: Path) -> Iterator[Codex]:
    """Start Codex with one MCP server. Its configuration, state and log are in `home`."""
    program = NODE_MODULES / ".bin" / "codex"
    assert program.exists(), "the npm packages of the tests are missing: run `nox -s tests`, or `npm ci` in tests/"
    config = CONFIG.format(
        url=json.dumps(f"{model_url}/v1"), command=json.dumps(server[0]), arguments=json.dumps(list(server[1:]))
    )
    (home / "config.toml").write_text(config, encoding="utf-8")
    own = {"HOME": str(home), "CODEX_HOME": str(home), "SCRIPTED_KEY": "none", "NO_COLOR": "1"}
    environment = {name: value for name, value in os.environ.items() if not name.upper().endswith("_PROXY")} | own
    with (home / "stderr.txt").open("wb") as log:
        process = subprocess.Popen(
            [program, "app-server"], env=environment, cwd=cwd, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=log
        )
    client = Codex(process, action)
    try:
        yield client
    finally:
        client.close()
        for stream in (process.stdin, process.stdout):
            assert stream is not None
            stream.close()
