"""The time of each stage of the pipeline: `python -m bench.stages generate|compare MANIFEST` prints JSON."""

# ruff: noqa: TID251, T201  imports the toolkit in its own process and prints

from __future__ import annotations

import json
import sys
from pathlib import Path
from time import perf_counter

STARTED = perf_counter()


def main() -> None:
    """Run the pipeline once and print `[[stage, seconds], ...]` with the stage names of `pipeline`."""
    from toolmason import pipeline
    from toolmason.diagnostics import Diagnostics
    from toolmason.project import find_project

    marks = [("imports", STARTED)]
    work = {"generate": pipeline.generate, "compare": pipeline.compare}[sys.argv[1]]
    work(
        find_project(Path.cwd(), Path(sys.argv[2])),
        diagnostics=Diagnostics(),
        progress=lambda stage, /: marks.append((stage, perf_counter())),
    )
    ends = [start for _, start in marks[1:]] + [perf_counter()]
    print(json.dumps([[stage, end - start] for (stage, start), end in zip(marks, ends, strict=True)]))


if __name__ == "__main__":
    main()
