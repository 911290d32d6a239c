"""`python -m bench`: measure, print the table, and write it to `docs/benchmarks.md`."""

# ruff: noqa: T201  a command prints

from __future__ import annotations

import argparse
import platform
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

from bench.page import PLOTS, page
from bench.plots import make_plots
from bench.promises import Findings
from bench.run import MEASURES, Run
from bench.session import SessionError, Workspace
from bench.store import Store, StoreError
from bench.synthetic import MAX_TOOLS

PARTS = tuple(MEASURES)
SIZES = (10, 1000)
ROUNDS = 3
SHORT_SIZES = (10, 30)
SHORT_ROUNDS = 1
PAGE = Path("docs", "benchmarks.md")


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the selected parts; return the exit code: 0, or 1 if a measurement failed."""
    parser = _parser()
    options = parser.parse_args(arguments)
    sizes = options.sizes or (SHORT_SIZES if options.short else SIZES)
    rounds = options.rounds or (SHORT_ROUNDS if options.short else ROUNDS)
    parts = options.only or PARTS
    if "scale" in parts and len(sizes) == 1:
        parser.error("the part `scale` compares at least two sizes")
    with tempfile.TemporaryDirectory(prefix="bench-") as directory:
        try:
            run = Run(
                Workspace(Path(directory)),
                sizes=sizes,
                rounds=rounds,
                parts=parts,
                options=options,
                store=_store(options, sizes, rounds),
            )
            findings = run.measure()
        except (SessionError, StoreError) as error:
            print(f"bench: {error}", file=sys.stderr)
            return 1
    text = page(findings)
    print(text)
    if parts == PARTS and sizes == SIZES and not options.short and not options.corpus:
        _write(Path(__file__).parents[1], text, findings)
    else:
        print(f"Not a complete run: {PAGE.as_posix()} is unchanged.", file=sys.stderr)
        if options.output:
            _write(options.output, text, findings)
    return 0


def _store(options: argparse.Namespace, sizes: Sequence[int], rounds: int) -> Store | None:
    if options.results is None:
        return None
    conditions = {
        "sizes": tuple(sizes),
        "rounds": rounds,
        "short": options.short,
        "corpus": str(options.corpus),
        "machine": f"{platform.node()}, {platform.machine()}, Python {platform.python_version()}",
    }
    return Store(options.results, conditions)


def _write(root: Path, text: str, findings: Findings) -> None:
    """Write the page and its plots below `root`."""
    root.joinpath(PLOTS).mkdir(parents=True, exist_ok=True)
    files = {PAGE: text} | {PLOTS / f"{plot.name}.svg": plot.svg for plot in make_plots(findings)}
    for path, content in files.items():
        root.joinpath(path).write_text(content, encoding="utf-8", newline="\n")


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m bench",
        description="Measure the targets of this project, compared with other tools.",
        epilog=f"{PAGE.as_posix()} is written by a complete run only: not with --short, --only, --corpus or --sizes.",
    )
    parser.add_argument("--sizes", type=_sizes, help=f"numbers of tools (default: {','.join(map(str, SIZES))})")
    parser.add_argument("--rounds", type=_positive, help=f"measurements of each value (default: {ROUNDS})")
    parser.add_argument("--short", action="store_true", help="small sizes and one round, to test the benchmark")
    parser.add_argument("--only", type=_parts, metavar="PARTS", help=f"some of the parts: {','.join(PARTS)}")
    parser.add_argument(
        "--results",
        type=Path,
        metavar="DIR",
        help="keep the results of each part in DIR, and measure only the parts that are not there",
    )
    parser.add_argument("--output", type=Path, metavar="DIR", help="write the page of an incomplete run below DIR")
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


def _parts(text: str) -> tuple[str, ...]:
    chosen = text.split(",")
    if unknown := [part for part in chosen if part not in PARTS]:
        raise argparse.ArgumentTypeError(f"unknown parts: {', '.join(unknown)}; the parts are {', '.join(PARTS)}")
    return tuple(part for part in PARTS if part in chosen)


def _positive(text: str) -> int:
    number = int(text)
    if number < 1:
        raise argparse.ArgumentTypeError("at least 1")
    return number


if __name__ == "__main__":
    sys.exit(main())
