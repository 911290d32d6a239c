"""A program that is killed, slow, silent, talkative or not there: what the caller is told, and what still works."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import anyio
import pytest
from fake_cli import (
    Fake,
    Script,
    answered,
    event,
    half_an_answer,
    invalid_output,
    killed,
    no_model,
    out,
    quota,
    result,
    silent,
    started,
    wait_for,
)
from served import Ear, Near, environment, inside, served, settle, until

from workbench_research.prompts import PREAMBLE
from workbench_research.state import Research

pytestmark = pytest.mark.anyio
MakeFake = Callable[..., Fake]

LOOP = event("error", severity="warning", message="Loop detected, stopping execution")
FAULTS: dict[str, tuple[Script, str, str]] = {
    "killed in mid-answer": (half_an_answer(), "ended by signal 9 before its answer was complete", "not an answer"),
    "killed at once": ([killed()], "ended by signal 9", "signal 9"),
    "half a line and a good end": ([started(), out('{"type":"mess')], "without a readable answer", "not an answer: "),
    "no word": (silent(), "without a readable answer", "no answer"),
    "no answer behind a good start": ([started()], "without a readable answer", "no answer"),
    "garbage": (invalid_output(), "without a readable answer", "<html>"),
    "a good end behind no answer": ([started(), result(tokens=0)], "name fewer or smaller files", "no answer"),
    "a loop": ([started(), LOOP, result()], "its messages are in the details", "Loop detected"),
    "no model of any name": (no_model(), "to models of this account", "404"),
}
"""By name: what the program does, what the message says, and what the details hold."""


@pytest.mark.parametrize(("script", "says", "detail"), FAULTS.values(), ids=FAULTS.keys())
async def test_a_fault_of_the_program_has_its_own_error(
    *,
    script: Script,
    says: str,
    detail: str,
    fake: MakeFake,
    project: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    cli = fake("gemini", script, answered("well again"))
    more = {"WORKBENCH_FLASH_MODELS": "auto", "GEMINI_RETRY_ENABLED": "false"}
    settle(monkeypatch, environment(tmp_path / "home", cli, **more))

    async with inside(project) as server:
        error = (await server.call("quick_query", prompt="a")).error
        assert (await server.call("quick_query", prompt="a")).data["answer"] == "well again"

    assert error["code"] == "GEMINI_CLI_ERROR"
    assert says in error["message"], error
    assert detail in json.dumps(error["details"]), error
    assert len(json.dumps(error)) < 4_000


async def test_a_temporary_failure_is_retried_and_counted(
    fake: MakeFake, project: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    cli = fake("gemini", quota(), answered("at last"))
    settle(monkeypatch, environment(tmp_path / "home", cli, WORKBENCH_FLASH_MODELS="auto"))
    client = Near()

    async with inside(project) as server:
        found = (await server.call("quick_query", client=client, prompt="a")).data
        health = (await server.call("health_check", includeDiagnostics=True)).data

    assert found["answer"] == "at last"
    assert any("trying again" in text for _, text in client.told)
    retry = health["diagnostics"]["retry"]
    assert (retry["total_calls"], retry["total_retries"], retry["total_successes"]) == (1, 1, 1)
    assert (retry["success_rate"], retry["average_retries"]) == (1.0, 1.0)


async def test_settings_that_allow_no_attempt_are_an_error_before_any_question(
    fake: MakeFake, project: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    settle(monkeypatch, environment(tmp_path / "home", fake("gemini", answered()), GEMINI_RETRY_MAX_ATTEMPTS="0"))

    async with inside(project) as server:
        health = (await server.call("health_check")).data
        error = (await server.call("quick_query", prompt="a")).error

    assert health["status"] == "degraded"
    assert error["message"] in health["problems"][0]


async def test_a_call_of_a_slow_program_gets_progress(
    fake: MakeFake, project: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    gate = tmp_path / "gate"
    cli = fake("gemini", [started(), wait_for(gate), *answered("slowly")])
    settle(monkeypatch, environment(tmp_path / "home", cli))
    research, client = Research(heartbeat_s=0.05), Near()

    def signs() -> list[str]:
        return [text for _, text in client.told if re.fullmatch(r"still working, \d+ s so far", text)]

    async with inside(project, state=[research]) as server, anyio.create_task_group() as tasks:
        tasks.start_soon(server.unbounded, "quick_query", client, {"prompt": "a"})
        await until(lambda: len(signs()) > 3)
        gate.touch()
    await research.aclose()

    assert client.told[0][1].startswith(("asking", "still"))


async def test_a_prompt_of_a_megabyte_arrives_as_it_is(
    fake: MakeFake, project: Path, tmp_path: Path, overheard: Ear
) -> None:
    cli = fake("gemini", answered())
    prompt = "Why is that? 為什麼 \n" * 45_000
    assert len(prompt.encode()) > 1_000_000

    async with served(environment(tmp_path / "home", cli), project, overheard=overheard) as server:
        quick = await server.call("quick_query", prompt=prompt)
        general = await server.call("ask_gemini", prompt=prompt)

    assert quick.data["answer"] == general.data["answer"] == "Hello"
    assert PREAMBLE in cli.runs[0].stdin
    assert prompt in cli.runs[0].stdin
    assert prompt.strip() in cli.runs[1].stdin


async def test_a_program_that_goes_away_is_missed_and_one_that_comes_back_is_used(
    fake: MakeFake, project: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    cli = fake("gemini", answered())
    settle(monkeypatch, environment(tmp_path / "home", cli))
    away = cli.path.with_name("away")

    async with inside(project) as server:
        before = await server.call("quick_query", prompt="a")
        cli.path.rename(away)
        missing = await server.call("quick_query", prompt="a")
        away.rename(cli.path)
        after = await server.call("quick_query", prompt="a")

    assert before.data["answer"] == after.data["answer"] == "Hello"
    assert missing.error["code"] == "GEMINI_CLI_NOT_FOUND"


async def test_without_a_program_the_server_starts_and_all_else_works(
    project: Path, tmp_path: Path, overheard: Ear
) -> None:
    (project / "a.txt").write_text("one line\n", encoding="utf-8")
    environ = environment(tmp_path / "home")

    async with served(environ, project, overheard=overheard, styles=()) as server:
        await until(lambda: bool(server.logged()))  # nothing has to be called for it
        found = await server.call("search", query="ask a question about the project")
        file = await server.call("call_read", tool_name="read_files", args={"files": [{"path": "a.txt"}]})
        checked = await server.call("call_read", tool_name="validate_paths", args={"paths": ["a.txt"]})
        health = await server.call("call_read", tool_name="health_check", args={})
        details = await server.call("call_read", tool_name="health_check", args={"includeDiagnostics": True})
        asked = [
            await server.call(meta, tool_name="quick_query", args={"prompt": "a"}) for meta in ("call", "call_read")
        ]
        logged = server.logged().splitlines()
    async with served(environ, project, overheard=overheard) as server:
        directly = await server.call("quick_query", prompt="a")

    assert "quick_query" in found.text
    assert "one line" in file.text
    assert checked.data["results"][0]["exists"] is True
    assert health.data["status"] == details.data["status"] == "degraded"
    assert "npm install -g @google/gemini-cli" in health.data["problems"][0]
    assert details.data["diagnostics"]["geminiOnPath"] is False
    assert directly.error["code"] == "GEMINI_CLI_NOT_FOUND"
    assert "npm install -g @google/gemini-cli" in directly.error["message"]
    assert [each.texts for each in asked] == [directly.texts] * 2
    (warning,) = map(json.loads, logged)
    assert warning["level"] == "warn"
    assert "`gemini` is not on PATH" in warning["message"]


async def test_program_is_not_run_before_the_first_question(
    fake: MakeFake, project: Path, tmp_path: Path, overheard: Ear
) -> None:
    cli = fake("gemini", answered())
    (project / "a.txt").write_text("one line\n", encoding="utf-8")

    async with served(environment(tmp_path / "home", cli), project, overheard=overheard, styles=()) as server:
        await server.client.list_tools()
        await server.call("search", query="deep research")
        for tool, arguments in {
            "read_files": {"files": [{"path": "a.txt"}]},
            "directory_tree": {"path": "."},
            "validate_paths": {"paths": ["a.txt"]},
            "fetch_chunk": {"cacheKey": "cache_0", "chunkIndex": 1},
            "health_check": {},
            "analyze_directory": {"path": "../elsewhere"},
        }.items():
            await server.call("call_read", tool_name=tool, args=arguments)
        before = (cli.probes, len(cli.runs))
        for _ in range(2):
            said = await server.call("call_read", tool_name="quick_query", args={"prompt": "a"})
            assert said.data["answer"] == "Hello"
        logged = server.logged()

    assert before == (0, 0)
    assert (cli.probes, len(cli.runs)) == (0, 2), "and never for its version"
    assert logged == "", "nothing is wrong"


async def test_progress_is_sent_only_to_who_asked_for_it(
    fake: MakeFake, project: Path, tmp_path: Path, overheard: Ear
) -> None:
    (project / "a.txt").write_text("one line\n", encoding="utf-8")
    told: list[str] = []

    async with served(
        environment(tmp_path / "home", fake("gemini", answered())), project, overheard=overheard, mode="legacy"
    ) as server:
        await server.call("quick_query", told=told.append, prompt="a")
        loud = progress_of(server.heard)
        await server.call("quick_query", prompt="a")

    assert [each for each in told if "answering" not in each] == [
        *(each for each in told if each.startswith("1 files chosen")),
        "asking gemini-3-flash-preview",
    ]
    assert len(loud) == len(told)
    assert progress_of(server.heard) == loud, "who sent no token is told nothing"


def progress_of(messages: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return [each for each in messages if each.get("method") == "notifications/progress"]
