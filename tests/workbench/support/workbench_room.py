"""A project folder beside things that must not be read, and the real server over both, its results held against MCP.

Fixtures for the `conftest.py` of a folder: `room` and `client`.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from listed_schemas import assert_fits
from mcp_types import methods
from oracle import ERAS, MODERN
from toolmason_runtime.calls.call import Level
from toolmason_runtime.shared.selection import Selection

from workbench_handlers.workspace.roots import Root
from workbench_server.catalogue import CATALOGUE
from workbench_server.options import Options
from workbench_server.server import build_dispatcher

SECRET = "the secret outside"
CARRIED: dict[str, dict[str, Any]] = {
    "tools/list": {"resultType": "complete", "ttlMs": 0, "cacheScope": "public"},
    "tools/call": {"resultType": "complete"},
}
"""What the carrier adds to a result at 2026-07-28."""


def heard(method: str, result: dict[str, Any]) -> dict[str, Any]:
    """Give a dispatcher's result that both revisions of MCP know."""
    for version in ERAS:
        sent = {**(CARRIED[method] if version == MODERN else {}), **result}
        known = methods.serialize_server_result(method, version, sent)
        # A call may also end in a question to the client, which needs no field: anything would pass as that.
        assert known.keys() == sent.keys(), sent
    return result


def fitting(tool: str, result: dict[str, Any]) -> dict[str, Any]:
    """Return a result whose structure fits the schema that is listed for its tool."""
    if tool in CATALOGUE["tools"] and "structuredContent" in result:
        assert_fits(tool, result["structuredContent"])
    return result


@dataclass
class Client:
    """The far end of one call: what it can do, and what it was told."""

    operation_id: str = "1"
    is_local: bool = True
    principal: None = None
    client_name: str = "toolmason"
    """One that gets long answers."""
    is_modern: bool = False
    answered: tuple[str, ...] = ()
    has_progress_token: bool = True
    capabilities: Mapping[str, Any] = field(default_factory=dict)
    roots: list[dict[str, Any]] = field(default_factory=list)
    told: list[float] = field(default_factory=list)
    action: str = ""
    """What a person answers to each question."""
    asked: list[str] = field(default_factory=list)

    async def progress(self, progress: float, total: float | None, message: str | None) -> None:
        assert message or total
        self.told.append(progress)

    async def log(self, level: Level, data: Any, logger: str | None) -> None:
        raise AssertionError((level, data, logger))

    async def request(self, key: str, method: str, params: Mapping[str, Any]) -> dict[str, Any]:
        if method == "elicitation/create":
            self.asked.append(params["message"])
            return {"action": self.action}
        assert (key, method, params) == ("roots", "roots/list", {})
        return {"roots": self.roots}


END = "[end of this answer"


@dataclass
class Answer:
    """A tool result, for people."""

    raw: dict[str, Any]

    @property
    def is_error(self) -> bool:
        return bool(self.raw.get("isError"))

    @property
    def texts(self) -> list[str]:
        """All texts but the last line of a long answer."""
        return [text for text in self._all_texts if not text.startswith(END)]

    @property
    def end(self) -> str:
        """The last line of a long answer; empty without one."""
        return next((text for text in self._all_texts[-1:] if text.startswith(END)), "")

    @property
    def _all_texts(self) -> list[str]:
        return [block["text"] for block in self.raw["content"] if block["type"] == "text"]

    @property
    def text(self) -> str:
        return "\n".join(self.texts)

    @property
    def data(self) -> dict[str, Any]:
        data: dict[str, Any] = self.raw["structuredContent"]
        return data


@dataclass
class Room:
    """`project` may be read; `outside`, its sibling whose name begins the same, may not."""

    project: Path
    outside: Path

    @property
    def roots(self) -> tuple[Root, ...]:
        return (Root.of(str(self.project), "a test"),)

    def write(self, name: str, content: str | bytes) -> Path:
        """Write a file of the project, as it is: no line ending is changed."""
        path = self.project / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content.encode() if isinstance(content, str) else content)
        return path

    def call(
        self, tool: str, /, *, client: Client | None = None, options: dict[str, Any] | None = None, **arguments: Any
    ) -> Answer:
        """Call a tool of the generated server."""
        params = {"name": tool, "arguments": arguments}
        return Answer(self.request("tools/call", params, Selection(style="classic"), client=client, options=options))

    def run(self, tool: str, /, *, client: Client | None = None, **arguments: Any) -> Answer:
        """Call a tool of the generated server, of either tier."""
        params = {"name": tool, "arguments": arguments}
        return Answer(self.request("tools/call", params, Selection("classic", all_tools=True), client=client))

    def request(
        self,
        method: str,
        params: dict[str, Any],
        selection: Selection,
        *,
        client: Client | None = None,
        options: dict[str, Any] | None = None,
    ) -> dict[str, Any]:
        """Ask the generated server for the result of one request."""
        given = {"root": (str(self.project),)} if options is None else options

        async def ask() -> dict[str, Any]:
            dispatcher = build_dispatcher(selection, options=Options(**given))
            try:
                return await dispatcher.dispatch(method, params, client or Client())
            finally:
                await dispatcher.aclose()

        return fitting(params.get("name", ""), heard(method, asyncio.run(ask())))

    def read(self, path: str, **part: Any) -> Answer:
        """Read one file."""
        return self.call("read_files", files=[{"path": path, **part}])


@pytest.fixture
def room(tmp_path: Path) -> Room:
    project, outside = tmp_path / "proj", tmp_path / "proj-evil"
    project.mkdir()
    outside.mkdir()
    (outside / "secret.txt").write_text(SECRET, encoding="utf-8")
    return Room(project, outside)


@pytest.fixture
def client() -> Client:
    return Client()
