"""docs/research.md: its tables and limits are those of the code, and its snippets work."""

from __future__ import annotations

import ast
import importlib
import inspect
import io
import json
import logging
import os
import re
import subprocess
import sys
import tomllib
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from gemini_api import GeminiApi
from gemini_homes import KEY
from pages import NODE, ROOT, quoted, read
from toolmason_runtime.chunks import memory, shared_work, text
from toolmason_runtime.chunks.redis import url_problem
from toolmason_runtime.server.logging import LogLines

from workbench_handlers.doctor.command import main as doctor
from workbench_research import (
    asking,
    delivery,
    health_check,
    logs,
    operations,
    progress,
    slots,
    tools,
    validate_paths,
    web_search,
)
from workbench_research.backends import bedrock, gemini_cli, gemini_cli_home
from workbench_research.backends.attempt import ask_once
from workbench_research.backends.failure_kinds import AttemptError, classify, tool_error
from workbench_research.backends.failures import BROKEN, SPENT
from workbench_research.backends.keys import NO_KEY, RESEARCH, Endpoint, Key
from workbench_research.backends.models import providers
from workbench_research.backends.protocol import Options
from workbench_research.backends.question import TIMEOUT_S
from workbench_research.backends.retry import RetryConfig
from workbench_research.backends.selection import INSTALL, choose
from workbench_research.error_codes import SPECIFIED, STILL_RUNNING
from workbench_server.catalogue import CATALOGUE

PAGE = read("docs/research.md")
HANDLERS = ROOT / "handlers"
SERVER: dict[str, Any] = tomllib.loads((ROOT / "manifest" / "workbench.toml").read_text(encoding="utf-8"))["server"]
VARIABLES = PAGE.rows("variable", "default", "meaning")
OF_WORKFLOWS = {quoted(name)[0] for name, *_ in read("docs/workflows.md").rows("variable", "default", "purpose")}
"""Variables of the server that only the workflow tools read."""
FAILED = PAGE.rows("failure", "next model, at once", "same model, after a wait")
OF_EDITING = {
    *("WORKBENCH_STATE", "WORKBENCH_EDITOR"),
    *("DISPLAY", "WAYLAND_DISPLAY", "VSCODE_IPC_HOOK_CLI"),
}
"""Variables of the server that only the editing tools read."""
_OUR_VARIABLE = re.compile(r'"((?:(?:WORKBENCH|RESPONSE|GEMINI_RETRY)_[A-Z_]+|[A-Z_]+_API_KEY))"')


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


def test_table_has_every_research_tool_and_its_kind_of_model_and_all_are_read_only() -> None:
    categories = {"research", "validation"}
    entries = {name: entry for name, entry in CATALOGUE["tools"].items() if entry["category"] in categories}
    rows = PAGE.rows("tool", "asks", "for")
    assert sorted(quoted(name)[0] for name, *_ in rows) == sorted(entries)
    for cell, kind, _ in rows:
        name = quoted(cell)[0]
        modules = {"grounding_search": web_search, "health_check": health_check, "validate_paths": validate_paths}
        module = modules.get(name, tools)
        assert re.findall(r"kind=(\w+)", definition(module, name)) == ([kind.upper()] if kind else [])
        assert entries[name]["tool"]["annotations"]["readOnlyHint"] is True
    assert "query_codebase_tool" in entries["query_codebase"]["aliases"]


def definition(module: ModuleType, name: str) -> str:
    """Return the source of the function or constant `name` of a module."""
    for node in ast.parse(inspect.getsource(module)).body:
        match node:
            case ast.AsyncFunctionDef(name=found) | ast.AnnAssign(target=ast.Name(id=found)) if found == name:
                return ast.unparse(node)
    raise AssertionError(name)


def test_variables_are_those_of_the_manifest_and_of_the_code() -> None:
    names = [quoted(name)[0] for name, *_ in VARIABLES]
    passed = [name for name in SERVER["pass_env"] if name not in OF_EDITING | OF_WORKFLOWS]
    assert set(names) == set(passed)
    code = "".join(path.read_text(encoding="utf-8") for path in HANDLERS.rglob("*.py"))
    options = {option["env"] for option in SERVER["options"].values() if "env" in option}
    assert set(_OUR_VARIABLE.findall(code)) - options <= set(names) | OF_EDITING
    assert re.findall(r"^\| `(\w+)`", PAGE.section("All variables").text, re.MULTILINE) == passed


