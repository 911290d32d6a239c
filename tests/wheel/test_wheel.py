"""The wheel in environments that hold nothing else: with no extra, with `workbench`, with `toolkit`."""

from __future__ import annotations

import asyncio
import os
import re
import shutil
import subprocess
import sys
import venv
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest
from mcp import Client
from mcp.client.stdio import StdioServerParameters, stdio_client
from mcp_types import TextContent
from oracle import MODERN, Oracle

REPOSITORY = Path(__file__).parents[2]
ENVIRONMENT = {
    name: value
    for name, value in os.environ.items()
    if name not in {"PYTHONPATH", "VIRTUAL_ENV"} and not name.startswith(("WORKBENCH_", "TOOLMASON_POLICY"))
}
REQUIREMENT = "toolmason<0.2,>=0.1"
"""What a project of this version requires, as a wheel's metadata has it."""


class Environment:
    """A fresh virtual environment. Its programs run in a folder that is not the checkout."""

    def __init__(self, folder: Path) -> None:
        venv.create(folder, with_pip=True)
        self._programs = folder / ("Scripts" if sys.platform == "win32" else "bin")
        self.folder = folder

    def program(self, name: str) -> Path:
        return self._programs / name

    def run(self, name: str, *arguments: str | Path, cwd: Path | None = None) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [self.program(name), *arguments],
            cwd=cwd or self.folder,
            env=ENVIRONMENT,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            encoding="utf-8",
            timeout=300,
            check=False,
        )

    def install(self, requirement: str | Path) -> None:
        run = self.run("python", "-m", "pip", "install", "--quiet", "--disable-pip-version-check", requirement)
        assert run.returncode == 0, run.stderr

    def has(self, module: str) -> bool:
        return self.run("python", "-c", f"import {module}").returncode == 0


