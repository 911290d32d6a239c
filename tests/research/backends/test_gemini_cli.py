"""The adapter of the Gemini CLI: a fake program for failures, and the real one before a stub of the API."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import subprocess
import sys
import tempfile
import tracemalloc
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import anyio
import anyio.to_thread
import pytest
from fake_cli import (
    Fake,
    Script,
    answered,
    cjk,
    ends,
    err,
    event,
    failed,
    grandchild,
    half_an_answer,
    invalid_output,
    line,
    no_model,
    out,
    pause,
    repeat,
    result,
    silent,
    slivers,
    slow,
    started,
    stubborn,
    unauthenticated,
)
from gemini_api import BAD_KEY, NO_MODEL, OVERLOADED, TOO_MANY, Break, Call, Found, GeminiApi, Hold, Refuse, Say
from gemini_homes import KEY, Home
from rigs import part
from toolmason_runtime import ToolError

from workbench_research.backends import gemini_cli, gemini_cli_home
from workbench_research.backends.attempt import ask_once
from workbench_research.backends.failure_kinds import AttemptError, Kind, classify
from workbench_research.backends.gemini_cli import GeminiCliBackend
from workbench_research.backends.gemini_cli_home import COMMAND
from workbench_research.backends.keys import NO_KEY, OFFLINE, RESEARCH, URL_KEY, Endpoint, Key
from workbench_research.backends.models import providers
from workbench_research.backends.protocol import Options, Part
from workbench_research.backends.question import Answer
from workbench_research.backends.selection import choose, readiness

PATIENCE_S = 240.0
SECRET = "AIzaSyTheKeyOfThisTest0123456789abcdef"
FILES = (part("src/a.py", "1: @dataclass\n2: mail = 'a@b.c'\n"), part("src/b.py", r"1: \@x \\@y" + "\n"))
Fakes = Callable[..., Fake]
NONE = Key("", NO_KEY)


@pytest.fixture(autouse=True)
def temporary(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Give the only directory in which anything temporary is made."""
    directory = tmp_path / "temporary"
    directory.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(directory))
    monkeypatch.setitem(sys.modules, "keyring", None)
    return directory


@pytest.fixture
def environ(tmp_path: Path) -> dict[str, str]:
    home = tmp_path / "home"
    home.mkdir()
    return {"PATH": os.environ["PATH"], "HOME": str(home), "GEMINI_API_KEY": SECRET, "OTHER_KEY": "secret"}


def backend(environ: dict[str, str]) -> GeminiCliBackend:
    made = choose({**environ, RESEARCH: "gemini-cli"}).backend(environ)
    assert isinstance(made, GeminiCliBackend)
    return made


async def ask(
    environ: dict[str, str],
    question: str = "Why?",
    parts: tuple[Part, ...] = (),
    *,
    model: str = "gemini-2.5-flash",
    timeout_s: float = PATIENCE_S,
    reports: list[str] | None = None,
    searches_web: bool = False,
) -> Answer:
    async def report(text: str) -> None:
        if reports is not None:
            reports.append(text)

    options = Options(model=model, timeout_s=timeout_s, searches_web=searches_web)
    return await ask_once(backend(environ), question, parts, options, title="Gemini CLI", report=report)


def answer(cli: Fake, environ: dict[str, str], *args: Any, **how: Any) -> Answer:
    found = asyncio.run(ask({**environ, COMMAND: str(cli.path)}, *args, **how))
    assert names(Path(tempfile.gettempdir())) == []
    return found


def error(cli: Fake, environ: dict[str, str], *args: Any, **how: Any) -> AttemptError:
    with pytest.raises(AttemptError) as raised:
        answer(cli, environ, *args, **how)
    assert names(Path(tempfile.gettempdir())) == []
    return raised.value


def names(directory: Path) -> list[str]:
    return sorted(each.name for each in directory.iterdir())


def kill_processes_in(directory: Path) -> None:
    for each in Path("/proc").iterdir():
        with suppress(OSError):  # of others, or gone
            if each.name.isdecimal() and (each / "cwd").readlink().is_relative_to(directory):
                os.kill(int(each.name), signal.SIGKILL)


