"""`python -m bench.code_mode [--shop]`: run the tasks, or those of the shop; print a table of `docs/code-mode.md`."""

# ruff: noqa: T201  a command prints

from __future__ import annotations

import asyncio
import importlib
import json
import os
import sys
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from time import perf_counter
from typing import Any, Final

from toolmason_runtime.programs import ProgramSettings
from toolmason_runtime.server.dispatch import Dispatcher
from toolmason_runtime.shared.selection import Selection
from toolmason_runtime.shared.tokens import estimate_tokens

from bench.code_mode.servers import shop, write_project
from bench.code_mode.tasks import SHOP, TASKS, Task

STYLES: Final = ("search-call", "code", "classic")
PREFIX: Final = "import asyncio, re\n"


class Client:
    """One request of a client that gets no progress and answers nothing."""

    operation_id = "1"
    is_local = True
    principal = None
    client_name = "toolmason"
    is_modern = False
    answered = ()
    has_progress_token = False
    capabilities: Mapping[str, Any] = {}

    async def progress(self, *_: object) -> None:
        """Drop progress."""

    async def log(self, *_: object) -> None:
        """Drop a message."""

    async def request(self, key: str, method: str, params: Mapping[str, Any]) -> dict[str, Any]:
        """Refuse a question: the tasks only read."""
        raise AssertionError(f"{method}: {key} {params}")


@dataclass(slots=True)
class Used:
    """What one task took: requests of the model in sequence, tokens that it wrote and read, seconds."""

    turns: int = 0
    calls: int = 0
    tokens_out: int = 0
    tokens_in: int = 0
    with_history: int = 0
    """Tokens of all requests of the model, each of which contains the ones before and their results."""
    seconds: float = 0.0

    @property
    def tokens(self) -> int:
        """All tokens."""
        return self.tokens_out + self.tokens_in


async def _turn(dispatcher: Dispatcher, used: Used, calls: Sequence[tuple[str, Mapping[str, Any]]]) -> None:
    used.turns += 1
    used.calls += len(calls)
    started = perf_counter()
    params = [{"name": name, "arguments": arguments} for name, arguments in calls]
    results = await asyncio.gather(*(dispatcher.dispatch("tools/call", each, Client()) for each in params))
    used.seconds += perf_counter() - started
    for sent, result in zip(params, results, strict=True):
        text = "\n".join(block.get("text", "") for block in result["content"])
        if result.get("isError"):
            raise RuntimeError(f"{sent}: {text}")
        used.tokens_out += estimate_tokens(json.dumps(sent, ensure_ascii=False))
        used.tokens_in += estimate_tokens(text)
    used.with_history += used.tokens


async def perform(task: Task, style: str, dispatcher: Dispatcher) -> Used:
    """Perform a task in a style. The model reads the list of tools once, and with the history in each request."""
    listed = await dispatcher.dispatch("tools/list", {}, Client())
    shown = [
        {key: tool[key] for key in ("name", "description", "inputSchema") if key in tool} for tool in listed["tools"]
    ]
    used = Used(tokens_in=estimate_tokens(json.dumps(shown, ensure_ascii=False)))
    if style == "code":
        await _turn(dispatcher, used, [("search", {"query": "; ".join(task.searches)})])
    elif style == "search-call":
        await _turn(dispatcher, used, [("search", {"query": query}) for query in task.searches])
    if style == "code":
        await _turn(dispatcher, used, [("run_read", {"code": PREFIX + task.program})])
        return used
    for step in task.steps:
        calls = step if style == "classic" else [("call_read", {"tool_name": n, "args": a}) for n, a in step]
        await _turn(dispatcher, used, calls)
    return used


async def measure(packages: Mapping[str, str], tasks: Sequence[Task]) -> dict[str, list[Used]]:
    """Return what each task took in each style."""
    measured: dict[str, list[Used]] = {}
    for style in STYLES:
        opened = {}
        for server, package in packages.items():
            build = importlib.import_module(f"{package}.server").build_dispatcher
            opened[server] = build(Selection(style, all_tools=True), commands=ProgramSettings())
        try:
            measured[style] = [await perform(task, style, opened[task.server]) for task in tasks]
        finally:
            for dispatcher in opened.values():
                await dispatcher.aclose()
    return measured


def table(measured: Mapping[str, Sequence[Used]]) -> str:
    """Return the table of the page: medians of the tasks, and of the ratios to `search-call`."""
    heads = ("turns", "calls", "tokens written", "tokens read", "tokens", "tokens with history", "ms")
    lines = [f"| style | {' | '.join(heads)} |", f"| --- |{' --- |' * len(heads)}"]
    base = measured["search-call"]
    for style, used in measured.items():
        cells = []
        for name in ("turns", "calls", "tokens_out", "tokens_in", "tokens", "with_history", "seconds"):
            values = [getattr(each, name) * (1000 if name == "seconds" else 1) for each in used]
            others = [getattr(each, name) * (1000 if name == "seconds" else 1) for each in base]
            ratio = median(value / other for value, other in zip(values, others, strict=True))
            cells.append(f"{median(values):,.0f} ({ratio:.2f})" if style != "search-call" else f"{median(values):,.0f}")
        lines.append(f"| `{style}` | {' | '.join(cells)} |")
    return "\n".join(lines)


def main() -> int:
    """Run the tasks and print the table."""
    tasks = [task for task in TASKS if task.server == SHOP or "--shop" not in sys.argv]
    with tempfile.TemporaryDirectory(prefix="tasks-") as directory:
        work = Path(directory)
        (work / "shop").mkdir()
        (work / "project").mkdir()
        write_project(work / "project")
        os.environ["XDG_STATE_HOME"] = str(work / "state")
        with shop(work / "shop") as package:
            os.chdir(work / "project")
            measured = asyncio.run(measure({SHOP: package, "workbench": "workbench_server"}, tasks))
    print(f"{len(tasks)} tasks")
    print(table(measured))
    if "--tasks" in sys.argv:
        for index, task in enumerate(tasks):
            numbers = [f"{style} {used[index].turns}/{used[index].tokens}" for style, used in measured.items()]
            print(f"{task.title}: {', '.join(numbers)}", file=sys.stderr)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
