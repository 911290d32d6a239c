"""Options: their types, and secrets that are required at the start and never shown."""

from __future__ import annotations

import json
import logging
import os
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from mcp import Client, StdioServerParameters
from mcp.client.stdio import stdio_client
from toolmason_runtime import ToolError
from toolmason_runtime.calls import secrets
from toolmason_runtime.server.failures import to_tool_error
from toolmason_runtime.server.logging import LogLines, TextLines
from toolmason_runtime.server.option_types import parse_value
from toolmason_runtime.server.options import OptionError, OptionSpec, option_values

SECRET = 'hunter2 "quoted"/ä'
MANIFEST = """
edition = 1

[server]
name = "desk"
package = "desk_server"
handlers = "desk"
lifespan = "state:lifespan"

[server.options.token]
description = "Token of the desk"
env = "DESK_TOKEN"
required = true
secret = true

[server.options.limit]
description = "Most notes"
type = "integer"
env = "DESK_LIMIT"
default = 3

[server.options.rate]
description = "Notes for each second"
type = "number"

[server.options.dry-run]
description = "Write nothing"
type = "boolean"
env = "DESK_DRY_RUN"

[categories.notes]
summary = "Notes"
errors = "json"

[tools.show]
summary = "Show the options"
category = "notes"
description = "Returns the options of the server as text."
use_cases = ["See the settings"]
hints = { read_only = true, destructive = false, idempotent = true, open_world = false }
handler = "state:show"
params.mode = { type = "string", description = "The way to fail", default = "" }
"""
HANDLERS = """
import warnings
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from toolmason_runtime import ToolCall, ToolError

from desk_server.notes.models import ShowParams
from desk_server.options import Options


@asynccontextmanager
async def lifespan(options: Options) -> AsyncIterator[int]:
    yield options.limit


async def show(params: ShowParams, call: ToolCall) -> str:
    options = call.state(Options)
    if params.mode == "bug":
        raise ValueError(f"request with {options.token} failed")
    if params.mode == "error":
        raise ToolError(f"the desk refused {options.token}", details={"token": options.token})
    warnings.warn(f"old {options.token}", stacklevel=1)
    await call.progress(1, None, f"at {options.token}")
    await call.log("info", f"with {options.token}")
    await call.log("info", {"headers": [options.token], options.token: 1})
    return repr(options)
"""


