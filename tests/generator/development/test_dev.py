"""`toolmason dev`, as a real process with a real client: each saved change is served, and nothing stays behind."""

from __future__ import annotations

import asyncio
import multiprocessing
import os
import queue
import re
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import suppress
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


def test_an_error_is_shown_once_and_the_next_good_save_is_served(project: Project, development: Development) -> None:
    replace(project.manifest, "[tools.count_words]", "[tools.count_words]\nsumary = 1")
    development.wait_for("Nothing was written.")
    project.manifest.chmod(0o640)
    replace(project.manifest, "sumary = 1\n", "")

    assert not any("sumary" in line for line in development.wait_for("serving MCP at"))


def test_the_last_of_many_quick_saves_of_the_same_size_is_served(project: Project, development: Development) -> None:
    module = project.root / "handlers" / "notes" / "text.py"
    replace(module, "words=", "words=1000 + ")
    development.wait_for("serving MCP at")
    for number in range(1000, 1005):
        # Within one second: Python would take the compiled code of an earlier save.
        replace(module, f"words={number} + ", f"words={number + 1} + ")

    answer = ""
    while '"words":1007' not in answer:
        development.wait_for("serving MCP at")
        with suppress(ExceptionGroup):  # a server that is just replaced
            answer = development.call("count_words", "to be")


def test_a_removed_handler_is_reported_and_served_again_when_it_is_restored(
    project: Project, development: Development
) -> None:
    module = project.root / "handlers" / "notes" / "text.py"
    text = module.read_text(encoding="utf-8")
    development.call("count_words", "imports the module")
    module.unlink()
    development.wait_for("1 error")
    assert development.call("count_words", "to be").startswith('{"words":2')

    module.write_text(text.replace("words=", "words=1000 + "), encoding="utf-8")
    development.wait_for("serving MCP at")
    assert '"words":1002' in development.call("count_words", "to be")


def test_modules_of_the_project_do_not_replace_those_of_the_libraries(
    project: Project, development: Development
) -> None:
    for name in ("socket", "uvicorn", "multiprocessing"):
        project.root.joinpath(f"{name}.py").write_text("raise SystemExit('ours')\n", encoding="utf-8")
    assert development.end() == 0

    again = Development(project, development.port)
    try:
        again.wait_for("serving MCP at")
    finally:
        again.end()


@pytest.mark.skipif(sys.platform == "win32", reason="a process cannot be killed there without its children")
def test_the_server_ends_when_its_parent_is_killed(development: Development) -> None:
    development.process.kill()

    assert development.end() == -signal.SIGKILL


def test_a_handler_starts_processes_as_under_another_command(project: Project, development: Development) -> None:
    module = project.root / "handlers" / "notes" / "text.py"
    text = module.read_text(encoding="utf-8")
    method = "__import__('multiprocessing').get_start_method()"
    environ = "__import__('os').environ.get('PYTHONSAFEPATH')"
    module.write_text(text.replace("words=", f"words=0 if ({method}, {environ}) != {expected_start()} else 5000 + "))
    development.wait_for("serving MCP at")

    assert '"words":5002' in development.call("count_words", "to be")


def expected_start() -> tuple[str, str | None]:
    """Return the start method of processes in a fresh process, and its environment's safe path."""
    return multiprocessing.get_start_method(), os.environ.get("PYTHONSAFEPATH")


@pytest.mark.parametrize("development", [("--stubs",)], indirect=True)
def test_a_tool_without_a_function_gets_one_and_is_served(project: Project, development: Development) -> None:
    text = project.manifest.read_text(encoding="utf-8")
    tool = text[text.index("[tools.count_words]") : text.index("[[tools.count_words.examples]]")]
    more = tool.replace("count_words", "count_lines").replace("Count words", "Count lines")
    project.manifest.write_text(f"{text}\n{more}", encoding="utf-8", newline="\n")

    development.wait_for("handlers/notes/text.py: added count_lines")
    development.wait_for("serving MCP at")
    development.wait_for("serving MCP at")  # The stub is a change as well.
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


def catches(pid: int, number: signal.Signals) -> bool:
    """Return whether a process of Linux has a handler for a signal."""
    (caught,) = [
        line.split()[1] for line in Path(f"/proc/{pid}/status").read_text().splitlines() if line.startswith("SigCgt:")
    ]
    return bool(int(caught, 16) >> (number - 1) & 1)


@pytest.mark.uncovered
@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
@pytest.mark.parametrize("delay_s", [0, 0.2, 0.4, 0.8, 1.2])
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM], ids=lambda number: number.name)
def test_a_signal_during_the_start_ends_all_processes_silently(
    project: Project, number: signal.Signals, delay_s: float
) -> None:
    with socket.create_server(("127.0.0.1", 0)) as probe:
        port = str(probe.getsockname()[1])
    process = subprocess.Popen(
        [sys.executable, "-m", "toolmason", "dev", "--port", port],
        cwd=project.root,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        encoding="utf-8",
        start_new_session=True,
    )
    while not catches(process.pid, signal.SIGTERM):
        assert process.poll() is None
    time.sleep(delay_s)
    os.killpg(process.pid, number)
    output, _ = process.communicate(timeout=PATIENCE_S)  # until every process that has its stdout has ended

    assert process.returncode == 0, output
    assert not re.search("Traceback|KeyboardInterrupt|Error|Aborted", output), output


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
