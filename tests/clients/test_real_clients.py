"""Real clients read the generated files in their project, list tools, run commands and call tools.

Codex and Gemini CLI, which other tests need too, always run; `nox -s clients` runs all clients.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from real_clients import REAL_CLIENTS, REPORT, Place, RealClient, Run, provide, run, write
from scripted_model import Step
from toolmason_runtime.discovery import style_for
from toolmason_runtime.server.package_files import server_files
from toolmason_runtime.shared.selection import Selection
from toolmason_runtime.shared.tokens import estimate_tokens

from toolmason.catalogue.table import catalogue
from toolmason.catalogue.tools_field import tools_field
from toolmason.clients import CLAUDE_CODE, CODEX, GEMINI_CLI, clients
from toolmason.diagnostics import Diagnostics
from toolmason.pipeline import read
from toolmason.project import find_project

OPENCODE = "opencode"
SELECTED = tuple(REAL_CLIENTS) if os.environ.get("TOOLMASON_CLIENTS") == "all" else (CODEX, GEMINI_CLI)
WITH_COMMANDS = tuple(key for key in SELECTED if clients()[key].commands)
NOTES = Path(__file__).with_name("notes.toml")
SKILL = "workbench-understand-a-codebase"
WORDS = r"""the "main" file, it's 100 % of $HOME, $1 & a\b"""


@dataclass(frozen=True)
class Server:
    """A server, its generated files, and a call of one of its tools."""

    name: str
    files: Path
    command: tuple[str, ...]
    """The command line in its entries."""
    module: str
    """The module of its program."""
    step: Step
    result: str


@pytest.fixture(scope="session")
def workbench() -> Server:
    arguments = {"files": [{"path": "greeting.txt", "head": 1}]}
    return Server(
        "workbench",
        server_files("workbench_server"),
        ("toolmason-workbench",),
        "workbench_server",
        ("call_read", {"tool_name": "read_files", "args": arguments}),
        "Hello from the file",
    )


@pytest.fixture(scope="session")
def notes(tmp_path_factory: pytest.TempPathFactory) -> Server:
    project = tmp_path_factory.mktemp("notes")
    shutil.copy(NOTES, project)
    generate = [sys.executable, "-m", "toolmason", "generate", "--manifest", NOTES.name]
    subprocess.run(generate, cwd=project, check=True, timeout=120)
    return Server(
        "notes",
        project / "generated",
        ("toolmason", "run", NOTES.name),
        "toolmason",
        ("call", {"tool_name": "read_note", "args": {"day": "Friday"}}),
        "Call the library on Friday",
    )


@pytest.fixture
def place(tmp_path: Path) -> Place:
    place = Place(tmp_path)
    for directory in (place.project, place.home):
        directory.mkdir()
    write(place.project / "greeting.txt", "Hello from the file\n")
    return place


@dataclass(frozen=True)
class Host:
    """A client and its project, with generated files."""

    client: RealClient
    place: Place

    def configure(self, server: Server) -> None:
        """Copy the generated configuration into the project, and a server that is started there."""
        self._provide(server)
        shutil.copytree(server.files / "clients" / self.client.key, self.place.project, dirs_exist_ok=True)

    def install(self, server: Server) -> list[Path]:
        """Install the server and its commands in the project, as its user does; return the command files."""
        program = self._provide(server)
        options = ("install", self.client.key, "--scope", "project", "--commands")
        command = [str(program), *server.command[1:], *options]
        path = os.pathsep.join([str(self.place.programs), os.environ["PATH"]])
        subprocess.run(command, cwd=self.place.project, check=True, timeout=120, env={**os.environ, "PATH": path})
        self.place.record.unlink()  # `install` has started the server, too
        files = [self.place.project / path for path in command_files(self.client, server)]
        assert all(file.is_file() for file in files)
        return files

    def copy_commands(self, server: Server) -> None:
        """Copy the command files into the project."""
        shutil.copytree(server.files / "commands" / self.client.key, self.place.project, dirs_exist_ok=True)

    def _provide(self, server: Server) -> Path:
        """Put the server's command on PATH, and its files into the project if it is started from there."""
        if server.name == "notes":
            shutil.copytree(server.files, self.place.project / "generated")
            shutil.copy(NOTES, self.place.project)
        return provide(self.place, server.command[0], server.module)

    def run(self, prompt: str, *steps: Step, approved: bool = True, plugin: Path | None = None) -> Run:
        done = run(self.client, self.place, prompt, steps, approved=approved, plugin=plugin)
        assert done.process.returncode == 0, done.process.stderr
        assert done.model.outside == []
        return done


def command_files(client: RealClient, server: Server) -> list[Path]:
    """Return the paths of the command files in a project."""
    commands = server.files / "commands" / client.key
    return [path.relative_to(commands) for path in commands.rglob("*.*") if path.is_file()]


