"""A question to a real server on this machine, which is compatible with OpenAI's API: llama.cpp's own."""

from __future__ import annotations

import asyncio
import hashlib
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from workbench_research.backends.attempt import ask_once
from workbench_research.backends.failure_kinds import AttemptError, Kind, classify
from workbench_research.backends.keys import OFFLINE, RESEARCH, URL
from workbench_research.backends.protocol import Options, Part
from workbench_research.backends.question import Answer
from workbench_research.backends.selection import choose, readiness

PYTHON = os.environ.get("LOCAL_MODEL_PYTHON", sys.executable)
TEXT = "1: def area(width, height):\n2:     return width * height\n"
FILE = Part(path="area.py", text=TEXT, digest=hashlib.sha256(TEXT.encode()).hexdigest())


@pytest.fixture(scope="module")
def url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    directory = tmp_path_factory.mktemp("model")
    command = [PYTHON, str(Path(__file__).with_name("llama_server.py")), str(directory)]
    with (directory / "log").open("wb") as log:
        server = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=log)
    assert server.stdin is not None
    assert server.stdout is not None
    # The library writes its log to stdout too.
    address = next((line for line in iter(server.stdout.readline, b"") if line.startswith(b"http://")), b"")
    assert address, (directory / "log").read_text(encoding="utf-8", errors="replace")[-2_000:]
    yield f"{address.decode().strip()}/v1"
    server.stdin.close()
    server.stdout.close()
    server.kill()
    server.wait()


def ask(url: str, question: str, *parts: Part, model: str = "") -> tuple[Answer, list[str]]:
    environ = {RESEARCH: f"llama.cpp/{model or name(url)}", URL: url, OFFLINE: "1"}
    selected = choose(environ)
    reports: list[str] = []

    async def report(text: str) -> None:
        reports.append(text)

    options = Options(model=selected.model, timeout_s=240.0, max_output=24, temperature=0.0)
    asked = ask_once(selected.backend(environ), question, parts, options, title=selected.provider.title, report=report)
    return asyncio.run(asked), reports


def name(url: str) -> str:
    [row] = [row for row in readiness({RESEARCH: "llama.cpp", URL: url}) if row.name == "llama.cpp"]
    assert row.is_ready
    assert row.detail.startswith(f"answers on {url} with ")
    return row.detail.rpartition(" with ")[2]


def test_a_server_without_a_key_answers_one_question(url: str) -> None:
    answer, reports = ask(url, "What does area do?", FILE)

    assert answer.text.isalpha()
    assert answer.model
    assert answer.files == ("area.py",)
    assert (answer.usage.written, answer.is_cut) == (24, True)
    assert answer.usage.sent > len(TEXT) / 4
    assert reports[0].startswith("asking ")
    assert not any("cut the files" in text for text in reports)


def test_the_same_files_are_cached_for_the_second_question(url: str) -> None:
    ask(url, "What does area do?", FILE)

    answer, _ = ask(url, "Where is it?", FILE)

    assert answer.usage.cached > len(TEXT) / 4


def test_files_beyond_the_window_are_a_failure_of_the_input(url: str) -> None:
    long = Part(path="long.txt", text="x" * 20_000, digest="0" * 64)

    with pytest.raises(AttemptError) as raised:
        ask(url, "What is it?", long)

    assert classify(raised.value).kind is Kind.INPUT
