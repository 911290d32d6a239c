"""docs/research.md: its tables are those of the code, its examples are today's output, its snippets load."""

from __future__ import annotations

import importlib.util
import inspect
import io
import json
import logging
import os
import re
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from gemini_api import GeminiApi
from gemini_homes import KEY
from pages import NODE, ROOT, quoted, read
from toolmason_runtime.server.logging import LogLines
from workbench_handlers.answers import limits, memory, store
from workbench_handlers.answers.redis_store import PREFIX
from workbench_handlers.setup import checks, wizard

from workbench_handlers.model_backends import environment, gemini, logs, probing, readonly
from workbench_handlers.model_backends.adapter import Program
from workbench_handlers.model_backends.choice import COMMANDS
from workbench_handlers.model_backends.environment import child_environment
from workbench_handlers.model_backends.failure_kinds import ERROR_CODES, AttemptError, classify, tool_error
from workbench_handlers.model_backends.gemini import Gemini
from workbench_handlers.model_backends.question import TIMEOUT_S, Question
from workbench_handlers.model_backends.retrying import RetryConfig
from workbench_handlers.model_backends.running import attempt
from workbench_handlers.research import operations, progress, slots, state, tools
from workbench_server.catalogue import CATALOGUE
from workbench_server.research.models import CodeReference

PAGE = read("docs/research.md")
HANDLERS = ROOT / "handlers" / "workbench"
SERVER: dict[str, Any] = tomllib.loads((ROOT / "manifest" / "workbench.toml").read_text(encoding="utf-8"))["server"]

TOOLS = PAGE.rows("tool", "asks", "for")
VARIABLES = PAGE.rows("variable", "default", "meaning")
FAILED = PAGE.rows("failure", "next model, at once", "same model, after a wait")

_OURS = re.compile(r"\"((?:(?:WORKBENCH|RESPONSE|GEMINI_RETRY)_[A-Z_]+|[A-Z_]+_API_KEY))\"")
_CODE = re.compile(r"code=\"([A-Z_]+)\"|return [^\n]*, \"([A-Z_]+)\"$|text, \"([A-Z_]+)\"$", re.MULTILINE)


def sources(*folders: str) -> Iterator[str]:
    for folder in folders:
        for path in (HANDLERS / folder).rglob("*.py"):
            yield path.read_text(encoding="utf-8")


# Tools


def test_table_has_every_research_tool_its_kind_of_model_and_all_only_read() -> None:
    categories = {"research", "validation"}
    entries = {name: entry for name, entry in CATALOGUE["tools"].items() if entry["category"] in categories}
    assert sorted(quoted(name)[0] for name, *_ in TOOLS) == sorted(entries)
    for cell, kind, _ in TOOLS:
        name = quoted(cell)[0]
        assert re.findall(r"kind=(\w+)", inspect.getsource(getattr(tools, name))) == ([kind.upper()] if kind else [])
        assert kind in ("", *state.MODELS)
        assert entries[name]["tool"]["annotations"]["readOnlyHint"] is True


def test_fields_of_places_and_the_old_name_exist() -> None:
    (fields,) = re.findall(r"each says whether it `(\w+)`, with a `(\w+)`", PAGE.text)
    assert set(fields) <= CodeReference.model_fields.keys()
    (old,) = re.findall(r"old names too, as `(\w+)`", PAGE.text)
    assert old in CATALOGUE["tools"][old.removesuffix("_tool")]["aliases"]


# Variables


def test_variables_are_those_of_the_manifest_and_of_the_code() -> None:
    names = [quoted(name)[0] for name, *_ in VARIABLES]
    assert set(names) == set(SERVER["pass_env"])
    code = "".join(sources("."))
    assert [name for name in names if f'"{name}"' not in code] == []
    options = {option["env"] for option in SERVER["options"].values()}
    assert set(_OURS.findall(code)) - options <= set(names)
    assert re.findall(r"^\| `(\w+)`", PAGE.section("All variables").text, re.MULTILINE) == SERVER["pass_env"]


