"""`python -m bench.openapi [NAME...]`: import, generate, serve and call; prints the tables of `docs/openapi.md`."""

# ruff: noqa: T201  a command prints

from __future__ import annotations

import argparse
import json
import sys
import tempfile
from pathlib import Path

from bench.openapi.documents import DOCUMENTS, ChangedError, fetch
from bench.openapi.measure import Result, measure


def main() -> int:
    """Measure the selected documents; return 1 if one misses a goal."""
    parser = argparse.ArgumentParser(prog="python -m bench.openapi", description=__doc__)
    parser.add_argument("names", nargs="*", metavar="NAME", help=", ".join(document.name for document in DOCUMENTS))
    parser.add_argument("--documents", type=Path, help="read NAME.json in this directory; keep packages there")
    parser.add_argument("--failures", type=Path, help="write the failed operations as JSON to this file")
    options = parser.parse_args()
    chosen = tuple(document for document in DOCUMENTS if not options.names or document.name in options.names)
    results: list[Result] = []
    with tempfile.TemporaryDirectory(prefix="openapi-") as directory:
        try:
            paths = fetch(chosen, options.documents or Path(directory, "documents"))
        except ChangedError as error:
            parser.error(str(error))
        for document in chosen:
            print(f"{document.title} ...", file=sys.stderr)
            results.append(measure(document, paths[document.name], Path(directory, document.name)))
    print(table(results))
    print(f"\n{design(results)}")
    for result in results:
        for miss in result.misses:
            print(f"missed: {result.title}: {miss}", file=sys.stderr)
    if options.failures:
        failures = {result.title: result.failures for result in results}
        options.failures.write_text(json.dumps(failures, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    return int(any(result.misses for result in results))


def design(results: list[Result]) -> str:
    """Return tokens, names and searches as a Markdown table."""
    heads = (
        "document",
        "tools",
        "hollow",
        "tokens: median",
        "95 %",
        "largest",
        "longest name",
        "typed answers",
        "recall@5",
    )
    lines = [f"| {' | '.join(heads)} |", f"| {' | '.join('---' for _ in heads)} |"]
    for result in results:
        count = len(result.tokens)
        tokens = [result.tokens[min(count - 1, int(share * count))] for share in (0.5, 0.95, 1)]
        recall = "" if result.recall is None else f"{result.recall:.2f}"
        typed = f"{result.typed:,} of {result.answers:,}"
        longest = f"{len(result.longest)} characters"
        cells = [result.title, f"{count:,}", len(result.hollow), *tokens, longest, typed, recall]
        lines.append(f"| {' | '.join(map(str, cells))} |")
    return "\n".join(lines)


def table(results: list[Result]) -> str:
    """Return the results as a Markdown table."""
    heads = ("document", "operations", "generated", "started", "sent as documented", "no sample", "import", "generate")
    lines = [f"| {' | '.join(heads)} |", f"| {' | '.join('---' for _ in heads)} |"]
    for result in results:
        total = result.operations
        cells = [
            f"{result.title} ({result.version})",
            f"{total:,}",
            *(_share(count, total) for count in (result.generated, result.started, result.sent)),
            str(result.unsampled),
            f"{result.import_s:.0f} s",
            f"{result.generate_s:.0f} s",
        ]
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines)


def _share(count: int, total: int) -> str:
    return f"{count:,} ({100 * count / total:.1f} %)"


if __name__ == "__main__":
    sys.exit(main())
