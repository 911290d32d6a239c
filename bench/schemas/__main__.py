"""`python -m bench.schemas`: what the clients keep of schemas, what they cost, and the time of the conversion."""

# ruff: noqa: T201, TID251  a command prints; it measures the toolkit

from __future__ import annotations

import argparse
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from time import process_time
from typing import Any

from bench.schemas.corpus import load_corpus
from bench.schemas.cost import RULES, many_rules, measure_speed, measure_tokens
from bench.schemas.survival import LANGCHAIN, PATHS, ConverterError, Survival, measure_survival
from toolmason.schema import advertise


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure and print; return the exit code: 0, or 1 if a measurement failed."""
    parser = argparse.ArgumentParser(prog="python -m bench.schemas", description=__doc__)
    parser.add_argument("part", choices=("survival", "tokens", "speed"))
    parser.add_argument("--corpus", type=Path, nargs="+", metavar="FILE", help="JSON lines with a key `schema`")
    parser.add_argument("--converters", metavar="PYTHON", default=sys.executable, help="interpreter with the clients")
    parser.add_argument("--raw", action="store_true", help="the schemas as they are, not as `advertise` sends them")
    parser.add_argument("--causes", action="store_true", help="print the causes of each path")
    options = parser.parse_args(arguments)
    rows = [row for path in options.corpus or [None] for row in load_corpus(path)]
    try:
        if options.part == "tokens":
            _print_tokens([row.schema for row in rows], options.converters)
            return 0
        if options.part == "speed":
            _print_speed([row.schema for row in rows], options.converters)
            return 0
        survival, unusable = measure_survival(rows, options.converters, raw=options.raw)
    except (ConverterError, subprocess.SubprocessError, OSError) as error:
        print(f"bench: {error}", file=sys.stderr)
        return 1
    print(f"{len(survival.names)} schemas, {len(survival.hard)} hard; {unusable} unusable ones are left out")
    _print_survival(survival, causes=options.causes)
    return 0


def _print_survival(survival: Survival, *, causes: bool) -> None:
    all_paths = tuple(PATHS)
    most = tuple(path for path in PATHS if path not in LANGCHAIN)
    lines = {f"all {len(most)} without two of langchain": most, f"all {len(all_paths)}": all_paths}
    lines |= {path: (path,) for path in PATHS}
    for label, paths in lines.items():
        print(f"{label:40} {survival.share(paths):7.2%} hard {survival.share(paths, hard=True):7.2%}")
        for cause, count, example in survival.causes(paths) if causes else ():
            print(f"    {count:4} {cause} (such as {example})")


def _print_tokens(schemas: Sequence[Any], python: str) -> None:
    tokens = measure_tokens(schemas, python)
    percentiles = ", ".join(f"p{round(100 * share)} {tokens.percentile(share):.2f}" for share in (0.5, 0.95, 0.99))
    print(f"{len(schemas)} schemas: {tokens.before:,} tokens before, {tokens.after:,} after")
    print(f"sum {tokens.total:.3f}, {percentiles}, max {tokens.ratios[-1]:.2f}")


def _print_speed(schemas: Sequence[Any], python: str) -> None:
    times = measure_speed(schemas, python)
    theirs = times["litellm"]
    for label, time in times.items():
        ratios = f"{time.mean / theirs.mean:.2f}x, {time.median / theirs.median:.2f}x of litellm"
        print(f"{label:30} mean {time.mean:6.0f} us, median {time.median:5.0f} us; {ratios}")
    print(f"{RULES} conditions in one allOf: {min(_seconds(many_rules()) for _ in range(5)):.3f} s, the best of 5")


def _seconds(schema: Any) -> float:
    start = process_time()
    advertise(schema)
    return process_time() - start


if __name__ == "__main__":
    sys.exit(main())
