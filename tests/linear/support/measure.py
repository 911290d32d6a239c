"""Measure the patterns of one package: `python measure.py PACKAGE ROOT`. Prints a line of JSON for each finding.

A process of its own, because the recorder stays in `re` and all modules of the package are imported.
"""

from __future__ import annotations

import json
import re
import sys
import time
from itertools import chain
from pathlib import Path

from attack_strings import attacks
from calls import AUTHORS, BOUNDED, BOUNDED_S, call_builders
from growth import OPERATIONS, verdict
from pattern_sites import Recorder, Site, import_all, sites

PROJECT = Path(__file__).parents[3]
PACKAGES = {
    "generator": ("toolmason",),
    "generated": ("workbench_server",),
    "handlers": ("workbench_handlers", "workbench_research"),
    "runtime": ("toolmason_runtime",),
}


def main(directory: str) -> None:
    """Print the findings in one source directory of the project, and the number of patterns."""
    recorder = Recorder(tuple(PROJECT / name for name in PACKAGES))
    recorder.start()
    import_all(tuple(chain.from_iterable(PACKAGES.values())) if directory == "all" else PACKAGES[directory])
    call_builders()
    count = 0
    for site in sites((PROJECT / directory,), recorder):
        if site.path.is_relative_to(PROJECT / directory):
            count += len(site.patterns)
            for reason in _reasons(site):
                print(json.dumps(f"{site.path.relative_to(PROJECT).as_posix()}:{site.line}: {reason}"))
    print(json.dumps(count))


def _reasons(site: Site) -> list[str]:
    """Return what is wrong with the patterns of a site."""
    if site.expression in AUTHORS:
        return []
    if not site.patterns:
        return [f"`{site.expression}` builds a pattern: call it in tests/linear/support/calls.py"]
    key = f"{site.path.relative_to(PROJECT).as_posix()}:{site.name}"
    if key in BOUNDED:
        limit, constant = BOUNDED[key]
        reasons = [_slow(pattern, site.operations, limit) for pattern in site.patterns.values()]
        return [f"{reason}, the limit {constant}" for reason in reasons if reason]
    verdicts = ((pattern.pattern, verdict(pattern, sorted(site.operations))) for pattern in site.patterns.values())
    return [f"{reason}\n    {pattern!r:.300}" for pattern, reason in verdicts if reason]


def _slow(pattern: re.Pattern[str], operations: frozenset[str], limit: int) -> str:
    """Return the first attack of `limit` characters that takes longer than `BOUNDED_S`."""
    for attack in attacks(pattern):
        text = attack.text(limit)[:limit]
        for name in operations:
            start = time.process_time()
            OPERATIONS[name](pattern, text)
            if time.process_time() - start > BOUNDED_S:
                return f"{name} on {attack}: more than {BOUNDED_S:g} s for {limit:,} characters"
    return ""


if __name__ == "__main__":
    main(sys.argv[1])