@pytest.fixture(scope="module")
def desk(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A generated server with options of every type."""
    project = tmp_path_factory.mktemp("desk")
    for path, text in {
        "manifest/desk.toml": MANIFEST,
        "handlers/desk/__init__.py": "",
        "handlers/desk/state.py": HANDLERS,
    }.items():
        (project / path).parent.mkdir(parents=True, exist_ok=True)
        (project / path).write_text(text, encoding="utf-8")
    subprocess.run([sys.executable, "-m", "toolmason", "generate"], cwd=project, check=True, timeout=120)
    return project


def environment(desk: Path, **variables: str) -> dict[str, str]:
    roots = [str(desk / root) for root in ("generated", "handlers")]
    own = {name: value for name, value in os.environ.items() if not name.startswith("DESK_")}
    return {**own, "PYTHONPATH": os.pathsep.join([*roots, *sys.path]), **variables}


def start(desk: Path, *arguments: str, **variables: str) -> subprocess.CompletedProcess[str]:
    """Start the server, which gets no input, and return its end."""
    return subprocess.run(
        [sys.executable, "-m", "desk_server", *arguments],
        env=environment(desk, **variables),
        input="",
        capture_output=True,
        encoding="utf-8",
        timeout=60,
        check=False,
    )


# The start

SEVERAL = (
    "set DESK_TOKEN (Token of the desk); DESK_LIMIT: expected an integer (Most notes);"
    " DESK_DRY_RUN: expected true or false (Write nothing)"
)


@pytest.mark.parametrize("arguments", [(), ("--classic",), ("--engine", "sdk"), ("--http", "--port", "0")])
@pytest.mark.parametrize(
    ("variables", "problem"),
    [
        ({}, "set DESK_TOKEN (Token of the desk)"),
        ({"DESK_TOKEN": ""}, "set DESK_TOKEN (Token of the desk)"),
        (
            {"DESK_LIMIT": "ten", "DESK_DRY_RUN": "perhaps"},
            SEVERAL,
        ),
    ],
    ids=["absent", "empty", "several"],
)
def test_server_does_not_start_without_valid_options(
    arguments: tuple[str, ...], variables: dict[str, str], problem: str, desk: Path
) -> None:
    done = start(desk, *arguments, **variables)
    assert (done.returncode, done.stdout, done.stderr) == (2, "", f"desk: {problem}\n")


@pytest.mark.parametrize("arguments", [("--help",), ("--version",), ("--list-tools",), ("install", "--help")])
def test_information_needs_no_options(arguments: tuple[str, ...], desk: Path) -> None:
    assert start(desk, *arguments).returncode == 0


def test_help_names_the_variable_of_a_secret_and_never_its_value(desk: Path) -> None:
    text = " ".join(start(desk, "--help", DESK_TOKEN=SECRET).stdout.split())

    assert "Set these variables in the environment: DESK_TOKEN: Token of the desk (required)" in text
    assert "--limit LIMIT Most notes [env: DESK_LIMIT] (default: 3)" in text
    assert "--dry-run, --no-dry-run Write nothing [env: DESK_DRY_RUN] (default: false)" in text
    assert "--token " not in text
    assert "hunter2" not in text


@pytest.mark.parametrize("arguments", [("--token", "hunter2"), ("--token=hunter2",)])
def test_secret_on_the_command_line_is_refused_and_not_printed(arguments: tuple[str, ...], desk: Path) -> None:
    done = start(desk, *arguments, DESK_TOKEN=SECRET)

    assert done.returncode == 2
    assert "set the environment variable DESK_TOKEN instead" in done.stderr
    assert "hunter2" not in done.stderr


@pytest.mark.parametrize(
    ("arguments", "reason"),
    [
        (("--limit", "ten"), "argument --limit: expected an integer, got 'ten'"),
        (("--rate", "nan"), "argument --rate: expected a number, got 'nan'"),
        (("--limit", ""), "argument --limit: expected a value, got an empty one"),
    ],
)
def test_flag_with_a_value_of_another_type_is_refused(arguments: tuple[str, ...], reason: str, desk: Path) -> None:
    done = start(desk, *arguments, DESK_TOKEN=SECRET)
    assert (done.returncode, done.stderr) == (2, f"desk: {reason}\n")


@pytest.mark.skipif(sys.platform == "win32", reason="servers on Windows have no boot phase")
@pytest.mark.parametrize(
    ("arguments", "variables", "begins"),
    [
        ((), {"DESK_TOKEN": SECRET}, True),
        ((), {"DESK_TOKEN": SECRET, "DESK_LIMIT": "4", "DESK_DRY_RUN": "yes"}, True),
        ((), {"DESK_TOKEN": SECRET, "DESK_LIMIT": "x"}, False),
        (("--limit", "4"), {"DESK_TOKEN": SECRET, "DESK_LIMIT": "x"}, True),
        (("--rate", "0.5", "--no-dry-run"), {"DESK_TOKEN": SECRET}, True),
        (("--rate", "nan"), {"DESK_TOKEN": SECRET}, False),
        (("--token", SECRET), {"DESK_TOKEN": SECRET}, False),
        ((), {}, False),
    ],
    ids=str,
)
def test_boot_phase_checks_options_without_further_imports(
    arguments: tuple[str, ...], variables: dict[str, str], begins: bool, desk: Path
) -> None:
    code = (
        "import os, sys; from desk_server import __main__ as main\n"
        "from toolmason_runtime import boot\n"
        "boot._leave = lambda: (print(*sys.modules), sys.stdout.flush(), os._exit(0))\n"
        "print(boot.open_session(main.__file__))\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, *arguments],
        env=environment(desk, **variables),
        input=b"",
        capture_output=True,
        check=True,
        timeout=60,
    )
    modules = done.stdout.decode().split()

    if begins:
        assert "toolmason_runtime.server.opening_arguments" in modules
        assert {"argparse", "typing", "toolmason_runtime.server.options"}.isdisjoint(modules)
    else:
        assert modules == ["None"]


# The values


async def call(desk: Path, mode: str, *arguments: str, **variables: str) -> tuple[str, str, list[Any]]:
    """Return the text of a result, the log of the server, and its log messages for the client."""
    messages: list[Any] = []

    async def logged(params: Any) -> None:
        messages.append(params.data)

    async def progressed(progress: float, total: float | None, message: str | None) -> None:  # noqa: ARG001  as called
        messages.append(message)

    with (desk / "log").open("w+", encoding="utf-8") as log:
        server = StdioServerParameters(
            command=sys.executable,
            args=["-m", "desk_server", "--classic", *arguments],
            env=environment(desk, DESK_TOKEN=SECRET, **variables),
        )
        async with Client(stdio_client(server, errlog=log), logging_callback=logged, log_level="info") as client:
            result = await client.call_tool("show", {"mode": mode}, progress_callback=progressed)
        log.seek(0)
        return str(getattr(result.content[0], "text", "")), log.read(), messages


@pytest.mark.anyio
@pytest.mark.parametrize(
    ("arguments", "variables", "shown"),
    [
        ((), {}, "Options(limit=3, rate=None, dry_run=False)"),
        (("--limit", "5", "--rate", "2.5", "--dry-run"), {}, "Options(limit=5, rate=2.5, dry_run=True)"),
        ((), {"DESK_LIMIT": "-7", "DESK_DRY_RUN": "1"}, "Options(limit=-7, rate=None, dry_run=True)"),
        (("--no-dry-run",), {"DESK_DRY_RUN": "on"}, "Options(limit=3, rate=None, dry_run=False)"),
    ],
)
async def test_lifespan_gets_typed_options(
    arguments: tuple[str, ...], variables: dict[str, str], shown: str, desk: Path
) -> None:
    text, log, messages = await call(desk, "", *arguments, **variables)
    assert text == shown
    assert messages == ["at [secret]", "with [secret]", {"headers": ["[secret]"], "[secret]": 1}]
    assert "UserWarning: old [secret]" in json.loads(log)["message"]


@pytest.mark.anyio
@pytest.mark.parametrize("layout", ["text", "json"])
@pytest.mark.parametrize("mode", ["bug", "error"])
async def test_secret_is_masked_in_errors_and_in_the_log(mode: str, layout: str, desk: Path) -> None:
    text, log, _ = await call(desk, mode, "--log-format", layout)

    assert "hunter2" not in text + log
    if mode == "error":
        assert json.loads(text)["error"]["message"] == "the desk refused [secret]"
        assert json.loads(text)["error"]["details"] == {"token": "[secret]"}
    else:
        assert "ValueError: request with [secret] failed" in log


@pytest.mark.parametrize(
    ("kind", "text", "value"),
    [
        ("string", " x ", " x "),
        ("integer", "12", 12),
        ("integer", "1.5", None),
        ("integer", "9" * 5_000, None),
        ("number", "1e3", 1000.0),
        ("number", "-Infinity", None),
        ("number", "NaN", None),
        ("boolean", "TRUE", True),
        ("boolean", "off", False),
        ("boolean", "2", None),
    ],
)
def test_text_becomes_a_value_of_its_type_or_is_refused_silently(kind: str, text: str, value: object) -> None:
    if value is not None:
        assert parse_value(kind, text) == value
        return
    with pytest.raises(ValueError, match=r"^expected ") as raised:
        parse_value(kind, text)
    assert text not in str(raised.value)


REGION = OptionSpec(name="region", flag="--region", env="SAMPLE_REGION", description="Where", required=True)
ROOTS = OptionSpec(name="roots", flag="--root", env="SAMPLE_ROOTS", many=True, required=True)
NAME = OptionSpec(name="name", flag="--name")


def test_all_missing_options_are_reported_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("SAMPLE_REGION", raising=False)
    message = "set --region or SAMPLE_REGION (Where); set --root or SAMPLE_ROOTS"
    with pytest.raises(OptionError, match=f"^{re.escape(message)}$"):
        option_values([REGION, ROOTS, NAME])

    given = {"region": "eu", "roots": ["a"]}
    assert option_values([REGION, ROOTS, NAME], given) == {"region": "eu", "roots": ("a",), "name": None}


# Masking


@pytest.fixture
def protected(monkeypatch: pytest.MonkeyPatch) -> Callable[..., None]:
    monkeypatch.setattr(secrets, "_secrets", set())
    monkeypatch.setattr(secrets, "_pattern", None)
    return lambda *texts: secrets.protect(texts)


def test_short_secrets_are_not_masked_and_the_longest_one_first(protected: Callable[..., None]) -> None:
    protected("abc", "  ab\n  ", "secret", "secret-longer\n", None, 3)
    assert secrets.mask("abc secret secret-longer 3") == "abc [secret] [secret] 3"


def test_log_lines_and_combined_errors_are_masked(protected: Callable[..., None]) -> None:
    protected('key"\n1')
    record = logging.LogRecord("desk", logging.WARNING, __file__, 1, 'with key"\n1', (), None)
    group = ExceptionGroup("two", [ToolError('no key"\n1'), ToolError("none")])

    assert json.loads(LogLines().format(record))["message"] == "with [secret]"
    assert TextLines().format(record).endswith("with [secret]")
    assert to_tool_error("tool", group).message == "no [secret]\nnone"