def is_alive(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_bytes().rpartition(b")")[2].split()[0] != b"Z"
    except OSError:
        return False


# One run, with a fake program


def test_an_answer_has_its_text_its_model_and_its_tokens(fake: Fakes, environ: dict[str, str]) -> None:
    stats = {"total_tokens": 150, "input_tokens": 120, "output_tokens": 30, "cached": 100, "models": {"m": {}}}
    said = [event("message", role="assistant", content=text, delta=True) for text in ("Because ", "of 世界 🦊.")]
    cli = fake("gemini", [started(), *said, event("result", status="success", stats=stats)])

    found = answer(cli, environ, "Why?", FILES)

    assert (found.text, found.model, found.files) == ("Because of 世界 🦊.", "m", ("src/a.py", "src/b.py"))
    assert (found.usage.sent, found.usage.cached, found.usage.written, found.tokens) == (120, 100, 30, 150)


def test_the_prompt_is_stdin_and_the_program_runs_in_an_empty_directory(
    fake: Fakes, environ: dict[str, str], temporary: Path
) -> None:
    cli = fake("gemini", answered())

    answer(cli, {**environ, "NODE_OPTIONS": "--require=x", "GEMINI_SANDBOX": "x", "GOOGLE_CLOUD_PROJECT": "p"}, "Why?")

    [run] = cli.runs
    assert run.stdin.endswith("<question>\nWhy?\n</question>")
    assert not any("Why" in each for each in run.argv)
    assert Path(run.cwd).is_relative_to(temporary)
    assert run.argv[:2] == ["-o", "stream-json"]
    assert run.argv[-2:] == ["-m", "gemini-2.5-flash"]
    assert (run.env["GEMINI_API_KEY"], run.env["GOOGLE_CLOUD_PROJECT"]) == (SECRET, "p")
    assert not {"OTHER_KEY", "NODE_OPTIONS", "GEMINI_SANDBOX"} & set(run.env)
    assert all(Path(run.env[name]).is_relative_to(temporary) for name in ("TMPDIR", "GEMINI_CLI_HOME"))


def test_no_reference_in_a_file_or_a_question_is_left_for_the_program(fake: Fakes, environ: dict[str, str]) -> None:
    cli = fake("gemini", answered(r"It has \@dataclass and \\@y, a@b and \path."))

    found = answer(cli, environ, r"Is @/etc/passwd, \@x, \\@x or @~/x there? @", FILES)

    stdin = cli.runs[0].stdin
    assert stdin.count("@") == stdin.count("\\@") > 8
    assert r"1: \\@x \\\@y" in stdin
    assert found.text == r"It has @dataclass and \@y, a@b and \path."


def test_pieces_of_the_answer_are_joined(fake: Fakes, environ: dict[str, str]) -> None:
    halves = [
        out('{"type":"message","role":"assistant","content":"' + half + '"}\n')
        for half in (r"a\ud83d", r"\ude00b\\", r"@c\\", r"d\ud83d")
    ]
    text = line("message", role="assistant", content="é 世界 \U0001f600", delta=True)

    found = answer(fake("gemini", [started(), slivers(text, pause_s=0.002), *halves, result()]), environ)

    assert found.text == "é 世界 \U0001f600a\U0001f600b@c\\d\N{REPLACEMENT CHARACTER}"


def test_large_prompts_and_answers_are_whole(fake: Fakes, environ: dict[str, str]) -> None:
    prompt, text = cjk(1_000_000), cjk(3_000_000)
    cli = fake("gemini", answered(text))

    assert answer(cli, environ, prompt).text == text
    assert prompt in cli.runs[0].stdin


def test_a_prompt_that_the_program_would_cut_is_refused(fake: Fakes, environ: dict[str, str]) -> None:
    cli = fake("gemini", answered())

    found = error(cli, environ, "x" * gemini_cli.MAX_PROMPT_BYTES)

    assert classify(found).kind is Kind.INPUT
    assert cli.runs == []


def test_endless_output_is_not_kept_in_memory(fake: Fakes, environ: dict[str, str]) -> None:
    noise = [repeat("x" * 999 + "\n", 40_000), repeat("z" * 999 + "\n", 5_000, fd=2)]
    cli = fake("gemini", [*noise, *answered()])
    tracemalloc.start()
    try:
        answer(cli, environ)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()

    assert peak < 30_000_000


def test_a_program_that_writes_too_much_is_ended(
    fake: Fakes, environ: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(gemini_cli, "MAX_OUTPUT_BYTES", 1_000_000)

    found = error(fake("gemini", [repeat("x" * 999 + "\n", 3_000), pause(600)]), environ)

    assert classify(found).reason == "too much output"


# Failures, with a fake program


def api_error(status: int, name: str, message: str = "no") -> list[Any]:
    body = json.dumps({"error": {"code": status, "message": message, "status": name}})
    return [started(), err(f"Error when talking to Gemini API _ApiError: {body}\n    at x.js:404:12\n"), ends(1)]


def retries(message: str) -> list[Any]:
    """Return the script of a program that waits for longer than a test before it tries again."""
    return [started(), err(message), pause(600)]


@pytest.mark.parametrize(
    ("script", "kind", "is_retryable", "tries_next"),
    [
        (unauthenticated(), Kind.AUTH, False, False),
        (failed(42, "No input provided\n"), Kind.INPUT, False, False),
        (failed(44, "sandbox\n"), Kind.OTHER, False, False),
        (failed(52, "Invalid settings\n"), Kind.OTHER, False, False),
        (failed(53, "Reached max session turns\n"), Kind.OTHER, False, False),
        (no_model(), Kind.MODEL, False, True),
        (failed(1, "RetryableQuotaError: Resource has been exhausted\n"), Kind.QUOTA, True, True),
        (failed(1, "RetryableQuotaError: The model is overloaded. Please try again\n"), Kind.TRANSIENT, True, True),
        (failed(1, "TerminalQuotaError: You have exhausted your daily quota\n"), Kind.QUOTA, False, True),
        (failed(1, "Quota exceeded: 50 requests per day\n"), Kind.QUOTA, False, True),
        (api_error(429, "RESOURCE_EXHAUSTED"), Kind.QUOTA, True, True),
        (api_error(503, "UNAVAILABLE"), Kind.TRANSIENT, True, True),
        (api_error(500, "INTERNAL"), Kind.TRANSIENT, True, False),
        (api_error(400, "INVALID_ARGUMENT"), Kind.INPUT, False, False),
        (api_error(400, "INVALID_ARGUMENT", "API key not valid."), Kind.AUTH, False, False),
        (api_error(403, "PERMISSION_DENIED"), Kind.AUTH, False, False),
        (failed(1, "IneligibleTierError: no\n"), Kind.AUTH, False, False),
        (failed(1, "exception TypeError: fetch failed sending request\n"), Kind.TRANSIENT, True, False),
        (
            failed(1, "Error: connect ETIMEDOUT 10.0.0.1:443\n    at TCP.on (net.js:404:16)\n"),
            Kind.TRANSIENT,
            True,
            False,
        ),
        (failed(1, "the digits 404 and 429 of net.js:503:1 mean nothing\n"), Kind.OTHER, False, False),
        (retries("Attempt 1 failed with status 429. Retrying with backoff...\n"), Kind.QUOTA, True, True),
        (retries("Attempt 1 failed with status 503. Retrying with backoff...\n"), Kind.TRANSIENT, True, True),
        (retries("Attempt 2 failed: read ECONNRESET. Retrying after 500ms...\n"), Kind.TRANSIENT, True, False),
        (half_an_answer(), Kind.OTHER, False, False),
        (silent(), Kind.OTHER, False, False),
        (invalid_output(), Kind.OTHER, False, False),
        ([started(), result()], Kind.INPUT, False, False),
        ([started(), event("error", severity="error", message="Loop detected"), result()], Kind.OTHER, False, False),
        ([started(), event("message", role="assistant", content="Half"), ends(0)], Kind.OTHER, False, False),
    ],
)
def test_a_failure_has_the_kind_of_its_exit_code_or_its_status(
    *,
    fake: Fakes,
    environ: dict[str, str],
    monkeypatch: pytest.MonkeyPatch,
    script: Script,
    kind: Kind,
    is_retryable: bool,
    tries_next: bool,
) -> None:
    monkeypatch.setattr(gemini_cli, "EXIT_GRACE_S", 0.2)
    failure = classify(error(fake("gemini", script), environ))

    assert (failure.kind, failure.is_retryable, failure.try_next_model) == (kind, is_retryable, tries_next)
    assert failure.reason
    assert "    at " not in failure.error.text


def test_a_refused_key_names_its_variable_and_nothing_else(fake: Fakes, environ: dict[str, str]) -> None:
    found = error(fake("gemini", api_error(400, "INVALID_ARGUMENT", f"API key not valid: {SECRET}")), environ)

    assert "GEMINI_API_KEY" in classify(found).hint
    assert SECRET not in repr(found) + found.text
    assert "[redacted]" in found.text


def test_the_wait_of_the_api_is_kept(fake: Fakes, environ: dict[str, str]) -> None:
    found = error(fake("gemini", failed(1, "RetryableQuotaError: no.\nSuggested retry after 34.5s.\n")), environ)

    assert found.retry_after_s == 34.5


def test_an_answer_counts_even_if_the_program_fails_or_stays_afterwards(
    fake: Fakes, environ: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(gemini_cli, "EXIT_GRACE_S", 0.2)
    assert answer(fake("gemini", [*answered(), err("late\n"), ends(1)]), environ).text == "Hello"

    cli = fake("gemini", [*answered(), pause(600)])

    assert answer(cli, environ).text == "Hello"
    assert not is_alive(cli.runs[0].pid)


def test_a_tool_that_was_used_in_spite_of_all_ends_the_run(fake: Fakes, environ: dict[str, str]) -> None:
    used = [event("tool_use", tool_name="write_file", tool_id="1", parameters={}), event("tool_result", tool_id="1")]
    allowed = event("tool_result", tool_id="1", status="success")
    refused = event("tool_result", tool_id="1", status="error")

    found = error(fake("gemini", [started(), used[0], allowed, pause(600)]), environ)

    assert (classify(found).kind, found.text) == (Kind.OTHER, "it used write_file")
    assert answer(fake("gemini", [started(), used[0], refused, *answered()]), environ).text == "Hello"


def test_a_program_that_is_gone_is_an_error_of_the_tool(fake: Fakes, environ: dict[str, str]) -> None:
    cli = fake("gemini", answered())
    asked = backend({**environ, COMMAND: str(cli.path)})
    cli.path.unlink()

    async def run() -> None:
        async for _ in asked.ask("Why?", (), Options(model="", timeout_s=PATIENCE_S)):
            pass

    with pytest.raises(ToolError) as raised:
        asyncio.run(run())

    assert raised.value.code == "NOT_INSTALLED"


# No process and no file is left


def test_the_time_limit_ends_the_program(fake: Fakes, environ: dict[str, str]) -> None:
    cli = fake("gemini", slow(600))

    found = error(cli, environ, timeout_s=3.0)

    assert found.timed_out
    assert not any(is_alive(run.pid) for run in cli.runs)
    assert classify(found).kind is Kind.TRANSIENT


@pytest.mark.parametrize("times", [1, 2])
def test_cancellation_ends_a_stubborn_program_and_all_it_has_started(
    fake: Fakes, environ: dict[str, str], temporary: Path, tmp_path: Path, times: int
) -> None:
    child = tmp_path / "child"
    cli = fake("gemini", [started(), stubborn(), grandchild(child), pause(600)])

    async def run() -> list[int]:
        task = asyncio.create_task(ask({**environ, COMMAND: str(cli.path)}))
        with anyio.fail_after(PATIENCE_S):
            while not (child.is_file() and child.read_text(encoding="ascii")):  # noqa: ASYNC110
                await asyncio.sleep(0.01)
        pids = [cli.runs[0].pid, int(child.read_text(encoding="ascii"))]
        assert all(map(is_alive, pids))
        for _ in range(times):
            task.cancel()
            await asyncio.sleep(0)
        await asyncio.wait([task])
        assert task.cancelled()
        with anyio.fail_after(PATIENCE_S):
            while any(map(is_alive, pids)) or names(temporary):  # noqa: ASYNC110
                await asyncio.sleep(0.01)
        return pids

    assert len(asyncio.run(run())) == 2


def test_a_killed_server_leaves_no_process(fake: Fakes, environ: dict[str, str], tmp_path: Path) -> None:
    child = tmp_path / "child"
    cli = fake("gemini", [started(), stubborn(), grandchild(child), pause(600)])
    code = (
        "import asyncio, os\n"
        "from workbench_research.backends.selection import choose\n"
        "from workbench_research.backends.protocol import Options\n"
        "async def main():\n"
        "    events = choose(os.environ).backend(os.environ).ask('Why?', (), Options(model='', timeout_s=600))\n"
        "    async for _ in events: pass\n"
        "asyncio.run(main())\n"
    )
    given = {**environ, COMMAND: str(cli.path), RESEARCH: "gemini-cli", "TMPDIR": str(tmp_path)}
    server = subprocess.Popen([sys.executable, "-c", code], env=given)

    async def wait(until: Callable[[], bool]) -> None:
        with anyio.fail_after(PATIENCE_S):
            while not until():  # noqa: ASYNC110
                await asyncio.sleep(0.02)

    asyncio.run(wait(lambda: child.is_file() and bool(child.read_text(encoding="ascii"))))
    pids = [cli.runs[0].pid, int(child.read_text(encoding="ascii"))]
    server.kill()
    server.wait()

    asyncio.run(wait(lambda: not any(map(is_alive, pids))))


# Selection


def test_the_program_is_asked_if_no_provider_has_a_key(fake: Fakes, environ: dict[str, str]) -> None:
    cli = fake("gemini", answered())
    given = {**environ, "PATH": str(cli.directory)}
    del given["GEMINI_API_KEY"]
    home = Path(environ["HOME"], ".gemini")
    home.mkdir()

    with pytest.raises(ToolError) as raised:
        choose({**given, RESEARCH: "gemini-cli"})
    (home / "oauth_creds.json").write_text("{}", encoding="utf-8")

    assert "sign in with the account of a company" in raised.value.message
    assert choose(given).provider.name == "gemini-cli"
    assert choose({**given, "OPENAI_API_KEY": SECRET}).provider.name == "openai"
    assert choose(given).models("gemini-2.5-pro", given) == ("gemini-2.5-pro",)
    assert choose(given).models("flash", given)[-1] == "auto"
    [row] = [row for row in readiness(given, asks_local=False) if row.name == "gemini-cli"]
    assert (row.is_ready, row.detail) == (True, "an account that is signed in")


@pytest.mark.parametrize(
    ("more", "code", "step"),
    [
        ({"PATH": "/nowhere"}, "GEMINI_CLI_NOT_FOUND", "npm install -g @google/gemini-cli"),
        ({"PATH": "."}, "GEMINI_CLI_NOT_FOUND", "npm install -g @google/gemini-cli"),
        ({COMMAND: "/nowhere/gemini"}, "GEMINI_CLI_NOT_FOUND", "npm install -g @google/gemini-cli"),
        ({OFFLINE: "1"}, "AUTH_MISSING", "allows only servers on this machine"),
        ({"GOOGLE_GEMINI_BASE_URL": "https://example.org"}, "AUTH_MISSING", "not a host of Gemini CLI"),
        ({"GOOGLE_GEMINI_BASE_URL": "http://generativelanguage.googleapis.com"}, "AUTH_MISSING", "not encrypted"),
    ],
)
def test_a_missing_part_of_the_setup_is_named(
    *, fake: Fakes, environ: dict[str, str], more: dict[str, str], code: str, step: str
) -> None:
    cli = fake("gemini", answered())

    with pytest.raises(ToolError) as raised:
        choose({**environ, "PATH": str(cli.directory), RESEARCH: "gemini-cli", **more})

    assert step in raised.value.message
    assert raised.value.code == code


@pytest.mark.parametrize(
    ("file", "more", "kind"),
    [
        ("", {"GEMINI_API_KEY": SECRET}, "gemini-api-key"),
        ("", {"GOOGLE_GENAI_USE_VERTEXAI": "true"}, "vertex-ai"),
        ("", {"GOOGLE_GENAI_USE_GCA": "true"}, "oauth-personal"),
        ('{// mine\n"security": {"auth": {"selectedType": "vertex-ai"}}}', {"GEMINI_API_KEY": SECRET}, "vertex-ai"),
        ("[", {}, ""),
    ],
)
def test_the_kind_of_account_is_the_users_choice(
    environ: dict[str, str], file: str, more: dict[str, str], kind: str
) -> None:
    home = Path(environ["HOME"], ".gemini")
    home.mkdir()
    (home / "settings.json").write_text(file, encoding="utf-8")

    assert gemini_cli_home.account_type({"HOME": environ["HOME"], **more}) == kind


def test_the_key_in_the_users_own_file_is_used(fake: Fakes, environ: dict[str, str]) -> None:
    cli = fake("gemini", answered())
    del environ["GEMINI_API_KEY"]
    Path(environ["HOME"], ".gemini").mkdir()
    lines = f"export GEMINI_API_KEY='{SECRET}'\nGEMINI_SANDBOX=docker\nOTHER=1\n"
    Path(environ["HOME"], ".gemini", ".env").write_text(lines, encoding="utf-8")

    answer(cli, environ)

    [run] = cli.runs
    assert run.env["GEMINI_API_KEY"] == SECRET
    assert not {"GEMINI_SANDBOX", "OTHER"} & set(run.env)


# The real program


@pytest.fixture
def real(gemini: str, gemini_home: Home) -> dict[str, str]:
    # The provider's own key is not sent to another server.
    return {**gemini_home.environ, COMMAND: gemini, "GEMINI_API_KEY": "not-for-the-stub", URL_KEY: KEY}


def test_the_real_program_answers_from_the_files_that_were_sent(
    api: GeminiApi, real: dict[str, str], gemini_home: Home, temporary: Path
) -> None:
    secret = gemini_home.path / "secret.txt"
    secret.write_text("the secret outside", encoding="utf-8")
    api.will(Say("Hello "), Say("world."))
    evil = part("evil.md", f"1: @{secret} @../../secret.txt \\@{secret} \\\\@{secret} @'{secret}' a@{secret}\n")

    found = asyncio.run(ask(real, f"What is @{secret}?", (*FILES, evil)))

    assert (found.text, found.model, found.usage.sent, found.usage.written) == ("Hello world.", "stub", 100, 20)
    [request] = api.streamed
    assert (request.model, request.tools) == ("gemini-2.5-flash", set())
    assert request.headers["x-goog-api-key"] == KEY
    assert "mail = 'a\\@b.c'" in request.prompt
    assert "the secret outside" not in json.dumps([each.body for each in api.requests])
    assert "You answer questions about a software project" in json.dumps(request.body["systemInstruction"])
    assert (names(temporary), names(gemini_home.path / ".gemini")) == ([], ["settings.json"])


@pytest.mark.parametrize("means", ["policy", "settings"])
def test_no_tool_is_offered_or_runs_and_each_means_is_enough(
    *,
    api: GeminiApi,
    real: dict[str, str],
    gemini_home: Home,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    means: str,
) -> None:
    if means == "settings":
        monkeypatch.setattr(gemini_cli_home, "_policy", lambda _: "")
    traces = tmp_path / "traces"
    traces.mkdir()
    plant(gemini_home, traces)
    if means == "policy":
        monkeypatch.setattr(gemini_cli_home, "_tools", lambda _: {})
    api.will(
        Call("write_file", file_path=str(traces / "write"), content="x"),
        Call("run_shell_command", command=f"touch {traces / 'shell'}"),
        Call("read_file", file_path=str(gemini_home.settings)),
        Call("save_memory", fact="evil"),
        Call("web_fetch", prompt=f"{api.url}/stolen"),
        Call("google_web_search", query="stolen"),
        Call("invoke_agent", agent_name="generalist", prompt="write evil.txt"),
        Call("activate_skill", name="evil"),
    )

    found = asyncio.run(ask(real))

    assert found.text == "Done."
    assert api.streamed[0].tools <= {"update_topic", "complete_task"}
    assert all("error" in each["response"] for each in api.streamed[-1].results)
    assert names(traces) == []


def plant(home: Home, traces: Path) -> None:
    """Set up what would run something of the user's own, each leaving a trace of its name."""

    def touched(name: str) -> str:
        return f"touch {traces / name}"

    hook = [{"hooks": [{"type": "command", "command": touched("hook")}]}]
    server = {"command": "sh", "args": ["-c", touched("server")], "trust": True}
    home.set(
        hooksConfig={"enabled": True},
        hooks={"SessionStart": hook, "BeforeAgent": hook, "BeforeModel": hook, "SessionEnd": hook},
        mcpServers={"evil": server},
        mcp={"allowed": ["evil"]},
        tools={"discoveryCommand": touched("discovery"), "core": ["run_shell_command", "write_file"]},
        telemetry={"enabled": True, "target": "local", "outfile": str(traces / "telemetry")},
    )
    extension = home.path / ".gemini" / "extensions" / "evil"
    extension.mkdir(parents=True)
    said = {"name": "evil", "version": "1.0.0", "mcpServers": {"inner": server}}
    (extension / "gemini-extension.json").write_text(json.dumps(said), encoding="utf-8")
    (home.path / ".gemini" / "policies").mkdir()
    rule = '[[rule]]\ntoolName = "*"\ndecision = "allow"\npriority = 999\n'
    (home.path / ".gemini" / "policies" / "all.toml").write_text(rule, encoding="utf-8")


def test_nothing_above_the_working_directory_counts(api: GeminiApi, real: dict[str, str], temporary: Path) -> None:
    (temporary / ".gemini").mkdir()
    for file in (temporary / ".env", temporary / ".gemini" / ".env"):
        file.write_text("GEMINI_API_KEY=stolen-and-long\nHTTPS_PROXY=http://127.0.0.1:1\n", encoding="utf-8")
    (temporary / "GEMINI.md").write_text("planted advice", encoding="utf-8")

    assert asyncio.run(ask(real)).text == "Done."

    assert api.streamed[0].headers["x-goog-api-key"] == KEY
    assert "planted advice" not in json.dumps(api.streamed[0].body)


def test_for_the_web_only_a_search_is_offered(api: GeminiApi, real: dict[str, str]) -> None:
    page = "https://example.org/numpy"
    api.decides(lambda request: [Say("NumPy 2.4 [1]")] if request.is_stream else [Found("NumPy 2.4", (page,))])
    api.will(Call("google_web_search", query="numpy release"))
    reports: list[str] = []

    found = asyncio.run(ask(real, searches_web=True, reports=reports))

    assert found.text == "NumPy 2.4 [1]"
    assert {"google_web_search"} <= api.streamed[0].tools <= {"google_web_search", "update_topic", "complete_task"}
    assert page in json.dumps(api.streamed[-1].results)
    assert "searching the web" in reports


@pytest.mark.parametrize(
    ("refusal", "kind", "is_retryable", "wait"),
    [
        (TOO_MANY, Kind.QUOTA, True, None),
        (Refuse(429, "RESOURCE_EXHAUSTED", "You exceeded your quota.", retry_after_s=34.5), Kind.QUOTA, True, 34.5),
        (OVERLOADED, Kind.TRANSIENT, True, None),
        (Refuse(500, "INTERNAL", "An internal error has occurred."), Kind.TRANSIENT, True, None),
        (NO_MODEL, Kind.MODEL, False, None),
        (BAD_KEY, Kind.AUTH, False, None),
        (Refuse(403, "PERMISSION_DENIED", "The caller does not have permission"), Kind.AUTH, False, None),
        (Refuse(400, "INVALID_ARGUMENT", "Request contains an invalid argument."), Kind.INPUT, False, None),
    ],
    ids=lambda value: f"{value.code}-{value.status}" if isinstance(value, Refuse) else None,
)
def test_a_refusal_of_the_api_ends_the_attempt_at_once(
    *, api: GeminiApi, real: dict[str, str], refusal: Refuse, kind: Kind, is_retryable: bool, wait: float | None
) -> None:
    api.always(refusal)

    with pytest.raises(AttemptError) as raised:
        asyncio.run(ask(real))

    failure = classify(raised.value)
    assert (failure.kind, failure.is_retryable, failure.retry_after_s) == (kind, is_retryable, wait)
    assert len(api.streamed) == 1, "the program tried again by itself"
    assert KEY not in raised.value.text


def test_an_exit_code_reports_a_missing_account(real: dict[str, str]) -> None:
    del real["GEMINI_API_KEY"], real["GOOGLE_GEMINI_BASE_URL"]
    provider = providers()["gemini-cli"]
    asked = GeminiCliBackend(provider=provider, endpoint=Endpoint(url="", key=NONE), environ=real)

    async def run() -> None:
        async for _ in asked.ask("Why?", (), Options(model="", timeout_s=PATIENCE_S)):
            pass

    with pytest.raises(AttemptError) as raised:
        asyncio.run(run())

    assert raised.value.exit_code == 41
    assert classify(raised.value).kind is Kind.AUTH


def test_an_answer_that_breaks_off_is_a_failure(api: GeminiApi, real: dict[str, str]) -> None:
    api.always(Say("Half of the ans"), Break())

    with pytest.raises(AttemptError) as raised:
        asyncio.run(ask(real))

    assert classify(raised.value).kind in {Kind.TRANSIENT, Kind.OTHER}


def test_a_program_that_is_killed_is_a_failure_with_its_signal(
    api: GeminiApi, real: dict[str, str], temporary: Path
) -> None:
    api.will(Say("Half of the ans"), Hold())

    async def run() -> None:
        task = asyncio.create_task(ask(real))
        await anyio.to_thread.run_sync(api.held.wait, PATIENCE_S)
        kill_processes_in(temporary)
        await task

    with pytest.raises(AttemptError) as raised:
        asyncio.run(run())

    assert raised.value.exit_code == -signal.SIGKILL
    assert names(temporary) == []