def test_defaults_and_models_are_those_of_the_code() -> None:
    retry, sizes = RetryConfig.from_environ({}), delivery.limits({})
    models = {kind: list(providers()["gemini-cli"].resolve(kind)) for kind in ("flash", "pro")}
    defaults = {
        bedrock.REGIONS[0]: bedrock.DEFAULT_REGION,
        gemini_cli_home.COMMAND: gemini_cli_home.PROGRAM,
        asking.WINDOW: str(asking.DEFAULT_WINDOW),
        "WORKBENCH_FLASH_MODELS": ",".join(models["flash"]),
        "WORKBENCH_PRO_MODELS": ",".join(models["pro"]),
        "WORKBENCH_LINGER_SECONDS": f"{operations.LINGER_S:g}",
        "WORKBENCH_WAIT_SECONDS": f"{operations.WAIT_S:g}",
        "WORKBENCH_MAX_PROGRAMS": str(slots.MAX_PROGRAMS),
        "RESPONSE_CHUNK_SIZE_KB": str(sizes.chunk_bytes // 1024),
        "RESPONSE_MAX_SIZE_KB": str(sizes.max_bytes // 1024),
        "GEMINI_RETRY_ENABLED": str(retry.enabled).lower(),
        "GEMINI_RETRY_MAX_ATTEMPTS": str(retry.max_attempts),
        "GEMINI_RETRY_INITIAL_DELAY": str(retry.initial_delay),
        "GEMINI_RETRY_MAX_DELAY": str(retry.max_delay),
        "GEMINI_RETRY_BASE": str(retry.exponential_base),
    }
    shown: dict[str, set[str]] = {}
    for name, default, _ in VARIABLES:
        shown.setdefault(quoted(name)[0], set()).add("".join(quoted(default)))
    assert shown == {name: {defaults.get(name, "")} for name in shown}
    assert {kind: quoted(names) for kind, names, _ in PAGE.rows("kind", "tried in this order", "variable")} == models


FAILURES: dict[str, tuple[AttemptError, ...]] = {
    "429, no quota": (AttemptError(status=429),),
    "503, no capacity": (AttemptError(status=503),),
    "quota of the day is used up": (AttemptError(status=429, decided=SPENT),),
    "404, no such model": (AttemptError(status=404),),
    "500, 502, 504, a lost connection, no answer in time": (
        *(AttemptError(status=status) for status in (500, 502, 504)),
        AttemptError("read ECONNRESET", decided=BROKEN),
        AttemptError(timed_out=True),
    ),
    "400, 401, 403": tuple(AttemptError(status=status) for status in (400, 401, 403)),
}


def test_a_failure_is_handled_as_in_the_table() -> None:
    assert [row[0] for row in FAILED] == list(FAILURES)
    for name, other, same in FAILED:
        for failure in map(classify, FAILURES[name]):
            assert failure.try_next_model == (other == "yes"), name
            assert failure.is_retryable == (same != "no"), name


def test_error_codes_and_the_example_are_those_of_the_code() -> None:
    codes = {quoted(code)[0] for code, *_ in PAGE.rows("code", "meaning", "action")}
    assert codes == SPECIFIED | {STILL_RUNNING}
    failure = classify(AttemptError("Resource has been exhausted.", status=429, retry_after_s=38))
    models = ("gemini-3-flash-preview", "gemini-2.5-flash")
    error = tool_error(failure, attempts=3, models=models, environ={})
    shown = {"code": error.code, "message": error.message, "details": error.details}
    assert json.loads(PAGE.blocks("json")[0]) == {"error": shown}


@pytest.mark.parametrize(
    ("sentence", "value"),
    [
        ("at most {} |", delivery.MAX_KB),
        ("after {:.0f} seconds of silence", progress.HEARTBEAT_INTERVAL_S),
        ("One attempt may take {:.0f} seconds", TIMEOUT_S),
        ("the newest {} texts", memory.MAX_TEXTS),
        ("texts of up to {} KiB in memory", text.MAX_BYTES_IN_MEMORY // 1024),
        ("the newest {} larger ones", memory.MAX_FILES),
        ("files of {} MiB together", memory.MAX_FILE_BYTES // 1024**2),
        ("texts of more than {} MiB are always kept", shared_work.MAX_SHARED_BYTES // 1024**2),
        ("A prompt has at most {} MiB", gemini_cli.MAX_PROMPT_BYTES // 1024**2),
        ("varies by up to {:.0f} percent", RetryConfig().jitter_range * 100),
        ("Answers are kept for an {}.", "hour" if text.TTL_S == 3600 else text.TTL_S),
        ("npm install -g {}", INSTALL.rpartition(" ")[2]),
    ],
)
def test_limits_are_those_of_the_code(sentence: str, value: object) -> None:
    assert sentence.format(value) in PAGE.words


# Isolation


@pytest.fixture
def user(tmp_path: Path) -> Path:
    (tmp_path / "user" / ".gemini").mkdir(parents=True)
    return tmp_path / "user"


def test_the_program_gets_the_variables_of_the_page(user: Path, tmp_path: Path) -> None:
    (passed,) = re.findall(r"\*\*The CLI gets\*\* (.+?) and the variables of any program", PAGE.words)
    (withheld,) = re.findall(r"It does not get\*\* other keys, (.+?)\. Keys of", PAGE.words)
    names = [*quoted(passed), *quoted(withheld), "OPENAI_API_KEY"]
    environ = {"PATH": os.environ["PATH"], "HOME": str(user), **dict.fromkeys(names, "x")}
    child = gemini_cli_home.prepare(environ, "/opt/gemini", Endpoint(url="", key=Key("", NO_KEY)), tmp_path / "run")
    assert [name for name in quoted(passed) if name not in child] == []
    assert [name for name in (*quoted(withheld), "OPENAI_API_KEY") if name in child] == []


@pytest.mark.anyio
async def test_notes_of_the_project_and_of_the_user_are_not_sent_automatically(user: Path, tmp_path: Path) -> None:
    cli = NODE / ".bin" / "gemini"
    assert cli.exists(), "run `npm ci` in tests/ first: it installs the real CLI"
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
        environ |= {RESEARCH: "gemini-cli", gemini_cli_home.COMMAND: str(cli)}
        backend = choose(environ).backend(environ)
        options = Options(model="gemini-2.5-flash", timeout_s=TIMEOUT_S)
        await ask_once(backend, "Which notes are there?", (), options, title="Gemini CLI", report=ignore)
        (sent,) = [json.dumps(request.body) for request in api.streamed]
    assert "Notes of the project." not in sent
    assert "Notes of the user." not in sent
    assert "is an ordinary file and is not sent automatically" in PAGE.words


async def ignore(_text: str) -> None:
    """Ignore progress."""


# Snippets


def test_the_log_line_of_the_page_is_one_of_the_code() -> None:
    shown = json.loads(PAGE.blocks("json")[2])
    stream = io.StringIO()
    handler = logging.StreamHandler(stream)
    handler.setFormatter(LogLines())
    handler.addFilter(logs.RedactingFilter({}))
    logger = logging.getLogger(shown["logger"])
    logger.addHandler(handler)
    fields = {name: value for name, value in shown.items() if name not in ("time", "level", "logger", "message")}
    try:
        logs.record(logger, logging.WARNING, shown["message"], **fields)
    finally:
        logger.removeHandler(handler)
    assert list(json.loads(stream.getvalue())) == list(shown)
    assert json.loads(stream.getvalue()) | {"time": shown["time"]} == shown
    assert shown["message"] in inspect.getsource(importlib.import_module(shown["logger"]))


def test_the_configuration_of_the_page_starts_a_server_with_known_variables() -> None:
    server = json.loads(PAGE.blocks("json")[1])["mcpServers"]["workbench"]
    assert set(server["env"]) <= set(SERVER["pass_env"])
    assert delivery.limits(server["env"]).chunk_bytes == 20 * 1024
    command = [sys.executable, "-m", "workbench_server", *server["args"], "--list-tools"]
    run = subprocess.run(command, env=os.environ | server["env"], capture_output=True, encoding="utf-8", check=False)
    assert run.returncode == 0, run.stderr
    assert server["command"] == SERVER["command"]


def test_the_addresses_of_redis_are_valid() -> None:
    (line,) = [line for line in "\n".join(PAGE.blocks("bash")).splitlines() if "WORKBENCH_STORE" in line]
    addresses = re.findall(r"(?:redis|rediss|unix):[^\s,]+", line)
    assert len(addresses) == 3
    for address in addresses:
        assert url_problem(address.replace("HOST:PORT/DB", "h:1/0"), SERVER["chunk_store"]) == "", address


def test_the_options_of_doctor_are_those_of_the_page(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        doctor(["--help"])
    help_text = capsys.readouterr().out
    for option, _ in PAGE.section("Setup").rows("option", "effect"):
        assert quoted(option)[0] in help_text
