"""The wheels of a release in environments of their own: with no extra, with `workbench`, with `toolkit`."""

from __future__ import annotations

import asyncio
import json
import os
import re
import shutil
import subprocess
import sys
import tomllib
from collections.abc import Callable, Iterator, Sequence
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import Any

import pytest
from fresh_environment import ENVIRONMENT, UV, Environment, build_wheel, create_environment, execute
from mcp import Client
from mcp.client.stdio import StdioServerParameters, stdio_client
from mcp_types import TextContent
from oracle import MODERN, Oracle
from packaging.requirements import Requirement

REPOSITORY = Path(__file__).parents[2]
REQUIREMENT = "toolmason<0.2,>=0.1"
"""What a project of this version requires, as a wheel's metadata has it."""


@pytest.fixture(scope="session")
def wheel(published: tuple[Path, Path]) -> Path:
    """Return the wheel of `toolmason`."""
    return published[0]


@pytest.fixture(scope="session")
def environment(published: tuple[Path, Path], tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Environment]:
    """Return an environment with both wheels and one extra, or none; each is installed once."""
    wheel, toolkit = published
    environments: dict[str, Environment] = {}

    def with_extra(extra: str) -> Environment:
        if extra not in environments:
            environments[extra] = Environment(tmp_path_factory.mktemp(extra or "bare"))
            environments[extra].install(f"toolmason[{extra}] @ {wheel.as_uri()}" if extra else wheel, toolkit)
        return environments[extra]

    return with_extra


Call = tuple[str, dict[str, Any]]
Converse = Callable[..., list[str]]


@pytest.fixture
def converse(overheard: Any, tmp_path: Path) -> Converse:
    """Start Workbench over stdio; return the names of its listed tools, then the text of each result."""

    async def run(
        environment: Environment, *calls: Call, options: Sequence[str] = (), path: str = ENVIRONMENT["PATH"]
    ) -> list[str]:
        program = str(environment.program("toolmason-workbench"))
        arguments = ["--root", ".", *options]
        server = StdioServerParameters(command=program, args=arguments, env={**ENVIRONMENT, "PATH": path}, cwd=tmp_path)
        async with Client(overheard(stdio_client(server), Oracle(MODERN))) as client:
            texts = [" ".join(tool.name for tool in (await client.list_tools()).tools)]
            for name, call_arguments in calls:
                content = (await client.call_tool(name, call_arguments)).content
                texts.append("\n".join(block.text for block in content if isinstance(block, TextContent)))
            return texts

    return lambda environment, *calls, **more: asyncio.run(run(environment, *calls, **more))


def test_workbench_starts_without_its_extra(environment: Callable[[str], Environment], converse: Converse) -> None:
    bare = environment("")
    assert not bare.has("jinja2")

    listed, hits = converse(bare, ("search", {"query": "read files"}))

    assert listed.startswith("workbench_search workbench_call")
    assert "read_files" in hits


def test_without_the_toolkit_the_command_names_the_missing_extra(environment: Callable[[str], Environment]) -> None:
    run = environment("").run("toolmason", "generate")

    assert run.returncode != 0
    assert "toolmason[toolkit]" in run.stderr
    assert "Traceback" not in run.stderr


ENGINE = ("--engine", "sdk")
NEEDS_HTTP = "needs an extra: pip install 'toolmason[http]'; in a project, add it to pyproject.toml"
NEEDS_APIS = NEEDS_HTTP.replace("[http]", "[apis]")


@pytest.mark.parametrize("flags", [("--http",), ("--http", "--workers", "2"), ENGINE])
def test_without_the_extra_a_flag_that_needs_it_names_it(
    environment: Callable[[str], Environment], flags: Sequence[str]
) -> None:
    run = environment("").run("toolmason-workbench", *flags)

    assert run.returncode == 2
    assert run.stderr == f"toolmason-workbench: {' '.join(flags[:1] if flags != ENGINE else flags)} {NEEDS_HTTP}\n"


def test_the_base_installation_has_no_package_of_the_extras(environment: Callable[[str], Environment]) -> None:
    names = environment("").distributions()

    assert {"anyio", "pydantic", "toolmason"} < names
    assert not names & {
        "cryptography",
        "httpcore2",
        "httpx2",
        "mcp",
        "opentelemetry-api",
        "pyjwt",
        "starlette",
        "uvicorn",
    }
    assert "jsonschema" not in names