@pytest.fixture
def host(request: pytest.FixtureRequest, place: Place) -> Host:
    return Host(REAL_CLIENTS[request.param], place)


def on(*keys: str) -> pytest.MarkDecorator:
    """Run a test on the clients of `keys` that are selected."""
    return pytest.mark.parametrize("host", [key for key in keys if key in SELECTED], indirect=True)


def on_rows(*rows: tuple[Any, ...]) -> Callable[..., Any]:
    """Run a test on rows that begin with a client, if it is selected; the rest of a row is `case`."""
    cases = [
        pytest.param(key, case, id=f"{key}-{number}") for number, (key, *case) in enumerate(rows) if key in SELECTED
    ]
    return pytest.mark.parametrize(("host", "case"), cases, indirect=["host"])


@on(*SELECTED)
def test_a_client_reads_its_configuration_lists_the_tools_and_calls_one(
    host: Host, workbench: Server, record_property: Callable[[str, object], None]
) -> None:
    host.configure(workbench)

    done = host.run("Read the greeting.", workbench.step)

    facts = clients()[host.client.key]
    assert facts.names
    listed = {"search", "call", "call_read"}
    names = {facts.names.form.format(server=workbench.name, tool=tool) for tool in listed}
    assert {name for name in done.model.tools if workbench.name in name} == names
    assert workbench.result in done.model.results[0]
    assert [call["params"]["name"] for call in done.sent("tools/call")][-1] == "call_read"
    assert facts.session is not None
    sent = json.dumps([message.content for message in done.messages])
    assert any(f'"name": "{name}"' in sent for name in facts.session.client_info)
    assert host.client.key != CODEX or not done.sent("prompts/list")
    record_property(REPORT, tool_sizes(host.client, workbench, done))
    recorded = [tool for tool in sent_tools(done) if workbench.name in tool.get("function", tool).get("name", "")]
    assert tokens(recorded) == pytest.approx(tokens(computed_tools(host.client)), rel=0.03)


def sent_tools(done: Run) -> list[dict[str, Any]]:
    """Return the entries of the field `tools` that the client sent."""
    return [entry for tool in done.model.tools_field for entry in tool.get("functionDeclarations", [tool])]


@on(*SELECTED)
def test_a_client_sends_the_keywords_of_a_schema_that_its_facts_list(host: Host, notes: Server) -> None:
    host.configure(notes)

    done = host.run("Read the note.", notes.step)

    sent, computed = sent_tools(done), computed_tools(host.client, NOTES)
    assert schema_of("find_notes", sent) == schema_of("find_notes", computed)
    assert "1 to 20 characters" in json.dumps(schema_of("find_notes", sent))


def schema_of(name: str, tools: list[Any]) -> Any:
    """Return the schema of the only tool whose name ends with `name`."""
    [schema] = [
        tool.get("parameters") or tool.get("parametersJsonSchema") or tool["input_schema"]
        for entry in tools
        for tool in entry.get("tools", [entry.get("function", entry)])
        if tool.get("name", "").endswith(name)
    ]
    return schema


def computed_tools(client: RealClient, manifest: Path | None = None) -> list[Any]:
    """Return the entries of a server, by default Workbench, as `toolmason stats` counts them."""
    reading = read(find_project(Path(__file__).parent, manifest=manifest), diagnostics=Diagnostics())
    assert reading
    table = catalogue(reading.server)
    listed = style_for(table, Selection(table["discovery"]["style"]), dict).listed()
    return tools_field(clients()[client.key], reading.server, listed)


def tokens(tools: list[Any]) -> int:
    return estimate_tokens(json.dumps(tools, separators=(",", ":")))


@on(*SELECTED)
def test_a_client_shows_the_whole_answer_of_a_search_once_and_its_signature_leads_to_a_call(
    host: Host, workbench: Server
) -> None:
    host.configure(workbench)

    names = clients()[host.client.key].names
    assert names
    search = names.form.format(server=workbench.name, tool="search")  # clients have tools of that name, too
    done = host.run("Read the greeting.", (search, {"query": "read text files"}), workbench.step)

    answers = [answer for answer in done.answers("tools/call") if "content" in answer]  # others ask for the roots
    [answer] = [answer for answer in answers if '"results"' in answer["content"][0]["text"]]
    assert answer.keys() <= {"content", "isError", "_meta", "resultType"}
    [block] = answer["content"]
    first = json.loads(block["text"])["results"][0]
    assert (first["tool_name"], first["signature"][:7]) == ("read_files", "(files:")
    found, called = done.model.results
    assert block["text"] in found
    assert found.count("read_files") == block["text"].count("read_files")
    assert workbench.result in called


def tool_sizes(client: RealClient, server: Server, done: Run) -> Mapping[str, object]:
    """Return the estimated tokens of all tools that the client sends, and of those of the server."""
    tools = done.model.conversations[-1].tools
    ours = [tool for name, tool in tools.items() if server.name in name]
    return {
        "client": client.key,
        "tools": len(tools),
        "tokens": tokens(done.model.tools_field),
        f"{server.name}_tools": len(ours),
        f"{server.name}_tokens": tokens(ours),
    }