def defaults() -> dict[str, str]:
    retry, sizes = RetryConfig.from_environ({}), limits.limits({})

    def names(kind: str) -> str:
        return ",".join(name or "auto" for name in state.models(kind, {}))

    return {
        "WORKBENCH_BACKEND": "auto",
        "WORKBENCH_GEMINI_COMMAND": "gemini",
        "WORKBENCH_AGY_COMMAND": "agy",
        "WORKBENCH_FLASH_MODELS": names("flash"),
        "WORKBENCH_PRO_MODELS": names("pro"),
        "WORKBENCH_LINGER_SECONDS": f"{operations.LINGER_S:g}",
        "WORKBENCH_WAIT_SECONDS": f"{operations.WAIT_S:g}",
        "WORKBENCH_MAX_PROGRAMS": str(slots.MAX_PROGRAMS),
        "RESPONSE_CHUNK_SIZE_KB": str(sizes.chunk_bytes // 1024),
        "RESPONSE_MAX_SIZE_KB": str(sizes.most_bytes // 1024),
        "GEMINI_RETRY_ENABLED": str(retry.enabled).lower(),
        "GEMINI_RETRY_MAX_ATTEMPTS": str(retry.max_attempts),
        "GEMINI_RETRY_INITIAL_DELAY": str(retry.initial_delay),
        "GEMINI_RETRY_MAX_DELAY": str(retry.max_delay),
        "GEMINI_RETRY_BASE": str(retry.exponential_base),
    }


def test_defaults_are_those_of_the_code() -> None:
    known = defaults()
    shown: dict[str, set[str]] = {}
    for name, default, _ in VARIABLES:
        shown.setdefault(quoted(name)[0], set()).add("".join(quoted(default)))
    assert shown == {name: {known.get(name, "")} for name in shown}
    assert known.keys() <= shown.keys()
    assert {known[variable]: variable for variable in COMMANDS.values()} == COMMANDS


# Models


def test_models_are_those_of_the_code() -> None:
    for kind, names, variable in PAGE.rows("kind", "tried in this order", "variable"):
        models = tuple("" if name == "auto" else name for name in quoted(names))
        assert state.MODELS[kind] == (quoted(variable)[0], models)


FAILURES: dict[str, tuple[AttemptError, ...]] = {
    "429, no quota": (AttemptError(status=429),),
    "503, no capacity": (AttemptError(status=503),),
    "quota of the day is used up": (AttemptError("daily quota exceeded", status=429),),
    "404, no such model": (AttemptError(status=404),),
    "500, 502, 504, a lost connection, no answer in time": (
        *(AttemptError(status=status) for status in (500, 502, 504)),
        AttemptError("read ECONNRESET"),
        AttemptError(timed_out=True),
    ),
    "400, 401, 403": tuple(AttemptError(status=status) for status in (400, 401, 403)),
}


@pytest.mark.parametrize(("failure", "other", "same"), FAILED)
def test_a_failure_leads_where_the_table_says(failure: str, other: str, same: str) -> None:
    for each in map(classify, FAILURES[failure]):
        assert each.try_next_model == (other == "yes")
        assert each.is_retryable == (same != "no")


def test_every_failure_of_the_table_is_tried() -> None:
    assert [row[0] for row in FAILED] == list(FAILURES)


# Errors


def test_codes_are_those_that_are_raised() -> None:
    told = {quoted(code)[0] for code, *_ in PAGE.rows("code", "means", "what to do")}
    code = "".join(sources("backend", "answers", "research", "setup"))
    raised = {name for found in _CODE.findall(code) for name in found if name}
    assert told == raised | set(ERROR_CODES.values())
    assert '"NO_ROOTS"' in (HANDLERS / "state.py").read_text(encoding="utf-8")


def test_the_error_of_the_page_is_what_a_429_comes_to() -> None:
    failure = classify(AttemptError("Resource has been exhausted.", status=429, retry_after_s=38))
    models = ("gemini-3-flash-preview", "gemini-2.5-flash")
    error = tool_error(failure, attempts=3, models=models, environ={})
    shown = {"code": error.code, "message": error.message, "details": error.details}
    assert json.loads(PAGE.blocks("json")[0]) == {"error": shown}


# Limits


@pytest.mark.parametrize(
    ("said", "value"),
    [
        ("or than {:,} tokens", limits.CHUNK_TOKENS),
        ("at most {} |", limits.MAX_KB),
        ("after {:.0f} seconds of silence", progress.SIGN_OF_LIFE_S),
        ("One attempt may take {:.0f} seconds", TIMEOUT_S),
        ("the newest {}", memory.MAX_ANSWERS),
        ("{} MiB together", store.MAX_ANSWER_BYTES // 1024**2),
        ("It may have {} MiB", gemini.MAX_PROMPT_LENGTH // 1024**2),
        ("Version {} or later can be asked", ".".join(map(str, probing.OLDEST_AGY))),
        ("`{}KEY`", PREFIX),
        ("It exits with {} if all is well", wizard.READY),
        ("{} if there is something to fix", wizard.TO_FIX),
        ("up to {:.0f} percent", RetryConfig().jitter_range * 100),
        ("Answers are kept for an {}.", "hour" if store.LIFE_S == 3600 else store.LIFE_S),
        ("{} random bits", len(store.new_key().removeprefix("cache_")) * 4),
    ],
)
def test_limits_are_those_of_the_code(said: str, value: object) -> None:
    assert said.format(value) in PAGE.words


# What holds the program


@pytest.fixture
def user(tmp_path: Path) -> Path:
    (tmp_path / "user" / ".gemini").mkdir(parents=True)
    (tmp_path / "user" / ".gemini" / ".env").write_text("GEMINI_API_KEY=x\n", encoding="utf-8")
    return tmp_path / "user"


def restricted(user: Path, folder: Path, **settings: Any) -> dict[str, Any]:
    """Give the settings in the home that the program gets where the user has these."""
    (user / ".gemini" / "settings.json").write_text(json.dumps(settings), encoding="utf-8")
    folder.mkdir()
    program = Program(path="/gemini", name="gemini", version="0.61.0", features=frozenset({"admin-policy"}))
    home = readonly.restrict(program, {"HOME": str(user)}, folder).home
    assert home is not None
    assert not (home / ".env").exists()
    assert environment.set_by_user(user) == {"GEMINI_API_KEY": "x"}
    found: dict[str, Any] = json.loads((home / ".gemini" / "settings.json").read_text(encoding="utf-8"))
    return found


def test_the_tools_of_the_page_are_all_that_the_policy_allows() -> None:
    (told,) = re.findall(r"hold it to (.+?), within the project", PAGE.section("How it is asked").words)
    assert tuple(quoted(told)) == readonly.TOOLS
    allowed = [
        each["toolName"]
        for each in tomllib.loads(readonly.policy(readonly.TOOLS))["rule"]
        if each["decision"] == "allow"
    ]
    assert allowed == [list(readonly.TOOLS)]


def test_of_the_users_settings_those_of_the_page_are_taken_over(user: Path, tmp_path: Path) -> None:
    (told,) = re.findall(r"taken over: (.+?)\. The files", PAGE.section("How it is asked").words)
    mine: dict[str, Any] = {"hooks": {"BeforeTool": []}, "mcpServers": {"x": {}}, "tools": {"discoveryCommand": "x"}}
    for name in quoted(told):
        group, _, key = name.partition(".")
        mine.setdefault(group, {}).update({key or "of_mine": {"mine": True}})
    found = restricted(user, tmp_path / "run", **mine)

    for name in quoted(told):
        value: Any = found
        for key in name.split("."):
            value = value[key]
        assert value in ({"mine": True}, {"of_mine": {"mine": True}}), name
    assert "hooks" not in found
    assert "mcpServers" not in found
    assert "discoveryCommand" not in found["tools"]
    assert len(quoted(told)) == len(readonly._INHERITED) - OLD_PLACES


OLD_PLACES = 2
"""Of the settings taken over, those that older versions had elsewhere: they are the same ones."""


def test_the_program_gets_the_variables_of_the_page() -> None:
    text = PAGE.section("Logs and secrets").words
    (given,) = re.findall(r"The CLI gets (.+?) what any program needs", text)
    (kept,) = re.findall(r"nor variables that run (.+?)\. What", text)
    asked = [name.replace("*", "ANY") for name in quoted(given)]
    kept_back = [name.replace("*", "ANY") for name in quoted(kept)]
    environ = dict.fromkeys([*asked, *kept_back, "OPENAI_API_KEY"], "x")
    child = child_environment(environ, "/opt/gemini")
    assert [name for name in asked if name not in child] == []
    assert [name for name in (*kept_back, "OPENAI_API_KEY") if name in child] == []


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


@pytest.mark.anyio
async def test_neither_notes_of_the_project_nor_those_of_the_user_reach_the_model_unasked(
    user: Path, tmp_path: Path
) -> None:
    cli = NODE / ".bin" / "gemini"
    assert cli.exists(), "run `npm ci` in tests/ first: it brings the real CLI"
    (tmp_path / "project").mkdir()
    (tmp_path / "project" / "GEMINI.md").write_text("Notes of the project.\n", encoding="utf-8")
    (user / ".gemini" / "GEMINI.md").write_text("Notes of the user.\n", encoding="utf-8")
    settings = {"security": {"auth": {"selectedType": "gemini-api-key"}}}
    (user / ".gemini" / "settings.json").write_text(json.dumps(settings), encoding="utf-8")
    with GeminiApi() as api:
        environ = {
            "HOME": str(user),
            "PATH": os.environ["PATH"],
            "GEMINI_API_KEY": KEY,
            "GOOGLE_GEMINI_BASE_URL": api.url,
        }
        program = await probing.find({**environ, "WORKBENCH_GEMINI_COMMAND": str(cli)})
        question = Question(prompt="Which notes are there?", folder=tmp_path / "project")
        await attempt(Gemini(), program, question, "", report=silent, environ=environ)
        (sent,) = [json.dumps(each.body) for each in api.streamed]
    assert "Notes of the project." not in sent
    assert "Notes of the user." not in sent
    assert "Its `GEMINI.md` is a file like any other" in PAGE.words


async def silent(_text: str) -> None:
    """Tell nobody."""


# Snippets


def test_the_log_line_of_the_page_is_one() -> None:
    shown = json.loads(PAGE.blocks("json")[2])
    stream = io.StringIO()
    handler = logging.StreamHandler(stream)
    handler.setFormatter(LogLines())
    handler.addFilter(logs.Redacting({}))
    logger = logging.getLogger(shown["logger"])
    logger.addHandler(handler)
    fields = {name: value for name, value in shown.items() if name not in ("time", "level", "logger", "message")}
    try:
        logs.record(logger, logging.WARNING, shown["message"], **fields)
    finally:
        logger.removeHandler(handler)
    assert list(json.loads(stream.getvalue())) == list(shown)
    assert json.loads(stream.getvalue()) | {"time": shown["time"]} == shown
    assert shown["logger"] == "workbench_handlers.model_backends.asking"
    assert shown["message"] in inspect.getsource(importlib.import_module(shown["logger"]))


def test_the_configuration_of_the_page_starts_a_server_with_variables_that_count() -> None:
    server = json.loads(PAGE.blocks("json")[1])["mcpServers"]["workbench"]
    assert set(server["env"]) <= set(SERVER["pass_env"])
    assert limits.limits(server["env"]).chunk_bytes == 20 * 1024
    command = [sys.executable, "-m", "workbench_server", *server["args"], "--list-tools"]
    run = subprocess.run(command, env=os.environ | server["env"], capture_output=True, encoding="utf-8", check=False)
    assert run.returncode == 0, run.stderr
    assert server["command"] == SERVER["name"]


def test_the_addresses_of_redis_are_taken() -> None:
    (line,) = [each for each in "\n".join(PAGE.blocks("bash")).splitlines() if "WORKBENCH_STORE" in each]
    for address in re.findall(r"(?:redis|rediss|unix):\S+", line):
        opened = store.open_store(address.rstrip(",").replace("HOST:PORT/DB", "h:1/0"))
        assert type(opened).__name__ == "RedisStore", address


def test_the_commands_of_the_page_are_known(capsys: pytest.CaptureFixture[str]) -> None:
    assert "workbench init" in "\n".join(PAGE.blocks("bash"))
    assert checks.INSTALL_GEMINI in "\n".join(PAGE.blocks("bash"))
    with pytest.raises(SystemExit):
        wizard.main(["--help"])
    offered = capsys.readouterr().out
    for flag in ("--yes", "--no-test", "--client NAME", "--json"):
        assert f"`{flag}`" in PAGE.text
        assert flag in offered