KINDS = {
    "apis": """
[apis.shop]
base_url = "$SHOP"
category = "books"

[tools.ask]
summary = "Find a book"
api = "shop"
http = "GET /books"
risk = "read"
""",
    "http": """
[upstreams.books]
command = ["$WORKBENCH", "--root", ".", "--classic"]
category = "books"

[tools.ask]
summary = "List the directories of the books"
upstream = "books"
upstream_tool = "list_allowed_directories"
hints = { read_only = true, destructive = false, idempotent = true, open_world = false }
input_schema = { type = "object" }
""",
}
"""Extra -> tables of a tool that needs it."""


@pytest.fixture(scope="session")
def book_server(
    environment: Callable[[str], Environment], tmp_path_factory: pytest.TempPathFactory
) -> Callable[[str], Path]:
    """Return the generated packages of a server whose tool `ask` needs an extra."""

    def generated(extra: str) -> Path:
        project = tmp_path_factory.mktemp(f"with-{extra}")
        head = (
            'edition = 1\nserver = { name = "library", package = "library_server" }\n'
            'discovery.style = "classic"\ncategories.books.summary = "Books"\n'
        )
        (project / "manifest.toml").write_text(head + KINDS[extra], encoding="utf-8")
        run = environment("toolkit").run("toolmason", "generate", "--manifest", "manifest.toml", cwd=project)
        assert run.returncode == 0, run.stderr
        return project / "generated"

    return generated


@pytest.mark.parametrize(("extra", "kind"), [("apis", "api"), ("http", "upstream")])
def test_without_the_extra_a_server_whose_tool_needs_it_does_not_start(
    environment: Callable[[str], Environment], book_server: Callable[[str], Path], extra: str, kind: str
) -> None:
    bare, generated = environment(""), book_server(extra)

    run = bare.run("python", "-m", "library_server", cwd=generated)
    assert run.returncode == 2
    assert run.stdout == ""
    assert run.stderr == f"library: a tool with `{kind}` {NEEDS_HTTP if extra == 'http' else NEEDS_APIS}\n"

    listed = bare.run("python", "-m", "library_server", "--list-tools", cwd=generated)
    assert listed.stdout.startswith("ask: ")


class Shop(BaseHTTPRequestHandler):
    """An API that lists one book."""

    def do_GET(self) -> None:
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.end_headers()
        self.wfile.write(b'["Dune"]')

    def log_message(self, *_: object) -> None:
        """Keep stderr empty."""


@pytest.fixture
def shop() -> Iterator[str]:
    with ThreadingHTTPServer(("127.0.0.1", 0), Shop) as server:
        Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()


ANSWERS = {"apis": "Dune", "http": "given when the server was started"}


@pytest.mark.parametrize("extra", KINDS)
def test_with_the_extra_a_tool_that_needs_it_answers(
    environment: Callable[[str], Environment],
    book_server: Callable[[str], Path],
    overheard: Any,
    shop: str,
    extra: str,
) -> None:
    installed = environment(extra)
    variables = {**ENVIRONMENT, "SHOP": shop, "WORKBENCH": str(installed.program("toolmason-workbench"))}
    python, generated = str(installed.program("python")), book_server(extra)

    async def ask() -> str:
        server = StdioServerParameters(command=python, args=["-m", "library_server"], env=variables, cwd=generated)
        async with Client(overheard(stdio_client(server), Oracle(MODERN))) as client:
            result = await client.call_tool("ask", {})
            return "".join(block.text for block in result.content if isinstance(block, TextContent))

    assert ANSWERS[extra] in asyncio.run(ask())


def test_with_the_extra_the_sdk_serves_stdio(environment: Callable[[str], Environment], converse: Converse) -> None:
    listed, hits = converse(environment("http"), ("search", {"query": "read files"}), options=ENGINE)

    assert listed.startswith("workbench_search workbench_call")
    assert "read_files" in hits