@pytest.fixture(scope="session")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The wheel that `TOOLMASON_WHEEL` names, or one that is built from the checkout now."""
    if given := os.environ.get("TOOLMASON_WHEEL"):
        return Path(given)
    folder = tmp_path_factory.mktemp("dist")
    builder = Environment(tmp_path_factory.mktemp("builder"))
    run = builder.run("python", "-m", "pip", "wheel", "--quiet", "--no-deps", "--wheel-dir", folder, REPOSITORY)
    assert run.returncode == 0, run.stderr
    return next(folder.glob("*.whl"))


@pytest.fixture(scope="session")
def environment(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Environment]:
    """Make an environment with the wheel and one of its extras, or none."""
    made: dict[str, Environment] = {}

    def with_extra(extra: str) -> Environment:
        if extra not in made:
            made[extra] = Environment(tmp_path_factory.mktemp(extra or "bare"))
            made[extra].install(f"{wheel}[{extra}]" if extra else wheel)
        return made[extra]

    return with_extra


Call = tuple[str, dict[str, Any]]
Converse = Callable[..., list[str]]


@pytest.fixture
def converse(overheard: Any, tmp_path: Path) -> Converse:
    """Start Workbench over stdio and give the names it lists, then the text of what each call answers."""

    async def run(
        environment: Environment, *calls: Call, options: Sequence[str] = (), path: str = ENVIRONMENT["PATH"]
    ) -> list[str]:
        program = str(environment.program("python"))
        arguments = ["-m", "workbench_server", "--root", ".", *options]
        server = StdioServerParameters(command=program, args=arguments, env={**ENVIRONMENT, "PATH": path}, cwd=tmp_path)
        async with Client(overheard(stdio_client(server), Oracle(MODERN))) as client:
            said = [" ".join(tool.name for tool in (await client.list_tools()).tools)]
            for name, each in calls:
                content = (await client.call_tool(name, each)).content
                said.append("\n".join(block.text for block in content if isinstance(block, TextContent)))
            return said

    return lambda environment, *calls, **more: asyncio.run(run(environment, *calls, **more))


def test_the_server_starts_where_nothing_of_authors_is_installed(
    environment: Callable[[str], Environment], converse: Converse
) -> None:
    bare = environment("")
    assert not bare.has("jinja2")

    listed, found = converse(bare, ("search", {"query": "read files"}))

    assert listed.startswith("search call")
    assert "read_files" in found


def test_without_the_toolkit_the_command_says_what_to_install(environment: Callable[[str], Environment]) -> None:
    run = environment("").run("toolmason", "generate")

    assert run.returncode != 0
    assert "toolmason[toolkit]" in run.stderr
    assert "Traceback" not in run.stderr


def absent(program: str) -> tuple[str, str]:
    """Give what a tool answers whose program is not on PATH. It needs no package."""
    return f'the program "{program}" is not installed on this server', ""


ASKING = ("GEMINI_CLI_NOT_FOUND", "tenacity")
"""What a tool that asks the model answers where there is no program to ask, and the first package it needs."""
NO_REPOSITORY = (re.compile("not a git repository", re.IGNORECASE), "")
CHUNK = {"cacheKey": "cache_9f86d081884c7d659a2feaa0c55ad015", "chunkIndex": 1}

CALLS: dict[str, tuple[dict[str, Any], str | re.Pattern[str], str]] = {
    "list_allowed_directories": ({}, "given when the server was started", ""),
    "read_files": ({"files": [{"path": "facts.json"}]}, "answer", ""),
    "read_media_file": ({"path": "picture.png"}, "", ""),
    "list_directory_with_sizes": ({"path": "."}, "facts.json", ""),
    "search_files": ({"path": ".", "pattern": "facts"}, "facts.json", "pathspec"),
    "get_file_info": ({"path": "facts.json"}, "application/json", ""),
    "directory_tree": ({"path": "."}, "facts.json", "pathspec"),
    "grep_content": ({"pattern": "answer"}, "1 matching line", "pathspec"),
    "query_json": ({"file_path": "facts.json", "jq_expression": ".answer"}, "42", "jq"),
    "query_yaml": ({"file_path": "facts.json", "yq_expression": ".answer"}, "42", "jq"),
    "analyze_work_log": ({"file_path": "log.md"}, "log.md", ""),
    "quick_query": ({"prompt": "What is the answer in @facts.json?"}, *ASKING),
    "deep_research": ({"prompt": "Why is it that answer?"}, *ASKING),
    "validate_paths": ({"paths": ["facts.json"]}, "facts.json", ""),
    "analyze_directory": ({"path": "."}, *ASKING),
    "health_check": ({}, '"status":"degraded"', ""),
    "ask_gemini": ({"prompt": "What is the question?", "include_codebase_context": False}, *ASKING),
    "analyze_codebase": ({"focus_description": "facts"}, *ASKING),
    "query_codebase": ({"questions": ["Where are the facts?"]}, *ASKING),
    "find_code_by_intent": ({"intent": "answers"}, *ASKING),
    "trace_feature": ({"feature": "answering"}, *ASKING),
    "list_error_patterns": ({"pattern_type": "logging"}, *ASKING),
    "validate_against_codebase": ({"spec_content": "# Answer 43"}, *ASKING),
    "check_consistency": ({"focus": "all", "new_code_or_spec": '{"answer": 43}'}, *ASKING),
    "git_status": ({}, *NO_REPOSITORY),
    "git_log": ({}, *NO_REPOSITORY),
    "git_diff": ({}, *NO_REPOSITORY),
    "git_show": ({}, *NO_REPOSITORY),
    "git_blame": ({"path": "facts.json"}, *NO_REPOSITORY),
    "git_branch": ({}, *NO_REPOSITORY),
    "git_add": ({"paths": ["facts.json"]}, *NO_REPOSITORY),
    "git_commit": ({"message": "Keep the facts"}, *NO_REPOSITORY),
    "gh_pr_list": ({}, *absent("gh")),
    "gh_pr_view": ({"number": 1}, *absent("gh")),
    "gh_issue_list": ({}, *absent("gh")),
    "gh_issue_view": ({"number": 1}, *absent("gh")),
    "gh_api": ({"endpoint": "user"}, *absent("gh")),
    "docker_ps": ({}, *absent("docker")),
    "docker_images": ({}, *absent("docker")),
    "docker_logs": ({"container": "none"}, *absent("docker")),
    "docker_inspect": ({"names": ["none"]}, *absent("docker")),
    "word_count": ({"paths": ["facts.json"]}, "facts.json", ""),
    "disk_usage": ({"paths": ["."]}, re.compile(r"^\d+\s", re.MULTILINE), ""),
    "disk_free": ({"paths": ["."]}, re.compile(r"\d+%"), ""),
    "fetch_chunk": (CHUNK, "CACHE_EXPIRED", ""),
}
"""For each tool arguments, a part of the answer, and the package it needs beside those of the server."""


def only_these(folder: Path) -> str:
    """Return a PATH with the programs of every machine alone. `folder` is outside the project, which chooses none."""
    folder.mkdir()
    for name in ("git", "wc", "du", "df"):
        found = shutil.which(name)
        assert found is not None, f"{name} is not installed"
        (folder / name).symlink_to(found)
    return str(folder)


def tells(part: str | re.Pattern[str], answer: str) -> bool:
    return bool(part.search(answer)) if isinstance(part, re.Pattern) else part in answer


def answers_of_every_tool(environment: Environment, converse: Converse, folder: Path) -> dict[str, str]:
    (folder / "facts.json").write_text('{"answer": 42}', encoding="utf-8")
    (folder / "picture.png").write_bytes(b"\x89PNG\r\n\x1a\n")
    (folder / "log.md").write_text("# Log\n", encoding="utf-8")
    calls = [(tool, arguments) for tool, (arguments, *_) in CALLS.items()]
    listed, *answers = converse(
        environment,
        *calls,
        options=["--classic", "--all"],
        path=only_these(folder.with_name(f"{folder.name}-programs")),
    )
    assert listed.split() == list(CALLS)
    return dict(zip(CALLS, answers, strict=True))


def test_every_shipped_tool_works_from_the_wheel(
    environment: Callable[[str], Environment], converse: Converse, tmp_path: Path
) -> None:
    answers = answers_of_every_tool(environment("workbench"), converse, tmp_path)

    assert {tool: answers[tool] for tool, (_, part, _) in CALLS.items() if not tells(part, answers[tool])} == {}
    assert [answer for answer in answers.values() if "Error executing tool" in answer] == []


def test_without_extras_each_tool_answers_or_says_what_to_install(
    environment: Callable[[str], Environment], converse: Converse, tmp_path: Path
) -> None:
    answers = answers_of_every_tool(environment(""), converse, tmp_path)

    for tool, (_, part, package) in CALLS.items():
        missing = f"the package `{package}` is not installed: pip install 'toolmason[workbench]'"
        assert (missing in answers[tool]) if package else tells(part, answers[tool]), (tool, answers[tool])
    assert [answer for answer in answers.values() if "Error executing tool" in answer] == []


def test_without_extras_the_health_of_research_says_what_to_install(
    environment: Callable[[str], Environment], converse: Converse
) -> None:
    missing = "research tools cannot answer, as the package `tenacity` is not installed"
    (_, health, whole) = converse(
        environment(""),
        ("health_check", {}),
        ("health_check", {"includeDiagnostics": True}),
        options=["--classic", "--toolsets", "research"],
    )
    assert missing in health
    assert missing in whole
    assert '"status":"degraded"' in whole


def test_the_templates_travel_with_the_toolkit(environment: Callable[[str], Environment], tmp_path: Path) -> None:
    toolkit = environment("toolkit")
    made = toolkit.run("toolmason", "init", "notes", cwd=tmp_path)
    assert made.returncode == 0, made.stderr
    project = tmp_path / "notes"

    written = toolkit.run("toolmason", "generate", cwd=project)
    assert written.returncode == 0, written.stderr
    assert (project / "generated" / "notes_server" / "catalogue.py").is_file()
    assert toolkit.run("toolmason", "check", cwd=project).returncode == 0


SERVER_FILES = {
    "clients/claude-code/.mcp.json",
    "clients/codex/.codex/config.toml",
    "commands/gemini-cli/.gemini/commands/explore.toml",
    "docs/tools/files.md",
    "skills/workbench/SKILL.md",
}
"""One of each kind; every file that `generated/` has of these kinds is in the wheel."""


def test_the_files_for_clients_are_data_of_the_servers_package(
    environment: Callable[[str], Environment], tmp_path: Path
) -> None:
    kinds = ("clients", "commands", "docs", "skills")
    code = (
        "from toolmason_runtime.server.package_files import server_files\n"
        "root = server_files('workbench_server')\n"
        f"paths = [path for kind in {kinds} for path in (root / kind).rglob('*') if path.is_file()]\n"
        "print(*(path.relative_to(root).as_posix() for path in paths), sep='\\n')\n"
    )
    run = environment("").run("python", "-c", code, cwd=tmp_path)
    generated = REPOSITORY / "generated"
    paths = (path for kind in kinds for path in (generated / kind).rglob("*") if path.is_file())

    assert set(run.stdout.split()) > SERVER_FILES, run.stderr
    assert set(run.stdout.split()) == {path.relative_to(generated).as_posix() for path in paths}


def test_the_wheel_of_a_new_project_serves_elsewhere_without_its_checkout(
    environment: Callable[[str], Environment], wheel: Path, overheard: Any, tmp_path: Path
) -> None:
    toolkit, links = environment("toolkit"), tmp_path / "links"
    pip = ("-m", "pip", "--quiet", "--disable-pip-version-check")
    built = [
        toolkit.run("toolmason", "init", "notes", cwd=tmp_path),
        toolkit.run("python", *pip, "wheel", "--wheel-dir", links, wheel),
        toolkit.run("python", *pip, "wheel", "--no-deps", "--wheel-dir", links, tmp_path / "notes"),
    ]
    assert [run.stderr for run in built if run.returncode] == []
    shutil.rmtree(tmp_path / "notes")

    elsewhere = Environment(tmp_path / "elsewhere")
    installed = elsewhere.run("python", *pip, "install", "--no-index", "--find-links", links, "notes")
    assert installed.returncode == 0, installed.stderr
    code = (
        "import importlib.metadata\n"
        "from toolmason_runtime.server.package_files import server_files\n"
        "print(importlib.metadata.requires('notes')[0])\n"
        "print((server_files('notes_server') / 'clients' / 'claude-code' / '.mcp.json').is_file())\n"
    )
    assert elsewhere.run("python", "-c", code).stdout.split() == [REQUIREMENT, "True"]

    async def count() -> tuple[list[str], Any]:
        server = StdioServerParameters(command=str(elsewhere.program("notes")), args=[], env=ENVIRONMENT, cwd=tmp_path)
        async with Client(overheard(stdio_client(server), Oracle(MODERN))) as client:
            listed = [tool.name for tool in (await client.list_tools()).tools]
            result = await client.call_tool("count_words", {"text": "to be or not to be"})
            return listed, result.structured_content

    assert asyncio.run(count()) == (
        ["search", "call", "count_words"],
        {"words": 6, "lines": 1, "characters": 18},
    )


def test_the_typed_marker_and_the_index_are_in_the_wheel(environment: Callable[[str], Environment]) -> None:
    code = (
        "from importlib.resources import files\n"
        "assert files('toolmason_runtime').joinpath('py.typed').is_file()\n"
        "assert files('workbench_server').joinpath('search_index.json').is_file()\n"
        "assert 'site-packages' in str(files('workbench_server'))\n"
    )
    run = environment("").run("python", "-c", code)

    assert run.returncode == 0, run.stderr
