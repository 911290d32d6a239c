"""Secrets planted wherever one could leak from: none is in a result, an error, a message of progress or the log."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from fake_cli import Fake, answered, ends, err, event, failed, out, quota, result, started
from gemini_homes import KEY
from served import Ear, Server, environment, inside, serve, served, settle

pytestmark = pytest.mark.anyio
MakeFake = Callable[..., Fake]

UNLIKELY = "correct-horse-battery-staple"
"""A secret that looks like none: it is known by its variable alone."""
TOKEN = "ya29.a0PlantedAccessTokenThatMustNotLeak_0123456789"
"""One that is known by its form alone."""
PASSWORD = "p4ssw0rd-of-the-store"
SECRETS = (KEY, UNLIKELY, TOKEN, PASSWORD)
MARK = "the wording of the question is nobody's business"

BROKEN = """
import os, sys
from toolmason_runtime.chunks.store import ChunkStore

async def broken(*_):
    raise RuntimeError(f"refused {os.environ['GEMINI_API_KEY']} and Bearer {os.environ['PLANTED']}", {"token": "%s"})

ChunkStore.fetch = broken
from workbench_server.__main__ import main
sys.exit(main())
"""
"""The server with a mistake in it whose exception tells everything."""


def held(server: Server) -> str:
    """Give all that a client was sent, and all that was logged."""
    return json.dumps(server.heard, ensure_ascii=False) + server.logged()


def assert_none_leaked(server: Server) -> None:
    everything = held(server)
    found = [secret for secret in SECRETS if secret in everything]
    assert not found, [everything[max(0, everything.index(each) - 300) :][:600] for each in found]
    assert MARK not in server.logged()


async def test_no_output_of_the_program_leaks_a_secret(
    fake: MakeFake, project: Path, tmp_path: Path, overheard: Ear
) -> None:
    error = {"type": "unknown", "message": f"[API Error: {{'key': '{KEY}', 'authorization': 'Bearer {TOKEN}'}}]"}
    cli = fake(
        "gemini",
        failed(1, f"refused: GEMINI_API_KEY={KEY}\n{UNLIKELY} {TOKEN}\n    at chunk-A.js:1:2\n"),
        [started(), event("result", status="error", error=error, stats={}), ends(1)],
        [
            event("error", severity="warning", message=f"{UNLIKELY} {TOKEN}"),
            *answered(f"It is `{KEY}`, or {UNLIKELY}."),
        ],
        [err(f"{TOKEN}\n"), *answered("Hello")],
        quota(message=f"no quota for {KEY} {UNLIKELY} {TOKEN}"),
        [started(f"model-{UNLIKELY}"), event("message", role="assistant", content="Hi", delta=True), result(UNLIKELY)],
        answered(json.dumps({"summary": f"It is {KEY}.", "files": [{"path": f"{UNLIKELY}.py", "reason": KEY}]})),
        [out(f"{KEY} {TOKEN} {UNLIKELY}\n")],
    )
    more = {
        "GEMINI_RETRY_ENABLED": "false",
        "WORKBENCH_FLASH_MODELS": "auto",
        "PLANTED_TOKEN": UNLIKELY,
        "WORKBENCH_STORE": f"redis://somebody:{PASSWORD}@127.0.0.1:1/0",
        "RESPONSE_CHUNK_SIZE_KB": "1",
    }
    environ = environment(tmp_path / "home", cli, **more)
    told: list[str] = []

    async with served(environ, project, "--log-level", "debug", overheard=overheard) as server:
        for _ in range(6):
            await server.call("quick_query", told=told.append, prompt=MARK)
        found = await server.call("find_code_by_intent", told=told.append, intent=MARK)
        await server.call("quick_query", prompt=MARK)
        await server.call("quick_query", prompt=f'{MARK} @"{MARK}.py"')
        await server.call("fetch_chunk", cacheKey="cache_" + "0" * 32, chunkIndex=1)
        await server.call("health_check", includeDiagnostics=True)

    assert len(cli.runs) == 8
    assert KEY in cli.runs[0].env["GEMINI_API_KEY"], "it was there to leak"
    assert not found.is_error
    assert_none_leaked(server)
    assert not any(secret in text for secret in SECRETS for text in told)


async def test_answer_quotes_no_secret_of_the_environment_but_is_left_as_it_is_otherwise(
    fake: MakeFake, project: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = f"`.env` sets `GEMINI_API_KEY={KEY}`, and `settings.py` has `password = 'changeme123'`."
    cli = fake("gemini", answered(text))
    settle(monkeypatch, environment(tmp_path / "home", cli, POSTGRES_PASSWORD="password"))

    async with inside(project) as server:
        found = (await server.call("quick_query", prompt="Which secrets are in the code?")).data

    assert found["answer"] == text.replace(KEY, "[redacted]")


async def test_code_that_the_server_quotes_by_itself_holds_no_secret_of_the_environment(
    fake: MakeFake, project: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (project / "keys.py").write_text(f"KEY = '{KEY}'\nLONG = '{'x' * 2360}{KEY}'\n", encoding="utf-8")
    parts = [{"symbol": "", "lines": lines, "does": "d"} for lines in ("1", "2")]
    cli = fake("gemini", answered(json.dumps({"summary": "s", "files": [{"path": "keys.py", "parts": parts}]})))
    settle(monkeypatch, environment(tmp_path / "home", cli))

    async with inside(project) as server:
        found = await server.call("find_code_by_intent", intent="keys", return_format="detailed_with_snippets")

    first, second = (part["snippet"] for part in found.data["files"][0]["parts"])
    assert first == "KEY = '[redacted]'"
    assert KEY[:10] not in second, "half a key no longer looks like one"


async def test_a_key_that_a_model_writes_with_escapes_is_hidden_as_well(
    fake: MakeFake, project: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (project / "a.py").write_text("", encoding="utf-8")
    escaped = f"It is \\u{ord(KEY[0]):04x}{KEY[1:]}."
    in_json = f'{{"answers": {{"q1": {{"found": true, "answer": "{escaped}"}}}}}}'
    in_lines = f'{{"n": 1, "path": "a.py", "summary": "{escaped}"}}'
    settle(monkeypatch, environment(tmp_path / "home", fake("gemini", answered(in_json), answered(in_lines))))

    async with inside(project) as server:
        answers = [
            (await server.call("query_codebase", questions=["Which key?"])).text,
            (await server.call("analyze_directory", path=".")).text,
        ]

    assert all("It is [redacted]." in text and KEY not in text for text in answers)


async def test_a_key_in_the_users_own_files_leaves_as_little(
    fake: MakeFake, project: Path, tmp_path: Path, overheard: Ear
) -> None:
    cli = fake(
        "gemini",
        [err(f"{UNLIKELY}\n"), *answered(f"It is {UNLIKELY}.")],
        failed(1, f"refused: {UNLIKELY}\n"),
    )
    environ = environment(tmp_path / "home", cli, GEMINI_RETRY_ENABLED="false", WORKBENCH_FLASH_MODELS="auto")
    del environ["GEMINI_API_KEY"]
    (tmp_path / "home" / ".gemini").mkdir()
    (tmp_path / "home" / ".gemini" / ".env").write_text(f"GEMINI_API_KEY={UNLIKELY}\n", encoding="utf-8")
    told: list[str] = []

    async with served(environ, project, "--log-level", "debug", overheard=overheard) as server:
        answer = await server.call("quick_query", told=told.append, prompt=MARK)
        refused = await server.call("quick_query", told=told.append, prompt=MARK)

    assert answer.data["answer"] == "It is [redacted]."
    assert "refused: [redacted]" in refused.text
    assert not any(UNLIKELY in text for text in told)
    assert_none_leaked(server)


async def test_exception_that_tells_everything_is_logged_without_secrets_and_told_to_nobody(
    project: Path, tmp_path: Path, overheard: Ear
) -> None:
    environ = environment(tmp_path / "home", PLANTED=TOKEN)
    command = [sys.executable, "-c", BROKEN % TOKEN, "--classic", "--root", str(project), "--log-level", "debug"]

    async with serve(command, environ, project, overheard=overheard) as server:
        said = await server.call("fetch_chunk", cacheKey="cache_" + "0" * 32, chunkIndex=1)

    assert said.error["code"] == "INTERNAL"
    assert "refused" not in said.text
    assert "tool fetch_chunk failed" in server.logged()
    assert "RuntimeError" in server.logged()
    assert_none_leaked(server)


def test_secrets_are_not_those_of_whoever_runs_the_tests() -> None:
    assert not any(secret in value for secret in SECRETS for value in os.environ.values())


async def test_log_tells_what_was_called_and_asked_and_how_it_went_but_not_in_which_words(
    fake: MakeFake, project: Path, tmp_path: Path, overheard: Ear
) -> None:
    cli = fake("gemini", answered(MARK), failed(1, "boom\n"))
    environ = environment(tmp_path / "home", cli, GEMINI_RETRY_ENABLED="false", WORKBENCH_FLASH_MODELS="auto")

    async with served(environ, project, "--log-level", "debug", overheard=overheard) as server:
        answer = await server.call("quick_query", prompt=MARK, focus="security")
        await server.call("query_codebase", questions=[MARK, MARK], scope=".", max_tokens_per_answer=100)
        lines = [json.loads(line) for line in server.logged().splitlines()]

    called = [line for line in lines if line["message"] == "called"]
    assert called[0]["tool"] == "quick_query"
    began = [(line["tool"], line["operation"]) for line in lines if line["message"] == "started"]
    assert began[0] == ("quick_query", answer.data["meta"]["operationId"])
    options = {"fresh": False, "dry_run": False}
    assert called[0]["arguments"] == options | {
        "depth": "5 characters",
        "prompt": f"{len(MARK)} characters",
        "focus": "security",
        "responseStyle": "normal",
    }
    assert called[1]["arguments"] == options | {"questions": "2 items", "scope": ".", "max_tokens_per_answer": 100}
    assert [line["level"] for line in called] == ["info", "info"]
    (answered_line,) = (line for line in lines if line["message"] == "answered")
    assert answered_line["tokensUsed"] == 120
    assert answered_line["latencyMs"] > 0
    (error,) = (line for line in lines if line["level"] == "error")
    assert "boom" in json.dumps(error)
    assert_none_leaked(server)
