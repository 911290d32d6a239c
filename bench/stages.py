"""Where a run of the pipeline spends its time: `python -m bench.stages generate|compare MANIFEST` prints JSON."""

# ruff: noqa: TID251, T201  it looks into the toolkit, from a process of its own, and prints what it saw

from __future__ import annotations

import json
import sys
from pathlib import Path
from time import perf_counter

BEGUN = perf_counter()


def main() -> None:
    """Run the pipeline once and print `[[stage, seconds], ...]`, as `pipeline` itself names its stages."""
    from toolmason import pipeline
    from toolmason.diagnostics import Diagnostics
    from toolmason.project import find_project

    marks = [("imports", BEGUN)]
    work = {"generate": pipeline.generate, "compare": pipeline.compare}[sys.argv[1]]
    work(
        find_project(Path.cwd(), Path(sys.argv[2])),
        diagnostics=Diagnostics(),
        progress=lambda stage, /: marks.append((stage, perf_counter())),
    )
    ends = [begun for _, begun in marks[1:]] + [perf_counter()]
    print(json.dumps([[stage, end - begun] for (stage, begun), end in zip(marks, ends, strict=True)]))


if __name__ == "__main__":
    main()
