"""`python -m bench.agent [--data DIR]`: perform the tasks of each set with each contestant; print a table."""

# ruff: noqa: T201  a command prints

from __future__ import annotations

import argparse
import asyncio
import sys
from collections.abc import Sequence
from importlib.util import find_spec
from pathlib import Path
from statistics import mean
from typing import Final

from bench.agent.contestants import Everything, contestants
from bench.agent.policy import Contestant, Outcome, perform
from bench.agent.tasks import GARDEN, DataError, TaskSet, load_sets

DEFAULT_LIMIT: Final = 200
WINDOW: Final = 200_000
"""Tokens of a context. A list that does not fit finds nothing."""
HEAD: Final = """\
| contestant | one search | two | first | tokens | turns |
| --- | --- | --- | --- | --- | --- |"""


def main(arguments: Sequence[str] | None = None) -> int:
    """Print a table for each set; return the exit code."""
    options = _parser().parse_args(arguments)
    with_fastmcp = find_spec("fastmcp") is not None
    try:
        sets = load_sets(options.data, options.limit)
    except (DataError, OSError) as error:
        print(f"bench.agent: {error}", file=sys.stderr)
        return 1
    for number, task_set in enumerate(sets):
        title = f"{task_set.name}: {len(task_set.tools):,} tools, {len(task_set.tasks):,} tasks"
        print(f"{'' if number == 0 else chr(10)}{title}", HEAD, sep="\n\n")
        for line in asyncio.run(measure(task_set, with_fastmcp=with_fastmcp)):
            print(line, flush=True)
    if not with_fastmcp:
        print("FastMCP is not installed, so its rows are missing: `pip install fastmcp`", file=sys.stderr)
    return 0


async def measure(task_set: TaskSet, *, with_fastmcp: bool) -> list[str]:
    """Return a line of the table for each contestant."""
    async with contestants(task_set.tools, with_fastmcp=with_fastmcp) as compared:
        return [row(one, [await perform(task, one) for task in task_set.tasks]) for one in compared]


def row(contestant: Contestant, outcomes: Sequence[Outcome]) -> str:
    """Return the line of a contestant: shares of tasks, and means over all tasks."""
    tokens = round(mean(outcome.tokens for outcome in outcomes))
    if contestant.surface > WINDOW:
        return f"| {contestant.name} | - | - | - | {tokens:,} | - |"
    shares = [
        mean(map(bool, column)) for column in zip(*((o.in_one, o.in_two, o.is_first) for o in outcomes), strict=True)
    ]
    one, two, first = (f"{share:.3f}".removeprefix("0") for share in shares)
    if isinstance(contestant, Everything):
        return f"| {contestant.name} | {one} | {two} | - | {tokens:,} | - |"
    return f"| {contestant.name} | {one} | {two} | {first} | {tokens:,} | {mean(o.turns for o in outcomes):.2f} |"


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m bench.agent",
        description="Compare ways to find tools: an agent searches, reformulates once, and calls. Without a model or a "
        "network.",
        epilog="one search, two: share of tasks whose tools were all found and called. first: share whose first result "
        "is a tool of the task. tokens: of listed tools, queries and answers, mean of all tasks. turns: searches and "
        "look-ups.",
    )
    parser.add_argument(
        "--data",
        type=Path,
        default=GARDEN,
        metavar="DIR",
        help="directory with tools.jsonl and queries.jsonl, or with such directories (default: the set of the bench)",
    )
    parser.add_argument(
        "--limit", type=_positive, default=DEFAULT_LIMIT, metavar="N", help=f"tasks of each set ({DEFAULT_LIMIT})"
    )
    return parser


def _positive(text: str) -> int:
    number = int(text)
    if number < 1:
        raise argparse.ArgumentTypeError("at least 1")
    return number


if __name__ == "__main__":
    sys.exit(main())