def test_with_the_extra_a_server_serves_http(environment: Callable[[str], Environment], tmp_path: Path) -> None:
    program = str(environment("http").program("toolmason-workbench"))
    command = [program, "--root", ".", "--http", "--port", "0"]
    with subprocess.Popen(command, cwd=tmp_path, env=ENVIRONMENT, stderr=subprocess.PIPE, encoding="utf-8") as process:
        assert process.stderr is not None
        try:
            # The startup check may log before.
            addresses = (re.search(r"http://\S+/mcp", line) for line in process.stderr)
            address = next(filter(None, addresses), None)
            assert address

            async def listed() -> list[str]:
                async with Client(address[0]) as client:
                    return [tool.name for tool in (await client.list_tools()).tools]

            assert asyncio.run(listed())[:2] == ["workbench_search", "workbench_call"]
        finally:
            process.terminate()


def absent(program: str) -> tuple[str, str]:
    """Return the error of a tool whose program is not on PATH. It needs no package."""
    return f'the program "{program}" is not installed on this server', ""


ASKING = ("AUTH_MISSING", "tenacity")
"""The error of a tool that asks the model without the program for that, and the first package it needs."""
NO_REPOSITORY = (re.compile("not a git repository", re.IGNORECASE), "")
UNAPPROVED = ("needs user approval", "")
"""The error of a tool that writes after an approval; the client of these tests cannot ask a user."""
CHUNK = {"cacheKey": "cache_9f86d081884c7d659a2feaa0c55ad015", "chunkIndex": 1}

