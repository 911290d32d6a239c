"""`toolmason dev`, as a real process with a real client: each saved change is served, and nothing stays behind."""

from __future__ import annotations

import asyncio
import os
import queue
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
from mcp import Client

from toolmason.project import Project

PATIENCE_S = 60


class Development:
    """A running `toolmason dev` and the lines that it prints."""

    def __init__(self, project: Project, port: int, *options: str) -> None:
        self.port = port
        self.url = f"http://127.0.0.1:{port}/mcp"
        command = [sys.executable, "-u", "-m", "toolmason", "dev", "--port", str(port), *options, "--classic"]
        self.process = subprocess.Popen(
            command,
            cwd=project.root,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            encoding="utf-8",
        )
        self._lines: queue.Queue[str | None] = queue.Queue()
        self._reader = threading.Thread(target=self._read)
        self._reader.start()

    def _read(self) -> None:
        assert self.process.stdout is not None
        for line in self.process.stdout:
            self._lines.put(line.rstrip("\n"))
        self._lines.put(None)

    def wait_for(self, text: str) -> list[str]:
        """Return the lines up to the first one that contains `text`."""
        seen = []
        while (line := self._lines.get(timeout=PATIENCE_S)) is not None:
            seen.append(line)
            if text in line:
                return seen
        raise AssertionError(f"ended without `{text}`: {seen}")

    def end(self) -> int:
        """End it as a service manager does; return the exit code, once every process that has its stdout has ended."""
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGTERM)
        self._reader.join(PATIENCE_S)
        assert not self._reader.is_alive()
        assert self.process.stdout is not None
        self.process.stdout.close()
        return self.process.wait(PATIENCE_S)

    def summary(self, tool: str) -> str:
        """Return the first line of a tool's description, as a client that connects now receives it."""

        async def listed() -> str:
            async with Client(self.url) as client:
                tools = {tool.name: tool for tool in (await client.list_tools()).tools}
                return (tools[f"notes_{tool}"].description or "").partition("\n")[0]

        return asyncio.run(listed())

    def call(self, tool: str, text: str) -> str:
        async def called() -> str:
            async with Client(self.url) as client:
                result = await client.call_tool(tool, {"text": text})
                return str(getattr(result.content[0], "text", ""))

        return asyncio.run(called())


@pytest.fixture
def development(project: Project, request: pytest.FixtureRequest) -> Iterator[Development]:
    with socket.create_server(("127.0.0.1", 0)) as probe:
        port = probe.getsockname()[1]
    running = Development(project, port, *getattr(request, "param", ()))
    try:
        running.wait_for("serving MCP at")
        yield running
    finally:
        running.end()


def replace(path: Path, old: str, new: str) -> None:
    text = path.read_text(encoding="utf-8")
    assert old in text
    path.write_text(text.replace(old, new), encoding="utf-8", newline="\n")


@pytest.mark.uncovered
def test_a_saved_manifest_and_a_saved_handler_are_served_at_once(project: Project, development: Development) -> None:
    assert (
        development.summary("count_words")
        == "Measures a text. It opens no files: read a file first and pass its content."
    )

    replace(project.manifest, "Measures a text.", "Counts the words of a text.")
    development.wait_for("serving MCP at")
    assert development.summary("count_words").startswith("Counts the words")

    replace(project.root / "handlers" / "notes" / "text.py", "words=", "words=1000 + ")
    development.wait_for("serving MCP at")
    assert '"words":1002' in development.call("count_words", "to be")


def test_an_invalid_manifest_is_reported_while_the_last_version_runs_on(
    project: Project, development: Development
) -> None:
    replace(project.manifest, "[tools.count_words]", "[tools.count_words]\nsumary = 1")

    development.wait_for("did you mean `summary`?")
    assert development.call("count_words", "to be").startswith('{"words":2')


@pytest.mark.parametrize("development", [("--stubs",)], indirect=True)
def test_a_tool_without_a_function_gets_one_and_is_served(project: Project, development: Development) -> None:
    text = project.manifest.read_text(encoding="utf-8")
    tool = text[text.index("[tools.count_words]") : text.index("[[tools.count_words.examples]]")]
    more = tool.replace("count_words", "count_lines").replace("Count words", "Count lines")
    project.manifest.write_text(f"{text}\n{more}", encoding="utf-8", newline="\n")

    development.wait_for("handlers/notes/text.py: added count_lines")
    development.wait_for("serving MCP at")
    assert development.call("count_lines", "to be") == "Error executing tool count_lines: it is not implemented yet"


def test_the_log_shows_the_traceback_of_a_handler_from_its_first_own_line(
    project: Project, development: Development
) -> None:
    replace(project.root / "handlers" / "notes" / "text.py", "words=", "words=1 // 0 + ")
    development.wait_for("serving MCP at")
    development.call("count_words", "to be")

    lines = development.wait_for("ZeroDivisionError")
    assert any("handlers/notes/text.py" in line for line in lines)
    assert not any("toolmason_runtime" in line for line in lines)


def test_a_signal_ends_the_server_as_well(development: Development) -> None:
    assert development.end() == 0
    with pytest.raises(ConnectionRefusedError):
        socket.create_connection(("127.0.0.1", development.port)).close()


def test_a_port_in_use_is_refused_with_the_option_for_another(project: Project) -> None:
    with socket.create_server(("127.0.0.1", 0)) as other:
        port = str(other.getsockname()[1])
        command = [sys.executable, "-m", "toolmason", "dev", "--port", port]
        result = subprocess.run(command, cwd=project.root, capture_output=True, encoding="utf-8", check=False)

    assert (result.returncode, result.stderr) == (
        2,
        f"Error: port {port}: Address already in use; choose another with --port\n",
    )


def test_the_inspector_is_refused_where_its_version_of_node_is_missing(project: Project, tmp_path: Path) -> None:
    node = tmp_path / "bin" / "node"
    node.parent.mkdir()
    node.write_text("#!/bin/sh\necho v20.1.0\n", encoding="utf-8")
    node.chmod(0o755)
    node.with_name("npx").symlink_to(node)
    command = [sys.executable, "-m", "toolmason", "dev", "--inspector"]
    environ = {**os.environ, "PATH": str(node.parent)}

    result = subprocess.run(command, cwd=project.root, env=environ, capture_output=True, encoding="utf-8", check=False)

    assert result.returncode == 2
    assert "the Inspector needs Node.js 22.19 or later; `node --version` is v20.1.0" in result.stderr
