"""`toolmason client` with servers that others wrote."""

from __future__ import annotations

import asyncio
import importlib
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

import pytest
from click.testing import CliRunner, Result

from toolmason.commands import toolmason

MODULES: Final = Path(__file__).parents[2] / "node_modules"
SERVERS: Final = ("everything", "filesystem", "memory")


def command_of(name: str, directory: Path) -> list[str]:
    """The command line of a server of npm."""
    script = MODULES / "@modelcontextprotocol" / f"server-{name}" / "dist" / "index.js"
    return ["node", str(script), *([str(directory)] if name == "filesystem" else [])]


def run(*arguments: str) -> Result:
    return CliRunner().invoke(toolmason, ["client", *arguments])


def generate(directory: Path, command: Sequence[str], *options: str) -> Result:
    return run("-o", str(directory), "--reads", str(MODULES), *options, "--", *command)


@pytest.fixture(scope="module")
def clients(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A directory with the client of each server."""
    root = tmp_path_factory.mktemp("clients")
    (root / "files").mkdir()
    (root / "files" / "a.txt").write_text("hello", encoding="utf-8")
    for name in SERVERS:
        result = generate(root / name, command_of(name, root / "files"), "--name", f"other-{name}")
        assert result.exit_code == 0, result.output
    return root


def test_the_python_packages_pass_mypy(clients: Path) -> None:
    packages = [str(clients / name / "python" / f"other_{name}_client") for name in SERVERS]
    checked = subprocess.run(
        [sys.executable, "-m", "mypy", "--strict", "--config-file=", *packages],
        cwd=clients,
        check=False,
        capture_output=True,
        encoding="utf-8",
    )
    assert checked.stdout.startswith("Success"), checked.stdout


def test_the_clients_call_their_servers(clients: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in SERVERS:
        monkeypatch.syspath_prepend(str(clients / name / "python"))
    everything, filesystem, memory = (importlib.import_module(f"other_{name}_client") for name in SERVERS)

    async def ask() -> tuple[Any, ...]:
        async with (
            everything.OtherEverythingClient.stdio() as first,
            filesystem.OtherFilesystemClient.stdio() as second,
            memory.OtherMemoryClient.stdio() as third,
        ):
            steps: list[Any] = []
            long = first.with_options(on_progress=steps.append)
            await long.trigger_long_running_operation(duration=1, steps=2)
            with pytest.raises(filesystem.ToolError, match="Access denied"):
                await second.read_text_file(path="/etc/hostname")
            return (
                await first.get_sum(a=1, b=2),
                await first.get_structured_content(location="Chicago"),
                [step.total for step in steps],
                await second.read_text_file(path=str(clients / "files" / "a.txt"), head=1),
                await third.read_graph(),
            )

    total, weather, steps, file, graph = asyncio.run(ask())

    assert str(total) == "The sum of 1 and 2 is 3."
    assert isinstance(weather, everything.results.GetStructuredContentResult)
    assert isinstance(weather.temperature, float)
    assert steps == [2, 2]
    assert file.content == "hello"
    assert (graph.entities, graph.relations) == ([], [])


def test_a_further_run_updates_the_directory_and_keeps_edits(tmp_path: Path) -> None:
    command = command_of("memory", tmp_path)

    first = generate(tmp_path / "out", command, "--language", "python")
    again = generate(tmp_path / "out", command, "--language", "python")
    client = tmp_path / "out" / "python" / "memory_server_client" / "client.py"
    client.write_text(client.read_text(encoding="utf-8").replace("async def", "async  def", 1), encoding="utf-8")
    (tmp_path / "out" / "mine.txt").write_text("mine", encoding="utf-8")
    edited = generate(tmp_path / "out", command, "--language", "python")
    discarded = generate(tmp_path / "out", command, "--language", "python", "--discard-edits")

    assert first.output.endswith("out: MemoryServerClient with 9 tools; 9 files changed\n")
    assert again.output.endswith("0 files changed\n")
    assert (edited.exit_code, edited.output) == (
        4,
        f"Error: edited or not generated: {client}; nothing was written; use --discard-edits to overwrite\n",
    )
    assert discarded.output.endswith("1 file changed\n")
    assert sorted(path.name for path in (tmp_path / "out").iterdir()) == ["SHA256SUMS", "mine.txt", "python"]


@pytest.mark.parametrize(
    ("arguments", "code", "problem"),
    [
        (["--", "no-such-program"], 1, "no-such-program"),
        (["http://127.0.0.1:9/mcp"], 1, "127.0.0.1:9"),
        (["http://x/mcp", "more"], 1, "write one URL or one command line"),
        (["--name", "1", "x"], 2, "starting with a letter"),
        (["--", sys.executable, "-c", "print('hello')"], 1, "server"),
    ],
    ids=["no program", "no server", "two addresses", "a name", "no MCP"],
)
def test_mistakes_are_errors_and_write_nothing(arguments: list[str], code: int, problem: str, tmp_path: Path) -> None:
    result = run("-o", str(tmp_path / "out"), *arguments)

    assert (result.exit_code, problem in result.output, "Traceback" in result.output) == (code, True, False)
    assert not (tmp_path / "out").exists()
