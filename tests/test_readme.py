"""What the README shows is what today's code does: each `console` block is run and compared.

In the expected output, a line `...` stands for any lines, and `...` inside a line for any text. Commands run in this
repository, but for those of the section that wraps a program: they run in a git repository with its manifest.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
from mcp import Client, StdioServerParameters, stdio_client, types
from mcp.client.context import ClientRequestContext

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


OF_THIS_REPOSITORY = [each for text in sections().values() if text != WRAPPING for each in sessions(text)]


def ran(command: str, folder: Path) -> subprocess.CompletedProcess[str]:
    """Run a command as a reader would."""
    path = [Path(sys.executable).parent, NODE / "node" / "bin", NODE / ".bin", os.environ["PATH"]]
    return subprocess.run(
        _pinned(command),
        shell=True,
        cwd=folder,
        env={**os.environ, "PATH": os.pathsep.join(map(str, path)), "NO_COLOR": "1", "COLUMNS": "80"},
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
