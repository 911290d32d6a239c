"""The real server over a project of its own, with a person at the client who answers the questions about reviews."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from listed_schemas import assert_fits
from stdio_peer import Message, Peer, talking

from workbench_handlers.editing.reviews.settle import settle
from workbench_handlers.editing.reviews.store import Decision, Review, ReviewStore

COMMAND = (sys.executable, "-m", "workbench_server", "--classic", "--all")
FORMS: Message = {"elicitation": {}}
PROPOSE = "propose_and_review"


@dataclass
class Person:
    """The user of a client. `reply` is the answer to each question."""

    reply: Message = field(default_factory=lambda: answer("approve"))
    asked: list[Message] = field(default_factory=list)

    def __call__(self, question: Message) -> Message:
        self.asked.append(question)
        return self.reply


def answer(decision: str, comment: str = "") -> Message:
    """Return the answer of a person who filled in the form."""
    return {"action": "accept", "content": {"decision": decision, **({"comment": comment} if comment else {})}}


@dataclass
class Place:
    """A project, and the state directory of its servers."""

    project: Path
    state: Path

    @property
    def store(self) -> ReviewStore:
        return ReviewStore(self.state / "reviews")

    @contextmanager
    def server(self, version: str, *flags: str, person: Person | None = None, **options: Any) -> Iterator[Client]:
        """Start a server and open the connection. With `person`, the client can ask with forms."""
        env = {
            "WORKBENCH_STATE": str(self.state),
            "DISPLAY": "",
            "WAYLAND_DISPLAY": "",
            "VSCODE_IPC_HOOK_CLI": "",
            "WORKBENCH_EDITOR": "",
            **options.pop("env", {}),
        }
        capabilities = options.pop("capabilities", FORMS if person else {})
        flags = ("--root", str(self.project), *flags)
        command = options.pop("command", COMMAND)
        with talking(version, *flags, command=command, env=env, capabilities=capabilities, **options) as peer:
            if person:
                peer.answers["elicitation/create"] = person
            yield Client(peer)

    def write(self, name: str, data: bytes) -> Path:
        path = self.project / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)
        return path

    def decide(self, review_id: str, decision: Decision) -> Review:
        """Decide as another surface does, and write an approved text."""
        review = self.store.get(review_id)
        assert review is not None
        assert self.store.decide(review, decision)
        settle(self.store, review)
        return review


@dataclass
class Client:
    """The client of one server."""

    peer: Peer

    def call(self, tool: str, **arguments: Any) -> Message:
        """Call a tool; return its structured result. Questions are answered in both eras."""
        result = self.raw(tool, **arguments)
        assert not result.get("isError"), result
        data: Message = result["structuredContent"]
        assert_fits(tool, data)
        assert json.loads(result["content"][0]["text"]) == data
        return data

    def error(self, tool: str, **arguments: Any) -> str:
        """Call a tool; return the text of its error."""
        result = self.raw(tool, **arguments)
        assert result.get("isError"), result
        text: str = result["content"][0]["text"]
        return text

    def raw(self, tool: str, **arguments: Any) -> Message:
        result = self.peer.call(tool, arguments)
        while result.get("resultType") == "input_required":
            replies = {
                key: self.peer.answers[request["method"]](request["params"])
                for key, request in result["inputRequests"].items()
            }
            state = {key: result[key] for key in ("requestState",) if key in result}
            result = self.peer.call(tool, arguments, inputResponses=replies, **state)
        return result

    def propose(self, path: str, match_text: str, new_string: str, **more: Any) -> Message:
        return self.call(PROPOSE, path=path, match_text=match_text, new_string=new_string, **more)
