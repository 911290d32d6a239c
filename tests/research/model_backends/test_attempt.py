"""One attempt on days when everything goes wrong, and what is told while it runs. The program is a fake."""

from __future__ import annotations

import asyncio
import os
import tempfile
import time
import tracemalloc
from collections.abc import Callable
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import anyio
import pytest
from fake_cli import (
    GEMINI_HELP,
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
    quota,
    read,
    repeat,
    result,
    silent,
    slivers,
    slow,
    started,
    stubborn,
    unauthenticated,
)
from toolmason_runtime import ToolError

from workbench_research.backends.failure_kinds import AttemptError, Kind, classify
from workbench_research.backends.question import Answer, Question
from workbench_research.model_backends.adapter import Program
from workbench_research.model_backends.attempt import REPORT_INTERVAL_S, run_attempt
from workbench_research.model_backends.detect import parse_features
from workbench_research.model_backends.gemini import GeminiAdapter
from workbench_research.model_backends.run_monitor import MAX_ANSWER_CHARS

pytestmark = pytest.mark.anyio

PATIENCE_S = 30.0
SECRET = "AIzaSyTheKeyOfThisTest0123456789abcdef"
Asks = Callable[..., Any]
Fakes = Callable[..., Fake]


@pytest.fixture
def temporary(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Give the only directory in which anything temporary is made."""
    directory = tmp_path / "temporary"
    directory.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(directory))
    return directory


@pytest.fixture
def environ(tmp_path: Path) -> dict[str, str]:
    return {"PATH": os.environ["PATH"], "HOME": str(tmp_path / "home"), "GEMINI_API_KEY": SECRET, "OTHER_KEY": "secret"}


@pytest.fixture
def ask(project: Path, temporary: Path, environ: dict[str, str]) -> Asks:
    """Ask a fake one question, and see that it leaves no file behind."""

    async def asked(cli: Fake, prompt: str = "?", *, timeout_s: float = PATIENCE_S, report: Any = None) -> Answer:
        async def unheard(_: str) -> None:
            pass

        program = Program(path=str(cli.path), name="gemini", version="0.61.0", features=parse_features(GEMINI_HELP))
        question = Question(prompt=prompt, directory=project, timeout_s=timeout_s)
        try:
            with anyio.fail_after(2 * PATIENCE_S):
                return await run_attempt(
                    GeminiAdapter(), program, question, "m", report=report or unheard, environ=environ
                )
        finally:
            assert os.listdir(temporary) == []  # noqa: PTH208  a test may look

    return asked


def is_alive(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_bytes().rpartition(b")")[2].split()[0] != b"Z"
    except OSError:
        return False


async def failure(ask: Asks, cli: Fake, **rest: Any) -> AttemptError:
    with pytest.raises(AttemptError) as raised:
        await ask(cli, **rest)
    return raised.value


async def test_prompt_of_a_megabyte_is_read_whole(ask: Asks, fake: Fakes) -> None:
    cli, prompt = fake("gemini", answered("Hello")), cjk(1_000_000)

    answer = await ask(cli, prompt)

    assert (answer.text, answer.model, answer.tokens) == ("Hello", "fake-model", 120)
    assert cli.runs[0].stdin == prompt
    assert not any(prompt[:20] in each for each in cli.runs[0].argv)


async def test_program_runs_in_the_project_and_sees_no_secret_that_is_not_for_it(
    ask: Asks, fake: Fakes, project: Path, temporary: Path
) -> None:
    cli = fake("gemini", answered())

    await ask(cli)

    run = cli.runs[0]
    assert run.cwd == str(project)
    assert run.env["GEMINI_API_KEY"] == SECRET
    assert "OTHER_KEY" not in run.env
    assert Path(run.env["TMPDIR"]).parent == temporary


async def test_answer_of_five_megabytes_is_identical(ask: Asks, fake: Fakes) -> None:
    text = cjk(5_000_000)

    assert (await ask(fake("gemini", answered(text)))).text == text


async def test_characters_split_between_writes_are_whole(ask: Asks, fake: Fakes) -> None:
    text = "é 世界 \U0001f600 \U00020bb7"
    said = line("message", role="assistant", content=text, delta=True)

    answer = await ask(fake("gemini", [started(), slivers(said, pause_s=0.002), result()]))

    assert answer.text == text


async def test_halves_of_a_character_in_two_pieces_are_joined_and_a_lone_one_is_replaced(
    ask: Asks, fake: Fakes
) -> None:
    halves = [
        out('{"type":"message","role":"assistant","content":"' + half + '"}\n') for half in (r"a\ud83d", r"\ude00b")
    ]
    lone = out('{"type":"message","role":"assistant","content":"' + r"c\ud83d" + '"}\n')

    answer = await ask(fake("gemini", [started(), *halves, lone, result()]))

    assert answer.text == "a\U0001f600bc\N{REPLACEMENT CHARACTER}"


async def test_files_are_told_from_what_was_refused_each_once_and_as_seen_from_the_project(
    ask: Asks, fake: Fakes, project: Path
) -> None:
    many = event(
        "tool_use", tool_name="read_many_files", tool_id="9", parameters={"include": ["c.py", "d/**", "./a.py"]}
    )
    script = [
        started(),
        *read("./src/../a.py", id="1"),
        *read(str(project / "b.py"), id="2"),
        *read("a.py", id="3"),
        *read("/etc/passwd", ok=False, id="4"),
        many,
        event("tool_result", tool_id="9", status="success"),
        *answered(),
    ]

    answer = await ask(fake("gemini", script))

    assert answer.files == ("a.py", "b.py", "c.py")
    assert answer.refused == ("/etc/passwd",)
    assert answer.tool_calls == 5


async def test_an_endless_answer_is_cut_with_a_warning(ask: Asks, fake: Fakes) -> None:
    million = event("message", role="assistant", content=f"{'y' * 99}\n" * 10_000, delta=True)
    script = [started(), million | {"times": MAX_ANSWER_CHARS // 1_000_000 + 1}, result()]

    answer = await ask(fake("gemini", script))

    assert len(answer.text) == MAX_ANSWER_CHARS
    assert answer.is_cut
    assert answer.warnings == (f"the answer was cut after {MAX_ANSWER_CHARS:,} characters",)


async def test_progress_is_reported_a_few_times_a_second(ask: Asks, fake: Fakes) -> None:
    told: list[tuple[float, str]] = []

    async def report(text: str) -> None:
        told.append((time.monotonic(), text))

    search = event("tool_use", tool_name="grep_search", tool_id="7", parameters={"pattern": f"def {SECRET}\x1b[31m"})
    pieces = [event("message", role="assistant", content="ab", delta=True), pause(0.001)] * 200
    steps = [started(), pause(0.6), *read("a.py"), pause(0.6), search, pause(0.6), *pieces, pause(0.6), result()]

    await ask(fake("gemini", steps), report=report)

    texts = [text for _, text in told]
    assert texts[:3] == [
        "asking the model",
        "reading a.py",
        "searching for def [redacted]\N{REPLACEMENT CHARACTER}[31m",
    ]
    assert texts[-1] == "answering, 400 characters"
    assert len(texts) < 12
    assert all(later - earlier > REPORT_INTERVAL_S * 0.9 for (earlier, _), (later, _) in pairwise(told))


async def test_listener_that_is_gone_does_not_end_the_answer(ask: Asks, fake: Fakes) -> None:
    async def report(_: str) -> None:
        raise anyio.BrokenResourceError

    assert (await ask(fake("gemini", [started(), pause(0.2), *answered()]), report=report)).text == "Hello"


async def test_time_that_is_up_ends_the_program(ask: Asks, fake: Fakes) -> None:
    cli = fake("gemini", slow(600))

    error = await failure(ask, cli, timeout_s=0.5)

    assert error.timed_out
    assert error.exit_code is None
    assert not is_alive(cli.runs[0].pid)
    assert classify(error).kind is Kind.TRANSIENT


async def test_silence_is_a_failure(ask: Asks, fake: Fakes) -> None:
    error = await failure(ask, fake("gemini", silent()))

    assert (error.exit_code, error.text) == (0, "it ended without output")


async def test_end_without_an_answer_is_a_failure(ask: Asks, fake: Fakes) -> None:
    error = await failure(ask, fake("gemini", [started(), result()]))

    assert (error.exit_code, error.text) == (0, "it ended without an answer")
    assert classify(error).kind is Kind.INPUT


@pytest.mark.parametrize(
    "more",
    [
        [event("error", severity="warning", message="Loop detected, stopping execution")],
        [event("error", severity="error", message="The model's answer was blocked.")],
        [event("message", role="assistant", content=" ", delta=True)],
    ],
    ids=["loop", "blocked", "blank"],
)
async def test_end_without_an_answer_is_not_of_the_question_where_there_may_be_another_reason(
    ask: Asks, fake: Fakes, more: Script
) -> None:
    error = await failure(ask, fake("gemini", [started(), *more, result()]))

    assert classify(error).kind is Kind.OTHER


async def test_end_before_the_last_event_is_a_failure(ask: Asks, fake: Fakes) -> None:
    script = [started(), event("message", role="assistant", content="Half of the ans", delta=True)]

    error = await failure(ask, fake("gemini", script))

    assert "before its answer was complete" in error.text


async def test_garbage_is_quoted_without_secrets(ask: Asks, fake: Fakes) -> None:
    error = await failure(ask, fake("gemini", invalid_output()))
    leaked = await failure(ask, fake("gemini", [out(f"<html>the key is {SECRET}</html>\n")]))

    assert error.text.startswith("its output is not an answer: '<html>")
    assert error.text.isprintable()
    assert SECRET not in leaked.text
    assert "the key is" in leaked.text


async def test_the_error_of_a_killed_program_names_the_signal(ask: Asks, fake: Fakes) -> None:
    error = await failure(ask, fake("gemini", half_an_answer()))

    assert error.exit_code == -9


async def test_its_own_retries_are_cut_short(ask: Asks, fake: Fakes) -> None:
    cli = fake("gemini", quota())
    begun = time.monotonic()

    error = await failure(ask, cli)

    assert time.monotonic() - begun < 10
    assert error.status == 429
    assert "RESOURCE_EXHAUSTED" in error.text
    assert not is_alive(cli.runs[0].pid)


@pytest.mark.parametrize(
    ("said", "status", "wait"),
    [
        ("Attempt 1 failed with status 503. Retrying with backoff... _ApiError: {}", 503, None),
        ("Attempt 1 failed with 429 error (no Retry-After header). Retrying with backoff...", 429, None),
        ("Attempt 1 failed: You have used up\nyour quota. Please retry in 7.5s. Retrying after 8000ms...", 429, 7.5),
        ("Attempt 1 failed: The model is overloaded. Retrying after 5000ms...", 503, 5.0),
        ("Attempt 1 failed. Retrying with backoff... TypeError: fetch failed ECONNRESET", None, None),
    ],
    ids=["status", "words", "wait", "overloaded", "network"],
)
async def test_every_way_to_announce_a_retry_is_known(
    ask: Asks, fake: Fakes, said: str, status: int | None, wait: float | None
) -> None:
    error = await failure(ask, fake("gemini", [started(), err("noise\n"), err(said[:20]), err(said[20:]), pause(600)]))

    assert (error.status, error.retry_after_s) == (status, wait)
    assert "noise" not in error.text
    assert classify(error).is_retryable


async def test_words_of_a_retry_in_the_answer_cause_no_retry(ask: Asks, fake: Fakes) -> None:
    text = "Attempt 1 failed with status 429. Retrying with backoff..."

    assert (await ask(fake("gemini", [err(f"said: {text}\n"), *answered(text)]))).text == text


@pytest.mark.parametrize(
    ("script", "exit_code", "kind"),
    [
        (unauthenticated(), 41, Kind.AUTH),
        (no_model(), 1, Kind.MODEL),
        (failed(1, "Error: connect ETIMEDOUT 10.0.0.1:443\n    at TCP.onwrap (net.js:404:16)\n"), 1, Kind.TRANSIENT),
        (failed(53, "Reached max session turns\n"), 53, Kind.OTHER),
    ],
    ids=["account", "model", "network", "turns"],
)
async def test_an_end_with_an_error_keeps_the_partial_answer(
    ask: Asks, fake: Fakes, script: Script, exit_code: int, kind: Kind
) -> None:
    error = await failure(ask, fake("gemini", script))

    assert error.exit_code == exit_code
    assert classify(error).kind is kind
    assert "    at " not in error.text


@pytest.mark.parametrize(
    "said", ["boom\n    at line 404: 429 Too Many Requests\n", "at x.js:404:12 RESOURCE_EXHAUSTED\n"]
)
async def test_no_line_that_says_why_is_taken_for_one_of_a_stack(ask: Asks, fake: Fakes, said: str) -> None:
    error = await failure(ask, fake("gemini", failed(1, said)))

    assert classify(error).kind is Kind.QUOTA
    assert error.text == said.strip()


async def test_answer_counts_even_if_the_program_stumbles_afterwards(ask: Asks, fake: Fakes) -> None:
    assert (await ask(fake("gemini", [*answered(), err("late\n"), ends(1)]))).text == "Hello"


async def test_program_that_does_not_leave_after_its_answer_is_ended(ask: Asks, fake: Fakes) -> None:
    cli = fake("gemini", [*answered(), pause(600)])

    assert (await ask(cli)).text == "Hello"
    assert not is_alive(cli.runs[0].pid)


async def test_warnings_come_with_the_answer(ask: Asks, fake: Fakes) -> None:
    warning = event("error", severity="warning", message=f"Loop detected {SECRET}")
    security = err("Security Warning: Ignoring --admin-policy because of something\n")

    answer = await ask(fake("gemini", [security, warning, *answered()]))

    assert answer.warnings == (
        "Loop detected [redacted]",
        "Security Warning: Ignoring --admin-policy because of something",
    )


@pytest.mark.parametrize("times", [1, 2])
async def test_cancellation_ends_a_program_that_ignores_sigterm_and_all_it_has_started(
    fake: Fakes, project: Path, temporary: Path, tmp_path: Path, times: int
) -> None:
    child = tmp_path / "child"
    cli = fake("gemini", [started(), stubborn(), grandchild(child), pause(600)])
    program = Program(path=str(cli.path), name="gemini", version="0.61.0", features=parse_features(GEMINI_HELP))
    question = Question(prompt="?", directory=project, timeout_s=PATIENCE_S)

    async def report(_: str) -> None:
        pass

    task = asyncio.create_task(
        run_attempt(GeminiAdapter(), program, question, "m", report=report, environ={"PATH": os.environ["PATH"]})
    )
    with anyio.fail_after(PATIENCE_S):
        while not (child.is_file() and child.read_text(encoding="ascii")):  # noqa: ASYNC110
            await asyncio.sleep(0.01)
    pids = [cli.runs[0].pid, int(child.read_text(encoding="ascii"))]
    assert all(map(is_alive, pids))

    for _ in range(times):
        task.cancel()
        await asyncio.sleep(0)
        await asyncio.sleep(0)
    await asyncio.wait([task])
    with anyio.fail_after(PATIENCE_S):
        while any(map(is_alive, pids)) or os.listdir(temporary):  # noqa: ASYNC110, PTH208
            await asyncio.sleep(0.01)

    assert task.cancelled()


async def test_forty_attempts_at_once_keep_apart(fake: Fakes) -> None:
    clis = [fake("gemini", [started(), *read(f"{n}.py"), pause(0.1), *answered(f"answer {n}")]) for n in range(40)]
    told: dict[int, list[str]] = {n: [] for n in range(40)}

    async def one(n: int) -> Answer:
        async def report(text: str) -> None:
            told[n].append(text)

        program = Program(path=str(clis[n].path), name="gemini", version="0.61.0", features=parse_features(GEMINI_HELP))
        question = Question(prompt=str(n), directory=clis[n].directory, timeout_s=PATIENCE_S)
        return await run_attempt(
            GeminiAdapter(), program, question, "m", report=report, environ={"PATH": os.environ["PATH"]}
        )

    answers = await asyncio.gather(*map(one, range(40)))

    assert [answer.text for answer in answers] == [f"answer {n}" for n in range(40)]
    assert [answer.files for answer in answers] == [(f"{n}.py",) for n in range(40)]
    for n, texts in told.items():
        assert all(f" {n}.py" in each for each in texts if each.startswith("reading"))


async def test_endless_output_is_not_kept_in_memory(ask: Asks, fake: Fakes) -> None:
    noise = repeat("x" * 999 + "\n", 40_000)
    one_line = repeat("y" * 1_000, 20_000)
    tracemalloc.start()
    try:
        await ask(fake("gemini", [noise, one_line, out("\n"), repeat("z" * 999 + "\n", 5_000, fd=2), *answered()]))
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()

    assert peak < 40_000_000


async def test_program_that_is_gone_is_an_error_of_the_tool(ask: Asks, fake: Fakes) -> None:
    cli = replace(fake("gemini", answered()), path=Path("/nowhere/gemini"))

    with pytest.raises(ToolError) as raised:
        await ask(cli)

    assert raised.value.code == "NOT_INSTALLED"
