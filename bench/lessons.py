"""Sentences about the tables: a comparison of ours with the best peer, computed from the results, good or bad."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from statistics import median
from typing import Final

from bench.calling import Calls, FirstCall
from bench.calling_http import HttpCalls
from bench.contestants import OURS, OURS_DEFAULT, WORKBENCH
from bench.documents import DocumentImport
from bench.editing.measure import Editing
from bench.editing.servers import OURS as OUR_EDITOR
from bench.editing.servers import THEIRS as THEIR_EDITOR
from bench.file_tools import FileTask
from bench.generating import ALONE, FULL, SCHEMA, TEXT, Generation
from bench.importing import CHECK, FASTMCP_IMPORT, HELP
from bench.installing import OURS as OUR_PACKAGE
from bench.installing import Installation
from bench.large_results import LargeResult
from bench.requests import Requests
from bench.research.measure import ResearchFindings
from bench.rounds import Cost, typical
from bench.scaling import Scale
from bench.schemas.comparison import OURS as OUR_CONVERTER
from bench.schemas.comparison import Comparison
from bench.searching import Search
from bench.starting import Starts
from bench.upstreams import Served

_OURS: Final = (OURS_DEFAULT, OURS)
_ALIKE: Final = 1.03
"""Values whose ratio is below this are called equal: rounds differ by more."""


def compare(ours: float, theirs: Mapping[str, float], unit: str, *, is_more_better: bool = False) -> str:
    """Return how our value compares with the best one of the peers: `33 ms; the best peer, Go SDK, 12 ms: ...`."""
    mine = f"{_number(ours)} {unit}"
    if not theirs:
        return mine
    best = (max if is_more_better else min)(theirs, key=theirs.__getitem__)
    value = theirs[best]
    return f"{mine}; the best peer, {best}, {_number(value)} {unit}: {_judgement(ours, value, is_more_better)}"


def start(starts: Starts, large: Starts | None) -> Iterator[str]:
    """Start to list, at each size."""
    for measured in (starts, large):
        if measured is None:
            continue
        for size in measured.sizes:
            times = {label: typical(measured.costs(label, size)).wall * 1000 for label in measured.labels}
            peers = {label: time for label, time in times.items() if label not in _OURS}
            yield f"With {size:,} tools, {OURS_DEFAULT} needs {compare(times[OURS_DEFAULT], peers, 'ms')}."


def idle(memory: Mapping[tuple[str, int], tuple[float | None, float]]) -> Iterator[str]:
    """Memory after a wait, at the smallest and the largest size."""
    for size in sorted({size for label, size in memory if label == OURS_DEFAULT}):
        known = {label: used for (label, tools), (used, _) in memory.items() if tools == size and used is not None}
        if OURS_DEFAULT in known:
            peers = {label: used for label, used in known.items() if label not in (*_OURS, WORKBENCH)}
            yield f"With {size:,} tools, {OURS_DEFAULT} uses {compare(known[OURS_DEFAULT], peers, 'MiB')}."


def calls(found: Calls, ours: Sequence[str]) -> Iterator[str]:
    """Calls over stdio, in flight and one at a time."""
    for what, series in (("In flight", found.pipelined), ("One at a time", found.sequential)):
        speeds = {label: 1 / typical(costs).wall for label, costs in series.items()}
        peers = {label: speed for label, speed in speeds.items() if label not in ours}
        yield f"{what}, {OURS} answers {compare(speeds[OURS], peers, 'calls/s', is_more_better=True)}."


def first_calls(found: Sequence[FirstCall]) -> Iterator[str]:
    """The first call, at once after the start and after a pause."""
    peers = [call for call in found if not call.label.startswith((*_OURS, WORKBENCH))]
    ours = next(call for call in found if call.label.startswith(OURS_DEFAULT))
    for when, name in (("At once after the first list", "at_once"), ("After a pause", "after_pause")):
        times = {call.label: getattr(call, name).wall * 1000 for call in peers}
        yield f"{when}, the first call of {ours.label} needs {compare(getattr(ours, name).wall * 1000, times, 'ms')}."


def http(found: Sequence[HttpCalls]) -> Iterator[str]:
    """Calls over HTTP with the most clients, in each era."""
    most = max(result.clients for result in found)
    for result in found:
        if result.clients == most:
            speeds = {label: 1 / typical(costs).wall for label, costs in result.costs.items()}
            ours = speeds.pop(OURS)
            compared = compare(ours, speeds, "calls/s", is_more_better=True)
            yield f"Revision {result.era}, {most} clients: ours {compared}."


def results(found: Sequence[LargeResult]) -> Iterator[str]:
    """The largest result."""
    most = max(result.megabytes for result in found)
    of_size = {result.label: result for result in found if result.megabytes == most}
    ours = of_size.pop(OURS)
    times = {label: result.cost.wall * 1000 for label, result in of_size.items()}
    pings = {label: result.longest_ping for label, result in of_size.items()}
    memory = {label: result.memory for label, result in of_size.items() if result.memory is not None}
    yield f"A result of {most} MB takes {compare(ours.cost.wall * 1000, times, 'ms')}."
    yield f"A ping meanwhile waits at most {compare(ours.longest_ping, pings, 'ms')}."
    if ours.memory is not None:
        yield f"The peak memory is {compare(ours.memory, memory, 'MiB')}."


def search(found: Sequence[Search]) -> Iterator[str]:
    """Searches over stdio at the largest size."""
    last = found[-1]
    for what, ours, theirs in (
        ("the first search", last.ours.first, last.fastmcp.first),
        ("a later one", last.ours.typical, last.fastmcp.typical),
    ):
        yield f"With {last.size:,} tools, {what} over stdio takes {compare(ours, {'FastMCP': theirs}, 'ms')}."


def requests(found: Sequence[Requests]) -> Iterator[str]:
    """Searches in process."""
    for result in found:
        compared = compare(result.ours.typical, {"SQLite FTS5": result.fts5.typical}, "ms")
        yield f"With {result.size:,} tools, a query takes {compared}."


def generation(found: Sequence[Generation]) -> Iterator[str]:
    """Generation at the largest size."""
    last = found[-1]
    shares = [f"{what} {last.to_alone(command).median:.2f}x" for what, command in _COMMANDS]
    yield f"With {last.size:,} tools, relative to {ALONE}: {', '.join(shares)}."


_COMMANDS: Final = (("a full run", FULL), ("an edit of a description", TEXT), ("an edit of a parameter", SCHEMA))


def stages(found: Generation) -> Iterator[str]:
    """The longest stage of a full run."""
    full = found.stages[FULL]
    longest = max(full, key=full.__getitem__)
    yield f"The longest stage of a full run is {longest}: {full[longest] / sum(full.values()):.0%} of its time."


def converting(found: Comparison) -> Iterator[str]:
    """Conversion of hard schemas."""
    scores = {score.label: score.good * 100 for score in found.scores(hard=True)}
    peers = {label: scores[label] for label in found.competitors}
    yield f"Of the hard schemas, ours converts {compare(scores[OUR_CONVERTER], peers, '%', is_more_better=True)}."


def editing(found: Editing) -> Iterator[str]:
    """Turns and wrong files of all tasks, and bytes lost."""
    for label in (OUR_EDITOR, THEIR_EDITOR):
        outcomes = [found.outcomes[label, task] for task in found.tasks]
        wrong = sum(outcome.file != "exact" for outcome in outcomes)
        turns = sum(outcome.turns for outcome in outcomes)
        yield f"{label} needs {turns} turns for all tasks, and {wrong} files are not as intended."


def upstreams(found: Sequence[Served]) -> Iterator[str]:
    """The cost of the server in between."""
    slowest = min(found, key=lambda served: served.ratio.median)
    ratio = f"{slowest.ratio.median:.2f} of the calls per second of a direct connection"
    yield f"Through our server a client gets at least {ratio} ({slowest.name})."


def files(found: Sequence[FileTask]) -> Iterator[str]:
    """The tasks in which the other program is faster."""
    slower = [
        f"{task.label} ({task.ratio.median:.2f}x of {task.other})" for task in found if task.ratio.median > _ALIKE
    ]
    yield (
        f"Slower than the other program: {'; '.join(slower)}."
        if slower
        else "No task is slower than the other program."
    )


def scale(found: Scale) -> Iterator[str]:
    """The measures whose cost per tool grows."""
    *_, before, largest = found.sizes
    growth = {measure: found.growth(found.cpu_per_tool(measure)) for measure in found.costs}
    growth |= {measure: found.growth(found.memory_per_tool(measure)) for measure in found.memory}
    grown = [f"{measure} ({ratio:.2f}x)" for measure, ratio in growth.items() if ratio > _ALIKE]
    verb = "grows for " + "; ".join(grown) if grown else "grows for none of these"
    yield f"From {before:,} to {largest:,} tools, the cost per tool {verb}."


def document(found: DocumentImport) -> Iterator[str]:
    """The import of a document."""
    time = compare(found.ours.wall, {"FastMCP": found.theirs.wall}, "s")
    yield f"The import of {found.operations:,} operations takes {time}. FastMCP repeats its work at each start."


def developing(found: Mapping[int, float]) -> Iterator[str]:
    """From save to answer."""
    yield ", ".join(f"{seconds:.2f} s with {size:,} tools" for size, seconds in found.items()) + "."


def installations(found: Sequence[Installation]) -> Iterator[str]:
    """Packages and megabytes."""
    known = {each.label: each for each in found if not each.missing}
    ours = known.pop(OUR_PACKAGE, None)
    if ours is not None:
        sizes = {label: each.megabytes for label, each in known.items()}
        yield f"A server with {OUR_PACKAGE} installs {ours.packages} packages, {compare(ours.megabytes, sizes, 'MB')}."


def imports(found: Mapping[str, Cost]) -> Iterator[str]:
    """Our commands and the import of FastMCP."""
    theirs = {FASTMCP_IMPORT: found[FASTMCP_IMPORT].wall * 1000}
    for label in (HELP, CHECK):
        yield f"{label} takes {compare(found[label].wall * 1000, theirs, 'ms')}."


def research(found: ResearchFindings) -> Iterator[str]:
    """The right file for the questions not used for tuning, over all windows."""
    shares: dict[str, list[float]] = {}
    for recall in found.recalls:
        if not recall.is_tuning:
            shares.setdefault(recall.method, []).append(recall.files * 100)
    means = {method: median(values) for method, values in shares.items()}
    ours = means.pop("packing")
    compared = compare(ours, means, "%", is_more_better=True)
    yield f"Questions not used for tuning whose right file is sent, median of the windows: packing {compared}."


def missing(found: Mapping[str, str]) -> Iterator[str]:
    """The peers that were not measured."""
    for label, reason in found.items():
        yield f"**Not measured**: {label}; {reason}."


def refused(found: Sequence[HttpCalls]) -> Iterator[str]:
    """The peers that do not serve an era."""
    reasons = {(result.era, label): reason for result in found for label, reason in result.refused.items()}
    for (era, label), reason in reasons.items():
        yield f"**Not measured**: {label} in revision {era}; its answer: {reason}"


def _judgement(ours: float, theirs: float, is_more_better: bool) -> str:
    low, high = sorted((ours, theirs))
    if low == 0 or high / low < _ALIKE:
        return "equal"
    is_better = (ours > theirs) is is_more_better
    return f"ours is {'better' if is_better else '**worse**'}, by a factor of {high / low:,.1f}"


def _number(value: float) -> str:
    """Return a number with three digits, without an exponent."""
    return f"{value:,.0f}" if value >= 100 else f"{value:.3g}"
