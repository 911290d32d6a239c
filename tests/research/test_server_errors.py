"""Every row of Appendix B of the specification out of the whole server, called directly and through another tool."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from fake_cli import GEMINI_HELP, Fake, Script, answered, failed, make, quota, unauthenticated
from served import APPENDIX_B, Said, environment, inside, settle
from toolmason_runtime.chunks.store import ChunkStore

pytestmark = pytest.mark.anyio
MakeFake = Callable[..., Fake]

ONE_MODEL = {"WORKBENCH_FLASH_MODELS": "auto", "GEMINI_RETRY_MAX_ATTEMPTS": "1"}
UNKNOWN_KEY = "cache_" + "0" * 32


@dataclass(frozen=True)
class Row:
    """A call that must fail. `says` is found in the message, which says what to do; `detail` in what stands beside."""

    code: str
    tool: str
    arguments: dict[str, Any]
    says: str
    script: Script | None = field(default_factory=answered)
    detail: str = ""
    more: dict[str, str] = field(default_factory=dict)


ROWS = {
    "a required argument is missing": Row("INVALID_ARGUMENT", "quick_query", {}, "'prompt' is required.*Example: "),
    "an argument is of no such value": Row(
        "INVALID_ARGUMENT",
        "quick_query",
        {"prompt": "a", "focus": "speed"},
        "one of: security, architecture, performance, general",
    ),
    "an argument of another tool is wrong": Row(
        "INVALID_ARGUMENT", "query_codebase", {"questions": []}, "questions.*Example: "
    ),
    "an argument of a validating tool is missing": Row(
        "INVALID_ARGUMENT", "check_consistency", {}, "is required.*Example: "
    ),
    "the prompt is blank": Row("INVALID_ARGUMENT", "deep_research", {"prompt": " \n"}, "must not be blank"),
    "a file of the prompt is not there": Row(
        "INVALID_ARGUMENT", "quick_query", {"prompt": "Explain @src/ap.py"}, r"src/ap\.py.*did you mean `.*app\.py"
    ),
    "a directory is not there": Row("INVALID_ARGUMENT", "analyze_directory", {"path": "scr"}, "src"),
    "a file of the prompt is outside": Row(
        "PATH_NOT_ALLOWED", "quick_query", {"prompt": "Explain @../project-evil/secret.txt"}, "outside"
    ),
    "a directory is outside": Row("PATH_NOT_ALLOWED", "analyze_directory", {"path": "../project-evil"}, "outside"),
    "there is no program": Row(
        "GEMINI_CLI_NOT_FOUND",
        "quick_query",
        {"prompt": "a"},
        "npm install -g @google/gemini-cli",
        script=None,
        detail="github.com/google-gemini/gemini-cli",
    ),
    "the program fails": Row(
        "GEMINI_CLI_ERROR", "quick_query", {"prompt": "a"}, "in the details", failed(1, "boom\n"), "boom", ONE_MODEL
    ),
    "nobody has signed in": Row(
        "AUTH_MISSING", "quick_query", {"prompt": "a"}, "Login with Google.*set GEMINI_API_KEY", unauthenticated()
    ),
    "all models are out of quota": Row(
        "QUOTA_EXCEEDED",
        "quick_query",
        {"prompt": "a"},
        "wait for its reset, or use another plan",
        quota(),
        "",
        ONE_MODEL,
    ),
    "an answer is not kept": Row(
        "CACHE_EXPIRED", "fetch_chunk", {"cacheKey": UNKNOWN_KEY, "chunkIndex": 1}, "original query again"
    ),
    "a key was cut": Row(
        "CACHE_EXPIRED", "fetch_chunk", {"cacheKey": "cache_0123", "chunkIndex": 1}, "original query again"
    ),
    "an output is not kept": Row(
        "CACHE_EXPIRED", "fetch_chunk", {"cacheKey": "0123456789abcdef", "chunkIndex": 1}, "or the command"
    ),
}
"""By what is wrong."""


@pytest.fixture
def evil(project: Path) -> Path:
    """Put something into the project, and something beside it."""
    (project / "src").mkdir()
    (project / "src" / "app.py").write_text("pass\n", encoding="utf-8")
    path = project.parent / "project-evil"
    path.mkdir()
    (path / "secret.txt").write_text("the secret outside", encoding="utf-8")
    return path


@pytest.mark.usefixtures("evil")
@pytest.mark.parametrize("row", ROWS.values(), ids=ROWS.keys())
async def test_failure_is_told_with_its_code_and_what_to_do_in_the_same_bytes_whichever_way_it_was_called(
    row: Row, fake: MakeFake, project: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    programs = () if row.script is None else (fake("gemini", row.script),)
    settle(monkeypatch, environment(tmp_path / "home", *programs, **row.more))

    async with inside(project) as server:
        directly = await server.call(row.tool, **row.arguments)
    async with inside(project, style="search-call") as server:
        through = [await server.call(meta, tool_name=row.tool, args=row.arguments) for meta in ("call_read", "call")]

    error = directly.error
    assert error["code"] == row.code
    assert re.search(row.says, error["message"], re.DOTALL), error["message"]
    assert row.detail in str(error.get("details", "")).replace("\\\\", "\\")
    # Only the call of the example differs: it is the one to send.
    texts = [[text.partition("\\nExample: ")[0] for text in each.texts] for each in (directly, *through)]
    assert texts == [texts[0]] * 3
    assert all(each.is_error for each in through)
    assert "the secret outside" not in directly.text


async def test_an_unknown_chunk_is_an_error_with_the_number_of_chunks(
    fake: MakeFake, project: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    more = {"RESPONSE_CHUNK_SIZE_KB": "1"}
    settle(monkeypatch, environment(tmp_path / "home", fake("gemini", answered("word " * 500)), **more))

    async with inside(project, style="search-call") as server:
        first = await server.call("call_read", tool_name="quick_query", args={"prompt": "a"})
        key, total = first.data["chunks"]["cacheKey"], first.data["chunks"]["total"]
        arguments = {"cacheKey": key, "chunkIndex": total + 1}
        said = [await server.call(meta, tool_name="fetch_chunk", args=arguments) for meta in ("call", "call_read")]

    assert said[0].texts == said[1].texts
    assert said[0].error["code"] == "INVALID_CHUNK_INDEX"
    assert f"there are the chunks 1 to {total}" in said[0].error["message"]
    assert said[0].error["details"] == {"chunkIndex": total + 1, "total": total}


class Broken(ChunkStore):
    """A store with a mistake of ours in it."""

    async def fetch(self, key: str, index: int) -> dict[str, Any]:  # noqa: ARG002  it fails at once
        """Fail in a way that nobody foresaw."""
        raise RuntimeError("a mistake at 192.0.2.1 with AIzaSyPlantedSecretThatMustNotLeak012345")


async def test_a_mistake_of_ours_is_internal_and_its_text_stays_here(
    project: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    settle(monkeypatch, environment(tmp_path / "home"))
    said: list[Said] = []

    for style, meta in (("classic", ""), ("search-call", "call"), ("search-call", "call_read")):
        async with inside(project, style=style, state=[Broken()]) as server:
            arguments: dict[str, Any] = {"cacheKey": UNKNOWN_KEY, "chunkIndex": 1}
            if meta:
                arguments = {"tool_name": "fetch_chunk", "args": arguments}
            said.append(await server.call(meta or "fetch_chunk", **arguments))

    assert len({each.texts for each in said}) == 1
    assert said[0].error["code"] == "INTERNAL"
    assert "fetch_chunk" in said[0].error["message"]
    assert "192.0.2.1" not in said[0].text
    assert "AIzaSy" not in said[0].text + capsys.readouterr().err


async def test_a_project_cannot_choose_the_program(
    project: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (project / "bin").mkdir()
    script = answered("from the project")
    cli = make(project / "bin", "gemini", script, version="0.61.0", help_text=GEMINI_HELP, probe=())
    settle(monkeypatch, environment(tmp_path / "home", cli))

    async with inside(project) as server:
        refused = await server.call("quick_query", prompt="a")
        health = (await server.call("health_check", includeDiagnostics=True)).data

    assert refused.error["code"] == "GEMINI_CLI_NOT_FOUND"
    assert "directories of the project do not count" in refused.text
    assert health["status"] == "degraded"
    assert not health["diagnostics"]["geminiOnPath"]
    assert not cli.probes
    assert not cli.runs


def test_every_row_of_the_appendix_is_held_here() -> None:
    apart = {"INVALID_CHUNK_INDEX", "INTERNAL"}

    assert {row.code for row in ROWS.values()} | apart == APPENDIX_B


async def test_other_tools_codes_become_those_of_the_appendix(
    fake: MakeFake, project: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    cli = fake("gemini", answered())
    settle(monkeypatch, environment(tmp_path / "home", cli))
    calls: dict[str, dict[str, Any]] = {
        "quick_query": {"prompt": "a"},
        "deep_research": {"prompt": "a"},
        "ask_gemini": {"prompt": "a"},
        "analyze_directory": {"path": "."},
        "validate_paths": {"paths": ["a"]},
        "query_codebase": {"questions": ["a"]},
        "check_consistency": {"focus": "all", "new_code_or_spec": "a"},
    }

    async with inside(project / "gone") as server:
        errors = {tool: (await server.call(tool, **arguments)).error for tool, arguments in calls.items()}
        health = (await server.call("health_check")).data

    assert {error["code"] for error in errors.values()} == {"PATH_NOT_ALLOWED"}
    assert all("--root or WORKBENCH_ROOTS" in error["message"] for error in errors.values())
    assert health["status"] == "degraded"
    assert any("--root or WORKBENCH_ROOTS" in each for each in health["problems"])
    assert cli.runs == []
