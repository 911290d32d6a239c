"""`python -m bench`: measure, print the table, and write it to `docs/benchmarks.md`."""

# ruff: noqa: T201  a command prints

from __future__ import annotations

import argparse
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

from bench.generating import Generation, measure_generation
from bench.importing import measure_imports
from bench.listing import LISTED, Listing, measure_listing
from bench.page import page
from bench.promises import Findings
from bench.schemas.comparison import Comparison, compare_converters
from bench.schemas.corpus import load_corpus
from bench.searching import Search, measure_search
from bench.session import Room, SessionError
from bench.starting import Starts, measure_starts
from bench.synthetic import MOST
from bench.workshop import Workshop, workshop

PARTS = ("start", "list", "search", "generate", "schemas")
SIZES = (10, 100, 1000)
ROUNDS = 5
STARTS = 2
"""Starts in one round: they are short, and what they are held to is close."""
SHORT_SIZES = (10, 30)
SHORT_ROUNDS = 1
PAGE = Path("docs", "benchmarks.md")


def main(arguments: Sequence[str] | None = None) -> int:
    """Run what the command line asks for; give the exit status: 0, or 1 if something could not be measured."""
    chosen = _parser().parse_args(arguments)
    sizes = chosen.sizes or (SHORT_SIZES if chosen.short else SIZES)
    rounds = chosen.rounds or (SHORT_ROUNDS if chosen.short else ROUNDS)
    parts = (chosen.only,) if chosen.only else PARTS
    with tempfile.TemporaryDirectory(prefix="bench-") as folder:
        try:
            findings = _measured(Room(Path(folder)), sizes, rounds, parts, chosen)
        except SessionError as error:
            print(f"bench: {error}", file=sys.stderr)
            return 1
    text = page(findings)
    print(text)
    if parts == PARTS and sizes == SIZES and not chosen.short and not chosen.corpus:
        Path(__file__).parents[1].joinpath(PAGE).write_text(text, encoding="utf-8", newline="\n")
    else:
        print(f"Not the whole bench: {PAGE.as_posix()} is left as it was.", file=sys.stderr)
    return 0


def _measured(
    room: Room, sizes: Sequence[int], rounds: int, parts: Sequence[str], chosen: argparse.Namespace
) -> Findings:
    starts: Starts | None = None
    listing: Listing | None = None
    searches: tuple[Search, ...] = ()
    generations: tuple[Generation, ...] = ()
    converting: Comparison | None = None
    shops: list[Workshop] = []
    if {*parts} - {"schemas"}:
        _say(f"writing and generating projects of {', '.join(map(str, sizes))} tools")
        shops = [workshop(room, size) for size in sizes]
    if {"start", "list"} & set(parts):
        _say("starting servers")
        starts = measure_starts(room, shops, rounds * STARTS if "start" in parts else 1)
    if "list" in parts:
        _say("listing")
        listing = measure_listing(room, workshop(room, LISTED, split_calls=True))
    if "search" in parts:
        _say("searching")
        searches = tuple(measure_search(room, each, -(-rounds // 2)) for each in shops)
    if "generate" in parts:
        _say("generating")
        generations = tuple(measure_generation(room, each, rounds) for each in shops)
    imports: dict[str, float] = {}
    if {"start", "generate"} & set(parts):
        _say("importing")
        imports = measure_imports(room, rounds)
    if "schemas" in parts:
        _say("converting schemas")
        converting = compare_converters(load_corpus(chosen.corpus), chosen.converters)
    return Findings(tuple(sizes), rounds, tuple(parts), starts, listing, searches, generations, imports, converting)


def _say(text: str) -> None:
    print(f"bench: {text}", file=sys.stderr)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m bench",
        description="Measure what we hold ourselves to, side by side with others.",
        epilog=f"{PAGE.as_posix()} is written by the whole bench only: not with --short, --only, --corpus or --sizes.",
    )
    parser.add_argument("--sizes", type=_sizes, help=f"numbers of tools (default: {','.join(map(str, SIZES))})")
    parser.add_argument("--rounds", type=_positive, help=f"times each thing is measured (default: {ROUNDS})")
    parser.add_argument("--short", action="store_true", help="small sizes and few rounds: does the bench itself work?")
    parser.add_argument("--only", choices=PARTS, help="one part")
    parser.add_argument(
        "--corpus",
        type=Path,
        metavar="FILE",
        help="schemas to convert in place of our own: a JSON object a line, with a key `schema`",
    )
    parser.add_argument(
        "--converters", metavar="PYTHON", help="the interpreter that has the other converters (default: this one)"
    )
    return parser


def _sizes(text: str) -> tuple[int, ...]:
    sizes = tuple(sorted({int(each) for each in text.split(",")}))
    if not 2 <= sizes[0] <= sizes[-1] <= MOST:
        raise argparse.ArgumentTypeError(f"numbers from 2 to {MOST}, separated by commas")
    return sizes


def _positive(text: str) -> int:
    number = int(text)
    if number < 1:
        raise argparse.ArgumentTypeError("at least 1")
    return number


if __name__ == "__main__":
    sys.exit(main())