@on(*WITH_COMMANDS)
def test_words_after_a_command_of_a_file_arrive_whole_and_it_is_listed_once(host: Host, notes: Server) -> None:
    files = host.install(notes)

    done = host.run(f"/look {WORDS}", notes.step)

    assert f"Look for this note: {WORDS}." in [text.strip() for text in done.model.texts]
    assert notes.result in done.model.results[0]
    [answer] = done.answers("prompts/list")
    served = [prompt["name"] for prompt in answer["prompts"]]
    assert (sorted(path.stem for path in files), served) == (["look", "tidy"], ["write"])
    if host.client.key == CLAUDE_CODE:
        ours = [name for name in commands_of_claude_code(done) if name.endswith(("look", "tidy", "write"))]
        assert sorted(ours) == ["look", "mcp__notes__write", "tidy"]


def commands_of_claude_code(done: Run) -> list[str]:
    """Return the slash commands that it lists."""
    events = map(json.loads, done.process.stdout.splitlines())
    commands: list[str] = next(event["slash_commands"] for event in events if event.get("subtype") == "init")
    return commands


@on(*WITH_COMMANDS)
def test_a_command_of_workbench_calls_a_tool(host: Host, workbench: Server) -> None:
    [file] = (path for path in host.install(workbench) if path.stem.endswith("explore"))

    # A file that allows its tools needs no other approval.
    approved = "allowed-tools:" not in file.read_text(encoding="utf-8")
    done = host.run(f"/{file.stem} the greeting", workbench.step, approved=approved)

    assert "Focus, if one is given: the greeting\n" in done.model.texts[-1]
    assert workbench.result in done.model.results[0]


@on_rows(
    (CLAUDE_CODE, "/workbench:explore", "mcp__plugin_workbench_workbench__call_read"),
    (GEMINI_CLI, "/workbench-explore", "mcp_workbench_call_read"),
)
def test_a_command_of_the_plugin_calls_a_tool_and_is_listed_once(
    host: Host, workbench: Server, case: tuple[str, str]
) -> None:
    command, tool = case
    provide(host.place, workbench.command[0], workbench.module)
    plugin = workbench.files / "plugins" / host.client.key

    done = host.run(f"{command} the greeting", workbench.step, approved=host.client.key != CLAUDE_CODE, plugin=plugin)

    assert "Focus, if one is given: the greeting\n" in done.model.texts[-1]
    assert [name for name in done.model.tools if name.endswith("call_read")] == [tool]
    assert workbench.result in done.model.results[0]
    assert [answer["prompts"] for answer in done.answers("prompts/list")] in ([], [[]])
    if host.client.key == CLAUDE_CODE:
        assert [name for name in commands_of_claude_code(done) if name.endswith("explore")] == [command[1:]]


@on_rows(
    (CLAUDE_CODE, "/mcp__notes__look cats and dogs", "Look for this note: cats."),
    (CLAUDE_CODE, "/mcp__notes__write cats dry", "Write about cats in the style dry."),
    (GEMINI_CLI, '/look cats "and" dogs', '"Look for this note: cats and dogs."'),
    (GEMINI_CLI, "/tidy today", '"Tidy up these days: ."'),
    (GEMINI_CLI, '/tidy --arguments="today and tomorrow"', '"Tidy up these days: today and tomorrow."'),
    (OPENCODE, '/notes:look it\'s "here"', "Look for this note: it s here."),
    (OPENCODE, "/notes:write the cats dry", "Write about the in the style cats dry."),
)
def test_words_after_a_prompt_arrive_as_documented(host: Host, notes: Server, case: tuple[str, str]) -> None:
    line, text = case
    host.configure(notes)

    assert host.run(line).model.texts[-1].strip() == text


@on(GEMINI_CLI)
def test_a_command_that_gemini_cli_has_twice_is_in_neither_place_under_its_name(host: Host, notes: Server) -> None:
    host.configure(notes)
    host.copy_commands(notes)

    assert host.run("/look cats").model.texts[-1] == "/look cats"


@on_rows(
    (CLAUDE_CODE, "/{} here"),
    (CODEX, "${} here"),
    (GEMINI_CLI, "Help me.", ("activate_skill", {"name": SKILL})),
    (OPENCODE, "/{} here"),
)
def test_a_client_loads_a_generated_skill(host: Host, workbench: Server, case: tuple[str, *tuple[Step, ...]]) -> None:
    prompt, *steps = case
    host.configure(workbench)
    shutil.copytree(workbench.files / "skills", host.place.project / host.client.skills)

    model = host.run(prompt.format(SKILL), *steps).model

    assert "without reading it all" in "\n".join([*model.texts, *model.results])
