"""A project folder beside things that must not be read, and the real server over both."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from toolwright_runtime import ToolCall
from toolwright_runtime.call import Level
from toolwright_runtime.selection import Selection

from workbench.roots import Root
from workbench_server.server import build_dispatcher

SECRET = "the secret outside"


@dataclass
class Client:
    """The far end of one call: what it can do, and what it was told."""

    operation_id: str = "1"
    is_local: bool = True
    capabilities: Mapping[str, Any] = field(default_factory=dict)
    roots: list[dict[str, Any]] = field(default_factory=list)
    told: list[float] = field(default_factory=list)

    async def progress(self, progress: float, total: float | None, message: str | None) -> None:
        assert message or total
        self.told.append(progress)

    async def log(self, level: Level, data: Any, logger: str | None) -> None:
        raise AssertionError((level, data, logger))

    async def request(self, key: str, method: str, params: Mapping[str, Any]) -> dict[str, Any]:
        assert (key, method, params) == ("roots", "roots/list", {})
        return {"roots": self.roots}


@dataclass
class Answer:
    """A tool result, for people."""

    raw: dict[str, Any]

    @property
    def is_error(self) -> bool:
        return bool(self.raw.get("isError"))

    @property
    def texts(self) -> list[str]:
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
        return asyncio.run(self._call(tool, client or Client(), options, arguments))

    async def _call(
        self, tool: str, client: Client, options: dict[str, Any] | None, arguments: dict[str, Any]
    ) -> Answer:
        given = {"root": (str(self.project),)} if options is None else options
        dispatcher = build_dispatcher(Selection(style="classic"), options=given)
        try:
            return Answer(await dispatcher.dispatch("tools/call", {"name": tool, "arguments": arguments}, client))
        finally:
            await dispatcher.aclose()

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


@pytest.fixture
def tool_call(client: Client) -> ToolCall:
    return ToolCall("a test", client, ())
