"""docs/code-mode.md: its program runs, its mistake is reported as printed, and its limits are those of the code."""

from __future__ import annotations

import asyncio
import contextlib
import io
import json
import os
from pathlib import Path
from typing import Any, Final

import pytest
from pages import read
from toolmason_runtime.code_mode import limits
from toolmason_runtime.discovery.code import DEFAULT_TIMEOUT_S, MAX_CODE_CHARS, MAX_TIMEOUT_S
from toolmason_runtime.shared.selection import Selection
from toolmason_runtime.testing import connected

from workbench_server.server import build_server

PAGE: Final = read("docs/code-mode.md")
ROOT: Final = Path(__file__).parents[2]


def test_the_program_of_the_page_answers(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)
    program, call = PAGE.blocks("python")
    output = io.StringIO()
    with contextlib.redirect_stdout(output):
        exec(program + call, {"__name__": "page"})

    answer = json.loads(output.getvalue())
    assert answer["lines"] == len((ROOT / "README.md").read_text(encoding="utf-8").splitlines())
    assert str(ROOT / "manifest" / "workbench.toml") in [os.path.join(ROOT, path) for path in answer["manifest"]]  # noqa: PTH118  absolute or not


def test_the_mistake_of_the_page_is_reported_as_printed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)

    async def failure() -> Any:
        async with connected(build_server, selection=Selection("code")) as client:
            return await client.call_tool("run_read", {"code": "import asyncio\nx = await git.logs()"})

    assert asyncio.run(failure()).content[0].text == PAGE.block("text").rstrip("\n")


@pytest.mark.parametrize(
    ("limit", "value"),
    [
        ("time of a program", f"`timeout_s`, {DEFAULT_TIMEOUT_S} s by default, at most {MAX_TIMEOUT_S:,} s"),
        ("time of the interpreter", f"{limits.CPU_S:g} s"),
        ("memory", f"{limits.MEMORY_BYTES >> 20} MiB"),
        ("depth of calls of functions", f"{limits.RECURSION}"),
        ("calls of tools", f"{limits.CALLS}, of which {limits.PARALLEL} run"),
        ("printed characters", f"{limits.OUTPUT_CHARS:,}"),
        ("characters of a program", f"{MAX_CODE_CHARS:,}"),
        ("programs at the same time", f"{limits.WORKERS}"),
        ("suspended programs", f"{limits.SUSPENDED}"),
    ],
)
def test_the_limits_of_the_page_are_those_of_the_code(limit: str, value: str) -> None:
    assert any(text.startswith(value) for name, text in PAGE.rows("limit", "value") if name == limit)


def test_the_page_says_when_a_program_expires() -> None:
    assert f"expires after {limits.SUSPENDED_S / 3600:g} hours" in PAGE.words
