"""`python -m bench.openapi [NAME...]`: import, generate, serve and call; prints the table of `docs/openapi.md`."""

# ruff: noqa: T201  a command prints

from __future__ import annotations

import argparse
import json
import sys
import tempfile
from pathlib import Path

from bench.openapi.documents import DOCUMENTS, fetch
from bench.openapi.measure import Result, measure


def main() -> int:
    """Measure the selected documents; return 0."""
    parser = argparse.ArgumentParser(prog="python -m bench.openapi", description=__doc__)
    parser.add_argument("names", nargs="*", metavar="NAME", help=", ".join(document.name for document in DOCUMENTS))
    parser.add_argument("--documents", type=Path, help="keep the downloaded packages in this directory")
    parser.add_argument("--failures", type=Path, help="write the failed operations as JSON to this file")
    options = parser.parse_args()
    chosen = tuple(document for document in DOCUMENTS if not options.names or document.name in options.names)
    results: list[Result] = []
    with tempfile.TemporaryDirectory(prefix="openapi-") as directory:
        paths = fetch(chosen, options.documents or Path(directory, "documents"))
        for document in chosen:
            print(f"{document.title} ...", file=sys.stderr)
            results.append(measure(document, paths[document.name], Path(directory, document.name)))
    print(table(results))
    if options.failures:
        failures = {result.title: result.failures for result in results}
        options.failures.write_text(json.dumps(failures, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    return 0


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
