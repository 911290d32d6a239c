"""Compare everything that the shipped server sends with recorded answers.

`lists/` has the first answer and tools/list of each style, `calls/` the answers to the calls of `cases.toml`. Each
server is started once for each protocol era. A file has the answers at 2025-11-25; members that are different at
2026-07-28 are beside them under that name. `pytest tests/transcripts --regen-all` rewrites the files with the answers
of the default engine; the other one may send the members of an object in another order.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
import tomllib
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

import fake_cli
import pytest
from oracle import LEGACY, MODERN
from pytest_regressions.file_regression import FileRegressionFixture
from stdio_peer import Message, Peer
from toolmason_runtime.shared.engines import ENGINES, LEAN

from workbench_server.catalogue import CATALOGUE

HERE: Final = Path(__file__).parent
CASES: Final = tomllib.loads((HERE / "cases.toml").read_text(encoding="utf-8"))
SERVERS: Final[dict[str, tuple[str, ...]]] = {
    "search-call": (),
    "list-describe": ("--discovery", "list-describe"),
    "discover-schema": ("--discovery", "discover-schema"),
    "classic": ("--classic", "--all"),
    "classic-core": ("--classic",),
}
VERSION: Final[str] = CATALOGUE["server"]["version"]
VARIABLE: Final = (
    (rf'(\\?"version\\?": ?\\?)"{re.escape(VERSION)}', r'\1"<version>'),
    (r'(?<="cacheKey": ")[^"]+|(?<="cacheKey\\":\\")[^"\\]+', "<cache key>"),
    (r'(\\?"latencyMs\\?": ?)\d+', r"\g<1>0"),
    (r'(\\?"operationId\\?": ?\\?)"[^"\\]+', r'\1"<operation>'),
    (r"\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d(\.\d+)?(Z| ?[+-]\d\d:?\d\d)?", "<time>"),
    (r"\[main [0-9a-f]{7,}\]", "[main <commit>]"),
    (r"rv_[0-9a-f]{20}", "<review>"),
)
"""Patterns over the JSON of an answer for values that differ in each run, and their placeholders."""
SERVER_INFO: Final = {"name": "workbench", "title": "Workbench", "version": "<version>"}
IN_EVERY_RESULT: Final = {"resultType": "complete", "_meta": {"io.modelcontextprotocol/serverInfo": SERVER_INFO}}
"""Members of every result at 2026-07-28, which are not recorded."""
STRUCTURE: Final = "<the JSON of structuredContent>"
PROGRAM: Final = """\
#!/bin/sh
case "$*" in *404*) echo "not found" >&2; exit 1;; esac
echo "${0##*/} $*"
"""
AUTHOR: Final = {"NAME": "Ada", "EMAIL": "ada@example.org", "DATE": "2026-01-31T12:00:00Z"}
GIT: Final = {
    "GIT_CONFIG_GLOBAL": os.devnull,
    "GIT_CONFIG_NOSYSTEM": "1",
    "GIT_DEFAULT_HASH": "sha1",
    **{f"GIT_{role}_{name}": value for role in ("AUTHOR", "COMMITTER") for name, value in AUTHOR.items()},
}


@dataclass
class Workplace:
    """A directory with a copy of the project, the programs and the home directory of one server."""

    path: Path
    values: dict[str, str] = field(default_factory=dict)
    """The last value of each placeholder."""

    def prepare(self, answers: Iterable[str]) -> None:
        """Write the files. `answers` are those of the fake Gemini CLI."""
        project, programs, home, gemini = (self.path / name for name in ("project", "programs", "home", "gemini"))
        shutil.copytree(HERE / "project", project)
        for path in project.rglob("*"):
            path.chmod(0o755 if path.is_dir() else 0o644)
            os.utime(path, ns=(0, 0))  # Research sends what changed last at the end; a clone has times of its own.
        for command in (["init", "--quiet", "--initial-branch=main"], ["add", "."], ["commit", "--quiet", "-mBegin"]):
            subprocess.run(["git", *command], cwd=project, env={**os.environ, **GIT}, check=True)
        with (project / "workers.yaml").open("a", encoding="utf-8") as file:
            file.write("  - third\n")
        for directory in (home, programs, gemini):
            directory.mkdir()
        (home / ".gitconfig").write_text("[user]\nname = Ada\nemail = ada@example.org\n", encoding="utf-8")
        for name in ("gh", "docker", "wc", "du", "df"):
            (programs / name).write_text(PROGRAM, encoding="utf-8")
            (programs / name).chmod(0o755)
        scripts = [fake_cli.answered(answer) for answer in answers]
        fake_cli.make(gemini, "gemini", *scripts, version="0.61.0", help_text=fake_cli.GEMINI_HELP)

    @property
    def environment(self) -> dict[str, str]:
        directories = (self.path / "gemini", self.path / "programs", os.environ["PATH"])
        return {
            "HOME": str(self.path / "home"),
            "PATH": os.pathsep.join(map(str, directories)),
            "LANG": "C.UTF-8",
            "TZ": "UTC",
            "TOOLMASON_SANDBOX": "off",
            "GEMINI_API_KEY": "no key at all",
            "WORKBENCH_RESEARCH": "gemini-cli",
            "RESPONSE_CHUNK_SIZE_KB": "1",
        }

    def normalise(self, answer: Any) -> Any:
        """Replace values that differ in each run by placeholders."""
        text = json.dumps(answer, ensure_ascii=False).replace(str(self.path), "<work>")
        for pattern, placeholder in VARIABLE:
            for match in re.finditer(pattern, text):
                self.values[placeholder] = match[0]
            text = re.sub(pattern, placeholder, text)
        return json.loads(text)

    def fill(self, arguments: Any) -> Any:
        """Replace placeholders by their last values."""
        text = json.dumps(arguments)
        for placeholder, value in self.values.items():
            text = text.replace(placeholder, value)
        return json.loads(text)


class Client:
    """The client of one server. Its user accepts every question and approves every review."""

    def __init__(self, server: str, era: str, place: Workplace, flags: Iterable[str]) -> None:
        root = str(place.path / "project")
        command = (sys.executable, "-m", "workbench_server", "--root", root, *SERVERS[server], *flags)
        self.peer = Peer(command, era, capabilities={"elicitation": {}}, env=place.environment, inherit=False, cwd=root)
        self.peer.answers["elicitation/create"] = self._accept
        self.place = place
        self.questions: list[Message] = []

    def open(self) -> Message:
        """Return the result of the first request."""
        return self._recorded(self.peer.open())

    def list(self) -> Message:
        return self._recorded(self.peer.result("tools/list"))

    def call(self, tool: str, arguments: Any) -> Message:
        """Call a tool; return the result or the error, and the questions to the user before it."""
        self.questions = []
        params: Message = {"name": tool, "arguments": self.place.fill(arguments)}
        answer = self._request(params)
        while answer.get("result", {}).get("resultType") == "input_required":
            result = answer["result"]
            replies = {key: self._accept(request["params"]) for key, request in result["inputRequests"].items()}
            state = {key: result[key] for key in ("requestState",) if key in result}
            answer = self._request({**params, "inputResponses": replies, **state})
        questions = {"questions": self.place.normalise(self.questions)} if self.questions else {}
        if "error" in answer:
            return {**questions, "error": self.place.normalise(answer["error"])}
        return {**questions, "result": self._recorded(answer["result"])}

    def _request(self, params: Message) -> Message:
        return self.peer.response(self.peer.send("tools/call", **params))

    def _accept(self, params: Message) -> Message:
        self.questions.append({key: value for key, value in params.items() if key != "_meta"})
        decision = "decision" in params["requestedSchema"]["properties"]
        return {"action": "accept", **({"content": {"decision": "approve"}} if decision else {})}

    def _recorded(self, result: Message) -> Message:
        recorded: Message = self.place.normalise(result)
        if self.peer.version == MODERN:
            assert recorded.items() >= IN_EVERY_RESULT.items(), recorded
            recorded = {key: value for key, value in recorded.items() if key not in IN_EVERY_RESULT}
        compact = json.dumps(recorded.get("structuredContent"), ensure_ascii=False, separators=(",", ":"))
        for block in recorded.get("content", ()):
            if block.get("text") == compact:
                block["text"] = STRUCTURE
        return recorded


def record(server: str, directory: Path, *flags: str) -> dict[str, Any]:
    """Return the answers of a server in both eras, by the name of their file."""
    with ThreadPoolExecutor() as pool:
        legacy, modern = pool.map(lambda era: record_era(server, era, directory, flags), (LEGACY, MODERN))
    return {name: with_changes(answers, modern[name]) for name, answers in legacy.items()}


def record_era(server: str, era: str, directory: Path, flags: Iterable[str]) -> dict[str, Any]:
    """Return the first answer and the list of a server, and its answers to its calls, by the name of their file."""
    cases = CASES.get(server, {})
    place = Workplace(directory.resolve() / era)
    place.path.mkdir()
    place.prepare(case["says"] for case in cases.values() if "says" in case)
    client = Client(server, era, place, flags)
    try:
        files: dict[str, Any] = {f"lists/{server}": {"first answer": client.open(), "tools/list": client.list()}}
        for tool, case in cases.items():
            answers = {kind: client.call(tool, case[kind]) for kind in ("call", "error")}
            assert not is_error(answers["call"]), (tool, answers["call"])
            assert is_error(answers["error"]), (tool, answers["error"])
            files[f"calls/{server}/{tool}"] = {
                kind: {"arguments": case[kind], **answer} for kind, answer in answers.items()
            }
    finally:
        client.peer.close()
    if server == "classic-core":  # the definitions are in the list of `classic`
        listed = files[f"lists/{server}"]["tools/list"]
        listed["tools"] = [tool["name"] for tool in listed["tools"]]
    return files


def is_error(answer: Message) -> bool:
    return "error" in answer or bool(answer["result"].get("isError"))


def with_changes(legacy: Any, modern: Any) -> Any:
    """Return answers at 2025-11-25 with the members that differ at 2026-07-28; null is a missing one."""
    if legacy == modern:
        return legacy
    assert isinstance(legacy, dict), (legacy, modern)
    if legacy.keys() == modern.keys() and "content" not in legacy:
        return {name: with_changes(legacy[name], modern[name]) for name in legacy}
    names = [name for name in {**legacy, **modern} if legacy.get(name) != modern.get(name)]
    return {**legacy, MODERN: {name: modern.get(name) for name in names}}


def as_lines(value: Any) -> Any:
    """Replace each text of several lines by a list of its lines."""
    match value:
        case dict():
            return {key: as_lines(item) for key, item in value.items()}
        case list():
            return [as_lines(item) for item in value]
        case str() if "\n" in value:
            return value.split("\n")
    return value


def as_json(value: Any) -> str:
    return json.dumps(as_lines(value), indent=2, ensure_ascii=False) + "\n"


@pytest.mark.parametrize("engine", sorted(ENGINES, key=LEAN.__ne__))
@pytest.mark.parametrize("server", SERVERS)
def test_each_engine_sends_the_recorded_answers_in_both_eras(
    server: str, engine: str, tmp_path: Path, file_regression: FileRegressionFixture
) -> None:
    for name, answers in record(server, tmp_path, "--engine", engine).items():
        path = HERE / f"{name}.json"
        if engine == LEAN:
            file_regression.check(as_json(answers), encoding="utf-8", newline="", fullpath=path)
        else:
            assert as_lines(answers) == json.loads(path.read_text(encoding="utf-8"))
    assert {path.stem for path in HERE.glob(f"calls/{server}/*")} == CASES.get(server, {}).keys()


def test_every_tool_and_every_meta_tool_has_a_call_and_an_error() -> None:
    tools = CATALOGUE["tools"].keys()
    assert CASES["classic"].keys() == {*tools, "fetch_chunk"}

    for server, cases in CASES.items():
        listed = json.loads((HERE / "lists" / f"{server}.json").read_text(encoding="utf-8"))["tools/list"]["tools"]
        assert cases.keys() == {tool["name"] for tool in listed} - (set() if server == "classic" else tools)
