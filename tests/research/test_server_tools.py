"""What each research tool gives, through the whole server: names, types, options, models."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from cases import CASES, META, STATS
from fake_cli import Fake, Script, answered, event, no_model, quota, result, started
from gemini_api import BAD_KEY, NO_MODEL, TOO_MANY, GeminiApi, Say
from gemini_homes import KEY, Home
from oracle import MODERN
from served import Ear, Inside, environment, inside, served, settle

from workbench_research.prompts import PREAMBLE
from workbench_server.catalogue import CATALOGUE

pytestmark = pytest.mark.anyio
MakeFake = Callable[..., Fake]

FILES = {"src/app.py": "def main():\n    pass\n", "src/b c.py": "B = 1\n", ".gitignore": "*.log\n"}
RESEARCH = {name for name, entry in CATALOGUE["tools"].items() if entry["category"] in ("research", "validation")}


@pytest.fixture
def app(project: Path) -> Path:
    """Give a project with a few files."""
    for name, text in FILES.items():
        path = project / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(text, encoding="utf-8")
    return project


def saying(said: Any) -> Script:
    text = said if isinstance(said, str) else json.dumps(said)
    return [
        started(),
        event("message", role="assistant", content=text, delta=True),
        result(),
    ]


def summaries() -> str:
    lines = [
        {"n": 1, "path": "src/app.py", "summary": "Starts."},
        {"n": 2, "path": "src/b c.py", "summary": "Holds B."},
    ]
    return "\n".join(map(json.dumps, lines))


@pytest.mark.parametrize("mode", ["legacy", MODERN])
async def test_every_tool_returns_the_result_of_its_contract(
    mode: str, fake: MakeFake, app: Path, tmp_path: Path, overheard: Ear
) -> None:
    long = "One line of an answer.\n" * 900
    scripts = [saying(each) for each in ("quick", long, summaries(), *(said for _, said, _ in CASES.values()))]
    environ = environment(tmp_path / "home", fake("gemini", *scripts))

    async with served(environ, app, overheard=overheard, mode=mode) as server:
        listed = {tool.name.removeprefix("workbench_") for tool in (await server.client.list_tools()).tools}
        quick = (await server.call("quick_query", prompt="What?", focus="architecture", responseStyle="concise")).data
        deep = (await server.call("deep_research", prompt="Which?", focus="security", citationMode="paths_only")).data
        key = deep["chunks"]["cacheKey"]
        chunk = (await server.call("fetch_chunk", cacheKey=key, chunkIndex=2)).data
        directory = (await server.call("analyze_directory", path="src")).data
        paths = (await server.call("validate_paths", paths=["src/app.py", "../../etc/passwd", "no.py"])).data
        short = (await server.call("health_check")).data
        whole = (await server.call("health_check", includeDiagnostics=True)).data
        analysed = {tool: (await server.call(tool, **given)).data for tool, (given, _, _) in CASES.items()}

    assert listed >= RESEARCH
    common, sent = {"tool", "model", "answer", "filesAccessed", "stats", "meta", "focus", "usage"}, sorted(FILES)
    assert quick.keys() == common | {"responseStyle"}, "and no chunks"
    assert (quick["tool"], quick["model"], quick["focus"], quick["responseStyle"]) == (
        *("quick_query", "fake-model"),
        *("architecture", "concise"),
    )
    assert (quick["answer"], sorted(quick["filesAccessed"])) == ("quick", sent)
    assert quick["stats"].keys() == STATS
    assert (quick["stats"]["tokensUsed"], quick["stats"]["toolCalls"]) == (120, 0)
    assert quick["meta"].keys() == META
    assert (quick["meta"]["projectRoot"], quick["meta"]["truncated"], quick["meta"]["warnings"]) == (
        str(app),
        False,
        [],
    )

    assert deep.keys() == common | {"citationMode", "chunks"}
    assert (deep["tool"], deep["focus"], deep["citationMode"]) == ("deep_research", "security", "paths_only")
    assert deep["chunks"] == {"cacheKey": key, "current": 1, "total": 4}

    assert chunk.keys() == {"tool", "cacheKey", "chunk", "meta"}
    assert (chunk["tool"], chunk["cacheKey"]) == ("fetch_chunk", key)
    assert (chunk["chunk"]["index"], chunk["chunk"]["total"]) == (2, 4)
    assert long.startswith(deep["answer"] + chunk["chunk"]["content"])
    expires = datetime.fromisoformat(chunk["meta"]["expiresAt"])
    assert 3500 < (expires - datetime.now(UTC)).total_seconds() <= 3600

    assert directory.keys() == {"tool", "directory", "entries", "meta", "model", "stats", "usage"}
    assert (directory["tool"], directory["directory"]) == ("analyze_directory", "./src")
    assert directory["entries"] == [
        {"path": "src/app.py", "summary": "Starts."},
        {"path": "src/b c.py", "summary": "Holds B."},
    ]
    assert (directory["meta"]["fileCount"], directory["meta"]["depthTraversed"], directory["meta"]["skipped"]) == (
        2,
        1,
        [],
    )

    assert paths["tool"] == "validate_paths"
    assert [(each["input"], each["exists"], each["allowed"]) for each in paths["results"]] == [
        ("src/app.py", True, True),
        ("../../etc/passwd", (app / "../../etc/passwd").exists(), False),
        ("no.py", False, True),
    ]
    assert paths["results"][0] == {
        "input": "src/app.py",
        "resolved": str(app / "src" / "app.py"),
        "exists": True,
        "allowed": True,
    }

    assert short == {"tool": "health_check", "status": "ok", "server": CATALOGUE_SERVER}
    details = whole["diagnostics"]
    assert (whole["status"], details["geminiOnPath"], details["geminiVersion"]) == ("ok", True, "0.61.0")
    assert (details["authConfigured"], details["authMethod"]) == (True, "api_key")
    assert details["readOnlyModeEnforced"] is True
    assert details["models"] == {
        "flash": ["gemini-3-flash-preview", "gemini-2.5-flash", "auto"],
        "pro": ["gemini-3-pro-preview", "gemini-2.5-pro", "auto"],
    }
    assert (details["retry"]["total_calls"], details["retry"]["total_successes"]) == (3, 3)

    for tool, (_, _, own) in CASES.items():
        found = analysed[tool]
        assert found.keys() == {"tool", "model", "filesAccessed", "stats", "meta", "usage"} | own, tool
        assert (found["tool"], sorted(found["filesAccessed"]), found["stats"].keys()) == (
            *(tool, [] if tool == "ask_gemini" else sent),
            STATS,
        )
        assert found["meta"].keys() == META


CATALOGUE_SERVER = {"name": CATALOGUE["server"]["name"], "version": CATALOGUE["server"]["version"]}


async def test_a_tool_answers_to_its_other_names_and_each_call_says_which_work_it_was(
    fake: MakeFake, app: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    settle(monkeypatch, environment(tmp_path / "home", fake("gemini", saying("{}"))))
    named = {name: tool for tool in CASES for name in CATALOGUE["tools"][tool].get("aliases", ())}

    async with inside(app) as server:
        results = {name: (await server.call(name, **CASES[tool][0])).data for name, tool in named.items()}

    assert {name: each["tool"] for name, each in results.items()} == named
    operations = {each["meta"]["operationId"] for each in results.values()}
    assert len(operations) == len(named)
    assert all(re.fullmatch("op_[0-9a-f]{8}", each) for each in operations)


def test_each_tool_of_the_workflow_bridge_has_the_name_it_had_there() -> None:
    for tool in CASES.keys() - {"ask_gemini"}:
        assert f"{tool}_tool" in CATALOGUE["tools"][tool]["aliases"]


OPTIONS: list[tuple[str, dict[str, Any], str]] = [
    ("quick_query", {"focus": "security"}, "Focus on security"),
    ("quick_query", {"focus": "performance"}, "Focus on performance"),
    ("quick_query", {"responseStyle": "concise"}, "Answer concisely"),
    ("quick_query", {"responseStyle": "detailed"}, "Answer in detail"),
    ("deep_research", {"focus": "architecture"}, "Focus on architecture"),
    ("deep_research", {"citationMode": "paths_only"}, '"Files referenced"'),
]


async def test_options_reach_the_program_behind_the_preamble_and_before_the_question(
    fake: MakeFake, app: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    cli = fake("gemini", answered())
    settle(monkeypatch, environment(tmp_path / "home", cli))

    async with inside(app) as server:
        for tool, arguments, says in OPTIONS:
            await server.call(tool, prompt="How does it start?", **arguments)
            assert says in cli.runs[-1].stdin
        await server.call("quick_query", prompt="How does it start?")

    assert not any(says in cli.runs[-1].stdin for _, _, says in OPTIONS)
    for run in cli.runs:
        assert PREAMBLE in run.stdin
        assert "USER REQUEST:\nHow does it start?" in run.stdin
        assert not any("How does it start?" in word for word in run.argv), "argv is for all to see"
        assert not {"-y", "--yolo"} & set(run.argv)
        assert run.cwd.endswith("/empty"), "and not in the project"


async def models_tried(server: Inside, cli: Fake, tool: str, arguments: dict[str, Any]) -> list[str]:
    before = len(cli.runs)
    await server.call(tool, **arguments)
    argvs = [run.argv for run in cli.runs[before:]]
    return [argv[argv.index("-m") + 1] if "-m" in argv else "" for argv in argvs]


async def test_models_are_tried_in_the_order_that_the_settings_say(
    fake: MakeFake, app: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    cli = fake("gemini", quota(), no_model())
    settle(monkeypatch, environment(tmp_path / "home", cli, GEMINI_RETRY_MAX_ATTEMPTS="1"))
    default = ["gemini-3-flash-preview", "gemini-2.5-flash", "auto"]

    for said, expected in {
        "": default,
        "fast-1, fast-2": ["fast-1", "fast-2"],
        "auto,fast-1": ["auto", "fast-1"],
        " , ": default,
        "fast-1": ["fast-1"],
    }.items():
        monkeypatch.setenv("WORKBENCH_FLASH_MODELS", said)
        async with inside(app) as server:
            assert await models_tried(server, cli, "quick_query", {"prompt": "a"}) == expected
    async with inside(app) as server:
        tried = await models_tried(server, cli, "deep_research", {"prompt": "a"})

    assert tried == ["gemini-3-pro-preview", "gemini-2.5-pro", "auto"]


async def test_each_tool_asks_the_kind_of_model_that_its_work_needs(
    fake: MakeFake, app: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    cli = fake("gemini", saying(summaries()))
    settle(monkeypatch, environment(tmp_path / "home", cli))
    given = {"quick_query": {"prompt": "a"}, "deep_research": {"prompt": "a"}, "analyze_directory": {"path": "src"}}
    given |= {tool: arguments for tool, (arguments, _, _) in CASES.items()}

    async with inside(app) as server:
        tried = {tool: await models_tried(server, cli, tool, arguments) for tool, arguments in given.items()}

    thorough = {"deep_research", "analyze_codebase", "trace_feature", "check_consistency", "validate_against_codebase"}
    assert tried == {tool: [f"gemini-3-{'pro' if tool in thorough else 'flash'}-preview"] for tool in given}


@pytest.mark.parametrize("mode", ["legacy", MODERN])
async def test_question_is_about_the_folder_that_the_client_works_in(
    mode: str, fake: MakeFake, app: Path, tmp_path: Path, overheard: Ear
) -> None:
    cli = fake("gemini", answered())
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()

    async with served(
        environment(tmp_path / "home", cli), elsewhere, overheard=overheard, mode=mode, directories=[app]
    ) as server:
        found = (await server.call("quick_query", prompt="What is in @src/app.py of @src/?")).data

    assert found["meta"]["projectRoot"] == str(app)
    assert found["filesAccessed"] == ["src/app.py", "src/b c.py"]
    assert "def main" in cli.runs[0].stdin
    assert len(cli.runs) == 1


async def test_real_cli_asks_the_api_for_the_models_of_the_appendix_in_turn_and_tells_of_no_key(
    api: GeminiApi, gemini: str, gemini_home: Home, app: Path, overheard: Ear
) -> None:
    refusals = {"gemini-3-flash-preview": TOO_MANY}
    refusals |= dict.fromkeys(("gemini-3-pro-preview", "gemini-3.1-pro-preview"), NO_MODEL)
    api.decides(lambda request: (refusals.get(request.model, Say("It starts in src/b c.py.")),))
    told: list[str] = []
    environ = gemini_home.without(WORKBENCH_GEMINI_COMMAND=gemini, WORKBENCH_RESEARCH_KEY=KEY)
    async with served(environ, app, "--log-level", "debug", overheard=overheard) as server:
        said = await server.call(
            "quick_query", told=told.append, timeout_s=240, prompt="Where does @'src/b c.py' start?"
        )
        of_flash = [request.model for request in api.streamed]
        before = len(of_flash)
        deep = await server.call("deep_research", timeout_s=240, prompt="Why?")
        of_pro = [request.model for request in api.streamed[before:]]
        api.decides(lambda _: (BAD_KEY,))
        refused = await server.call("quick_query", timeout_s=240, prompt="Why?")
        everything = json.dumps(server.heard) + server.logged()

    found = said.data
    assert list(dict.fromkeys(of_flash)) == ["gemini-3-flash-preview", "gemini-2.5-flash"]
    assert found["answer"] == "It starts in src/b c.py."
    assert found["filesAccessed"] == ["src/b c.py"]
    assert len([each for each in found["meta"]["warnings"] if "was skipped" in each]) == 1
    assert found["stats"]["tokensUsed"] > 0
    assert "B = 1" in "\n".join(api.streamed[before - 1].texts), "what the prompt refers to is handed over"
    assert any("Retrying with fallback model gemini-2.5-flash" in each for each in told), told
    # The CLI knows a newer one by the old name.
    assert of_pro[0] in {"gemini-3-pro-preview", "gemini-3.1-pro-preview"}
    assert of_pro[-1] == "gemini-2.5-pro"
    assert deep.data["answer"] == "It starts in src/b c.py."
    assert refused.error["code"] == "AUTH_MISSING"
    assert api.streamed[-1].headers["x-goog-api-key"] == KEY
    assert KEY not in everything


async def test_an_unknown_backend_is_refused_with_the_valid_ones(
    fake: MakeFake, app: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    cli = fake("gemini", answered("It starts."))
    settle(monkeypatch, environment(tmp_path / "home", cli, WORKBENCH_BACKEND="agy"))

    async with inside(app) as server:
        refused = (await server.call("quick_query", prompt="Where?")).error
        health = (await server.call("health_check", includeDiagnostics=True)).data

    assert refused["code"] == "GEMINI_CLI_ERROR"
    assert "WORKBENCH_BACKEND is 'agy': set it to gemini or auto" in refused["message"]
    assert cli.runs == []
    assert health["status"] == "degraded"
    assert "set it to gemini or auto" in health["problems"][0]


async def test_dry_runs_paths_and_exploring_work_with_the_program(
    fake: MakeFake, app: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    reads = '{"calls": [{"tool": "read_files", "path": "src/b c.py"}]}'
    cli = fake("gemini", answered(reads), answered("It is B."))
    settle(monkeypatch, environment(tmp_path / "home", cli))

    async with inside(app) as server:
        dry = (await server.call("quick_query", prompt="What?", dry_run=True)).data
        before = len(cli.runs)
        explored = (await server.call("deep_research", prompt="What?", paths=["src/app.py"], depth="explore")).data

    assert before == 0
    assert "- src/app.py" in dry["answer"]
    assert (explored["answer"], len(cli.runs)) == ("It is B.", 2)
    assert ["B = 1" in run.stdin for run in cli.runs] == [False, False]
    assert "that may be read" in cli.runs[1].stdin
    assert explored["filesAccessed"] == ["src/app.py"]
