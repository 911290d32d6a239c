"""`python -m bench`: measure, print the table, and write it to `docs/benchmarks.md`."""

# ruff: noqa: T201  a command prints

from __future__ import annotations

import argparse
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

from bench.contestants import Contestants, make_contestants
from bench.editing.measure import Editing, measure_editing
from bench.file_tools import FileTask, measure_file_tools
from bench.generating import Generation, measure_generation
from bench.importing import measure_imports
from bench.listing import LISTED, Listing, measure_listing
from bench.page import page
from bench.promises import Findings
from bench.requests import REQUEST_SIZES, SHORT_REQUEST_SIZES, Requests, measure_requests
from bench.schemas.comparison import Comparison, compare_converters
from bench.schemas.corpus import load_corpus
from bench.searching import Search, measure_search
from bench.session import SessionError, Workspace
from bench.starting import Starts, measure_starts
from bench.synthetic import MAX_TOOLS
from bench.upstreams import Served, measure_upstreams

PARTS = ("start", "list", "search", "generate", "schemas", "editing", "upstreams", "files")
SIZES = (10, 100, 1000)
ROUNDS = 5
STARTS = 2
"""Starts in one round: they are short, and their target is close to the measured value."""
SHORT_SIZES = (10, 30)
SHORT_ROUNDS = 1
PAGE = Path("docs", "benchmarks.md")


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the selected parts; return the exit code: 0, or 1 if a measurement failed."""
    options = _parser().parse_args(arguments)
    sizes = options.sizes or (SHORT_SIZES if options.short else SIZES)
    rounds = options.rounds or (SHORT_ROUNDS if options.short else ROUNDS)
    parts = (options.only,) if options.only else PARTS
    with tempfile.TemporaryDirectory(prefix="bench-") as directory:
        try:
            findings = _measured(Workspace(Path(directory)), sizes, rounds, parts, options)
        except SessionError as error:
            print(f"bench: {error}", file=sys.stderr)
            return 1
    text = page(findings)
    print(text)
    if parts == PARTS and sizes == SIZES and not options.short and not options.corpus:
        Path(__file__).parents[1].joinpath(PAGE).write_text(text, encoding="utf-8", newline="\n")
    else:
        print(f"Not a complete run: {PAGE.as_posix()} is unchanged.", file=sys.stderr)
    return 0


def _measured(
    workspace: Workspace, sizes: Sequence[int], rounds: int, parts: Sequence[str], options: argparse.Namespace
) -> Findings:
    starts: Starts | None = None
    listing: Listing | None = None
    searches: tuple[Search, ...] = ()
    requests: tuple[Requests, ...] = ()
    generations: tuple[Generation, ...] = ()
    converting: Comparison | None = None
    editing: Editing | None = None
    upstreams: tuple[Served, ...] = ()
    file_tools: tuple[FileTask, ...] = ()
    contestants: list[Contestants] = []
    if {*parts} - {"schemas", "editing", "upstreams", "files"}:
        _report(f"writing and generating projects of {', '.join(map(str, sizes))} tools")
        contestants = [make_contestants(workspace, size) for size in sizes]
    if {"start", "list"} & set(parts):
        _report("starting servers")
        starts = measure_starts(workspace, contestants, rounds * STARTS if "start" in parts else 1)
    if "list" in parts:
        _report("listing")
        listing = measure_listing(workspace, make_contestants(workspace, LISTED, split_calls=True))
    if "search" in parts:
        _report("searching")
        searches = tuple(measure_search(workspace, compared, -(-rounds // 2)) for compared in contestants)
        request_sizes = SHORT_REQUEST_SIZES if options.short else REQUEST_SIZES
        requests = tuple(measure_requests(size, -(-rounds // 2)) for size in request_sizes)
    if "generate" in parts:
        _report("generating")
        generations = tuple(measure_generation(workspace, compared, rounds) for compared in contestants)
    imports: dict[str, float] = {}
    if {"start", "generate"} & set(parts):
        _report("importing")
        imports = measure_imports(workspace, rounds)
    if "schemas" in parts:
        _report("converting schemas")
        converting = compare_converters(load_corpus(options.corpus), options.converters)
    if "editing" in parts:
        _report("editing")
        editing = measure_editing(workspace, options.fs_mcp, is_short=options.short)
    if "upstreams" in parts:
        _report("calling upstreams")
        upstreams = measure_upstreams(workspace, rounds, is_short=options.short)
    if "files" in parts:
        _report("reading and searching files")
        file_tools = measure_file_tools(workspace, rounds, is_short=options.short)
    return Findings(
        tuple(sizes),
        rounds,
        tuple(parts),
        starts,
        listing,
        searches,
        requests,
        generations,
        imports,
        converting,
        editing,
        upstreams,
        file_tools,
    )


def _report(text: str) -> None:
    print(f"bench: {text}", file=sys.stderr)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m bench",
        description="Measure the targets of this project, compared with other tools.",
        epilog=f"{PAGE.as_posix()} is written by a complete run only: not with --short, --only, --corpus or --sizes.",
    )
    parser.add_argument("--sizes", type=_sizes, help=f"numbers of tools (default: {','.join(map(str, SIZES))})")
    parser.add_argument("--rounds", type=_positive, help=f"measurements of each value (default: {ROUNDS})")
    parser.add_argument("--short", action="store_true", help="small sizes and one round, to test the benchmark")
    parser.add_argument("--only", choices=PARTS, help="one part")
    parser.add_argument(
        "--corpus",
        type=Path,
        metavar="FILE",
        help="schemas to convert instead of ours: JSON lines with a key `schema`",
    )
    parser.add_argument(
        "--converters", metavar="PYTHON", help="interpreter with the other converters (default: this one)"
    )
    parser.add_argument("--fs-mcp", metavar="PYTHON", help="interpreter with fs-mcp (default: install it for this run)")
    return parser


def _sizes(text: str) -> tuple[int, ...]:
    sizes = tuple(sorted({int(size) for size in text.split(",")}))
    if not 2 <= sizes[0] <= sizes[-1] <= MAX_TOOLS:
        raise argparse.ArgumentTypeError(f"numbers from 2 to {MAX_TOOLS}, separated by commas")
    return sizes


def _positive(text: str) -> int:
    number = int(text)
    if number < 1:
        raise argparse.ArgumentTypeError("at least 1")
    return number


if __name__ == "__main__":
    sys.exit(main())