CALLS: dict[str, tuple[dict[str, Any], str | re.Pattern[str], str]] = {
    "list_allowed_directories": ({}, "given when the server was started", ""),
    "read_files": ({"files": [{"path": "facts.json"}]}, "answer", ""),
    "read_media_file": ({"path": "picture.png"}, "", ""),
    "list_directory_with_sizes": ({"path": "."}, "facts.json", ""),
    "list_directory": ({"path": "."}, "facts.json", ""),
    "search_files": ({"path": ".", "pattern": "facts"}, "facts.json", "pathspec"),
    "get_file_info": ({"path": "facts.json"}, "application/json", ""),
    "directory_tree": ({"path": "."}, "facts.json", "pathspec"),
    "grep_content": ({"pattern": '"answer"'}, "1 matching line", "pathspec"),
    "propose_and_review": ({"path": "facts.json", "match_text": "43", "new_string": "44"}, "match_text", ""),
    "commit_review": ({"session_path": "rv_none", "original_path": "facts.json"}, "rv_none", ""),
    "review_status": ({}, "pending_count", ""),
    "create_directory": ({"path": "new"}, *UNAPPROVED),
    "write_file": ({"path": "new.txt", "content": "text"}, *UNAPPROVED),
    "append_text": ({"path": "log.md", "content": "text"}, *UNAPPROVED),
    "move_file": ({"source": "log.md", "destination": "moved.md"}, *UNAPPROVED),
    "query_json": ({"file_path": "facts.json", "jq_expression": ".answer"}, "42", "jq"),
    "query_yaml": ({"file_path": "facts.json", "yq_expression": ".answer"}, "42", "jq"),
    "query_toml": ({"file_path": "facts.toml", "jq_expression": ".answer"}, "42", "jq"),
    "analyze_work_log": ({"file_path": "log.md"}, "log.md", ""),
    "quick_query": ({"prompt": "What is the answer in @facts.json?"}, *ASKING),
    "deep_research": ({"prompt": "Why is it that answer?"}, *ASKING),
    "validate_paths": ({"paths": ["facts.json"]}, "facts.json", ""),
    "analyze_directory": ({"path": "."}, *ASKING),
    "health_check": ({}, '"status":"degraded"', ""),
    "ask_gemini": ({"prompt": "What is the question?", "include_codebase_context": False}, *ASKING),
    "grounding_search": ({"query": "Which NumPy is current?"}, *ASKING),
    "analyze_codebase": ({"focus_description": "facts"}, *ASKING),
    "query_codebase": ({"questions": ["Where are the facts?"]}, *ASKING),
    "find_code_by_intent": ({"intent": "answers"}, *ASKING),
    "trace_feature": ({"feature": "answering"}, *ASKING),
    "list_error_patterns": ({"pattern_type": "logging"}, *ASKING),
    "validate_against_codebase": ({"spec_content": "# Answer 43"}, *ASKING),
    "check_consistency": ({"focus": "all", "new_code_or_spec": '{"answer": 43}'}, *ASKING),
    "setup_workflows": ({}, *UNAPPROVED),
    "generate_slash_command": (
        {"command_name": "fix", "workflow_type": "debug", "description": "Fix the facts"},
        *UNAPPROVED,
    ),
    "generate_feature_workflow": ({"feature_description": "More facts"}, *UNAPPROVED),
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
"""Arguments of each tool, a part of its result, and the package it needs besides those of the server."""


def basic_path(directory: Path) -> str:
    """Return a PATH with only the programs that every machine has, in a directory outside the project."""
    directory.mkdir()
    for name in ("git", "wc", "du", "df"):
        program = shutil.which(name)
        assert program is not None, f"{name} is not installed"
        (directory / name).symlink_to(program)
    return str(directory)


def contains(part: str | re.Pattern[str], text: str) -> bool:
    return bool(part.search(text)) if isinstance(part, re.Pattern) else part in text


def call_every_tool(environment: Environment, converse: Converse, directory: Path) -> dict[str, str]:
    (directory / "facts.json").write_text('{"answer": 42}', encoding="utf-8")
    (directory / "facts.toml").write_text("answer = 42\n", encoding="utf-8")
    (directory / "picture.png").write_bytes(b"\x89PNG\r\n\x1a\n")
    (directory / "log.md").write_text("# Log\n", encoding="utf-8")
    calls = [(tool, arguments) for tool, (arguments, *_) in CALLS.items()]
    listed, *answers = converse(
        environment,
        *calls,
        options=["--classic", "--all"],
        path=basic_path(directory.with_name(f"{directory.name}-programs")),
    )
    assert listed.split() == [f"workbench_{name}" for name in CALLS]
    return dict(zip(CALLS, answers, strict=True))


def needs_extra(package: str, extra: str) -> str:
    remedy = f"pip install 'toolmason[{extra}]'; in a project, add it to pyproject.toml"
    return f"the package `{package}` needs an extra: {remedy}"


def test_every_shipped_tool_works_from_the_wheel(
    environment: Callable[[str], Environment], converse: Converse, tmp_path: Path
) -> None:
    answers = call_every_tool(environment("workbench"), converse, tmp_path)

    assert {tool: answers[tool] for tool, (_, part, _) in CALLS.items() if not contains(part, answers[tool])} == {}
    assert [answer for answer in answers.values() if "Error executing tool" in answer] == []


def test_without_extras_each_tool_works_or_names_the_missing_package(
    environment: Callable[[str], Environment], converse: Converse, tmp_path: Path
) -> None:
    answers = call_every_tool(environment(""), converse, tmp_path)

    for tool, (_, part, package) in CALLS.items():
        extra = "research" if package == "tenacity" else "workbench"
        missing = needs_extra(package, extra)
        assert (missing in answers[tool]) if package else contains(part, answers[tool]), (tool, answers[tool])
    assert [answer for answer in answers.values() if "Error executing tool" in answer] == []


def test_without_extras_health_check_names_the_missing_package(
    environment: Callable[[str], Environment], converse: Converse
) -> None:
    missing = f"research tools cannot answer: {needs_extra('tenacity', 'research')}"
    _, health, diagnostics = converse(
        environment(""),
        ("health_check", {}),
        ("health_check", {"includeDiagnostics": True}),
        options=["--classic", "--toolsets", "research"],
    )
    assert missing in health
    assert missing in diagnostics
    assert '"status":"degraded"' in diagnostics


@pytest.fixture(scope="session")
def notes(environment: Callable[[str], Environment], tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Create a project with the toolkit alone."""
    directory = tmp_path_factory.mktemp("project")
    run = environment("toolkit").run("toolmason", "init", "notes", cwd=directory)
    assert run.returncode == 0, run.stderr
    return directory / "notes"


def test_the_toolkit_alone_generates_and_checks_a_project(
    environment: Callable[[str], Environment], notes: Path
) -> None:
    toolkit = environment("toolkit")
    assert not toolkit.has("jq")
    for command in ("generate", "check"):
        run = toolkit.run("toolmason", command, cwd=notes)
        assert run.returncode == 0, run.stderr
    assert (notes / "generated" / "notes_server" / "catalogue.json").is_file()


def test_the_report_on_the_search_has_its_page_in_the_wheel(
    environment: Callable[[str], Environment], notes: Path, tmp_path: Path
) -> None:
    queries, page = tmp_path / "queries.toml", tmp_path / "page.html"
    queries.write_text('[queries]\ncount_words = ["count words"]\n', encoding="utf-8")
    run = environment("toolkit").run("toolmason", "eval", str(queries), "--html", str(page), cwd=notes)

    assert run.returncode == 0, run.stderr
    assert page.read_text(encoding="utf-8").startswith("<!doctype html>")


SERVER_FILES = {
    "clients/claude-code/.mcp.json",
    "clients/codex/.codex/config.toml",
    "commands/gemini-cli/.gemini/commands/workbench-explore.toml",
    "docs/tools/files.md",
    "plugins/claude-code/.claude-plugin/plugin.json",
    "skills/workbench/SKILL.md",
}
"""One file of each kind. All files of these kinds are in the wheel."""


def test_the_files_for_clients_are_data_of_the_servers_package(
    environment: Callable[[str], Environment], tmp_path: Path
) -> None:
    kinds = ("clients", "commands", "docs", "plugins", "skills")
    code = (
        "from toolmason_runtime.server.package_files import server_files\n"
        "root = server_files('workbench_server')\n"
        f"paths = [path for kind in {kinds} for path in (root / kind).rglob('*') if path.is_file()]\n"
        "print(*(path.relative_to(root).as_posix() for path in paths), sep='\\n')\n"
    )
    run = environment("").run("python", "-c", code, cwd=tmp_path)
    generated = REPOSITORY / "generated"
    paths = (path for kind in kinds for path in (generated / kind).rglob("*") if path.is_file())
    installed = {path for path in run.stdout.split() if not path.endswith(".pyc")}  # pip compiles Python files

    assert installed > SERVER_FILES, run.stderr
    assert installed == {path.relative_to(generated).as_posix() for path in paths}

    options = ("gemini-cli", "--scope", "project", "--commands", "--dry-run")
    shown = environment("").run("toolmason-workbench", "install", *options, cwd=tmp_path)
    assert f"Would write commands in {tmp_path / '.gemini' / 'commands'}: " in shown.stdout, shown.stderr


def test_the_wheel_of_a_new_project_serves_elsewhere_without_its_checkout(
    notes: Path, wheel: Path, overheard: Any, tmp_path: Path
) -> None:
    links = tmp_path / "links"
    links.mkdir()
    shutil.copy(wheel, links)
    checkout = shutil.copytree(notes, tmp_path / "checkout")
    project_wheel = build_wheel(checkout, links)
    shutil.rmtree(checkout)

    elsewhere = Environment(tmp_path / "elsewhere")
    # By path, because an index has another project of that name.
    elsewhere.install("--find-links", links, project_wheel)
    assert not elsewhere.has("toolmason.commands")
    assert not elsewhere.has("workbench_server")
    code = (
        "import importlib.metadata\n"
        "from toolmason_runtime.server.package_files import server_files\n"
        "print(importlib.metadata.requires('notes')[0])\n"
        "print((server_files('notes_server') / 'docs' / 'index.md').is_file())\n"
    )
    assert elsewhere.run("python", "-c", code).stdout.split() == [REQUIREMENT, "True"]

    async def count_words() -> tuple[list[str], Any]:
        server = StdioServerParameters(command=str(elsewhere.program("notes")), args=[], env=ENVIRONMENT, cwd=tmp_path)
        async with Client(overheard(stdio_client(server), Oracle(MODERN))) as client:
            listed = [tool.name for tool in (await client.list_tools()).tools]
            result = await client.call_tool("count_words", {"text": "to be or not to be"})
            return listed, result.structured_content

    assert asyncio.run(count_words()) == (
        ["notes_search", "notes_call", "notes_count_words"],
        {"words": 6, "lines": 1, "characters": 18},
    )


PLUGINS = REPOSITORY / "generated" / "plugins"


def listed_tools(overheard: Any, command: Sequence[str | Path], cwd: Path) -> list[str]:
    program, *arguments = map(str, command)

    async def run() -> list[str]:
        server = StdioServerParameters(command=program, args=arguments, env=ENVIRONMENT, cwd=cwd)
        async with Client(overheard(stdio_client(server), Oracle(MODERN))) as client:
            return [tool.name for tool in (await client.list_tools()).tools]

    return asyncio.run(run())


def test_the_bundle_starts_where_its_requirement_is_installed(
    environment: Callable[[str], Environment], overheard: Any, tmp_path: Path
) -> None:
    bundle = PLUGINS / "claude-desktop"
    project = tomllib.loads((bundle / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    (requirement,) = map(Requirement, project["dependencies"])
    (extra,) = requirement.extras
    installed = environment(extra)
    version = installed.run("python", "-c", f"import importlib.metadata as m; print(m.version('{requirement.name}'))")
    assert requirement.specifier.contains(version.stdout.strip())

    manifest = json.loads((bundle / "manifest.json").read_text(encoding="utf-8"))
    arguments = manifest["server"]["mcp_config"]["args"]
    assert arguments[:3] == ["run", "--directory", "${__dirname}"]
    values = {"${user_config.root}": str(tmp_path)}
    command = [installed.program("python"), *(values.get(argument, argument) for argument in arguments[3:])]

    assert listed_tools(overheard, command, bundle)[:2] == ["workbench_search", "workbench_call"]


def follow_dockerfile(text: str, context: Path, image: Path) -> tuple[str, list[str | Path]]:
    """Run the steps of a Dockerfile in a virtual environment in place of the base image; return user and command."""
    create_environment(image, with_pip=True)
    lines = text.replace("\\\n", "").splitlines()
    steps = [line.split(" ", 1) for line in lines if not line.startswith("#")]
    directory, user, entrypoint = image, "root", list[str]()
    for step, value in steps:
        match step:
            case "ARG":
                assert re.fullmatch(r"PYTHON_IMAGE=python:3\.\d+-slim@sha256:[0-9a-f]{64}", value)
            case "FROM":
                assert value == "${PYTHON_IMAGE}"
            case "WORKDIR":
                directory = image / value.lstrip("/")
                directory.mkdir()
            case "COPY":
                *patterns, target = value.split()
                for pattern in patterns:
                    files = list(context.glob(pattern))
                    assert files, f"Docker fails: no file matches {pattern}"
                    for file in files:
                        shutil.copy(file, directory / target)
            case "RUN":
                path = os.pathsep.join([str(image / "bin"), "/usr/bin", "/bin"])
                # pip reads 0 as "no": it compiles no module. The server compiles the few that it imports.
                environ = {**ENVIRONMENT, "PATH": path, "PIP_NO_COMPILE": "0"}
                subprocess.run(["/bin/sh", "-c", value], cwd=directory, env=environ, check=True)
            case "USER":
                user = value
            case "ENTRYPOINT":
                entrypoint = json.loads(value)
            case _:
                pytest.fail(f"unknown step {step}")
    return user, [image / "bin" / entrypoint[0], *entrypoint[1:]]


def test_the_steps_of_the_dockerfile_install_a_server_that_starts(
    published: tuple[Path, Path], overheard: Any, tmp_path: Path
) -> None:
    context = tmp_path / "context"
    (context / "dist").mkdir(parents=True)
    for path in published:
        shutil.copy(path, context / "dist")
    (context / "requirements").mkdir()
    shutil.copy(REPOSITORY / "requirements" / "server.txt", context / "requirements")
    text = (PLUGINS / "docker" / "Dockerfile").read_text(encoding="utf-8")

    user, command = follow_dockerfile(text, context, tmp_path / "image")

    assert user != "root"
    assert listed_tools(overheard, command, tmp_path)[:2] == ["workbench_search", "workbench_call"]


@pytest.fixture(scope="session")
def released(environment: Callable[[str], Environment], tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Create a project of version 0.2.0 with a bundle and a Dockerfile, and run its session `release`."""
    project = tmp_path_factory.mktemp("released") / "notes"
    toolkit = environment("toolkit")
    assert toolkit.run("toolmason", "init", project, "--bundle", "--docker").returncode == 0
    manifest = project / "manifest" / "notes.toml"
    manifest.write_text(manifest.read_text(encoding="utf-8").replace("0.1.0", "0.2.0"), encoding="utf-8")
    assert toolkit.run("toolmason", "generate", cwd=project).returncode == 0
    release = execute(sys.executable, "-m", "nox", "-s", "lock", "release", cwd=project)
    assert release.returncode == 0, release.stdout + release.stderr
    assert "3 passed" in release.stdout + release.stderr
    return project


def test_a_release_has_the_version_of_the_manifest(released: Path) -> None:
    names = {path.name for path in (released / "dist").iterdir()}

    assert names == {"notes-0.2.0-py3-none-any.whl", "notes-0.2.0.tar.gz"}


def test_a_lock_of_a_project_has_all_dependencies_by_hash_but_not_the_toolkit_of_this_machine(released: Path) -> None:
    text = (released / "requirements" / "server.txt").read_text(encoding="utf-8")
    names = re.findall(r"^([a-z0-9.-]+)==", text, re.MULTILINE)

    assert {"anyio", "mcp", "pydantic-core"} <= set(names)
    assert "toolmason" not in text
    assert text.count(" \\\n") >= len(names)
    assert len(re.findall(r"--hash=sha256:[0-9a-f]{64}", text)) >= len(names)


def test_the_bundle_of_a_release_serves_without_an_index_that_has_it(
    released: Path, wheel: Path, overheard: Any, tmp_path: Path
) -> None:
    assert UV is not None, "Claude Desktop starts bundles with uv"
    mcpb = REPOSITORY / "tests" / "node_modules" / ".bin" / "mcpb"
    npx = tmp_path / "bin" / "npx"
    npx.parent.mkdir()
    npx.write_text(f'#!/bin/sh\nshift 2\nexec "{mcpb}" "$@"\n', encoding="utf-8")  # npx downloads it
    npx.chmod(0o755)
    environ = {**ENVIRONMENT, "PATH": os.pathsep.join([str(npx.parent), ENVIRONMENT["PATH"]])}
    command = [sys.executable, "-m", "nox", "-s", "bundle"]
    subprocess.run(command, cwd=released, env=environ, stdin=subprocess.DEVNULL, check=True)
    bundle = tmp_path / "bundle"
    assert execute(mcpb, "unpack", released / "dist" / "notes.mcpb", bundle).returncode == 0
    # Ours is not the toolmason of an index.
    shutil.copy(wheel, bundle)

    arguments = json.loads((bundle / "manifest.json").read_text(encoding="utf-8"))["server"]["mcp_config"]["args"]
    command = [UV, *(argument.replace("${__dirname}", str(bundle)) for argument in arguments)]

    assert listed_tools(overheard, command, tmp_path) == ["notes_search", "notes_call", "notes_count_words"]


def test_the_image_of_a_release_starts_with_the_wheels_in_dist(
    released: Path, wheel: Path, overheard: Any, tmp_path: Path
) -> None:
    context = shutil.copytree(released, tmp_path / "context")
    shutil.copy(wheel, context / "dist")
    text = (context / "generated" / "plugins" / "docker" / "Dockerfile").read_text(encoding="utf-8")

    _, command = follow_dockerfile(text, context, tmp_path / "image")

    assert listed_tools(overheard, command, tmp_path) == ["notes_search", "notes_call", "notes_count_words"]


def test_the_typed_marker_and_the_index_are_in_the_wheel(environment: Callable[[str], Environment]) -> None:
    code = (
        "from importlib.resources import files\n"
        "assert files('toolmason_runtime').joinpath('py.typed').is_file()\n"
        "assert files('workbench_server').joinpath('search_index.json').is_file()\n"
        "assert files('workbench_server').joinpath('semantic.postings').is_file()\n"
        "assert files('workbench_server').joinpath('install.json').is_file()\n"
        "assert 'site-packages' in str(files('workbench_server'))\n"
    )
    run = environment("").run("python", "-c", code)

    assert run.returncode == 0, run.stderr
