"""The server of `tests/runtime/programs/sample/manifest.toml`, generated once, and a repository for it to look at."""

# ruff: noqa: ARG002  a client is told what it may not need

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from collections.abc import Iterator, Mapping
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest
from toolmason_runtime.programs.settings import POLICY, ProgramSettings
from toolmason_runtime.server.dispatch import Dispatcher
from toolmason_runtime.shared.catalogue import Catalogue
from toolmason_runtime.shared.selection import Selection

from toolmason.diagnostics import Diagnostics
from toolmason.manifest.document import load
from toolmason.manifest.validate import validate
from toolmason.render.renderer import render
from toolmason.resolve import resolve

SAMPLE = Path(__file__).parents[1] / "programs" / "sample"
DECLARED: tuple[str, ...] = (
    *("git_status", "git_log", "git_show", "git_branch", "git_commit", "git_reset"),
    *("echo_hello", "say", "fail", "pour", "wait", "linger", "repeat", "send"),
)
"""The tools of the manifest, in its order."""


class Client:
    """One request of a client: what it declares, and how it answers what it is asked (None: not at all)."""

    operation_id = "1"
    is_local = True
    principal = None
    client_name = "toolmason"
    is_modern = False
    answered = ()
    has_progress_token = False

    def __init__(self, answer: str | None = None, capabilities: Mapping[str, Any] | None = None) -> None:
        can_answer: dict[str, Any] = {} if answer is None else {"elicitation": {}}
        self.capabilities: Mapping[str, Any] = can_answer if capabilities is None else capabilities
        self.asked: list[str] = []
        self._answer = answer

    async def progress(self, progress: float, total: float | None, message: str | None) -> None:
        raise AssertionError("a command tells no progress")

    async def log(self, level: str, data: Any, logger: str | None) -> None:
        raise AssertionError("a command logs nothing")

    async def request(self, key: str, method: str, params: Mapping[str, Any]) -> dict[str, Any]:
        assert key.startswith("run-")
        assert method == "elicitation/create"
        self.asked.append(params["message"])
        return {"action": self._answer}


class Sample:
    """Makes servers of the generated package, and calls their tools as a client would."""

    @property
    def catalogue(self) -> Catalogue:
        found: Catalogue = import_module("climax_server.catalogue").CATALOGUE
        return found

    def load_index(self) -> Any:
        return import_module("climax_server.server").load_index()

    def dispatcher(
        self, style: str = "search-call", commands: ProgramSettings | None = None, **selected: Any
    ) -> Dispatcher:
        build = import_module("climax_server.server").build_dispatcher
        dispatcher: Dispatcher = build(Selection(style, **selected), commands=commands)
        return dispatcher

    async def listed(self, dispatcher: Dispatcher) -> list[str]:
        result = await dispatcher.dispatch("tools/list", {}, Client())
        return [tool["name"] for tool in result["tools"]]

    async def call(
        self, dispatcher: Dispatcher, name: str, /, client: Client | None = None, **arguments: Any
    ) -> dict[str, Any]:
        """Call a tool and end what is kept for it."""
        try:
            params = {"name": name, "arguments": arguments}
            return await dispatcher.dispatch("tools/call", params, client or Client())
        finally:
            await dispatcher.aclose()

    async def search(self, dispatcher: Dispatcher | None = None, /, **arguments: Any) -> dict[str, Any]:
        result = await self.call(dispatcher or self.dispatcher(), "search", **arguments)
        assert "isError" not in result, result
        found: dict[str, Any] = json.loads(result["content"][0]["text"])
        return found

    async def run(
        self, tool: str, args: Mapping[str, Any], commands: ProgramSettings | None = None, client: Client | None = None
    ) -> dict[str, Any]:
        """Call a tool directly and through `call`; give the result, the same but for the call to send."""
        direct = await self.call(self.dispatcher("classic", commands), tool, client, **args)
        through = await self.call(
            self.dispatcher("search-call", commands), "call", client, tool_name=tool, args=dict(args)
        )
        assert _with_direct_example(through) == direct
        return direct


def _with_direct_example(result: Mapping[str, Any]) -> dict[str, Any]:
    """The result with the example of its error as a direct call."""
    blocks = []
    for block in result["content"]:
        text, mark, call = block.get("text", "").partition("\nExample: call ")
        sent = json.loads(call) if mark else {}
        direct = f"{text}\nExample: {sent.get('tool_name')} {json.dumps(sent.get('args'), ensure_ascii=False)}"
        blocks.append({**block, "text": direct} if mark else block)
    return {**result, "content": blocks}


def text_of(result: Mapping[str, Any]) -> str:
    """The whole text of a result, block after block."""
    return "\n".join(block["text"] for block in result["content"])


def write_sample(folder: Path) -> None:
    """Generate the sample server below `folder`."""
    diagnostics = Diagnostics()
    document = load(SAMPLE / "manifest.toml", root=SAMPLE, diagnostics=diagnostics)
    assert document is not None
    tables = validate(document, diagnostics=diagnostics)
    assert tables is not None, list(diagnostics)
    server = resolve(tables, document, root=SAMPLE, diagnostics=diagnostics)
    assert server is not None, list(diagnostics)
    for file in render(server, part="python"):
        path = folder.joinpath(file.path)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(file.text, encoding="utf-8")


@pytest.fixture(scope="session")
def generated(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """The folder that holds the generated package, which can be imported while the tests run."""
    folder = tmp_path_factory.mktemp("generated")
    write_sample(folder)
    sys.path.insert(0, str(folder))
    yield folder
    sys.path.remove(str(folder))


@pytest.fixture(scope="session")
def committed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A repository with three commits of two files, for copies."""
    folder = tmp_path_factory.mktemp("committed")
    git(folder, "init", "--quiet", "--initial-branch=main")
    git(folder, "config", "user.name", "Somebody")
    git(folder, "config", "user.email", "somebody@example.org")
    for subject, name in (("Begin", "one.txt"), ("Add two", "two.txt"), ("Change one", "one.txt")):
        folder.joinpath(name).write_text(f"{subject}\n", encoding="utf-8")
        git(folder, "add", ".")
        git(folder, "commit", "--quiet", "--message", subject)
    return folder


@pytest.fixture
def repository(committed: Path, tmp_path: Path) -> Path:
    """A repository with three commits of two files."""
    return shutil.copytree(committed, tmp_path / "repository")


def git(folder: Path, *arguments: str) -> str:
    """Run git in a repository and give what it writes."""
    ran = subprocess.run(["git", "-C", str(folder), *arguments], capture_output=True, encoding="utf-8", check=True)
    return ran.stdout


@pytest.fixture
def sample(generated: Path, repository: Path, monkeypatch: pytest.MonkeyPatch) -> Sample:
    """The sample server, with the environment it is declared with and nothing of the settings of who runs the tests."""
    assert generated.is_dir()
    monkeypatch.setenv("SAMPLE_REPOSITORY", str(repository))
    monkeypatch.setenv("SAMPLE_PYTHON", sys.executable)
    monkeypatch.setenv("SAMPLE_TALK", str(SAMPLE / "talk.py"))
    for name in ("SAMPLE_VOICE", "SAMPLE_PASSED", POLICY):
        monkeypatch.delenv(name, raising=False)
    return Sample()
