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
from typing import Any

from attack_strings import attacks
from calls import AUTHORS, BOUNDED, BOUNDED_S, call_builders
from growth import OPERATIONS, verdicts
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
    found = [site for site in sites((PROJECT / directory,), recorder) if site.path.is_relative_to(PROJECT / directory)]
    measured = [(site, pattern) for site in found for pattern in unbounded(site)]
    results = verdicts([(pattern, sorted(site.operations)) for site, pattern in measured])
    reasons = [(site, reason) for site in found for reason in other_reasons(site)]
    for (site, pattern), result in zip(measured, results, strict=True):
        reasons += [(site, f"{result}\n    {pattern.pattern!r:.300}")] if result else []
    for site, reason in reasons:
        print(json.dumps(f"{site.path.relative_to(PROJECT).as_posix()}:{site.line}: {reason}"))
    print(json.dumps(sum(len(site.patterns) for site in found)))


def key(site: Site) -> str:
    """Return the key of a site in `BOUNDED`."""
    return f"{site.path.relative_to(PROJECT).as_posix()}:{site.name}"


def unbounded(site: Site) -> list[re.Pattern[Any]]:
    """Return the patterns that have to be linear."""
    is_other = site.expression in AUTHORS or key(site) in BOUNDED
    return [] if is_other else list(site.patterns.values())


def other_reasons(site: Site) -> list[str]:
    """Return what is wrong with a site apart from patterns that are not linear."""
    if site.expression in AUTHORS:
        return []
    if not site.patterns:
        return [f"`{site.expression}` builds a pattern: call it in tests/linear/support/calls.py"]
    if key(site) not in BOUNDED:
        return []
    limit, constant = BOUNDED[key(site)]
    slow = [_slow(pattern, site.operations, limit) for pattern in site.patterns.values()]
    return [f"{reason}, the limit {constant}" for reason in slow if reason]


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
